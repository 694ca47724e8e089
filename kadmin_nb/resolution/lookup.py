"""The vectorised rule: many clients at once, Arrow in and Arrow out.

Depends on numpy and pyarrow alone, so that Spark can ship this module to its workers by value.

Every quota entity has a number, the more specific its level the higher, so that **the binding quota is the
largest number among those that fit**. What fits a client is found by three look-ups: by the pair of names, by
the user, by the client-id. Names are hashed once into codes; after that all is gathers and maxima of int32.

A *tag* is an entity's number and what the result needs to know about it, packed into an int32:

    bits 5…   number of the entity, 1 and up; 0 = no quota, unlimited
    bit  4    the level speaks of the client-id    bit 3    of the user    (who shares the bucket)
    bits 0-2  the level, most specific first (KIP-248's number)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

LEVEL_BITS, USER_BIT, CLIENT_BIT, NUMBER_SHIFT = 7, 3, 4, 5
BLOCK = 1 << 14
"""Pairs worked on at once, so that what is between input and output stays in the cache. A multiple of 8."""
PIECE = 1 << 20
"""Pairs that are worth a thread."""
EMPTY = np.int64(-1)


@dataclass(frozen=True)
class Probe:
    """A hash table of int64 keys to rows: open addressing, at most a quarter full, behind a filter.

    `slots` holds key and row side by side, so that a look-up costs one visit to memory; `home` says of each
    slot whether any key hashes to it, small enough to stay in the cache when most look-ups find nothing.
    """

    slots: Longs
    home: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, keys: Longs, rows: Longs) -> Probe:
        """The table of these distinct keys, none negative; rows count from 1."""
        size = 1 << max(4, int(4 * len(keys)).bit_length())
        table = cls(np.stack([np.full(size, EMPTY), np.zeros(size, np.int64)], axis=1), np.zeros(size, np.bool_))
        at = table._at(keys)
        table.home[at] = True
        while len(keys):
            free = table.slots[at, 0] == EMPTY
            table.slots[at[free], 0] = keys[free]
            placed = table.slots[at, 0] == keys
            table.slots[at[placed], 1] = rows[placed]
            keys, rows, at = keys[~placed], rows[~placed], (at[~placed] + 1) & (size - 1)
        return table

    def _at(self, keys: Longs) -> Longs:
        """Fibonacci hashing: the high bits of a product with the golden ratio."""
        product = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return (product >> np.uint64(65 - len(self.home).bit_length())).view(np.int64)

    def rows(self, keys: Longs) -> Longs:
        """The row of each key, 0 where it is not in the table."""
        at, found = self._at(keys), np.zeros(len(keys), np.int64)
        pending = np.flatnonzero(self.home.take(at, mode="clip"))
        at, keys = at.take(pending), keys.take(pending)
        while len(pending):
            slots = self.slots.take(at, axis=0, mode="clip")
            hit = slots[:, 0] == keys
            found[pending] = slots[:, 1] * hit
            go = np.flatnonzero(~hit & (slots[:, 0] != EMPTY))
            pending, keys, at = pending.take(go), keys.take(go), (at.take(go) + 1) & (len(self.home) - 1)
        return found


@dataclass(frozen=True)
class NameTable:
    """The users, or the client-ids, of the quotas: names, and a row of the tables for each.

    `rows` gives the row of a name; with several clusters `probe` gives that of (cluster, name) instead,
    and a name without one takes the cluster's own row, `unknown[cluster]`, or `blank[cluster]`.
    """

    names: pa.Array
    rows: Longs
    unknown: Longs
    blank: Longs
    probe: Probe | None


@dataclass(frozen=True)
class Tables:
    """Quotas, ready to be looked up; made once, used for any number of pairs.

    `by_user` and `by_client` hold tags, a row a name and a column per key. Each is two tables, one below the
    other: for clients with both names, then for those with a blank client-id (or an empty user).
    `chains`, where overridden quotas are wanted, has the same by level, users' and client-ids'.
    """

    keys: tuple[str, ...]
    levels: tuple[str, ...]
    clusters: pa.Array | None
    users: NameTable
    clients: NameTable
    pairs: Probe
    by_pair: Ints
    by_user: Ints
    by_client: Ints
    values: Doubles
    chains: tuple[tuple[Ints, ...], tuple[Ints, ...]] | None

    @property
    def client_rows(self) -> int:
        return len(self.by_client) // 2

    @property
    def user_rows(self) -> int:
        return len(self.by_user) // 2


@dataclass(frozen=True)
class Codes:
    """A column of names as codes into one dictionary whose first entry is the empty name.

    `pieces` are (first row, codes local to the piece, global code of each local one).
    """

    names: pa.Array
    pieces: tuple[tuple[int, Ints, Ints], ...]


@dataclass(frozen=True)
class BoundArrays:
    """The result, one row per key and one column per pair; `valid` are bitmaps as Arrow has them.

    `users` and `client_ids` are codes of the buckets' names.
    """

    values: Doubles
    levels: Ints
    users: Ints
    client_ids: Ints
    valid: npt.NDArray[np.uint8]


def resolve(
    tables: Tables,
    users: pa.ChunkedArray,
    client_ids: pa.ChunkedArray,
    clusters: pa.ChunkedArray | None = None,
    *,
    threads: int = 1,
) -> list[tuple[pa.Array, ...]]:
    """The effective quotas of each pair: for each key the arrays value, level, bucket_user, bucket_client_id.

    Names are string arrays of one length; null is a name that no quota has, and is null in the bucket. With
    `chains` in the tables there is a fifth array, the list of overridden quotas.
    """
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        run: Callable[..., Iterator[Any]] = pool.map if threads > 1 and len(users) > PIECE else map
        user_codes, client_codes = encode(run, [users, client_ids], threads)
        cluster_rows = None if clusters is None else _cluster_rows(tables, clusters)
        bound = _empty(len(tables.keys), len(users))
        job = _Job(tables, user_codes, client_codes, cluster_rows, bound)
        parts = list(run(job.run, _spans(len(users), max(threads, 1) * 4)))
    return _arrays(tables, user_codes.names, client_codes.names, bound, list(chain.from_iterable(parts)))


def encode(run: Callable[..., Iterator[Any]], columns: Sequence[pa.ChunkedArray], threads: int) -> list[Codes]:
    """Each column dictionary-encoded, in pieces that several threads share."""
    pieces = [_pieces(column, threads) for column in columns]
    encoded = iter(list(run(_encoded, list(chain.from_iterable(pieces)))))
    return [_unified([next(encoded) for _ in frame_pieces]) for frame_pieces in pieces]


def _encoded(names: pa.Array) -> pa.DictionaryArray:
    """With null as a name like any other: none of the quotas has it."""
    return pc.dictionary_encode(names, null_encoding="encode")


def _pieces(column: pa.ChunkedArray, threads: int) -> list[pa.Array]:
    """The column cut so that each thread has something to do, and no piece is small without need."""
    size = max(-(-len(column) // max(threads, 1)), PIECE)
    return [c.slice(s, size) for c in column.chunks for s in range(0, len(c), size)]


def _unified(pieces: Sequence[pa.DictionaryArray]) -> Codes:
    """One dictionary over all pieces, the empty name first, and the way to it from each piece's own."""
    every = pa.concat_arrays([pa.array([""], pa.string()), *(piece.dictionary for piece in pieces)])
    joint = _encoded(every)
    to_joint = np.asarray(joint.indices)
    first_rows = np.cumsum([0, *(len(piece) for piece in pieces)])
    first_names = np.cumsum([1, *(len(piece.dictionary) for piece in pieces)])
    return Codes(
        joint.dictionary,
        tuple(
            (int(row), np.asarray(piece.indices), to_joint[name : name + len(piece.dictionary)])
            for row, name, piece in zip(first_rows, first_names, pieces, strict=False)
        ),
    )


