"""Whose Spark session, whose disk and which magics: what differs on Databricks."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb import paths
from kadmin_nb.frames import spark as sparks

THEIRS = object()
"""A session that the platform has made."""


class Builder:
    """Hands out the platform's session; whoever configures it is found out."""

    @staticmethod
    def getOrCreate() -> object:
        return THEIRS


def sessions(active: object = None) -> Any:
    return SimpleNamespace(builder=Builder, getActiveSession=lambda: active)


@pytest.fixture(autouse=True)
def _no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)


@pytest.mark.usefixtures("on_databricks")
@pytest.mark.parametrize("active", [None, THEIRS], ids=["a wheel task", "a notebook"])
def test_the_session_is_the_platforms_own(monkeypatch: pytest.MonkeyPatch, active: object) -> None:
    """It started a Spark of two threads beside the cluster's."""
    monkeypatch.setattr(sparks, "session_class", lambda: sessions(active))
    assert kn.spark_session() is THEIRS
    assert kn.spark_session(delta=True) is THEIRS


def test_spark_is_handed_one_batch() -> None:
    """Over Connect, Spark 4.0 took the first of our clusters and none of the others."""
    one = pa.table({"user": ["alice", "bob"]})
    handed: list[pa.Table] = []
    sparks.to_spark(pa.concat_tables([one, one.slice(0, 0), one]), SimpleNamespace(createDataFrame=handed.append))  # type: ignore[arg-type]
    (batch,) = handed[0].to_batches()
    assert batch.to_pydict() == {"user": ["alice", "bob", "alice", "bob"]}


@pytest.mark.usefixtures("on_databricks")
def test_a_journal_that_will_be_lost_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The cluster had ended, and with it the journal that told what had been applied."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path))
    with pytest.warns(UserWarning, match=r"on the disk of this compute.*KADMIN_STATE'\] = '/Volumes/"):
        assert paths.journal_dir() == tmp_path / "journal"


@pytest.mark.usefixtures("on_databricks")
def test_a_journal_in_a_volume_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It warned all the same."""
    monkeypatch.setenv("KADMIN_STATE", "/Volumes/main/kafka/state")
    _silent()


def test_elsewhere_nothing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On my laptop it spoke of Volumes."""
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path))
    _silent()


def _silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths.journal_dir()


THEIR_MAGICS = {
    "conda", "fs", "md", "md-sandbox", "pip", "python", "r", "restart_python", "run", "scala",
    "set_cell_max_output_size_in_mb", "sh", "skip", "sql", "tensorboard", "uv",
}  # fmt: skip


def test_no_magic_takes_the_name_of_one_of_theirs() -> None:
    """%sql was ours all of a sudden."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    before = {kind: set(of_kind) for kind, of_kind in shell.magics_manager.magics.items()}
    shell.run_line_magic("load_ext", "kadmin_nb")
    ours = {name for kind, of_kind in shell.magics_manager.magics.items() for name in set(of_kind) - before[kind]}
    assert ours
    assert not ours & THEIR_MAGICS
    assert not [name for name in ours if not name.startswith("k")]
