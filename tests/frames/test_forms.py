"""One answer, three forms, the same columns."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.markup import document
from kadmin_nb.frames.render import text_of_blocks

ALL = {name: frame.schema for name, frame in schemas.FRAMES.items()}
ALL |= {"EFFECTIVE_WIDE": schemas.effective_wide(["producer_byte_rate"]), "OVERRIDDEN": schemas.effective(True)}

HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred", "\u202eevil", "a\nb", "</td><img src=x onerror=alert(1)>"]


@pytest.mark.parametrize("name", ALL)
def test_no_rows_have_all_columns(name: str) -> None:
    """The empty frame had no columns."""
    empty = kn.Answer(schemas.table(ALL[name], []))
    assert list(empty.to_pandas().columns) == ALL[name].names
    assert empty.to_arrow().schema.equals(ALL[name])
    assert list(pd.DataFrame(empty, columns=empty.columns).columns) == ALL[name].names
    assert empty.ok
    assert len(empty) == 0


def test_pandas_has_plain_strings() -> None:
    """`df.level == "USER"` worked and `groupby` listed levels that were not there."""
    rows = [{"entity": "user=a", "level": "USER", "user": "a", "key": "producer_byte_rate", "value": 1.0}]
    frame = kn.Answer(schemas.table(schemas.QUOTAS, rows)).to_pandas()
    assert frame["level"].tolist() == ["USER"]
    assert str(frame["level"].dtype) in ("object", "str")  # pandas 3 has a type of its own for them


ROWS = [{"name": "alice", "rate": 1.5}, {"name": "bob", "rate": None}]


@pytest.mark.parametrize("library", [pa.table, pd.DataFrame, pl.DataFrame], ids=lambda one: one.__module__)
def test_every_frame_library_takes_it(library) -> None:
    """polars wanted a detour over pandas, and `pd.DataFrame(answer)` was not properly called."""
    frame = library(kn.Answer(pa.Table.from_pylist(ROWS)))
    assert [*frame["name"]] == ["alice", "bob"] or frame["name"].to_pylist() == ["alice", "bob"]
    assert frame.shape == (2, 2)


def test_a_script_reads_an_answer_without_a_frame_library() -> None:
    """For two values of ten rows I had to learn Arrow first."""
    answer = kn.Answer(pa.Table.from_pylist(ROWS))
    assert (answer.columns, len(answer), [*answer]) == (["name", "rate"], 2, ROWS)
    assert answer["rate"].to_pylist() == [1.5, None]
    assert [*answer.head(1)] == ROWS[:1]
    with pytest.raises(kn.UsageError, match="no column 'nmae'") as refused:
        answer["nmae"]
    assert refused.value.hint == "Did you mean name?"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless(name: str) -> None:
    """A client-id is chosen by whoever connects."""
    table = pa.table({"client_id": [name], name: ["x"]})
    page, shown = document(table), text_of_blocks(table)
    assert "<script" not in page
    assert "<img" not in page
    assert all(c not in page + shown for c in "\x1b\u202e")
    assert len(shown.splitlines()) == 3


def test_a_table_says_true_and_false() -> None:
    """True and False are Python's words; Kafka's are true and false."""
    shown = repr(kn.Answer(pa.table({"is_sensitive": [True, False, None]})))
    assert shown.split() == ["sensitive", "true", "false", "3", "rows"]


def test_a_long_frame_shows_its_head_and_says_how_to_get_the_rest() -> None:
    """A hundred thousand rows filled the notebook."""
    shown = text_of_blocks(pa.table({"a": list(range(100_000))}))
    assert "100,000 rows, the first 60 shown" in shown


def test_without_spark_it_says_so(monkeypatch) -> None:
    """`--as spark` said ModuleNotFoundError, five screens of it."""
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(kn.errors.Unsupported, match="pyspark is not installed") as raised:
        kn.Answer(pa.table({"a": [1]})).to_spark()
    assert "pip install" in raised.value.hint


@pytest.mark.spark
@pytest.mark.parametrize("name", ALL)
def test_spark_has_the_same_columns(name: str) -> None:
    """A dictionary-encoded column was a struct in Spark."""
    frame = kn.Answer(schemas.table(ALL[name], [])).to_spark()
    assert frame.columns == ALL[name].names
    assert "dictionary" not in str(frame.schema)


@pytest.mark.spark
def test_no_row_after_an_empty_batch_is_lost_in_spark() -> None:
    """One cluster had no quotas, and those that came after it were not in the fleet."""
    parts = [pa.table({"a": pa.array(values, pa.int64())}) for values in ([1], [], [2])]
    rows = kn.Answer(pa.concat_tables(parts)).to_spark().collect()
    assert sorted(row.a for row in rows) == [1, 2]


@pytest.mark.spark
def test_the_local_session_is_shared() -> None:
    """Each call started a session of its own."""
    assert kn.spark_session() is kn.spark_session()
