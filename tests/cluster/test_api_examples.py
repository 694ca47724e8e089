"""The examples of the reference run: those of docs/reference/examples, each as somebody would type it."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.approved.conftest import seeded_kafka

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "reference" / "examples").glob("*.py"))
WITH_JVM = ("fleets", "sql")
"""Those that start a Spark of their own; `local` starts a Kafka, and `runbooks` a kernel."""

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(scope="module")
def prod() -> Iterator[kn.local.LocalKafka]:
    """The Kafka that the examples call prod."""
    with seeded_kafka(hostile=False) as running:
        yield running


@pytest.fixture
def desk(prod: kn.local.LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with its profile, an export of it, and a request log."""
    (tmp_path / "kadmin-nb.toml").write_text(f'[profiles.prod]\nbootstrap = "{prod.bootstrap}"\n')
    shutil.copy(ROOT / "docs" / "examples" / "kafka-request.log", tmp_path)
    with prod.connect() as cluster:
        (tmp_path / "monday.yaml").write_text(kn.state.export(cluster.snapshot()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    return tmp_path


@pytest.mark.parametrize(
    "example",
    [pytest.param(each, marks=[pytest.mark.spark] if each.stem in WITH_JVM else []) for each in EXAMPLES],
    ids=lambda example: example.stem,
)
def test_an_example_runs(example: Path, prod: kn.local.LocalKafka, desk: Path) -> None:
    """I copied the example of the manual, and it ended in a traceback."""
    text = example.read_text().replace("localhost:9092", prod.bootstrap)
    (desk / "example.py").write_text(text)
    runpy.run_path(str(desk / "example.py"), run_name="__main__")
