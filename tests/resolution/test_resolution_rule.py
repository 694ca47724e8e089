"""The scalar rule and the vectorised one say the same, on every hierarchy."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kadmin_nb.model.entity import Entity
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.resolution.kernel import Index, resolve, resolve_general
from kadmin_nb.resolution.rules import entity_at, explain, metric_tags
from tests.resolution.hierarchies import (
    HOSTILE,
    KEY,
    explained,
    pairs_of,
    quotas_of,
    subset,
    unpacked,
    without_overridden,
)

CLIENTS = [
    ("alice", "app"),
    ("alice", ""),
    ("alice", None),
    ("alice", "else"),
    ("bob", "app"),
    ("bob", ""),
    ("", "app"),
    ("", ""),
]


@pytest.mark.parametrize("number", range(256))
def test_scalar_and_vector_agree_on_every_subset_of_levels(number: int) -> None:
    """The table said one limit and the explanation another."""
    stored = subset(number)
    expected = explained(stored, CLIENTS, [KEY])
    quotas, pairs = quotas_of(stored), pairs_of(CLIENTS)
    assert resolve(quotas, pairs, keys=KEY, overridden=True).to_pylist() == expected
    assert resolve(quotas, pairs, keys=KEY).to_pylist() == without_overridden(expected)
    assert list(unpacked(resolve(quotas, pairs, keys=KEY, shape="wide"), [KEY])) == without_overridden(expected)


@pytest.mark.parametrize("number", range(256))
def test_the_most_specific_level_wins_whatever_its_value(number: int) -> None:
    """A loose user quota was thought to be tightened by a client-id quota."""
    (one,) = explain(subset(number), "alice", "app", [KEY])
    present = [level for level in LEVELS if number >> level.number & 1]
    assert one.level == (present[0].name if present else None)
    assert one.value == (present[0].number + 1.0 if present else None)
    assert [o.level for o in one.overridden] == [level.name for level in present[1:]]


@pytest.mark.parametrize("number", range(256))
def test_a_blank_client_id_sees_user_quotas_only(number: int) -> None:
    """A client without a client-id ran past the default client-id quota, and the table said it could not."""
    (one,) = explain(subset(number), "alice", "", [KEY])
    assert one.level == ("USER" if number & 4 else "DEFAULT_USER" if number & 32 else None)
    assert one.bucket == (("alice", "") if number & 36 else None)


@pytest.mark.parametrize("number", range(256))
def test_whom_no_quota_names_is_nobody_in_particular(number: int) -> None:
    """A quota on the user called NUL was taken for the one of everybody whom no quota names."""
    stored = subset(number, "\0", "\0\0")
    names = (None, "\0", "\0\0", "\0\0\0", "alice")
    clients = [(user, client_id) for user in (*names, "") for client_id in (*names, "")]
    expected = [row for user, client_id in clients for row in _told(stored, user, client_id)]
    assert resolve_general(quotas_of(stored), pairs_of(clients), keys=KEY).to_pylist() == expected


def _told(stored: dict, user: str | None, client_id: str | None) -> list[dict[str, object]]:
    """What the scalar rule says of a client; the one that no quota names is looked for by a name that none has."""
    (one,) = explain(stored, user, client_id, [KEY])
    assert (one.value, one.level) == _of_unused(stored, user, client_id)
    bucket = one.bucket or (None, None)
    return [{"user": user, "client_id": client_id, "key": KEY, "value": one.value, "level": one.level,
             "bucket_user": bucket[0], "bucket_client_id": bucket[1]}]  # fmt: skip


def _of_unused(stored: dict, user: str | None, client_id: str | None) -> tuple[float | None, str | None]:
    names = ("nobody has this name" if name is None else name for name in (user, client_id))
    (one,) = explain(stored, *names, [KEY])
    return one.value, one.level


BUCKETS = {
    "CLIENT_OF_USER": ("alice", "app"),
    "DEFAULT_CLIENT_OF_USER": ("alice", "app"),
    "USER": ("alice", ""),
    "CLIENT_OF_DEFAULT_USER": ("alice", "app"),
    "DEFAULT_CLIENT_OF_DEFAULT_USER": ("alice", "app"),
    "DEFAULT_USER": ("alice", ""),
    "CLIENT": ("", "app"),
    "DEFAULT_CLIENT": ("", "app"),
}


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_who_shares_the_allowance(level: object) -> None:
    """We raised alice's quota and bob got slower."""
    (one,) = explain(subset(1 << level.number), "alice", "app", [KEY])  # type: ignore[attr-defined]
    assert one.bucket == BUCKETS[str(level)]


