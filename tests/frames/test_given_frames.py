"""A frame that somebody made: a cell that does not fit is refused by its row and column, wherever it is given."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.resolving import pairs_of
from kadmin_nb.frames import schemas
from kadmin_nb.frames.given_frames import table_of
from kadmin_nb.plans.change_lines import frame_edits
from kadmin_nb.plans.kinds import CONFIGS as CONFIG_KIND
from kadmin_nb.plans.kinds import QUOTAS as QUOTA_KIND
from kadmin_nb.resolution.kernel import resolve
from kadmin_nb.resolution.shadows import tree
from kadmin_nb.runbooks import cells
from kadmin_nb.usage.engines import placed_usage

QUOTAS = pa.table(
    {"level": ["USER"], "user": ["a"], "client_id": pa.nulls(1, pa.string()), "key": ["request_percentage"]}
).append_column("value", [[1.0]])
TAKERS = {
    "resolve": lambda frame: resolve(QUOTAS, frame),
    "pairs": pairs_of,
    "usage": placed_usage,
    "a runbook's clients": cells.clients,
}
USERS = {
    "a number beside a text": (["alice", 5], "row 2 of the ([a-z]+): user is of type int, not text"),
    "a text beside a number": ([5, "alice"], "row 1 of the ([a-z]+): user is of type int, not text"),
    "a truth": (["alice", None, True], "row 3 of the ([a-z]+): user is of type bool, not text"),
    "half a pair": (["alice", "\ud800"], "user of the ([a-z]+) holds what a column cannot hold"),
    "a list": (["alice", ["bob"]], "row 2 of the ([a-z]+): user is of type list, not text"),
    "a number of 5,000 digits": (["alice", 10**5000], "row 2 of the ([a-z]+): user is of type int, not text"),
}


@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize(("cells", "words"), USERS.values(), ids=USERS)
def test_a_name_that_is_no_text(name, cells, words):
    """`user=5` among two million pairs: Expected bytes, got a 'int' object."""
    with pytest.raises(kn.UsageError, match=f"^{words}$") as refused:
        TAKERS[name](pd.DataFrame({"user": cells, "client_id": ["app"] * len(cells)}, dtype=object))
    assert refused.value.__context__ is None


VALUES = {
    "a text beside numbers": ([1.0, "s3cret"], "row 2 of the configs: value is of type str, not float"),
    "a number beside texts": (["s3cret", 5], "row 2 of the configs: value is of type int, not text"),
    "a large number": ([5, 10**30], "value of the configs holds what a column cannot hold"),
    "half a pair": (["x", "s3cret\ud800"], "value of the configs holds what a column cannot hold"),
    "a dict": ([5, {"s3cret": 1}], "row 2 of the configs: value is of type dict, not int"),
}


@pytest.mark.parametrize(("cells", "words"), VALUES.values(), ids=VALUES)
def test_a_value_is_never_repeated(cells, words):
    """Arrow's error had my password in it."""
    with pytest.raises(kn.UsageError) as refused:
        table_of(pd.DataFrame({"value": cells}, dtype=object), "the configs")
    assert str(refused.value) == words


def test_a_column_that_is_there_twice():
    """pandas refused it: Duplicate column names found."""
    frame = pd.DataFrame([["a", "b"]], columns=["user", "user"])
    with pytest.raises(kn.UsageError, match=r"^two columns of the pairs are called user$"):
        table_of(frame, "the pairs")


PAIRS = {
    "no pair": ([("a", "b"), ("c",)], "row 2 of the pairs is not a pair"),
    "three names": ([("a", "b", "c")], "row 1 of the pairs is not a pair"),
    "a text": (["ab"], "row 1 of the pairs is not a pair"),
    "a number": ([("a", "b"), (5, "b")], "row 2 of the pairs: user is of type int, not text"),
    "half a pair": ([("a", "\ud800")], "client_id of the pairs holds what a column cannot hold"),
}


@pytest.mark.parametrize(("pairs", "words"), PAIRS.values(), ids=PAIRS)
def test_a_list_of_what_are_no_pairs(pairs, words):
    """One of my pairs was a triple: too many values to unpack."""
    with pytest.raises(kn.UsageError, match=f"^{words}$"):
        pairs_of(pairs)


def test_a_column_of_numbers_is_none_of_names():
    """pandas had read my users as numbers, and the request to the broker failed."""
    with pytest.raises(kn.UsageError, match=r"^row 2 of the pairs: user is of type int, not text$"):
        pairs_of(pa.table({"user": pa.array([None, 5]), "client_id": ["a", "b"]}))
    assert pairs_of(pd.DataFrame({"user": ["a"], "client_id": [float("nan")]})).num_rows == 1


def configs(**columns):
    return pd.DataFrame(
        {
            "resource_type": ["TOPIC", "TOPIC"],
            "resource_name": ["a", "b"],
            "key": ["retention.ms", "retention.ms"],
            "value": ["5", "6"],
            "source": ["DYNAMIC_TOPIC_CONFIG"] * 2,
            "is_sensitive": [False, False],
            "is_read_only": [False, False],
            "type": ["LONG", "LONG"],
            **columns,
        }
    )


