"""Frames as they are declared: a table knows which one it is, and a column means the same wherever it stands."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import blocks, meanings, schemas, views
from kadmin_nb.frames.frame import MEASURED, OF_KEY
from kadmin_nb.frames.schemas import stamped

LOOKS = {blocks.NAME, blocks.KEY, blocks.BADGE, blocks.PROSE, blocks.BELOW, ""}
UNITS = {*meanings.UNITS, *meanings._UNITS, OF_KEY, MEASURED, ""}
EVERY = [(frame, field) for frame in schemas.FRAMES.values() for field in frame.fields.values()]


@pytest.mark.parametrize("name", schemas.FRAMES)
def test_a_table_carries_the_name_of_its_frame(name):
    """Two columns of my notebook's own beside the quotas, and their title was gone: the view had been guessed."""
    answer = stamped(schemas.FRAMES[name].empty(), "c1").append_column("mine", pa.array([], pa.string()))
    assert answer.schema.metadata[b"kadmin.frame"].decode() == name
    assert schemas.frame_of(answer) is schemas.FRAMES[name]
    assert kn.Answer(answer).to_pandas().attrs["kadmin.frame"] == name


@pytest.mark.parametrize(
    "name",
    sorted(
        {*schemas.FRAMES} - {"SNAPSHOT_QUOTAS", "SNAPSHOT_CONFIGS", "SNAPSHOT_CLIENT_CONFIGS", "SNAPSHOT_CREDENTIALS"}
    ),
)
def test_a_frame_that_lost_its_name_is_known_by_its_columns(name):
    """Through pandas and back, the usage was shown in bytes without their unit."""
    nameless = schemas.FRAMES[name].empty().replace_schema_metadata()
    assert schemas.frame_of(nameless) is schemas.FRAMES[name]
    assert schemas.frame_of(nameless.append_column("why", pa.array([], pa.string()))) is schemas.FRAMES[name]


def test_a_table_of_somebody_else_with_the_same_words_is_no_frame_of_ours():
    """My own list of brokers, of texts, was a traceback: the number of fenced ones could not be added up."""
    theirs = pa.table({name: ["x"] for name in schemas.BROKERS.names})
    assert schemas.frame_of(theirs) is None
    assert "x" in kn.Answer(theirs).as_text()


def test_a_table_without_the_columns_of_its_name_is_another():
    """A table of three columns had the name of one of thirteen, and showed nothing."""
    some = schemas.CONFIGS.empty().select(["key", "value"])
    assert schemas.frame_of(some) is None
    assert schemas.field_of(some, "key").look == blocks.KEY


TABLES = {"PLANNED_CHANGES", "UTILISATION_DAILY", "ALERTS", "USAGE_TOTALS"}
"""Frames that are tables of Arrow or Spark alone: no answer shows them."""


@pytest.mark.parametrize("name", sorted({*schemas.FRAMES} - TABLES))
def test_one_thing_has_one_name_in_the_heads_of_a_frame(name):
    """A client config had two columns *who*, credentials *who* and *user*, and a history of quotas no times."""
    frame = schemas.FRAMES[name]
    table = frame.empty()
    parts = [word.rstrip("!") for word in (frame.shown or " ".join(frame.names)).replace(views.KEYS, "key").split()]
    heads = [meanings.part(part, table).heading for part in parts]
    assert len({*heads}) == len(heads)
    assert {"entity", "resource", "bucket", "subject", "set by", "user", "was", "old", "new"}.isdisjoint(heads)
    assert "valid_from" not in frame.names or {"valid from", "valid to"} <= {*heads}


def test_each_unit_and_look_is_one_that_somebody_writes():
    """A unit was mistyped, and milliseconds were shown as bare numbers."""
    assert {field.unit for _, field in EVERY} <= UNITS
    assert {field.look for _, field in EVERY} <= LOOKS


def test_a_column_means_the_same_in_every_frame():
    """In one frame `throttle_ms` was a length of time, in another a number."""
    written: dict[object, set[object]] = {}
    for _, field in EVERY:
        look = blocks.PROSE if field.look == blocks.BELOW else field.look  # a sentence in another place
        written.setdefault((field.name, str(field.type)), set()).add((field.unit, look))
    assert {column: ways for column, ways in written.items() if len(ways) > 1} == {}


def test_a_column_of_ours_and_a_column_of_mine_are_both_shown():
    """I added a column to the quotas, and their table went on as if it were not there."""
    row = {"entity": "user=a", "level": "USER", "user": "a", "key": "producer_byte_rate", "value": 5e6}
    table = schemas.table(schemas.QUOTAS, [row]).append_column("team", pa.array(["blue"]))
    assert repr(kn.Answer(table)).splitlines()[:2] == [
        "1 quota on user=a",
        "   who     key                  limit  team",
    ]
