"""CRC-32C of many pieces of bytes at once, with numpy: kafka-python's takes a table look-up of Python's a byte."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Sums = NDArray[np.uint32]
_POLYNOMIAL = 0x82F63B78
_STEP = 64
"""Bytes that are summed up one after the other; whole columns of such chunks are worked on at once."""


def crc32c(data: bytes, starts: Sequence[int], stops: Sequence[int]) -> _Sums:
    """The CRC-32C of each piece of `data`, from a start to a stop; a piece has at least four bytes.

    A sum is linear, and a zero at the front changes none that begins with zero. So each piece is cut into chunks from
    its end on, the sums of all chunks are made side by side, and those of neighbours joined until one a piece is left.
    """
    lengths = np.subtract(stops, starts)
    counts = -(-lengths // _STEP)
    ends = np.cumsum(counts)
    chunks = np.zeros(int(ends[-1]) * _STEP, np.uint8)
    for start, stop, end in zip(starts, stops, (ends * _STEP).tolist(), strict=True):
        chunks[end - (stop - start) : end] = np.frombuffer(data, np.uint8, stop - start, start)
    firsts = ends * _STEP - lengths
    for byte in range(4):  # the sum begins with ones
        chunks[firsts + byte] ^= 0xFF
    return _joined(_sums(chunks.reshape(-1, _STEP)), counts) ^ np.uint32(0xFFFFFFFF)


def _sums(chunks: NDArray[np.uint8]) -> _Sums:
    """The sum of each chunk, two bytes a step."""
    pairs = chunks.view("<u2").T.astype(np.uint32, order="C")
    sums = np.zeros(len(chunks), np.uint32)
    for pair in pairs:
        sums ^= pair
        sums = _OF_PAIRS[sums & 0xFFFF] ^ (sums >> 16)
    return sums


def _joined(sums: _Sums, counts: NDArray[np.int64]) -> _Sums:
    """One sum a piece, of those of its chunks: in each round every other one is moved to the front of the next."""
    moved = _PAST_A_CHUNK
    while len(sums) > len(counts):
        ends, left = np.cumsum(counts), -(-counts // 2)
        from_end = np.repeat(ends, counts) - 1 - np.arange(len(sums))
        places = np.repeat(np.cumsum(left), counts) - 1 - from_end // 2
        is_first = from_end % 2 == 1
        joined = np.zeros(int(left.sum()), np.uint32)
        joined[places[~is_first]] = sums[~is_first]
        joined[places[is_first]] ^= _moved(moved, sums[is_first])
        sums, counts, moved = joined, left, _moved(moved, moved)
    return sums


def _moved(by: _Sums, sums: _Sums) -> _Sums:
    """The sums with zeros behind them, as many as `by` stands for: what becomes of each bit of a sum."""
    result = np.zeros_like(sums)
    for bit in range(32):
        result ^= np.where(sums >> np.uint32(bit) & np.uint32(1), by[bit], np.uint32(0)).astype(np.uint32)
    return result


def _past_one_byte(sums: _Sums) -> _Sums:
    """The sums with one zero byte behind them."""
    for _ in range(8):
        sums = (sums >> np.uint32(1)) ^ np.where(sums & np.uint32(1), np.uint32(_POLYNOMIAL), np.uint32(0))
    return sums


_OF_PAIRS = _past_one_byte(_past_one_byte(np.arange(1 << 16, dtype=np.uint32)))
_PAST_A_CHUNK = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
for _ in range(_STEP):
    _PAST_A_CHUNK = _past_one_byte(_PAST_A_CHUNK)
