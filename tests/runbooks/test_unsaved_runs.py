"""A run that changed the cluster and cannot be saved, as its disk is full: exit 4, and what stays."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb import files, hints
from kadmin_nb.commands import terminal
from kadmin_nb.runbooks.recording import Record

pytest.importorskip("papermill")

pytestmark = [pytest.mark.broker, pytest.mark.slow]

DECLARED = "apply: bool = True\nbootstrap: str = ''\nuser: str = ''\nspoils: str = ''"
APPLYING = """
record = kn.runbooks.record('mine', params, globals())
with record:
    record.cluster = kn.connect(params.bootstrap)
    stage = record.cluster.new_stage()
    stage.set_quota('producer_byte_rate', 5_000_000, user=params.user)
    record.plan = stage.plan()
"""
FULL_AFTERWARDS = """
from tests.runbooks.test_unsaved_runs import fill
with record:
    record.apply()
    fill()
"""
FULL_BEFORE = FULL_AFTERWARDS.replace("    record.apply()\n    fill()", "    fill()\n    record.apply()")
KERNEL_DIES = FULL_AFTERWARDS.replace("    fill()", "    import os; os._exit(1)")
MARK = "the disk is full"


def fill() -> None:
    """From now on no file of the run can be written, here and in the launcher."""
    Path(MARK).touch()
    refuse_to_write(files._replacement)


def refuse_to_write(real: Callable[..., object]) -> None:
    def replacement(target: Path, mode: int) -> object:
        if Path(MARK).exists() and target.suffix in (".json", ".ipynb", ".html"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(target, mode)

    files._replacement = replacement


@pytest.fixture
def run(written, kafka, unique, tmp_path, monkeypatch, capfd) -> Callable[..., tuple[int, str, str]]:
    """`run(cell)` types `runbook run` for a runbook that plans, and goes on with this cell; code, error and user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_replacement", files._replacement)  # undone at the end
    refuse_to_write(files._replacement)

    def typed(cell: str) -> tuple[int, str, str]:
        user = unique("user")
        given = [word for pair in (f"bootstrap={kafka.bootstrap}", f"user={user}") for word in ("-p", pair)]
        code = terminal.run_line(["runbook", "run", str(written(DECLARED, APPLYING, cell)), *given, "-o", "out.ipynb"])
        return code, capfd.readouterr().err, user

    return typed


def limits(cluster: kn.Cluster, user: str) -> list[float]:
    return cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist()


@pytest.mark.parametrize("cell", [FULL_AFTERWARDS, KERNEL_DIES], ids=["full", "the kernel dies"])
def test_a_run_that_changed_the_cluster_and_cannot_be_saved_says_what_stays(cell, run, cluster):
    """'out.ipynb cannot be written', exit 1: the limit was set, and nothing said so."""
    code, complained, user = run(cell)
    (plan_id,) = [row["plan_id"] for row in cluster.plans.log().to_arrow().to_pylist() if user in row["what"]]
    short = plan_id[:8]
    assert (code, limits(cluster, user)) == (4, [5_000_000.0])
    assert f"plan {short} may have been sent in part" in complained
    assert f"kadmin-nb plan log {short} shows what was sent, kadmin-nb plan apply {short} continues" in complained


def test_a_run_that_cannot_be_saved_before_it_applies_sends_nothing(run, cluster):
    """Nothing had been sent, and it said that the cluster may have been changed."""
    code, complained, user = run(FULL_BEFORE)
    assert (code, limits(cluster, user)) == (1, [])
    assert "cannot be written: No space left on device" in complained
    assert "sent in part" not in complained


def apply_and_fill(record: Record) -> None:
    with record:
        record.apply()
        fill()


def test_under_papermill_alone_the_cell_says_what_stays(cluster, unique, tmp_path, monkeypatch):
    """Airflow's operator showed that mine.json cannot be written, and the limit was set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_replacement", files._replacement)
    record = Record("mine", {}, {})
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5_000_000, user=unique("user"))
    record.cluster, record.plan = cluster, stage.plan()
    with pytest.raises(kn.PartlyFailed) as raised:
        apply_and_fill(record)
    short = record.plan.id[:8]
    assert re.fullmatch(
        rf"\S+\.json cannot be written: No space left on device; plan {short} may have been sent in part",
        str(raised.value),
    )
    raised.value.syntax = hints.terminal
    assert f"kadmin-nb plan rollback {short} undoes it" in raised.value.hint
