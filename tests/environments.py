"""Environments of orchestrators and of other versions, made once with pip, in the folder of what is downloaded."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from kadmin_nb.paths import cache_dir

ROOT = Path(__file__).parents[1]
VERSIONS = {"apache-airflow": "3.3.2", "dagster": "1.13.27", "prefect": "3.9.1"}
"""What the examples are run with."""
IMPORTS_US = ("dagster", "prefect")
"""Those whose process imports kadmin_nb; another starts `kadmin-nb`, which has an environment of its own."""


def programs(tool: str) -> Path:
    """The folder of the programs of this orchestrator's environment."""
    packages = [f"{tool}=={VERSIONS[tool]}", *(needed("runbooks") if tool in IMPORTS_US else ())]
    return made(f"{tool}-{VERSIONS[tool]}", packages)


def made(name: str, packages: Sequence[str]) -> Path:
    """The folder of the programs of an environment of these packages, made when it is first asked for."""
    version = ".".join(map(str, sys.version_info[:2]))
    place = cache_dir() / "environments" / f"{name}-python-{version}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not (place / "made").exists():
            venv.create(place, clear=True, with_pip=True)
            subprocess.run([place / "bin/python", "-m", "pip", "install", "--quiet", *packages], check=True)
            (place / "made").touch()
    return place / "bin"


def needed(*extras: str) -> list[str]:
    """What kadmin_nb with these extras needs; kadmin_nb itself is that of this checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
