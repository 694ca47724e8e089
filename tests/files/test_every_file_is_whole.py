"""Plans, frames, exports, reports and records on a full disk: what was there stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb import files
from kadmin_nb.commands.session import PlanOptions, save
from kadmin_nb.frames import frame_files as frames
from kadmin_nb.model.changes import OK, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.approval import approved
from kadmin_nb.plans.plan import Plan, document_of, with_head
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.runbooks.run_record import RunRecord
from tests.full_disk import killed_before_call, no_more_than

AT = "2026-08-01T12:00:00.000000+00:00"
ROWS = tuple(
    Change(n, "set", Entity.of({"user": f"user-{n}"}), "producer_byte_rate", None, "5", "5", validated=OK)
    for n in range(1, 51)
)
PLAN = Plan(PlanHead("cluster-id", AT, "because", author="User:alice (a@b)"), ROWS)
APPROVED = approved(PLAN, "User:bob (b@b)", AT, "read it")
TABLE = pa.table({"user": [f"user-{n}" for n in range(1000)]})
RECORD = RunRecord(runbook="mine", state="planned", ok=True, parameters={"user": "x" * 1000})

WRITERS: dict[str, Callable[[Path], object]] = {
    "a plan": lambda place: APPROVED.save(place),
    "a plan in another's place": lambda place: PLAN.save(place, overwrite=True),
    "--save": lambda place: save(APPROVED, PlanOptions(save=str(place), force=True)),
    "csv": lambda place: frames.write_table(TABLE, place.with_suffix(".csv")),
    "json": lambda place: frames.write_table(TABLE, place.with_suffix(".json")),
    "parquet": lambda place: frames.write_table(TABLE, place.with_suffix(".parquet")),
    "the record of a run": lambda place: RECORD.write(place),
}


@pytest.mark.parametrize("name", WRITERS)
def test_on_a_full_disk_what_was_there_stays(name, tmp_path):
    """The disk was full: the reviewed plan had zero bytes, and the tool said NotFound."""
    written = tmp_path / "written"
    written.mkdir()
    WRITERS[name](written / "p.json")
    [place] = written.iterdir()
    for before in (place.read_bytes(), None):
        if before is None:
            place.unlink()
        with no_more_than(100), pytest.raises(kn.Invalid, match="cannot be written: File too large") as raised:
            WRITERS[name](written / "p.json")
        assert raised.value.code == "EFBIG"
        assert [one.read_bytes() for one in written.iterdir()] == ([before] if before else [])


@pytest.mark.slow
def test_an_approval_that_is_killed_loses_no_plan(tmp_path):
    """`plan approve` was killed at the wrong moment, and the reviewed plan was gone: 11 times of 15."""
    place = tmp_path / "p.json"
    notes = []
    for number in range(1, 300):
        place.unlink(missing_ok=True)
        PLAN.save(place)
        was_killed = killed_before_call(number, lambda: APPROVED.save(place), files.__file__)
        loaded = Plan.load(place)
        assert loaded == PLAN
        notes.append(len(loaded.notes))
        if not was_killed:
            break
    assert set(notes) == {0, 1}
    assert notes[-1] == 1


SOMETHING_ELSE: dict[str, tuple[Callable[[Path], object], str]] = {
    "another plan": (
        lambda place: with_head(PLAN, reason="another").save(place),
        "it holds another plan, ",
    ),
    "no plan": (lambda place: place.write_text("my notes"), "it is not a plan that can be read"),
    "a plan that was edited": (lambda place: place.write_text(document_of(PLAN).replace("5", "6")), "it is not a plan"),
    "an approval": (lambda place: APPROVED.save(place), "the same plan there has notes that this one lacks"),
}


@pytest.mark.parametrize("name", SOMETHING_ELSE)
def test_another_plan_is_not_overwritten(name, tmp_path):
    """I pressed the arrow key and Enter, and the plan that three people had approved was another."""
    place = tmp_path / "p.json"
    write, why = SOMETHING_ELSE[name]
    write(place)
    before = place.read_bytes()
    with pytest.raises(kn.UsageError, match=f"p.json was not overwritten: {why}") as refused:
        PLAN.save(place)
    assert refused.value.hint == "Save the plan under another name. overwrite=True replaces the file."
    assert place.read_bytes() == before
    PLAN.save(place, overwrite=True)
    assert Plan.load(place) == PLAN


def test_the_same_plan_may_be_saved_again(tmp_path):
    """It gains approvals, one after the other; and a script hands it an empty file of mktemp's."""
    place = tmp_path / "p.json"
    place.touch()
    for plan in (PLAN, PLAN, APPROVED, approved(APPROVED, "User:carol (c@c)", AT)):
        assert Plan.load(plan.save(place)).notes == plan.notes
