"""What comes out has the Contract's shape, whatever frame went in."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from kadmin_nb.resolution.kernel import Index, resolve
from kadmin_nb.resolution.rules import metric_tags
from tests.resolution.hierarchies import KEY, pairs_of, quotas_of, subset

QUOTAS = quotas_of(subset(0b10100101))
CLIENTS = [("alice", "app"), ("bob", ""), ("alice", "app"), ("alice", None)]


@pytest.mark.parametrize("clients", [CLIENTS, []], ids=["some", "none"])
@pytest.mark.parametrize("quotas", [QUOTAS, schemas.QUOTAS.empty()], ids=["quotas", "no quotas"])
def test_columns_and_types_are_the_contracts(quotas: pa.Table, clients: list[tuple[str, str]]) -> None:
    """An empty cluster gave a frame with other columns, and the notebook broke."""
    pairs = pairs_of(clients)
    tables = {
        "long": (resolve(quotas, pairs), schemas.EFFECTIVE.schema, 4),
        "overridden": (resolve(quotas, pairs, overridden=True), schemas.effective(True), 4),
        "wide": (resolve(quotas, pairs, shape="wide"), schemas.effective_wide(USER_CLIENT_KEYS), 1),
    }
    for name, (table, schema, times) in tables.items():
        table.validate(full=True)
        assert table.schema.equals(schema), name
        assert table.num_rows == times * len(clients), name


def test_no_keys_is_an_empty_frame() -> None:
    assert resolve(QUOTAS, pairs_of(CLIENTS), keys=[]).schema.equals(schemas.EFFECTIVE.schema)
    assert resolve(QUOTAS, pairs_of(CLIENTS), keys=[], shape="wide").column_names == ["user", "client_id"]


def test_any_key_may_be_asked_for() -> None:
    """A key of a newer Kafka could not be resolved."""
    found = resolve(QUOTAS, pairs_of(CLIENTS), keys=["not_yet_invented", KEY])
    assert found["value"].to_pylist() == [None] * 4 + [1.0, 6.0, 1.0, 3.0]


def test_order_and_duplicates_of_the_pairs_are_kept() -> None:
    """The result could not be put beside the frame it was asked for."""
    found = resolve(QUOTAS, pairs_of(CLIENTS), keys=[KEY, "consumer_byte_rate"]).to_pylist()
    assert [(r["key"], r["user"], r["client_id"]) for r in found] == [
        (key, user, client or "") for key in (KEY, "consumer_byte_rate") for user, client in CLIENTS
    ]


def as_dictionary(table: pa.Table) -> pa.Table:
    return table.set_column(0, "user", table["user"].dictionary_encode())


def in_chunks(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])


def cast(kind: pa.DataType) -> object:
    return lambda table: table.cast(pa.schema([(name, kind) for name in table.column_names]))


FORMS = {
    "arrow": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(),
    "pandas": lambda table: table.to_pandas().assign(mixed=[{}, 1, "x", object()]),
    "polars": lambda table: pytest.importorskip("polars").from_arrow(table),
    "large": cast(pa.large_string()),
    "view": cast(pa.string_view()),
    "dictionary": as_dictionary,
    "chunks": in_chunks,
    "sliced": lambda table: pa.concat_tables([table, table]).slice(4),
    "more columns": lambda table: table.append_column("note", pa.array([{"a": 1}] * 4)),
    "column order": lambda table: table.select(["client_id", "user"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_frame_is_taken(form: str) -> None:
    """It worked with Arrow, and not with the DataFrame everybody has."""
    expected = resolve(QUOTAS, pairs_of(CLIENTS), overridden=True)
    found = resolve(QUOTAS, FORMS[form](pairs_of(CLIENTS)), overridden=True)  # type: ignore[operator]
    assert found.to_pylist() == expected.to_pylist()
    assert found.schema == expected.schema


def test_quotas_may_be_pandas_too() -> None:
    expected = resolve(QUOTAS, pairs_of(CLIENTS))
    plain = pd.DataFrame(QUOTAS.to_pylist())
    assert resolve(plain, pairs_of(CLIENTS)).equals(expected)
    assert resolve(plain[["value", "key", "client_id", "user", "level"]], pairs_of(CLIENTS)).equals(expected)


def test_names_are_not_copied() -> None:
    """Ten million names were in memory four times."""
    pairs = pairs_of([("alice", "app")] * 1000)
    found = resolve(QUOTAS, pairs)
    data = pairs["user"].chunk(0).buffers()[2].address
    assert {chunk.buffers()[2].address for chunk in found["user"].chunks} == {data}


def test_where_and_when_goes_along() -> None:
    """Nobody could tell which cluster the table was of."""
    marks = {b"kadmin.cluster_id": b"c1", b"kadmin.taken_at": b"2026-08-01T00:00:00Z"}
    quotas = QUOTAS.replace_schema_metadata({**marks, b"pandas": b"{}"})
    assert resolve(quotas, pairs_of(CLIENTS)).schema.metadata == {**marks, b"kadmin.frame": b"EFFECTIVE"}


def test_ip_quotas_and_unknown_entities_are_passed_over() -> None:
    """An ip quota and a group quota made the whole frame unusable."""
    other = [
        {"entity": "ip=<default>", "level": "DEFAULT_IP", "key": KEY, "value": 9.0},
        {"entity": "ip=10.0.0.1", "level": "IP", "ip": "10.0.0.1", "key": KEY, "value": 9.0},
        {"entity": "user=zoe group=<default>", "level": "OTHER", "user": "zoe", "key": KEY, "value": 9.0},
        {"entity": "user=zoe team=x", "level": "OTHER", "user": "zoe", "key": KEY, "value": 9.0},
    ]
    quotas = pa.concat_tables([schemas.table(schemas.QUOTAS, other), QUOTAS]).unify_dictionaries()
    clients = [*CLIENTS, ("zoe", "app")]
    assert resolve(quotas, pairs_of(clients)).to_pylist() == resolve(QUOTAS, pairs_of(clients)).to_pylist()


def test_an_index_is_made_once_and_asked_often() -> None:
    index = Index.of(QUOTAS, KEY)
    for clients in (CLIENTS, CLIENTS[:1], []):
        assert index.resolve(pairs_of(clients)).equals(resolve(QUOTAS, pairs_of(clients), keys=KEY))


def test_the_front_door_has_them() -> None:
    assert kn.resolve is resolve
    assert metric_tags("a b", "c") == {"user": "a%20b", "client-id": "c"}


def test_a_nan_that_a_broker_stored_is_shown_and_not_taken_for_absent() -> None:
    """NaN read as unlimited."""
    quotas = quotas_of({next(iter(subset(4))): float("nan")})
    (row,) = resolve(quotas, pairs_of([("alice", "app")]), keys=KEY).to_pylist()
    assert row["level"] == "USER"
    assert row["value"] != row["value"]
