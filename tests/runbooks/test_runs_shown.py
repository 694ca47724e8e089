"""What the terminal shows of a run: a report that begins with its verdict. No broker, no kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.runbooks.checks import Verdicts
from kadmin_nb.runbooks.launcher import Run
from kadmin_nb.runbooks.run_record import RunRecord

HOSTILE = "<img src=x onerror=alert(1)>"
CHANGE = {
    "row": 1, "kind": "quota", "op": "set", "resource": f"user={HOSTILE}", "key": "producer_byte_rate", "old": None,
    "wanted": "5000000", "after": "5000000", "old_known": True, "level": "USER", "validated": "ok", "note": None,
}  # fmt: skip
OUTCOME = {**CHANGE, "state": "verified", "error": None, "message": None, "brokers_agreeing": 1, "brokers": 1}
PLANNED: dict[str, Any] = {
    "runbook": "mine", "state": "planned", "ok": True, "changed": False, "written": "2026-11-22T10:00:00+00:00",
    "parameters": {"apply": False, "changes_id": ""}, "plan_id": "a" * 64, "changes_id": "b" * 64, "plan": [CHANGE],
    "error": None, "verdicts": [], "outcomes": [], "cluster_id": "here", "reason": HOSTILE,
}  # fmt: skip


def read(record: dict[str, Any]) -> RunRecord:
    return msgspec.convert(record, RunRecord)


@pytest.mark.parametrize(
    ("record", "lines"),
    [
        (PLANNED, ["mine: planned; 1 change, nothing was changed", "producer_byte_rate", "5 MB/s", "-p apply=true"]),
        ({**PLANNED, "state": "applied", "outcomes": [OUTCOME]}, ["mine: applied; 1 verified", "verified", "5 MB/s"]),
        ({**PLANNED, "state": "finished", "plan": []}, ["mine: finished\n"]),
    ],
    ids=["planned", "applied", "finished"],
)
def test_the_terminal_shows_what_was_planned_or_done(record: dict[str, Any], lines: list[str]) -> None:
    """It printed two hashes and three paths, and I opened the notebook to see what it would change."""
    text = repr(Run(Path("out.ipynb"), Path("out.json"), read(record)))
    assert not [line for line in lines if line not in text]
    assert text.endswith("out.ipynb\nout.json")


@pytest.mark.parametrize(
    ("verdicts", "finding"),
    [
        (["ok", "ok"], "2 checks are ok"),
        (["ok", "look", "not looked"], "1 of 2 checks needs a look, 1 skipped"),
        (["not looked"], "finished; 1 skipped"),
    ],
)
def test_a_report_counts_its_checks(verdicts: list[str], finding: str) -> None:
    """I added up the table."""
    rows = [{"check": f"check {n}", "verdict": word, "found": 0, "says": "so"} for n, word in enumerate(verdicts)]
    record = {**PLANNED, "state": "finished", "plan": [], "verdicts": rows}
    assert finding in repr(Run(Path("out.ipynb"), Path("out.json"), read(record)))


def test_a_check_shows_its_verdict_beside_its_rows() -> None:
    """Below *Something always comes first* stood: no rows."""
    verdicts = Verdicts()
    brokers = Answer(schemas.table(schemas.RUNBOOKS, [{"name": "user", "description": HOSTILE}]))
    assert repr(verdicts.look("a", [], look="Mend it.", ok="All is well.")) == "ok: All is well."
    look = verdicts.look("b", brokers, look="Mend it.", ok="All is well.")
    assert repr(look).startswith("look: Mend it.\nname")
    assert "<img" not in look._repr_html_()
    assert repr(verdicts.look("c", ["a callback"], look="They decide.", ok="None.")) == "look: They decide.\na callback"
    frame = pd.DataFrame({"name": ["ann", "bob"], "n": [1, 2]}).query("n > 1")
    assert "name  n\nbob   2" in repr(verdicts.look("c", frame, look="One.", ok="None."))
    assert repr(verdicts.pass_over("d", "usage is not set")) == "not looked: usage is not set"
