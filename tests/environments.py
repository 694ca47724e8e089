"""Environments of orchestrators and of other versions, made once with pip, in the folder of what is downloaded."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
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
    return _made_once(f"{name}-python-{version}", sys.executable, [packages])


def with_newer(package: str, version: str) -> Path:
    """The folder of the programs of an environment that has this package, and borrows all else from this one."""
    programs = made(f"{package}-{version}", [f"{package}=={version}"])
    (next(programs.parent.glob("lib/python*/site-packages")) / "lent.pth").write_text(sysconfig.get_path("purelib"))
    return programs


def locked(version: str) -> Path:
    """The folder of the programs of an environment of all that is locked, and of this checkout, on another Python."""
    locks = [ROOT / "requirements" / f"{name}.txt" for name in ("build", "dev")]
    lists = [["--require-hashes", "--no-build-isolation", "--requirement", str(lock)] for lock in locks]
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()[:8]  # others are another place
    programs = _made_once(f"locked-{digest}-python-{version}", _python(version), lists)
    ours = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *ours], check=True)
    return programs


def _python(version: str) -> str:
    """A Python of this version: the machine's, or one of pyenv's."""
    of_pyenv = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for program in filter(None, [shutil.which(f"python{version}"), *map(str, of_pyenv)]):
        if subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0:
            return program
    raise FileNotFoundError(f"no Python {version} on PATH or among pyenv's; install one, as python{version}")


def _made_once(name: str, python: str, lists: Sequence[Sequence[str]]) -> Path:
    place = cache_dir() / "environments" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not (place / "made").exists():
            subprocess.run([python, "-m", "venv", "--clear", place], check=True)
            for packages in lists:
                subprocess.run([place / "bin/python", "-m", "pip", "install", "--quiet", *packages], check=True)
            (place / "made").touch()
    return place / "bin"


def run_tests(programs: Path, words: Sequence[str], tried: Path | None) -> None:
    """Run these tests of this checkout, which must pass; with `tried`, what they ran on is kept in that file."""
    kept = ["--tried", str(tried)] if tried else []
    templates = str(Path(sys.prefix, "share", "jupyter"))  # what an environment that borrows packages has none of
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/magics", "JUPYTER_PATH": templates}
    done = subprocess.run(
        [programs / "python", "-m", "pytest", *words, *kept, "-q", "-p", "no:cacheprovider"],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout.splitlines()[-1]


def needed(*extras: str) -> list[str]:
    """What kadmin_nb with these extras needs; kadmin_nb itself is that of this checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
