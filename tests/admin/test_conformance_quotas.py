"""The quota port does what KIP-546 says, on every version of Kafka that we promise to speak to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kadmin_nb.admin.ports import DEFAULT_MATCH, EXACT, SPECIFIED, Component
from kadmin_nb.errors import Invalid, Unsupported
from kadmin_nb.model.changes import Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from tests.waiting import eventually

RATE, PERCENT = "producer_byte_rate", "request_percentage"
IP_RATE = "connection_creation_rate"

SHAPES: Mapping[str, tuple[dict[str, object], str]] = {
    "user+client": ({"user": "u", "client-id": "c"}, "CLIENT_OF_USER"),
    "user+default client": ({"user": "u", "client-id": DEFAULT}, "DEFAULT_CLIENT_OF_USER"),
    "user": ({"user": "u"}, "USER"),
    "default user+client": ({"user": DEFAULT, "client-id": "c"}, "CLIENT_OF_DEFAULT_USER"),
    "default user+default client": ({"user": DEFAULT, "client-id": DEFAULT}, "DEFAULT_CLIENT_OF_DEFAULT_USER"),
    "default user": ({"user": DEFAULT}, "DEFAULT_USER"),
    "client": ({"client-id": "c"}, "CLIENT"),
    "default client": ({"client-id": DEFAULT}, "DEFAULT_CLIENT"),
    "ip": ({"ip": "10.1.2.3"}, "IP"),
    "default ip": ({"ip": DEFAULT}, "DEFAULT_IP"),
}

HOSTILE = [
    "x y",
    " leading",
    "trailing ",
    "x=y",
    "=y",
    "==y",
    "~=y",
    "a,b",
    "DOMAIN\\alice",
    "back\\",
    "ünïcødé 東京 🦆",
    "\u202egnp.exe",
    "<b onclick=alert(1)>&amp;</b>",
    "it's",
    'say "hi"',
    "both ' and \"",
    "''",
    "two\nlines",
    "tab\tbed",
    "nul\x00byte",
    "\x1b[31mred",
    "nb\u00a0sp",
    "line\u2028sep",
    "<default>",
    "<any>",
    "--apply",
    "#comment",
    "semi;",
    ";",
    "{expr}",
    "*",
    "%2A",
    "user=bob",
    "n" * 126,
    "n" * 127,
    "n" * 128,
    "é" * 100,
    "long-" * 40,
]


def alter(broker, values: Mapping[Entity, Mapping[str, float | None]], **options: bool) -> dict[Entity, Refusal | None]:
    return broker.quotas.alter(values, **options)


def rows(table) -> list[tuple[object, ...]]:
    return [
        (r["entity"], r["level"], r["user"], r["client_id"], r["ip"], r["key"], r["value"]) for r in table.to_pylist()
    ]


@pytest.fixture
def clean(broker) -> Iterator[None]:
    """No quota at all, before and after."""
    wipe(broker)
    yield
    wipe(broker)


def wipe(broker) -> None:
    held: dict[Entity, dict[str, None]] = {}
    for row in broker.quotas.describe().to_pylist():
        held.setdefault(Entity.parse(row["entity"]), {})[row["key"]] = None
    if held:
        assert set(alter(broker, held).values()) == {None}
        eventually(lambda: broker.quotas.describe().num_rows, 0)


@pytest.mark.parametrize(("parts", "level"), SHAPES.values(), ids=SHAPES)
def test_every_shape_is_set_seen_and_removed(broker, clean, parts, level):
    """I set a quota on a default client of a user and the table showed another entity."""
    entity, key = Entity.of(parts), IP_RATE if "ip" in parts else RATE
    names = tuple(None if (name := parts.get(kind)) is DEFAULT else name for kind in ("user", "client-id", "ip"))
    assert alter(broker, {entity: {key: 1234.0}}) == {entity: None}
    eventually(lambda: rows(broker.quotas.describe()), [(str(entity), level, *names, key, 1234.0)])
    assert alter(broker, {entity: {key: None}}) == {entity: None}
    eventually(lambda: rows(broker.quotas.describe()), [])


@pytest.fixture
def every_shape(broker, clean) -> None:
    values = {Entity.of(p): {IP_RATE if "ip" in p else RATE: 7.0} for p, _ in SHAPES.values()}
    assert set(alter(broker, values).values()) == {None}
    eventually(lambda: broker.quotas.describe().num_rows, 10)


U, C, IP = "user", "client-id", "ip"
FILTERS = {
    "nothing asked, everything told": ([], False, list(SHAPES)),
    "nothing asked strictly, nothing told": ([], True, []),
    "exact user": ([Component(U, EXACT, "u")], False, ["user+client", "user+default client", "user"]),
    "exact user strictly": ([Component(U, EXACT, "u")], True, ["user"]),
    "default user": (
        [Component(U, DEFAULT_MATCH)],
        False,
        ["default user+client", "default user+default client", "default user"],
    ),
    "default user strictly": ([Component(U, DEFAULT_MATCH)], True, ["default user"]),
    "any user has the default too": ([Component(U, SPECIFIED)], False, list(SHAPES)[:6]),
    "any user strictly": ([Component(U, SPECIFIED)], True, ["user", "default user"]),
    "any client strictly": ([Component(C, SPECIFIED)], True, ["client", "default client"]),
    "exact user and any client": (
        [Component(U, EXACT, "u"), Component(C, SPECIFIED)],
        False,
        ["user+client", "user+default client"],
    ),
    "default user and exact client": (
        [Component(U, DEFAULT_MATCH), Component(C, EXACT, "c")],
        False,
        ["default user+client"],
    ),
    "no such user": ([Component(U, EXACT, "nobody")], False, []),
    "exact ip": ([Component(IP, EXACT, "10.1.2.3")], False, ["ip"]),
    "any ip": ([Component(IP, SPECIFIED)], False, ["ip", "default ip"]),
    "default ip": ([Component(IP, DEFAULT_MATCH)], True, ["default ip"]),
}


def test_filters_choose_as_kip_546_says(broker, every_shape):
    """I asked for the quotas of one user and got everybody's."""
    for case, (components, strict, wanted) in FILTERS.items():
        table = broker.quotas.describe(components, strict=strict)
        assert table["entity"].to_pylist() == sorted(str(Entity.of(SHAPES[name][0])) for name in wanted), case


