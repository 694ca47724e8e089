"""S3: an export starts no formula, and is read back as it was."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.frame_files import read_table, write_table
from tests.hostile_names import HOSTILE

FORMULAS = ("=1+1", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\0=1", " =1", "\u00a0=1", "\uff1d1", "\uff20x",
            "=cmd|' /C calc'!A0", "'=1", "''=1", "'", "''", "'alice", "it's", "a\r=1", "a\n=1", 'a"\r=1', '"=1"', "\t",
            "a,=1", 'a",=1', "-", "")  # fmt: skip
NAMES = [*HOSTILE, *FORMULAS]
STARTS = tuple("=+-@\t\r\n\0\uff0b\uff0d\uff1d\uff20")


def table(names: list[str]) -> pa.Table:
    rows = [{"entity": n, "level": "USER", "user": n, "key": "producer_byte_rate", "value": -1.5} for n in names]
    return schemas.table(schemas.QUOTAS, rows)


def cells(place: Path) -> list[list[str]]:
    """What another program makes of it."""
    with place.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_no_cell_of_a_csv_file_starts_a_formula(tmp_path):
    """A client called =cmd|… opened a shell on the machine of who opened the export."""
    write_table(table(NAMES), tmp_path / "x.csv")
    rows = cells(tmp_path / "x.csv")
    assert len(rows) == len(NAMES) + 1
    texts = [cell for row in rows for cell in row[:-1]]
    assert not [cell for cell in texts if cell.lstrip().startswith(STARTS) or cell.startswith(STARTS)]
    assert {row[-1] for row in rows[1:]} == {"-1.5"}


def test_what_was_exported_is_read_back(tmp_path):
    """The client =1 had become '=1 when I loaded my own file, and got another quota."""
    write_table(table(NAMES), tmp_path / "x.csv")
    back = read_table(tmp_path / "x.csv")
    assert back["user"].to_pylist() == NAMES
    assert back["value"].to_pylist() == ["-1.5"] * len(NAMES)


@pytest.mark.slow
@given(st.lists(st.text(st.sampled_from("'=+-@\t\r\n\0 \"a,\uff1d")), min_size=1, max_size=5))
def test_any_text_comes_back(tmp_path_factory, texts):
    """A name that began with two quotes lost one."""
    place = tmp_path_factory.getbasetemp() / "any.csv"
    frame = pa.table({"a": texts, "b": [1] * len(texts)})
    write_table(frame, place)
    assert read_table(place)["a"].to_pylist() == texts
    assert not [cell for cell, _ in cells(place) if cell.startswith(STARTS)]


def test_a_column_that_is_a_formula(tmp_path):
    """A quota key is a column of the wide frame, and somebody had named one =1."""
    write_table(pa.table({"=1": ["a"], "user": ["b"]}), tmp_path / "x.csv")
    assert cells(tmp_path / "x.csv")[0] == ["'=1", "user"]
    assert read_table(tmp_path / "x.csv").column_names == ["=1", "user"]


@pytest.mark.parametrize("kind", [".parquet", ".json", ".jsonl"])
def test_other_files_have_the_names_as_they_are(tmp_path, kind):
    """The quote was in the Parquet file too."""
    place = tmp_path / f"x{kind}"
    write_table(table(NAMES), place)
    if kind == ".parquet":
        assert pyarrow.parquet.read_table(place)["user"].to_pylist() == NAMES
    else:
        rows = map(json.loads, place.read_text().splitlines()) if kind == ".jsonl" else json.loads(place.read_text())
        assert [row["user"] for row in rows] == NAMES


def test_a_foreign_file_keeps_its_quotes(tmp_path):
    """The user 'alice' of the other tool came in as alice'."""
    (tmp_path / "x.csv").write_text("user\n'alice'\n'007\n")
    assert read_table(tmp_path / "x.csv")["user"].to_pylist() == ["'alice'", "'007"]


def test_no_rows_and_nothing_at_all(tmp_path):
    """An empty answer could not be exported."""
    write_table(table([]), tmp_path / "x.csv")
    assert read_table(tmp_path / "x.csv").column_names == schemas.QUOTAS.names
    answer = kn.Answer(schemas.table(schemas.CONFIGS, [{"resource_type": "TOPIC", "resource_name": "-x"}]))
    write_table(answer.to_arrow(), tmp_path / "y.csv")
    assert read_table(tmp_path / "y.csv")["resource_name"].to_pylist() == ["-x"]
