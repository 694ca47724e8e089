"""Code for Spark's workers: the look-ups over Arrow batches. Sent by value, so it uses nothing else of ours."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from ..resolution.lookup import Tables, resolve

BITS, IN_A_WORD, NO_LEVEL = 4, 7, 15
"""A level number takes so many bits, an int32 holds so many of them; and the number that stands for none: all bits."""
ROWS = 1 << 18
"""Pairs worked on at once: Spark's batches are of 10,000, and each call hashes the names of all quotas anew."""


def bound(carried: tuple[Tables, list[str]], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches with what binds each row: each key's value, and the overridden quotas if asked; then all levels.

    `carried` are the tables, and the names of all columns that come out. For each batch that is read about one is
    handed out: a worker that only wrote for a while, its input piling up, was seen to wedge a TCP connection.
    """
    tables, names = carried
    ready: deque[pa.RecordBatch] = deque()
    batch_list: list[pa.RecordBatch] = []
    for batch in batches:
        batch_list.append(batch)
        if sum(batch.num_rows for batch in batch_list) >= ROWS:
            ready.extend(_answers(tables, names, batch_list))
            batch_list = []
        if ready:
            yield ready.popleft()
    yield from ready
    if batch_list:
        yield from _answers(tables, names, batch_list)


def _answers(tables: Tables, names: list[str], batch_list: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches put together, looked up at once, and taken apart again."""
    table = pa.Table.from_batches(batch_list)
    texts = [_as_strings(table.column(name)) for name in ("user", "client_id", "cluster_id") if name in names]
    answers, levels = [], []
    for value, level, _, _, *overridden in resolve(tables, *texts):
        answers += [value, *overridden]
        levels.append(level.indices)
    answers += _packed(levels)
    start = 0
    for batch in batch_list:
        columns = [*batch.columns, *(answer.slice(start, batch.num_rows) for answer in answers)]
        yield pa.RecordBatch.from_arrays(columns, names=names)
        start += batch.num_rows


def _packed(levels: list[pa.Array]) -> list[pa.Array]:
    """The numbers of levels, several in a word: columns are what takes time here."""
    numbers = [np.asarray(level.fill_null(NO_LEVEL)) for level in levels]
    words = [numbers[first : first + IN_A_WORD] for first in range(0, len(numbers), IN_A_WORD)]
    return [pa.array(sum((n << (BITS * place) for place, n in enumerate(word)), start=np.int32(0))) for word in words]


def _as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The names as one array of the strings that the look-ups take."""
    return pa.chunked_array([column.cast(pa.string()).combine_chunks()], pa.string())
