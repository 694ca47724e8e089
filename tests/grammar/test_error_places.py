"""Errors that get a place keep all else that they carry."""

from __future__ import annotations

import pickle

import pytest

from kadmin_nb.errors import Conflict, Invalid, KadminError, PartlyFailed, UsageError
from kadmin_nb.hints import Hint, Option, sentence, terminal
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.change_lines import edits

ALICE = (Entity.parse("user=alice"), "producer_byte_rate")


def test_a_place_is_added_and_nothing_is_lost() -> None:
    """The file's name was put before the error, and the rows that had moved were gone from it."""
    conflict = Conflict("1 row moved", code="CONFLICT", hint="Plan again.", targets=[ALICE])
    conflict.rows = ["the row"]
    placed = conflict.within("clusters.yaml").within("run 3")
    assert (type(placed), str(placed)) == (Conflict, "run 3: clusters.yaml: 1 row moved")
    assert (placed.code, placed.hint, placed.targets, placed.rows) == ("CONFLICT", "Plan again.", (ALICE,), ["the row"])
    assert str(conflict) == "1 row moved"


def test_outcomes_stay_with_an_error_that_gets_a_place() -> None:
    """Some rows failed, in line 3, and which they were nobody could ask any more."""
    assert PartlyFailed("1 of 2 failed", outcomes=[1, 2]).within("line 3").outcomes == [1, 2]


def test_a_hint_is_still_spelled_by_its_door_after_a_place_was_added() -> None:
    """The terminal told me to write allow_unknown=['x'], because the hint had become Python's on its way."""
    placed = UsageError(
        "unknown key x", hint=Hint(sentence("Confirm with {}.", Option("allow_unknown", ["x"])))
    ).within("line 1")
    placed.syntax = terminal
    assert placed.hint == "Confirm with --allow-unknown x."


def test_targets_survive_a_process() -> None:
    """A worker's error came back without the entity that it was about."""
    error: KadminError = pickle.loads(pickle.dumps(Invalid("too large", targets=[ALICE])))
    assert error.targets == (ALICE,)


def test_a_wrong_line_keeps_its_code_and_hint() -> None:
    """Line 2 was wrong, and the hint that a correct message would have had was not there."""
    with pytest.raises(UsageError, match=r"^line 2: retention\.mss has a value$") as raised:
        edits("reset retention.ms topic=orders\nreset retention.mss=1 topic=orders")
    assert raised.value.hint == "Name the key alone: retention.mss"
