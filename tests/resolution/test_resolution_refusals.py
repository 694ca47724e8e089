"""Input that cannot be answered for is refused, naming the thing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kadmin_nb.errors import Invalid, KadminError, UsageError
from kadmin_nb.resolution.kernel import resolve
from tests.resolution.hierarchies import KEY, pairs_of, quotas_of, subset

QUOTAS, PAIRS = quotas_of(subset(255)), pairs_of([("alice", "app"), ("bob", None)])


def rows(*changed: dict[str, object]) -> pa.Table:
    base = {"level": "USER", "user": "alice", "client_id": None, "key": KEY, "value": 1.0}
    return pa.Table.from_pylist([{**base, **change} for change in changed])


def with_clusters(table: pa.Table, *names: str | None) -> pa.Table:
    return table.append_column("cluster_id", pa.array(names, pa.string()))


EVERYWHERE = ["c"] * 8
REFUSED: dict[str, tuple[object, object, type[KadminError], str]] = {
    "an entity and key twice": (rows({}, {}), PAIRS, Invalid, "user=alice is twice"),
    "a default entity and key twice": (
        rows({"level": "DEFAULT_USER", "user": None}, {}, {"level": "DEFAULT_USER", "user": None}),
        PAIRS, Invalid,
        "producer_byte_rate of user=<default> is twice in the quotas, in rows 0 and 2",
    ),
    "twice, and called <default>": (
        rows({"user": "<default>"}, {"user": "<default>"}), PAIRS, Invalid, "user==<default>",
    ),
    "twice in one cluster": (
        with_clusters(rows({}, {}, {}), "a", "b", "a"), with_clusters(PAIRS, "a", "a"),
        Invalid, "in cluster a is twice",
    ),
    "twice, of a key nobody asked for": (rows({"key": "x"}, {"key": "x"}), PAIRS, Invalid, "x of user=alice"),
    "an unknown level": (rows({"level": "GALAXY"}), PAIRS, Invalid, "GALAXY in row 0"),
    "a level without its name": (rows({}, {"user": None}), PAIRS, Invalid, "USER does not fit user=None in row 1"),
    "a level with a name too many": (rows({"client_id": "app"}), PAIRS, Invalid, "does not fit client_id='app'"),
    "an empty name": (rows({"user": ""}), PAIRS, Invalid, "does not fit user=''"),
    "a null level": (rows({"level": None}, {}), PAIRS, Invalid, "level None in row 0"),
    "a null key": (rows({}, {"key": None}), PAIRS, Invalid, "key is null in row 1 of the quotas"),
    "a null value": (rows({}, {"key": "x", "value": None}), PAIRS, Invalid, "value is null in row 1 of the quotas"),
    "a value that is text": (rows({"value": "10MB"}), PAIRS, UsageError, "value of the quotas is string"),
    "a column is missing": (QUOTAS.drop_columns(["level", "key"]), PAIRS, UsageError, "no column level, key"),
    "pairs without client_id": (QUOTAS, PAIRS.select(["user"]), UsageError, "the pairs have no column client_id"),
    "a null user": (QUOTAS, pairs_of([("a", ""), (None, "app")]), Invalid, "user is null in row 1 of the pairs"),  # type: ignore[list-item]
    "users that are numbers": (
        QUOTAS, pa.table({"user": [1], "client_id": ["a"]}), UsageError, "row 1 of the pairs: user is of type int",
    ),
    "no frame": (QUOTAS, [("alice", "app")], UsageError, "the pairs are a list"),
    "cluster_id of the quotas only": (
        with_clusters(QUOTAS, *EVERYWHERE), PAIRS, UsageError, "the quotas have a cluster_id",
    ),
    "cluster_id of the pairs only": (QUOTAS, with_clusters(PAIRS, "c", "c"), UsageError, "the pairs have a cluster_id"),
    "a null cluster": (
        with_clusters(QUOTAS, *EVERYWHERE), with_clusters(PAIRS, "c", None),
        Invalid, "cluster_id is null in row 1 of the pairs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_named(case: str) -> None:
    """It failed with a stack trace of Arrow's, or worse, it answered."""
    quotas, pairs, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        resolve(quotas, pairs)
    assert text in str(caught.value)


def test_the_same_entity_in_two_clusters_is_no_duplicate() -> None:
    quotas = with_clusters(rows({}, {"value": 2.0}), "a", "b")
    found = resolve(quotas, with_clusters(pairs_of([("alice", "x")] * 3), "b", "a", "c"), keys=KEY)
    assert found.column_names[0] == "cluster_id"
    assert found["value"].to_pylist() == [2.0, 1.0, None]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"shape": "tall"}, "shape='tall'"),
        ({"keys": [KEY, KEY]}, "named twice"),
        ({"shape": "wide", "overridden": True}, "long form only"),
    ],
)
def test_options_that_make_no_sense(options: dict, text: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(UsageError, match=text):
        resolve(QUOTAS, PAIRS, **options)