def quotas(**columns):
    rows = {"entity": ["user=a", "user=b"], "level": ["USER"] * 2, "user": ["a", "b"], "client_id": [None] * 2}
    return pd.DataFrame({**rows, "ip": [None] * 2, "key": ["request_percentage"] * 2, "value": [5.0, 6.0], **columns})


def _views(table):
    """With the texts that Polars and others have."""
    kinds = [pa.string_view() if pa.types.is_string(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _decimals(table):
    """With the numbers that databases have."""
    exact = pa.array([Decimal(str(cell)) for cell in table["value"].to_pylist()], pa.decimal128(20, 2))
    return table.set_column(table.column_names.index("value"), "value", exact)


FORMS = {
    "decimals": _decimals,
    "decimals of pandas": lambda table: _decimals(table).to_pandas(),
    "decimals of Polars": lambda table: pl.from_arrow(_decimals(table)),
    "Polars": pl.from_arrow,
    "Polars' categories": lambda table: pl.from_arrow(table).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "string views": _views,
    "large texts": lambda table: pl.from_arrow(table).to_arrow(compat_level=pl.CompatLevel.oldest()),
    "categories": lambda table: table.to_pandas().astype({"user": "category", "client_id": "category"}),
}
STORED = schemas.table(
    schemas.QUOTAS,
    [
        {"entity": f"user={user}", "level": "USER", "user": user, "key": "request_percentage", "value": 5.0}
        for user in ("alice", "bob")
    ],
)
USED = schemas.table(
    schemas.USAGE,
    [
        {
            "broker": 1,
            "window_start": datetime(2026, 11, 24, tzinfo=UTC),
            "window_end": datetime(2026, 11, 24, 0, 0, 1, tzinfo=UTC),
            "user": "alice",
            "client_id": "app",
            "key": "request_percentage",
            "value": 1.0,
            "source": "s",
        }
    ],
)
CLIENTS = pa.table({"user": ["alice", None], "client_id": ["app", None]})
QUOTA_READERS = {
    "resolve": lambda frame: resolve(frame, CLIENTS[:1]),
    "chart": kn.charts.hierarchy,
    "tree": tree,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", QUOTA_READERS)
def test_quotas_in_every_form(name, form):
    """Of a Polars frame: array_take has no kernel matching input types (string_view, int64)."""
    assert QUOTA_READERS[name](FORMS[form](STORED)) is not None


@pytest.mark.parametrize("form", FORMS)
def test_the_values_of_every_form(form):
    """A table of limits in a database has DECIMAL(20, 2): value of the quotas is decimal128(20, 2), not a number."""
    limits = resolve(FORMS[form](STORED), CLIENTS[:1]).to_pylist()
    assert [row["value"] for row in limits if row["key"] == "request_percentage"] == [5.0]
    edits = frame_edits(FORMS[form](STORED), QUOTA_KIND)
    assert [(str(edit.resource), edit.value) for edit in edits] == [("user=alice", "5"), ("user=bob", "5")]


def test_a_config_of_a_decimal_has_the_digits_of_a_number():
    """`retention.ms=604800000.00` of a DECIMAL(20, 2), which no broker takes."""
    exact = pa.array([Decimal("604800000.00"), Decimal("0.50")], pa.decimal128(20, 2))
    frame = pa.table({
        "resource_type": ["TOPIC"] * 2, "resource_name": ["a"] * 2,
        "key": ["retention.ms", "min.cleanable.dirty.ratio"], "value": exact,
    })  # fmt: skip
    assert [edit.value for edit in frame_edits(frame, CONFIG_KIND)] == ["604800000", "0.5"]


@pytest.mark.parametrize("form", FORMS)
def test_usage_in_every_form(form):
    """The same, of a USAGE frame that was read with Polars."""
    used = FORMS[form](USED)
    assert kn.usage.utilisation(used, STORED).num_rows == 1
    assert kn.charts.usage(used) is not None


@pytest.mark.broker
@pytest.mark.parametrize("form", [*(form for form in FORMS if "decimals" not in form), "no rows", "no client-id"])
def test_pairs_in_every_form(cluster, form):
    """quotas.resolve of categories, of no rows, of a column of nothing: Array type doesn't match type of values set."""
    nobody = pd.DataFrame({"user": [], "client_id": []})
    no_id = pd.DataFrame({"user": ["alice"], "client_id": [None]})
    frame = {"no rows": nobody, "no client-id": no_id}.get(form)
    answer = cluster.quotas.resolve(pairs=FORMS[form](CLIENTS[:1]) if frame is None else frame)
    assert set(answer.to_arrow()["user"].to_pylist()) == set([] if form == "no rows" else ["alice"])
    tagged = pd.DataFrame({"user": ["alice"], "client_id": ["app"], "tags": [{"k": [b"x"]}]})
    assert len(cluster.quotas.resolve(pairs=tagged))
