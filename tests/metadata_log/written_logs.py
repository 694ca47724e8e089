"""Metadata logs as a test wants them: records by Kafka's declarations, in batches with the sums of kafka-python."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

from kafka.record._crc32c import crc

START = 1_795_600_000_000
"""The time of offset 0, in ms; each record is a second after the one before."""

LEADER_CHANGE, HEADER, FOOTER = 2, 3, 4


def unsigned(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


def signed(number: int) -> bytes:
    return unsigned(number << 1 if number >= 0 else (-number << 1) - 1)


def text(value: str | None) -> bytes:
    encoded = b"" if value is None else value.encode()
    return unsigned(0 if value is None else len(encoded) + 1) + encoded


def record(kind: int, *fields: bytes, version: int = 0, tags: bytes = b"\0") -> bytes:
    """The value of a metadata record."""
    return b"".join([unsigned(1), unsigned(kind), unsigned(version), *fields, tags])


def quota(entity: dict[str, str | None], key: str, value: float | None, tags: bytes = b"\0") -> bytes:
    parts = b"".join(text(kind) + text(name) + b"\0" for kind, name in entity.items())
    number = struct.pack(">d?", value or 0.0, value is None)
    return record(14, unsigned(len(entity) + 1), parts, text(key), number, tags=tags)


def config(number: int, name: str, key: str, value: str | None) -> bytes:
    return record(4, struct.pack(">b", number), text(name), text(key), text(value))


def topic(name: str, topic_id: uuid.UUID) -> bytes:
    return record(2, text(name), topic_id.bytes)


def removed_topic(topic_id: uuid.UUID) -> bytes:
    return record(9, topic_id.bytes)


def scram(user: str, mechanism: int, iterations: int, secret: bytes) -> bytes:
    octets = unsigned(len(secret) + 1) + secret
    return record(11, text(user), struct.pack(">b", mechanism), octets, octets, octets, struct.pack(">i", iterations))


def removed_scram(user: str, mechanism: int) -> bytes:
    return record(22, text(user), struct.pack(">b", mechanism))


BEGIN, END, ABORT, NOTHING = record(23), record(24), record(25), record(20)


def batch(
    offset: int,
    *values: bytes,
    epoch: int = 1,
    control: int | None = None,
    compression: int = 0,
    time: int | None = None,
    size: int = 0,
) -> bytes:
    """A record batch of format 2, its records a second apart; `size` is added to those that its records give."""
    records = b""
    for delta, value in enumerate(values):
        key = b"" if control is None else struct.pack(">hh", 0, control)
        of_key = signed(len(key)) if key else signed(-1)
        body = b"\0" + signed(delta * 1000) + signed(delta) + of_key + key + signed(len(value)) + value + signed(0)
        records += signed(len(body) + size) + body
    first = START + offset * 1000 if time is None else time
    last = first + (len(values) - 1) * 1000
    attributes = compression | (0 if control is None else 0x20)
    summed = struct.pack(">hiqqqhii", attributes, len(values) - 1, first, last, -1, -1, -1, len(values)) + records
    body = struct.pack(">ibI", epoch, 2, crc(summed)) + summed
    return struct.pack(">qi", offset, len(body)) + body


def header(time: int) -> bytes:
    return struct.pack(">hq", 0, time) + b"\0"


def write_log(place: Path, *batches: bytes, first: int = 0, cluster_id: str | None = "here") -> Path:
    """A folder with a segment of these batches, and what says of which cluster it is."""
    folder = place / "__cluster_metadata-0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{first:020}.log").write_bytes(b"".join(batches))
    if cluster_id is not None:
        (place / "meta.properties").write_text(f"#\nversion=1\ncluster.id={cluster_id}\nnode.id=1\n")
    return place


def write_checkpoint(place: Path, end: int, *values: bytes, epoch: int = 1, footer: bool = True) -> None:
    """A checkpoint of a log up to an offset, without it."""
    content = [batch(0, header(START + (end - 1) * 1000), control=HEADER), batch(1, *values)]
    if footer:
        content.append(batch(1 + len(values), header(0), control=FOOTER))
    (place / "__cluster_metadata-0" / f"{end:020}-{epoch:010}.checkpoint").write_bytes(b"".join(content))