def _cluster_rows(tables: Tables, clusters: pa.ChunkedArray) -> Longs:
    """The number of each row's cluster; one without quotas comes last."""
    positions = pc.index_in(clusters, value_set=tables.clusters)
    return np.asarray(pc.fill_null(positions, len(tables.clusters or ())), np.int64)


def _spans(rows: int, parts: int) -> list[tuple[int, int]]:
    """The rows in some even stretches of whole blocks."""
    size = max(-(-rows // (parts * BLOCK)), 1) * BLOCK
    return [(start, min(start + size, rows)) for start in range(0, rows, size)]


def _empty(keys: int, rows: int) -> BoundArrays:
    """Room for the result, from Arrow's pool, which keeps pages for the next call; nothing is written yet."""

    def room(width: int, kind: type[np.generic]) -> Any:
        buffer = pa.allocate_buffer(keys * width * np.dtype(kind).itemsize)
        return np.frombuffer(buffer, kind).reshape(keys, width)

    levels, users, client_ids = (room(rows, np.int32) for _ in range(3))
    return BoundArrays(room(rows, np.float64), levels, users, client_ids, room(-(-rows // 8), np.uint8))


class _Names:
    """The names of one side for a stretch of pairs: global codes, and rows of the tables."""

    def __init__(self, side: NameTable, codes: Codes) -> None:
        positions = pc.fill_null(pc.index_in(codes.names, value_set=side.names), -1)
        self.side, self.pieces = side, codes.pieces
        self.known = np.asarray(positions, np.int64)
        self.row = side.rows.take(self.known)
        self.row[0] = side.blank[0]

    def codes(self, start: int, stop: int) -> Ints:
        """Global codes of the pairs from `start` to `stop`."""
        parts = [
            to_joint.take(local[max(start - first, 0) : stop - first], mode="clip")
            for first, local, to_joint in self.pieces
            if first < stop and start < first + len(local)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def rows(self, codes: Ints, clusters: Longs | None) -> Longs:
        """The row of the tables for each code."""
        if clusters is None or self.side.probe is None:
            return self.row.take(codes, mode="clip")
        rows = np.where(codes == 0, self.side.blank[clusters], self.side.unknown[clusters])
        positions = self.known.take(codes)
        keys = np.where(positions < 0, EMPTY - 1, clusters * len(self.side.names) + positions)
        found = self.side.probe.rows(keys)
        return np.where(found > 0, found, rows)


class _Job:
    """One call of `resolve`: what all threads read, and the result they write, each its own rows."""

    def __init__(
        self, tables: Tables, users: Codes, clients: Codes, clusters: Longs | None, bound: BoundArrays
    ) -> None:
        self.tables, self.clusters, self.bound = tables, clusters, bound
        self.users, self.clients = _Names(tables.users, users), _Names(tables.clients, clients)
        self.offset = (np.arange(len(tables.keys)) * tables.values.shape[1])[:, None]
        self.flat = tables.values.reshape(-1)

    def run(self, span: tuple[int, int]) -> list[list[tuple[Any, ...]]]:
        """Resolve a stretch of pairs, block by block; overridden quotas are handed back, a list a block."""
        starts = range(span[0], span[1], BLOCK)
        return [self._block(start, min(start + BLOCK, span[1])) for start in starts]

    def _block(self, start: int, stop: int) -> list[tuple[Any, ...]]:
        users, clients = self.users.codes(start, stop), self.clients.codes(start, stop)
        clusters = None if self.clusters is None else self.clusters[start:stop]
        at_user, at_client = self.users.rows(users, clusters), self.clients.rows(clients, clusters)
        pairs = self.tables.pairs.rows(at_user * self.tables.client_rows + at_client)
        at_user, at_client = self._blanks(users, clients, at_user, at_client)
        tags = self._winners(at_user, at_client, pairs)
        self._write(start, stop, tags, users, clients)
        return self._overridden(at_user, at_client, pairs) if self.tables.chains else []

    def _blanks(self, users: Ints, clients: Ints, at_user: Longs, at_client: Longs) -> tuple[Longs, Longs]:
        """The rows once more: those of a blank client-id, or of an empty user, are in the second tables."""
        no_client, no_user = clients == 0, users == 0
        if no_client.any():
            at_user = at_user + no_client * np.int64(self.tables.user_rows)
        if no_user.any():
            at_client = at_client + no_user * np.int64(self.tables.client_rows)
        return at_user, at_client

    def _winners(self, at_user: Longs, at_client: Longs, pairs: Longs) -> Ints:
        """The tag that binds, a row per key and a column per pair."""
        tags = self.tables.by_user.take(at_user, axis=0, mode="clip")
        np.maximum(tags, self.tables.by_client.take(at_client, axis=0, mode="clip"), out=tags)
        np.maximum(tags, self.tables.by_pair.take(pairs, axis=0, mode="clip"), out=tags)
        return np.ascontiguousarray(tags.T)

    def _write(self, start: int, stop: int, tags: Ints, users: Ints, clients: Ints) -> None:
        """Write the meaning of each tag into the result's rows."""
        bound = self.bound
        numbers = (tags >> NUMBER_SHIFT) + self.offset
        for key, row in enumerate(numbers):
            self.flat.take(row, out=bound.values[key, start:stop], mode="clip")
        np.bitwise_and(tags, LEVEL_BITS, out=bound.levels[:, start:stop])
        np.multiply((tags >> USER_BIT) & 1, users, out=bound.users[:, start:stop])
        np.multiply((tags >> CLIENT_BIT) & 1, clients, out=bound.client_ids[:, start:stop])
        bits = np.packbits(tags != 0, axis=1, bitorder="little")
        bound.valid[:, start // 8 : start // 8 + bits.shape[1]] = bits

    def _overridden(self, at_user: Longs, at_client: Longs, pairs: Longs) -> list[tuple[Any, ...]]:
        """For each key how many quotas each pair overrides, and the tags of all, most specific first."""
        of_user, of_client = self.tables.chains or ((), ())
        first = self.tables.by_pair[pairs]
        fits = np.stack([first, *(t[at_user] for t in of_user), *(t[at_client] for t in of_client)], axis=2)
        here = fits != 0
        lost = here & (np.cumsum(here, axis=2) > 1)
        return [(lost[:, k].sum(axis=1), fits[:, k][lost[:, k]]) for k in range(len(self.tables.keys))]


def _arrays(
    tables: Tables, users: pa.Array, clients: pa.Array, bound: BoundArrays, lists: list[list[tuple[Any, ...]]]
) -> list[tuple[pa.Array, ...]]:
    """The result as Arrow arrays over the very buffers that were written."""
    levels = pa.array(tables.levels, pa.string())
    return [
        (
            *_key_arrays(bound, key, levels, users, clients),
            *([_list_array(tables, key, [block[key] for block in lists])] if tables.chains else []),
        )
        for key in range(len(tables.keys))
    ]


def _key_arrays(
    bound: BoundArrays, key: int, levels: pa.Array, users: pa.Array, clients: pa.Array
) -> tuple[pa.Array, ...]:
    """Value, level and bucket of one key; nulls are the same in all, so they share one bitmap."""
    rows, valid = bound.values.shape[1], pa.py_buffer(bound.valid[key])

    def words(codes: Ints, dictionary: pa.Array) -> pa.Array:
        kind = pa.dictionary(pa.int32(), pa.string())
        return pa.DictionaryArray.from_buffers(kind, rows, [valid, pa.py_buffer(codes[key])], dictionary)

    value = pa.Array.from_buffers(pa.float64(), rows, [valid, pa.py_buffer(bound.values[key])])
    return value, words(bound.levels, levels), words(bound.users, users), words(bound.client_ids, clients)


def _list_array(tables: Tables, key: int, blocks: list[tuple[Any, ...]]) -> pa.Array:
    """The overridden quotas of one key: list<struct<level, value>>."""
    counts = np.concatenate([[0], *(count for count, _ in blocks)])
    tags = np.concatenate([np.empty(0, np.int32), *(tags for _, tags in blocks)])
    level = pa.array(tables.levels, pa.string()).take(pa.array(tags & LEVEL_BITS))
    value = pa.array(tables.values[key].take(tags >> NUMBER_SHIFT))
    fields = [pa.field("level", pa.string(), False), pa.field("value", pa.float64(), False)]
    items = pa.StructArray.from_arrays([level, value], fields=fields)
    kind = pa.list_(pa.struct(fields))
    return pa.ListArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), items, type=kind)
