"""The records of one file of a metadata log: record batches of format 2, each checked by its CRC-32C.

What is damaged is named with its offset and passed over, and the next batch is looked for behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .crc32c import crc32c

_HEADER = struct.Struct(">qiibIhiqqqhii")
_PREFIX, _LEAST, _CRC_STARTS = 12, 61, 21
LARGEST = 16 << 20
"""Bytes of a batch: Kafka's own writes at most half of it."""

_GROUP = 8 << 20
"""Bytes of batches whose sums are made together."""

_MOST_TRIES = 1_000
"""Places behind a damaged batch at which another is looked for; where none begins there the rest is given up."""

_COMPRESSION, _IS_CONTROL = 0x07, 0x20
LAST_MOMENT = 253_402_300_800_000
"""The year 10000 in ms: no time of a record is after it."""


class Record(NamedTuple):
    """A record: its offset, its time in ms, the epoch of the controller, and the bytes of its key and value.

    Those of a control record are Kafka's own marks: that a leader was elected, that a checkpoint begins and ends.
    """

    offset: int
    time: int
    epoch: int
    is_control: bool
    key: bytes
    value: bytes


class Damage(NamedTuple):
    """A part of a file that cannot be read: its first byte, the offset of its batch where it tells, and why."""

    position: int
    offset: int | None
    reason: str

    def __str__(self) -> str:
        where = f"at byte {self.position:,}" if self.offset is None else f"of offset {self.offset:,}"
        return f"the batch {where} {self.reason}"


class _Batch(NamedTuple):
    start: int
    stop: int
    offset: int
    epoch: int
    crc: int
    attributes: int
    offsets: int
    time: int
    size: int


def records_of(data: bytes, first: int) -> Iterator[list[Record] | Damage]:
    """The records of a file batch by batch, and what of it is damaged; `first` is the offset that it begins with."""
    position, due, is_sure = 0, first, True
    while position < len(data):
        group, is_whole = _framed(data, position), True
        for number, (batch, is_whole) in enumerate(zip(group, _sums_fit(data, group), strict=True), 1):
            if not is_sure and batch.offset != due:
                due = group[number].offset - batch.offsets if number < len(group) else batch.offset
            yield _records(data, batch, due) if is_whole else Damage(batch.start, batch.offset, _WRONG_SUM)
            position, due, is_sure = batch.stop, due + batch.offsets, is_whole
        if position == len(data) or _batch_at(data, position):
            continue
        following = _next_batch(data, position if is_whole else group[-1].start + 1)
        if is_whole or following is None:
            yield _unframed(data, position, following)
        position, is_sure = len(data) if following is None else following, False


_WRONG_SUM = "is damaged: its checksum is wrong"


def _framed(data: bytes, position: int) -> list[_Batch]:
    """The batches that follow each other from here on, as far as their sums are made together."""
    group: list[_Batch] = []
    end = position + _GROUP
    while position < end and (batch := _batch_at(data, position)):
        group.append(batch)
        position = batch.stop
    return group


def _batch_at(data: bytes, start: int) -> _Batch | None:
    """The batch that begins here, if its header can be one."""
    if len(data) - start < _LEAST:
        return None
    offset, length, epoch, magic, crc, attributes, last_delta, time, *_, size = _HEADER.unpack_from(data, start)
    stop = start + _PREFIX + length
    is_sane = magic == 2 and _LEAST - _PREFIX <= length <= LARGEST and stop <= len(data)
    if not is_sane or offset < 0 or size < 0 or last_delta < 0:
        return None
    return _Batch(start, stop, offset, epoch, crc, attributes, last_delta + 1, time, size)


def _sums_fit(data: bytes, group: list[_Batch]) -> list[bool]:
    if not group:
        return []
    sums = crc32c(data, [batch.start + _CRC_STARTS for batch in group], [batch.stop for batch in group])
    fits: list[bool] = (sums == np.array([batch.crc for batch in group], np.uint32)).tolist()
    return fits


def _next_batch(data: bytes, position: int) -> int | None:
    """The start of the first batch behind this place whose header and sum are right."""
    magic = np.frombuffer(data, np.uint8, offset=position)[16:] == 2
    tries = 0
    for start in (np.flatnonzero(magic) + position).tolist():
        if batch := _batch_at(data, start):
            tries += 1
            if tries > _MOST_TRIES or _sums_fit(data, [batch])[0]:
                return start if tries <= _MOST_TRIES else None
    return None


def _unframed(data: bytes, position: int, following: int | None) -> Damage:
    """The damage of bytes in which no batch begins, up to the next one."""
    if following is not None:
        return Damage(position, None, f"is damaged: the next one is read at byte {following:,}")
    left = len(data) - position
    if not data[position:].strip(b"\0"):
        return Damage(position, None, f"is not there: {left:,} zeros end the file")
    if left < _LEAST:
        return Damage(position, None, f"is cut off: the file ends {left:,} bytes after its start")
    offset, length, _, magic, *_ = _HEADER.unpack_from(data, position)
    if magic == 2 and left - _PREFIX < length <= LARGEST:
        return Damage(position, offset, f"is cut off: the file ends {left:,} bytes after its start")
    return Damage(position, None, f"is damaged, and there is no other in the {left:,} bytes up to the end")


def _records(data: bytes, batch: _Batch, due: int) -> list[Record] | Damage:
    """The records of a batch whose sum is right. Its offset is not part of it, but follows from those before."""
    if batch.offset != due:
        return Damage(batch.start, batch.offset, f"is damaged: the offset {due:,} was expected")
    if batch.attributes & _COMPRESSION:
        return Damage(batch.start, batch.offset, "is compressed, which no metadata log is: it was skipped")
    records, position = [], batch.start + _LEAST
    is_control = bool(batch.attributes & _IS_CONTROL)
    try:
        for _ in range(batch.size):
            length, position = _varint(data, position)
            end = position + length
            after, position = _varint(data, position + 1)
            delta, position = _varint(data, position)
            size, position = _varint(data, position)
            key = data[position : position + size] if size > 0 else b""
            size, position = _varint(data, position + len(key))
            value = data[position : position + size] if size > 0 else b""
            time = batch.time + after
            if position + len(value) > end or end > batch.stop or not 0 <= delta < batch.offsets:
                raise ValueError
            if not 0 <= time < LAST_MOMENT:
                raise ValueError
            records.append(Record(batch.offset + delta, time, batch.epoch, is_control, key, value))
            position = end
    except (IndexError, ValueError):
        return Damage(batch.start, batch.offset, "is damaged: its records do not fit into it")
    return records


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A signed number of one to ten bytes, and the place behind it."""
    byte = data[position]
    if byte < 0x80:  # most are, and a call takes as long as the rest
        return (byte >> 1) ^ -(byte & 1), position + 1
    number, position = unsigned(data, position, last_shift=63)
    return (number >> 1) ^ -(number & 1), position


def unsigned(data: bytes, position: int, last_shift: int = 28) -> tuple[int, int]:
    """An unsigned number of one to five bytes, or so many that the last is shifted so far; and the place behind it."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    number, shift = byte & 0x7F, 7
    while byte > 0x7F:
        position += 1
        byte = data[position]
        if shift > last_shift:
            raise ValueError
        number |= (byte & 0x7F) << shift
        shift += 7
    return number, position + 1
