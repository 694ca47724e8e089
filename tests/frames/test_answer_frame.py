"""The DataFrame that a cell gives: it shows its answer, and all that is made of it is pandas."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.audits import ConfigFindings
from kadmin_nb.cluster.resolving import EffectiveAnswer
from kadmin_nb.frames import schemas
from kadmin_nb.model.findings import WARNING, Coverage, Finding
from kadmin_nb.model.resources import Resource
from kadmin_nb.resolution.rules import explain, stored_of

QUOTA = {"entity": "user=a", "level": "USER", "user": "a", "key": "producer_byte_rate", "value": 1000.0}
HOSTILE = "</pre></td><script>alert(1)</script>\x1b[31m\u202e"


def answer(*users: str) -> kn.Answer:
    return kn.Answer(schemas.table(schemas.QUOTAS, ({**QUOTA, "user": user} for user in users)))


def frame(*users: str) -> Any:
    return answer(*users or ("a", "b", "c"))._in_cell()


PLAIN = {
    "head": lambda df: df.head(),
    "columns": lambda df: df[["user", "value"]],
    "mask": lambda df: df[df["value"] > 1],
    "slice": lambda df: df[:],
    "query": lambda df: df.query("value > 1"),
    "assign": lambda df: df.assign(big=True),
    "merge": lambda df: df.merge(df, on="user"),
    "concat": lambda df: pd.concat([df, df]),
    "sort": lambda df: df.sort_values("value"),
    "groupby": lambda df: df.groupby("level").sum(numeric_only=True),
    "DataFrame": lambda df: pd.DataFrame(df),
    "copy": lambda df: copy.deepcopy(df),
    "pickle": lambda df: pickle.loads(pickle.dumps(df)),
    "to_pandas": lambda df: df.to_pandas(),
}


@pytest.mark.parametrize("operation", PLAIN)
def test_what_is_made_of_it_is_a_plain_frame(operation):
    """My filtered frame went on saying 12 rows, and the title of the others."""
    assert type(PLAIN[operation](frame())) is pd.DataFrame


def test_it_is_a_dataframe_to_everybody():
    """I had to convert it before anything took it."""
    df = frame()
    assert (len(df), list(df["user"]), df.shape) == (3, ["a", "b", "c"], (3, 7))
    assert pl.from_pandas(df).height == pl.DataFrame(df).height == pa.table(df).num_rows == 3
    assert duckdb.sql("select sum(value) from df").fetchall() == [(3000.0,)]
    assert df.__dataframe__().num_rows() == 3


def test_it_shows_what_the_answer_shows():
    """The notebook's table lacked what the terminal showed below it."""
    quotas = answer("a")
    assert repr(quotas._in_cell()) == repr(quotas)
    assert quotas._in_cell()._repr_html_() == quotas._repr_html_()


@pytest.mark.parametrize(
    "change",
    [
        lambda df: df.__setitem__("big", True),
        lambda df: df.loc.__setitem__((2, "value"), 5.0),
        lambda df: df.sort_values("user", ascending=False, inplace=True),
        lambda df: df.drop(index=1, inplace=True),
        lambda df: setattr(df, "columns", list("abcdefg")),
    ],
)
def test_one_that_was_changed_in_place_shows_the_change(change):
    """I set a value, and the frame still showed the old one."""
    df = frame()
    change(df)
    assert repr(df) == repr(pd.DataFrame(df))
    assert df._repr_html_() == pd.DataFrame(df)._repr_html_()


def test_a_hostile_name_is_text_in_either_display():
    """The name was harmless until I added a column."""
    df = frame(HOSTILE)
    for _ in range(2):
        for shown in (repr(df), df._repr_html_()):
            assert not {"\x1b", "\u202e"} & set(shown)
        assert "<script" not in df._repr_html_()
        df["mine"] = 1


def test_pandas_own_limit_of_rows_holds():
    """pd.set_option("display.max_rows", None) did nothing."""
    df = frame(*map(str, range(100)))
    assert "100 rows, the first 60 shown; the DataFrame has all of it" in repr(df)
    with pd.option_context("display.max_rows", 3):
        assert "100 rows, the first 3 shown" in repr(df)
    with pd.option_context("display.max_rows", None):
        assert len(repr(df).splitlines()) == 102


def test_resolve_gives_its_reasons():
    """The notebook said 1000, and not why."""
    quotas = answer("a").to_arrow()
    reasons = explain(stored_of(quotas.to_pylist()), "a", "app", ["producer_byte_rate"])
    row = {"user": "a", "client_id": "app", "key": "producer_byte_rate", "value": 1000.0, "level": "USER"}
    df = EffectiveAnswer(schemas.table(schemas.EFFECTIVE, [row]), reasons)._in_cell()
    for shown in (repr(df), df._repr_html_()):
        assert (
            "1 limit applies to user=a client-id=app; 1 is shared by its client-ids that have no quota of their own"
            in shown
        )
        assert "1 kB/s" in shown
        assert "set on user=a; shared by its client-ids that have no quota of their own" in shown


FINDING = Finding("leftover", WARNING, "left", Resource("TOPIC", "t"), "k", fix="config reset k topic=t")


def test_advise_counts_and_says_what_mends():
    """The notebook cut the line that I was to type."""
    findings = ConfigFindings([FINDING])
    for shown in (repr(findings._in_cell()), findings._in_cell()._repr_html_()):
        assert "1 leftover: " in shown
        assert "config reset k topic=t" in shown
    assert findings._in_cell().answer is findings


def test_a_finding_shows_how_much_it_was_read_from():
    """It was concluded from one broker of three, and no line said so."""
    begin = datetime(2026, 11, 21, 10, tzinfo=UTC)
    some = Coverage(frozenset({1, 3}), frozenset({1, 2, 3}), begin, begin + timedelta(minutes=15), 42)
    phrase = "2 of 3 brokers (none of broker 2), 2026-11-21 10:00:00Z to 10:15:00Z, 42 rows"
    assert (str(some), some.missing) == (phrase, {2})
    assert phrase in repr(ConfigFindings([replace(FINDING, coverage=some)])._in_cell()).replace("\n", " ")
    of_nothing = Coverage(brokers=frozenset({1}))
    assert (str(of_nothing), of_nothing.missing) == ("", {1})
    assert str(Coverage(frozenset({1}), None, begin, begin + timedelta(days=1), 1)) == (
        "1 broker, 2026-11-21 10:00:00Z to 2026-11-22 10:00:00Z, 1 row"
    )


def test_rows_that_failed_are_counted_below_with_what_would_work():
    """One topic of thirty was forbidden, and only its cell said so."""
    rows = [
        {"resource_type": "TOPIC", "resource_name": "a", "key": "retention.ms", "value": "1"},
        {"resource_type": "TOPIC", "resource_name": "b", "error": "TOPIC_AUTHORIZATION_FAILED", "message": "no"},
    ]
    last = repr(kn.Answer(schemas.table(schemas.CONFIGS, rows))._in_cell()).splitlines()[-2:]
    assert last[0].startswith("PartlyFailed: 1 of 2 rows failed; the first: TOPIC_AUTHORIZATION_FAILED for TOPIC b")
    assert "DESCRIBE_CONFIGS" in last[1]
