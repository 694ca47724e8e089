"""Plan files, approvals and journals that earlier versions wrote: they are read, carried on and taken back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.approved.conftest import CLUSTER_ID
from tests.approved.transcript import Transcript

SAVED = sorted((Path(__file__).parent / "saved").glob("*.json"))


@pytest.mark.parametrize("place", SAVED, ids=lambda path: path.stem)
def test_a_saved_plan_keeps_its_id_and_its_rows(place, snapshot):
    """The plan that was approved last week had another id in the new version."""
    plan = kn.Plan.load(place)
    rows = [tuple(row.values()) for row in plan.to_arrow().drop_columns(["note", "validated"]).to_pylist()]
    assert (plan.id, plan.changes_id, rows) == snapshot


@pytest.mark.broker
def test_a_saved_journal_is_read_carried_on_and_taken_back(kadmin, notebook, desk, seeded, snapshot):
    """The run that an upgrade interrupted could neither be resumed nor rolled back."""
    begun, applied = (next(place for place in SAVED if place.stem == stem) for stem in ("begun", "applied"))
    journals = desk / "state" / "journal" / CLUSTER_ID
    journals.mkdir(parents=True)
    for place in (begun, applied):
        shutil.copy(place.with_suffix(".jsonl"), journals / f"{kn.Plan.load(place).id}.jsonl")
    (resumed, undone) = (kn.Plan.load(place).id for place in (begun, applied))
    with seeded.connect() as cluster:
        stage = cluster.new_stage()
        stage.add("set producer_byte_rate=5MB/s user=carol\nset producer_byte_rate=600kB/s user=alice")
        stage.plan().apply().raise_for_errors()
    transcript = Transcript(kadmin, notebook, desk, seeded.bootstrap)
    lines = (
        f"plan log {resumed}",
        f"plan apply {resumed}",
        f"plan verify {undone}",
        f"plan rollback {undone} --apply",
    )
    assert transcript.type(lines) == snapshot
