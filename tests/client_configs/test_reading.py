"""The entries are what the newest readable record of each key says, wherever compaction dropped older ones."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.client_configs.records import (
    MOST_BYTES,
    ClientConfigLog,
    ConfigKey,
    ConfigValue,
    RegistrationKey,
    StatusKey,
)
from kadmin_nb.client_configs.topic import Entries
from kadmin_nb.model.client_configs import CLIENT_KEYS, ClientEntity


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


USERS = st.sampled_from(["alice", "ü", "a=b", "<default>"])
TARGETS = st.tuples(USERS, st.sampled_from([None, "app", "日本 =x"]), st.sampled_from(CLIENT_KEYS))
ALTERS = st.lists(st.tuples(TARGETS, st.sampled_from(["0", "1", None])), max_size=40)
GARBAGE = st.lists(st.tuples(st.integers(0, 40), st.binary(max_size=20), st.binary(max_size=20)), max_size=5)


def entries(records: list[Record]) -> tuple[Entries, int]:
    log = ClientConfigLog()
    for record in records:
        log.take(record.key, record.value, record.offset, record.timestamp)
    return log.values(), log.passed_over


def record(offset: int, target: tuple[str, str | None, str], text: str | None) -> Record:
    user, client_id, key = target
    value = text if key == "acks" or text is None else f"{text}000"[-4:].lstrip("0") or "1"
    document = None if value is None else ConfigValue(value, "ann", "plan").encode()
    return Record(offset, 1_000 * offset, ConfigKey(user, client_id, key).encode(), document)


def modelled(records: list[Record]) -> dict[ClientEntity, dict[str, str]]:
    model: dict[bytes, bytes] = {}
    for one in records:
        model.pop(one.key, None)
        if one.value is not None:
            model[one.key] = one.value
    values: dict[ClientEntity, dict[str, str]] = {}
    for key, value in model.items():
        names = json.loads(key)
        entity = ClientEntity(names["user"], names["client_id"])
        values.setdefault(entity, {})[names["key"]] = json.loads(value)["value"]
    return values


@given(alters=ALTERS, kept=st.sets(st.integers(0, 40)), garbage=GARBAGE)
def test_compaction_anywhere_changes_no_view(alters, kept, garbage):
    """After a night of compaction a client had another value than before."""
    records = [record(offset, *alter) for offset, alter in enumerate(alters)]
    expected = modelled(records)
    assert entries(records) == (expected, 0)
    newest = {one.key: one.offset for one in records}
    compacted = [one for one in records if newest[one.key] == one.offset or one.offset in kept]
    assert entries(compacted) == (expected, 0)
    without_tombstones = [one for one in compacted if one.value is not None or newest[one.key] != one.offset]
    superseding = {one.key for one in compacted if one.value is None} & {one.key for one in without_tombstones}
    if not superseding:
        assert entries(without_tombstones)[0] == expected
    strewn = [*compacted, *(Record(place, place, key, value) for place, key, value in garbage)]
    assert entries(sorted(strewn, key=lambda one: one.offset)) == (expected, len(garbage))


GOOD = ConfigKey("alice", "app", "acks").encode()
VALUE = ConfigValue("1", "ann", "plan").encode()
VALID = Record(0, 0, GOOD, VALUE)

STRANGE_KEYS = [
    GOOD.replace(b'"v":1', b'"v":true'),
    GOOD.replace(b'"v":1', b'"v":1.0'),
    GOOD.replace(b'"v":1', b'"v":1,"v":1'),
    GOOD.replace(b'"alice"', b'"bob","user":"alice"'),
    GOOD.replace(b":", b": "),
    GOOD.replace(b"alice", rb"\u0061lice"),
    json.dumps(json.loads(GOOD) | {"more": None}, sort_keys=True, separators=(",", ":")).encode(),
    json.dumps(dict(reversed(json.loads(GOOD).items())), separators=(",", ":")).encode(),
    ConfigKey("größe", None, "acks").encode().decode("unicode_escape").encode(),
]
"""Which JSON readers may take for a good key, and of which compaction knows nothing."""

STRANGE_VALUES = [
    VALUE.replace(b'"v":1', b'"v":true'),
    VALUE.replace(b'"v":1', b'"v":1.0'),
    VALUE.replace(b'"1"', b'"0","value":"1"'),
    VALUE.replace(b'"v":1', b'"v":2,"v":1'),
    VALUE.replace(b'"v":1', b'"more":{"a":1,"a":1},"v":1'),
    VALUE.replace(b'"v":1', b'"more":NaN,"v":1'),
    VALUE.replace(b'"1"', b'"2"'),
    VALUE.replace(b'"1"', b'"all"'),
]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, VALUE),
        (b"", VALUE),
        (b"\xff\xfe", VALUE),
        (b"[" * 100_000, VALUE),
        (GOOD.replace(b'"v":1', b'"v":2'), VALUE),
        (GOOD.replace(b"alice", b"a" * MOST_BYTES), VALUE),
        (GOOD.replace(b'"alice"', b"null"), VALUE),
        (GOOD.replace(b'"alice"', b'""'), VALUE),
        (GOOD.replace(b'"app"', b'""'), VALUE),
        (GOOD.replace(b"acks", b"sasl.jaas.config"), VALUE),
        (GOOD.replace(b"acks", b"bootstrap.servers"), ConfigValue("evil:9092", "x", "y").encode()),
        *((key, VALUE) for key in STRANGE_KEYS),
        *((GOOD, value) for value in STRANGE_VALUES),
        (GOOD, b"1"),
        (GOOD, b""),
        (GOOD, VALUE.replace(b'"v":1', b'"v":2')),
        (GOOD, VALUE.replace(b'"1"', b"1")),
        (GOOD, ConfigValue("0", "x" * MOST_BYTES, "y").encode()),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_record_that_is_none_changes_nothing_but_a_counter(key, value):
    """Somebody wrote to the topic by mistake, and every client got it."""
    expected = {ClientEntity("alice", "app"): {"acks": "1"}}
    assert entries([VALID, Record(1, 1, key, value)]) == (expected, 1)
    assert entries([Record(0, 0, key, value), VALID]) == (expected, 1)


@pytest.mark.parametrize("key", [kind(*"abcde"[: len(fields(kind))]) for kind in (RegistrationKey, StatusKey)], ids=str)
def test_keys_of_clients_are_canonical_too(key):
    """A client registered twice under two spellings of one name, and one of them was never removed."""
    assert type(key).decode(key.encode()) == key
    assert type(key).decode(key.encode().replace(b":", b": ")) is None
    assert type(key).decode(key.encode().replace(b'"a"', b'"a","user":"a"')) is None


NAMES = st.sampled_from(["alice", 'a"', '""', "\\", "ü", "a=b", "<default>", '","user":"alice'])


@given(own=st.tuples(NAMES, NAMES), others=st.lists(st.tuples(NAMES, st.none() | NAMES), max_size=6))
def test_a_client_reads_its_own_entries_among_those_of_others(own, others):
    """A client whose name was the beginning of another's followed what was meant for that one."""
    entity, everything = ClientEntity(*own), ClientConfigLog()
    mine = ClientConfigLog(entity.levels)
    for offset, target in enumerate([*others, own, (own[0], None)]):
        one = record(offset, (*target, "acks"), "1")
        for log in (everything, mine):
            log.take(one.key, one.value, one.offset, one.timestamp)
    wanted = {whose: values for whose, values in everything.values().items() if whose in entity.levels}
    assert mine.values() == wanted != {}