def test_each_key_is_resolved_on_its_own() -> None:
    """A produce limit from one level hid the fetch limit of another."""
    stored = {
        (Entity.parse("user=alice"), "producer_byte_rate"): 1.0,
        (Entity.parse("client-id=app"), "consumer_byte_rate"): 2.0,
    }
    found = resolve(quotas_of(stored), pairs_of([("alice", "app")])).to_pylist()
    assert [(r["key"], r["level"]) for r in found] == [
        ("producer_byte_rate", "USER"),
        ("consumer_byte_rate", "CLIENT"),
        ("request_percentage", None),
        ("controller_mutation_rate", None),
    ]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_only_a_name(name: str) -> None:
    """A user who calls himself <default> got everyone's quota."""
    stored = subset(255, name, name) | {(Entity.parse("user=alice"), KEY): 99.0}
    clients = [(name, name), (name, ""), ("alice", name), (name, "alice"), ("bob", "bob")]
    assert resolve(quotas_of(stored), pairs_of(clients), keys=KEY, overridden=True).to_pylist() == explained(
        stored, clients, [KEY]
    )
    assert explain(stored, name, name, [KEY])[0].value == 1.0
    assert explain(subset(0b11000000, name, name), "bob", "else", [KEY])[0].level == "DEFAULT_CLIENT"


NAMES = st.sampled_from(("a", "b", "<default>", "ä b", "c*"))
ENTITIES = st.builds(entity_at, st.sampled_from(LEVELS), NAMES, NAMES)
KEYS = ("producer_byte_rate", "made_up_key")
HIERARCHIES = st.dictionaries(st.tuples(ENTITIES, st.sampled_from(KEYS)), st.floats(0.5, 1e12), max_size=25)
PAIRS = st.lists(
    st.tuples(NAMES | st.sampled_from(("", "unknown")), NAMES | st.sampled_from(("", "unknown", None))), max_size=30
)


@pytest.mark.slow
@settings(max_examples=300)
@given(HIERARCHIES, PAIRS)
def test_scalar_and_vector_agree_on_random_hierarchies(stored: dict, pairs: list) -> None:  # type: ignore[type-arg]
    """They agreed on one hierarchy and not on the next."""
    expected = explained(stored, pairs, KEYS)
    assert resolve(quotas_of(stored), pairs_of(pairs), keys=KEYS, overridden=True).to_pylist() == expected
    wide = resolve(quotas_of(stored), pairs_of(pairs), keys=KEYS, shape="wide")
    assert list(unpacked(wide, KEYS)) == without_overridden(expected)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.lists(HIERARCHIES, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 4), PAIRS.map(lambda p: p[:1])), max_size=20),
)
def test_clusters_do_not_leak_into_each_other(clusters: list, asked: list) -> None:  # type: ignore[type-arg]
    """alice's quota of the test cluster was shown for production."""
    tables = [
        table.append_column("cluster_id", pa.array([f"c{n}"] * table.num_rows, pa.string()))
        for n, table in enumerate(map(quotas_of, clusters))
    ]
    wanted = [(n, *pair) for n, pairs in asked for pair in pairs]
    pairs = pairs_of([(u, c) for _, u, c in wanted]).append_column(
        "cluster_id", pa.array([f"c{n}" for n, _, _ in wanted], pa.string())
    )
    found = resolve(pa.concat_tables(tables), pairs, keys=KEYS, overridden=True).to_pylist()
    expected = [
        {"cluster_id": f"c{n}", **explained(clusters[n] if n < len(clusters) else {}, [(user, client)], [key])[0]}
        for key in KEYS
        for n, user, client in wanted
    ]
    assert found == expected


@pytest.mark.slow
def test_many_pairs_on_many_threads_are_as_one_by_one() -> None:
    """Above a million rows the answer was another."""
    clients = [(f"u{n % 7}", f"c{n % 11}" if n % 5 else "") for n in range(7 * 11 * 5)]
    stored = {key: v for n in range(4) for key, v in subset(0b01101101 >> n % 2, f"u{n}", f"c{n * 3}").items()}
    few = Index.of(quotas_of(stored), KEY).resolve(pairs_of(clients), shape="wide")
    times = 1 + (2 << 20) // len(clients)
    many = pa.concat_tables([pairs_of(clients)] * times)
    found = Index.of(quotas_of(stored), KEY).resolve(many, shape="wide", threads=3)
    assert found.slice(0, len(clients)).to_pylist() == few.to_pylist()
    for start in range(0, times, 977):
        assert found.slice(start * len(clients), len(clients)).to_pylist() == few.to_pylist()


@pytest.mark.parametrize(
    ("user", "tag"),
    [
        ("alice", "alice"),
        ("a b", "a%20b"),
        ("*", "%2A"),
        ("+", "%2B"),
        ("~", "%7E"),
        ("-_.", "-_."),
        ("é/", "C3A9"),
        ("", ""),
    ],
)
def test_metric_tags_are_the_brokers(user: str, tag: str) -> None:
    """The dashboard's query found no metric for a user with a space."""
    expected = "%C3%A9%2F" if tag == "C3A9" else tag
    assert metric_tags(user, "a b*") == {"user": expected, "client-id": "a b*"}
