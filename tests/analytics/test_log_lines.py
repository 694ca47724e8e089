"""What the workers read out of the lines of a request log: all at once where that can be, else one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kadmin_nb.usage import log_lines

RECORDED = Path(__file__).parent / "recorded"
LINES = [line for file in sorted(RECORDED.rglob("request.log*")) for line in file.read_text().splitlines()]
FAST = next(line for line in LINES if '"clientId":"fast"' in line)
PLACES = ['"recordsSizeInBytes":', '"request":{', '"response":', '"correlationId":', "}", "[", '"', ",", "Completed"]


def read(*lines: str | bytes | None) -> list[dict[str, object]]:
    """The rows of one batch."""
    raw = [line.encode() if isinstance(line, str) else line for line in lines]
    text = pa.array(raw, pa.binary()).view(pa.string())
    return pa.table(log_lines.parsed_columns(text)[1]).to_pylist()


def alone(*lines: str) -> list[dict[str, object]]:
    """What a reading of each line by itself says."""
    return [row for line in lines for row in read(line)]


def test_arrow_says_what_a_plain_reader_says():
    """Both readers have to agree, or a row changes with its neighbours."""
    assert read(*LINES) == alone(*LINES)


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 18])
def test_empty_strings_are_found_across_blocks(size, monkeypatch):
    """An answer that is "" lies where one block ends and the next begins."""
    monkeypatch.setattr(log_lines, "BLOCK", size)
    text = bytearray(b'""{"a":"","b":"\\"\\"","c":"""')
    assert list(log_lines._empty_strings(text)) == [at for at in range(len(text)) if text.startswith(b'""', at)]


@st.composite
def damaged(draw):
    """Recorded lines, some cut short, doubled, or with a piece put in or taken out."""
    lines = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=60))
    for row in draw(st.lists(st.integers(0, len(lines) - 1), max_size=20)):
        line, piece = lines[row], draw(st.sampled_from(PLACES))
        at = draw(st.integers(0, len(line)))
        kinds = [line[:at], line[:at] + line, line[:at] + piece + line[at:], line.replace(piece, "", 1), piece]
        lines[row] = draw(st.sampled_from(kinds))
    return lines


@pytest.mark.slow
@settings(max_examples=150)
@given(damaged())
def test_damaged_lines_say_the_same_among_others(lines):
    """One broken line took its neighbours with it."""
    assert read(*lines) == alone(*lines)


def test_a_broken_line_takes_no_other_with_it():
    """A file of a thousand lines with ten broken ones was empty."""
    broken = FAST.replace('"topicData":[', '"topicData":[[}', 1)
    rows = read(*[broken if number % 100 == 50 else FAST for number in range(1_000)])
    assert [number for number, row in enumerate(rows) if row["api"] is None] == list(range(50, 1_000, 100))
    assert {row["produced"] for row in rows} == {504507, None}


def test_two_documents_in_a_line_do_not_move_the_rest():
    """From there on each client had its neighbour's bytes."""
    document = FAST[FAST.index("{") : FAST.rindex("}") + 1]
    twice = FAST.replace(document, document.replace('"fast"', '"first"') + document)
    assert [row["client_id"] for row in read(FAST, twice, LINES[0])][:2] == ["fast", "first"]
    assert read(twice, LINES[0])[1] == read(LINES[0])[0]


VALUES = {
    "too large": ("correlationId", "5000000000", None),
    "true": ("correlationId", "true", None),
    "a fraction": ("correlationId", "1.5", None),
    "a text": ("correlationId", '"4"', None),
    "null": ("correlationId", "null", None),
    "not a number": ("localTimeMs", '"soon"', None),
    "a whole number": ("localTimeMs", "3", 3.0),
    "a number for a name": ("connection", "7", None),
    "a surrogate alone": ("connection", '"\\ud800"', None),
    "deep": ("connection", "[" * 100_000 + "]" * 100_000, None),
}


@pytest.mark.parametrize(("name", "value", "meant"), VALUES.values(), ids=VALUES)
def test_values_of_another_kind_are_none(name, value, meant):
    """A client's correlation id overflowed, and the log was unreadable."""
    its = json.loads(FAST[FAST.index("{") : FAST.rindex("}") + 1])
    was = its["requestHeader"].get(name, its.get(name))
    line = FAST.replace(f'"{name}":{json.dumps(was)}', f'"{name}":{value}')
    assert line != FAST
    column = {"correlationId": "correlation_id", "localTimeMs": "io_ms", "connection": "connection"}[name]
    (row, other) = read(line, FAST)
    assert row[column] == meant
    assert other == read(FAST)[0]


def test_bytes_that_are_no_text():
    """An editor had saved the log as Latin-1."""
    (row, other) = read(FAST.replace('"fast"', '"caf\xe9"').encode("latin-1"), FAST)
    assert (row["client_id"], other["client_id"]) == ("caf\ufffd", "fast")


def test_no_line_and_an_empty_one():
    """A table of lines had nulls."""
    assert [row["written"] for row in read(None, "", FAST, "x")] == [None, None, "2026-11-21 11:59:51.129", None]
    assert read(None, "")[0]["api"] is None


def test_threads_of_many_names_in_front():
    """The pattern had %t, and all but one length of prefix were read one by one."""
    lines = [FAST.replace("DEBUG", f"DEBUG {'x' * number}") for number in range(30)]
    assert {row["client_id"] for row in read(*lines)} == {"fast"}


def test_a_batch_that_is_a_part_of_another():
    """Arrow's slices begin elsewhere."""
    text = pa.array(["y", *LINES, "z"]).slice(1, len(LINES))
    texts, columns = log_lines.parsed_columns(text)
    assert texts.to_pylist() == LINES
    assert columns["api"].to_pylist() == [row["api"] for row in read(*LINES)]