REFUSED_FILTERS = {
    "an unknown type": ([Component("group", EXACT, "g")], Unsupported, "UNSUPPORTED_VERSION", "group"),
    "a type twice": (
        [Component(U, EXACT, "a"), Component(U, EXACT, "b")],
        Invalid,
        "INVALID_REQUEST",
        "more than once",
    ),
    "ip with user": (
        [Component(IP, SPECIFIED), Component(U, SPECIFIED)],
        Invalid,
        "INVALID_REQUEST",
        "IP filter component",
    ),
    "an exact nothing": ([Component(U, EXACT)], Invalid, "INVALID_REQUEST", "null"),
    "an unknown match": ([Component(U, 99, "a")], Invalid, "INVALID_REQUEST", "99"),
}


@pytest.mark.parametrize(("components", "kind", "code", "words"), REFUSED_FILTERS.values(), ids=REFUSED_FILTERS)
def test_a_filter_that_kafka_refuses_says_so(broker, components, kind, code, words):
    """A filter that makes no sense must not look like a cluster without quotas."""
    with pytest.raises(kind, match=words) as refused:
        broker.quotas.describe(components)
    assert refused.value.code == code


def test_validating_changes_nothing(broker, clean):
    """I only asked whether it would work, and it was done."""
    alice = Entity.parse("user=alice")
    assert alter(broker, {alice: {RATE: 5.0}}, validate_only=True) == {alice: None}
    assert alter(broker, {alice: {RATE: -5.0}}, validate_only=True) == {
        alice: Refusal("INVALID_REQUEST", "Quota producer_byte_rate must be greater than 0")
    }
    assert rows(broker.quotas.describe()) == []


def test_each_entity_has_its_own_answer(broker, clean):
    """One wrong entity among good ones: the table blamed its neighbour."""
    good = {Entity.parse(f"user=good-{n}"): {RATE: float(n + 1)} for n in range(30)}
    good[Entity.parse("ip=localhost")] = {IP_RATE: 100_000.0}
    bad = {
        Entity.parse("user=bad-0"): ({RATE: 0.0}, "Quota producer_byte_rate must be greater than 0"),
        Entity.parse("user=bad-1"): ({RATE: 1.5}, "producer_byte_rate cannot be a fractional value."),
        Entity.parse("user=bad-2"): ({RATE: 1e19}, "Proposed value for producer_byte_rate is too large for a LONG."),
        Entity.parse("user=bad-3"): ({"nonsense": 1.0}, "Invalid configuration key nonsense"),
        Entity.parse("ip=no.such.host.invalid"): (
            {IP_RATE: 1.0},
            "no.such.host.invalid is not a valid IP or resolvable host.",
        ),
        Entity((("group", "g"),)): ({RATE: 1.0}, "Unhandled client quota entity type: group"),
    }
    answers = alter(broker, {**good, **{e: v for e, (v, _) in bad.items()}})
    assert {e: r for e, r in answers.items() if r} == {
        e: Refusal("INVALID_REQUEST", text) for e, (_, text) in bad.items()
    }
    assert set(answers) == {*good, *bad}
    eventually(lambda: broker.quotas.describe().num_rows, len(good))


