"""Our decoder of DescribeClientQuotas reads what Kafka wrote, and refuses what Kafka would never write."""

from __future__ import annotations

import contextlib
import io
import math
import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest, DescribeClientQuotasResponse

from kadmin_nb.admin import error_codes, quota_response
from kadmin_nb.admin.quota_response import decode
from kadmin_nb.admin.wire_kinds import _entry, _RawAlter
from kadmin_nb.errors import NotAuthorized, Unsupported
from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from tests.hostile_names import HOSTILE

RECORDED = {path.stem: path.read_bytes() for path in sorted((Path(__file__).parent / "recorded").glob("*.bin"))}
Row = tuple[str, str, float]


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def text(value: str | bytes | None) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(0) if raw is None else varint(len(raw) + 1) + raw


def entity(parts, values, *, tags: bytes = b"\0") -> bytes:
    named = b"".join(text(kind) + text(name) + tags for kind, name in parts)
    valued = b"".join(text(key) + struct.pack(">d", value) + tags for key, value in values)
    return varint(len(parts) + 1) + named + varint(len(values) + 1) + valued + tags


def answer(
    *entities: bytes, code: int = 0, message: str | None = None, null: bool = False, tags: bytes = b"\0"
) -> bytes:
    """An answer of version 1, header taken off, as the protocol's own text defines it."""
    count = varint(0) if null else varint(len(entities) + 1)
    return struct.pack(">ih", 0, code) + text(message) + count + b"".join(entities) + tags


def rows(frame: bytes) -> list[Row]:
    return [(r["entity"], r["key"], r["value"]) for r in decode(frame)[2].to_pylist()]


def rows_by_the_library(frame: bytes) -> list[Row]:
    """The same through kafka-python's own decoder."""
    decoded = DescribeClientQuotasResponse[1].decode(io.BytesIO(frame))
    named = ((Entity.from_wire((p.entity_type, p.entity_name) for p in e.entity), e.values) for e in decoded.entries)
    return sorted((str(who), v.key, v.value) for who, values in named for v in values)


@pytest.mark.parametrize("frame", RECORDED.values(), ids=RECORDED)
def test_a_recorded_answer_reads_as_the_library_reads_it(frame):
    """Our fast decoder dropped a name that the slow one had."""
    assert rows(frame) == rows_by_the_library(frame)
    assert len(rows(frame)) > 80


def test_a_thousand_random_answers_read_as_the_library_reads_them():
    """Names of 126, 127 and 128 bytes were read with the next one's first letter."""
    draw = random.Random(7)
    sizes = [1, 2, 5, 63, 64, 125, 126, 127, 128, 129, 254, 255, 256, 300, 16383, 16384]

    def name() -> str | None:
        return (
            None if draw.random() < 0.2 else "".join(draw.choice("aé=, <東'") for _ in range(draw.choice(sizes[:-2])))
        )

    for _ in range(60):
        entities = []
        for _ in range(draw.randrange(20)):
            parts = draw.sample(["user", "client-id", "ip", "group", "é" * 70], draw.randrange(1, 4))
            keys = draw.sample(
                ["producer_byte_rate", "request_percentage", "k" * 126, "k" * 127, "k" * 200], draw.randrange(1, 5)
            )
            entities.append(entity([(p, name()) for p in parts], [(k, draw.random() * 1e9) for k in keys]))
        frame = answer(*entities)
        assert sorted(rows(frame)) == rows_by_the_library(frame)


def of_the_usual_layout(draw: random.Random, names: Sequence[str]) -> bytes:
    """An answer with the types that Kafka has, some 20 entities."""
    entities = []
    for _ in range(20):
        parts = draw.sample(["user", "client-id", "ip"], draw.randrange(1, 4))
        keys = draw.sample(["producer_byte_rate", "request_percentage", "k" * 127, ""], draw.randrange(4))
        named = [(p, None if draw.random() < 0.2 else draw.choice(names)) for p in parts]
        entities.append(entity(named, [(k, draw.random() * 1e9) for k in keys]))
    return answer(*entities)