def test_ip_beside_user_is_refused_by_the_broker_too(broker):
    """An entity of ip and user went through and nobody knows what it does."""
    both = Entity((("user", "u"), ("ip", "10.0.0.1")))
    said = alter(broker, {both: {RATE: 1.0}})
    assert said[both].code == "INVALID_REQUEST"
    assert "IP entity" in said[both].message


def test_several_keys_of_one_entity_are_rows_in_order(broker, clean):
    """Two keys of a user came out as one, or in another order every time."""
    alice = Entity.parse("user=alice")
    alter(broker, {alice: {RATE: 10.0, PERCENT: 12.5, "consumer_byte_rate": 2.0**53, "controller_mutation_rate": 0.1}})
    wanted = [("consumer_byte_rate", 2.0**53), ("controller_mutation_rate", 0.1), (RATE, 10.0), (PERCENT, 12.5)]
    eventually(lambda: [(r["key"], r["value"]) for r in broker.quotas.describe().to_pylist()], wanted)
    alter(broker, {alice: {RATE: None, PERCENT: 13.5}})
    wanted = [("consumer_byte_rate", 2.0**53), ("controller_mutation_rate", 0.1), (PERCENT, 13.5)]
    eventually(lambda: [(r["key"], r["value"]) for r in broker.quotas.describe().to_pylist()], wanted)


def test_a_removal_of_what_is_not_there_succeeds(broker, clean):
    """Removing twice was an error."""
    ghost = Entity.parse("user=ghost")
    assert alter(broker, {ghost: {RATE: None, "nonsense": None}}) == {ghost: None}


def test_hostile_names_come_back_as_they_are(broker, clean):
    """A client called itself `<default>` and my quota hit everyone."""
    entities = {Entity.of({"user": name, "client-id": name}): {RATE: float(n + 1)} for n, name in enumerate(HOSTILE)}
    entities |= {Entity.of({"client-id": name}): {RATE: float(n + 1)} for n, name in enumerate(HOSTILE)}
    answers = alter(broker, entities)
    assert {e: r for e, r in answers.items() if r} == {}
    eventually(lambda: broker.quotas.describe().num_rows, len(entities))
    table = broker.quotas.describe().to_pylist()
    assert {Entity.parse(r["entity"]): {r["key"]: r["value"]} for r in table} == entities
    assert {(r["user"], r["client_id"]) for r in table} == {(n, n) for n in HOSTILE} | {(None, n) for n in HOSTILE}
    assert {r["level"] for r in table} == {"CLIENT_OF_USER", "CLIENT"}
    assert [r["entity"] for r in table] == sorted(r["entity"] for r in table)


@pytest.mark.parametrize("name", ["<default>", "x y", "n" * 200, "=y", "nul\x00byte"])
def test_an_exact_filter_finds_a_hostile_name(broker, clean, name):
    """The name with a space was found in the whole table and never alone."""
    mine, default = Entity.of({"user": name}), Entity.of({"user": DEFAULT})
    alter(broker, {mine: {RATE: 1.0}, default: {RATE: 2.0}})
    eventually(lambda: broker.quotas.describe().num_rows, 2)
    assert broker.quotas.describe([Component("user", EXACT, name)], strict=True)["value"].to_pylist() == [1.0]
    assert broker.quotas.describe([Component("user", DEFAULT_MATCH)], strict=True)["value"].to_pylist() == [2.0]


def test_no_quotas_have_the_same_columns(broker, clean):
    """An empty cluster gave a frame that my code could not select from."""
    from kadmin_nb.frames import schemas

    table = broker.quotas.describe()
    assert (table.num_rows, table.schema) == (0, schemas.QUOTAS.schema)


def test_an_answer_of_one_named_broker(broker, clean):
    """I asked broker 1 and do not know who answered."""
    [only] = broker.brokers()
    assert broker.quotas.describe(node=only.id).num_rows == 0