def at_once(frame: bytes) -> tuple[quota_response.ResponseEntries, int] | None:
    _, at = quota_response.string_at(frame, 6)
    count, at = quota_response.varint(frame, at)
    return quota_response._all_at_once(frame, at, count - 1)


LENGTHS = [0, 1, 2, 9, 63, 125, 126, 127, 128, 129, 254, 255, 256, 300, 16382]


def test_the_usual_layout_is_read_at_once():
    """A hundred thousand entities took as long as they took kafka-python, because of one name of 127 letters."""
    draw = random.Random(13)
    for _ in range(100):
        frame = of_the_usual_layout(draw, ["é" * (n // 2) + "x" * (n % 2) for n in LENGTHS])
        assert at_once(frame) is not None
        assert sorted(rows(frame)) == rows_by_the_library(frame)


def test_a_name_that_looks_like_the_next_entity_is_a_name():
    """Somebody called a client-id like the bytes of an entity, and a quota appeared that nobody had set."""
    draw = random.Random(17)
    hostile = ["\0\2\5user\6alice\0\2", "x\0\3\x0aclient-id", "\0\2\3ip", "\0" * 200]
    for _ in range(100):
        frame = of_the_usual_layout(draw, [*hostile, "alice"])
        assert sorted(rows(frame)) == rows_by_the_library(frame)


@pytest.mark.slow
def test_what_is_read_at_once_the_library_reads_the_same():
    """The fast way took for an answer what the careful one refuses."""
    draw, read = random.Random(19), 0
    for _ in range(600):
        garbled = bytearray(of_the_usual_layout(draw, ["alice", "b" * 127]))
        for _ in range(draw.randrange(4)):
            garbled[draw.randrange(8, len(garbled))] = draw.choice([0, 1, 2, 3, 4, 5, 10, 127, 128, 255])
        with contextlib.suppress(Unsupported):
            if at_once(bytes(garbled)) is not None:
                assert sorted(map(str, rows(bytes(garbled)))) == sorted(map(str, rows_by_the_library(bytes(garbled))))
                read += 1
    assert read > 60


def test_what_this_version_does_not_know_is_shown():
    """An entity type of a later Kafka was dropped from the table."""
    frame = answer(
        entity([("group", "g 1"), ("user", None)], [("new_rate", 2.5)]),
        entity([("zone", None)], [("producer_byte_rate", 1.0)]),
        entity([("user", "alice")], [("new_rate", 3.0)]),
    )
    described = decode(frame)[2].to_pylist()
    assert [(r["entity"], r["level"], r["user"], r["key"], r["value"]) for r in described] == [
        ("user=<default> group='g 1'", "OTHER", None, "new_rate", 2.5),
        ("user=alice", "USER", "alice", "new_rate", 3.0),
        ("zone=<default>", "OTHER", None, "producer_byte_rate", 1.0),
    ]


def test_tagged_fields_of_a_later_version_are_passed_over():
    """After the brokers' upgrade the old notebook could not read a single quota."""
    tags = varint(2) + varint(0) + varint(3) + b"abc" + varint(9) + varint(200) + b"x" * 200
    frame = answer(entity([("user", "alice")], [("producer_byte_rate", 1.0)], tags=tags), tags=tags)
    assert rows(frame) == [("user=alice", "producer_byte_rate", 1.0)]


def test_an_error_without_words_and_entries_is_the_error():
    """`error_code 31, error_message null, entries null` came out as no quotas."""
    code, message, _ = decode(answer(code=31, null=True))
    assert (code, message) == (31, None)
    with pytest.raises(NotAuthorized, match="Cluster authorization failed"):
        error_codes.raise_for_error(code, message, "describing quotas")


def test_no_entries_are_the_same_columns():
    """An empty cluster gave another frame."""
    for frame in (answer(), answer(null=True)):
        read = decode(frame)[2]
        assert (read.num_rows, read.schema) == (0, schemas.QUOTAS.schema)


def test_strange_numbers_survive():
    """Somebody had stored NaN, and the describe failed for everybody."""
    values = [float("nan"), math.inf, -1.0, 5e-324, 1.7976931348623157e308]
    frame = answer(*(entity([("user", f"u{n}")], [("request_percentage", v)]) for n, v in enumerate(values)))
    assert str([v for _, _, v in rows(frame)]) == str(values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame",
    [pytest.param(RECORDED[name], id=name, marks=[pytest.mark.long] * ("4.3.1" not in name)) for name in RECORDED],
)
def test_an_answer_cut_off_anywhere_is_refused(frame):
    """Half an answer was half of the quotas. (Older versions' answers, of the same layout, among the long tests.)"""
    for end in range(len(frame)):
        with pytest.raises(Unsupported) as cut:
            decode(frame[:end])
        assert cut.value.code == "CORRUPT_MESSAGE"
    with pytest.raises(Unsupported):
        decode(frame + b"\0")


@pytest.mark.slow
def test_garbled_answers_are_refused_or_read_and_never_hang():
    """A garbled answer hung the kernel, or killed it."""
    frame, draw = RECORDED["describe-client-quotas-4.3.1"], random.Random(11)
    for _ in range(500):  # 2,500 more, as a wire brings them: tests/faults/test_garbage_frames.py
        garbled = bytearray(frame)
        for _ in range(draw.randrange(1, 4)):
            garbled[draw.randrange(len(garbled))] = draw.randrange(256)
        with contextlib.suppress(Unsupported):
            decode(bytes(garbled))


GARBLED = {
    "nothing": b"",
    "a name that is not UTF-8": answer(entity([("user", b"\xff\xfe")], [("k", 1.0)])),
    "a type that is not UTF-8": answer(entity([(b"\xff", "x")], [("k", 1.0)])),
    "a key that is not UTF-8": answer(entity([("user", "x")], [(b"\xff", 1.0)])),
    "a message that is not UTF-8": struct.pack(">ih", 0, 42) + varint(3) + b"\xff\xff" + b"\1\0",
    "a billion entities": struct.pack(">ih", 0, 0) + b"\0" + varint(1_000_000_000) + b"\0",
    "a count that never ends": struct.pack(">ih", 0, 0) + b"\0" + b"\xff" * 12,
    "a name longer than the answer": answer(b"\2" + text("user") + varint(5000) + b"x\0\1\0"),
    "a null type": answer(entity([(None, "x")], [("k", 1.0)])),
    "a null key": answer(entity([("user", "x")], [(None, 1.0)])),
}


@pytest.mark.parametrize("frame", GARBLED.values(), ids=GARBLED)
def test_an_answer_that_kafka_never_writes_is_refused(frame):
    """Nonsense from a proxy was shown as a quota."""
    with pytest.raises(Unsupported) as refused:
        decode(frame)
    assert refused.value.code == "CORRUPT_MESSAGE"
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("names", [HOSTILE, ["ä" * 200, "x" * 20_000], []], ids=["hostile", "long", "none"])
def test_an_alter_is_sent_as_the_library_would_send_it(names: Sequence[str], validate_only: bool) -> None:
    """One name in Japanese, and the broker closed the connection on all 5,000 quotas of the request."""
    entities = [Entity.from_wire([("user", name), ("client-id", None)]) for name in names]
    wishes: dict[Entity, dict[str, float | None]] = {
        one: {"producer_byte_rate": 1.5e300, "k": None} for one in entities
    }
    data = AlterClientQuotasRequest.EntryData
    theirs = AlterClientQuotasRequest(
        entries=[
            data(
                entity=[data.EntityData(entity_type=kind, entity_name=name) for kind, name in whose.wire()],
                ops=[data.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
            )
            for whose, values in wishes.items()
        ],
        validate_only=validate_only,
        version=1,
    )
    ours = _RawAlter(entries=[_entry(*wish) for wish in wishes.items()], validate_only=validate_only, version=1)
    for request in (ours, theirs):
        request.with_header(7, "kadmin-nb")
    assert ours.encode() == theirs.encode(header=True, framed=True)
