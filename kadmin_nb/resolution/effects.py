"""Effects of changed quotas: what binds each known client before and after, and who shares its bucket. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..frames.given_frames import text_column
from ..model.levels import LEVELS
from . import input_columns
from .input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, led
from .kernel import Index, asked_keys, pair_columns
from .lookup import Doubles, Longs
from .rules import stored_of
from .shadows import COMES_BEFORE, shadowed_by

SAME_VALUE, SAME, UNCHANGED = "same value", "same", "unchanged"

EFFECTS = ("becomes limited", "lowered", "raised", "becomes unlimited", SAME_VALUE)
"""The effects on a client's limit, the worst first."""

SHARING = ("becomes shared", "more share it", "moves", "is split", "fewer share it", SAME)
"""The effects on its bucket: it holds more clients by its kind, or by their number; is another's; holds fewer."""

BY_USER, BY_CLIENT = 1, 2
KIND = np.array([BY_USER * bool(level.user) + BY_CLIENT * bool(level.client_id) for level in LEVELS] + [0])
"""The kind of each level's bucket, the last (-1) for no level: 0 without a bucket, 3 one user and client-id alone."""

_WIDTH = len(SHARING) + 1
_SIDE = ("value", "level", "kind", "clients")
_SHADOWY = pa.array(sorted({*COMES_BEFORE, *(level for levels in COMES_BEFORE.values() for level in levels)}))


@dataclass(frozen=True)
class Impact:
    """`rows` as IMPACT, the worst first, `counts` as IMPACT_COUNTS, `shadowed` as SHADOWED."""

    rows: pa.Table
    counts: pa.Table
    shadowed: pa.Table


def compare(before: Any, after: Any, pairs: Any, *, keys: str | Iterable[str] | None = None) -> Impact:
    """The clients that the way from one QUOTAS to another touches.

    Parameters
    ----------
    before, after
        QUOTAS, as anything with `__arrow_c_stream__`.
    pairs
        The known clients: PAIRS, or any frame with `user` and `client_id`; each counts once. With a `cluster_id` in
        all three it is part of the match.
    keys
        The keys to compare; default: the four of users and clients.

    Raises
    ------
    UsageError, Invalid
        As `resolve`.
    """
    chosen = asked_keys(keys)
    tables = [input_columns.read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL) for quotas in (before, after)]
    people = _KnownClients.of(known_clients(pairs, CLUSTER in tables[0].column_names))
    was, will = (Index.of(table, chosen).resolve(people.table, shape="wide") for table in tables)
    compared = [_Compared.of(people, key, was[key], will[key]) for key in sorted(chosen)]
    counts = schemas.table(
        schemas.IMPACT_COUNTS, (row for key_comparison in compared for row in key_comparison.counts())
    )
    rows = schemas.marked(_impact_rows(people, compared), input_columns.stamp(tables[0]))
    return Impact(rows, counts, shadowed(*tables))


def known_clients(pairs: Any, by_cluster: bool) -> pa.Table:
    """Each client of the pairs once, and what is refused: as `pair_columns`."""
    names = pa.table(pair_columns(pairs, by_cluster))
    return names.group_by(names.column_names, use_threads=False).aggregate([])


def shadowed(before: Any, after: Any) -> pa.Table:
    """SHADOWED: quotas that are shadowed in `after`, and were not so in `before`."""
    was, will = (_by_cluster(input_columns.read_columns(side, QUOTA_COLUMNS, QUOTAS_LABEL)) for side in (before, after))
    rows = [
        {CLUSTER: cluster, "entity": str(entity), "key": key, "value": value, "shadowed_by": str(winner)}
        for cluster, stored in will.items()
        for (entity, key), value in stored.items()
        if (winner := shadowed_by(stored, entity, key)) is not None
        and not ((entity, key) in (old := was.get(cluster, {})) and shadowed_by(old, entity, key))
    ]
    schema = led(schemas.SHADOWED.schema, () if set(will) <= {None} else (CLUSTER,))
    return schemas.table(schema, sorted(rows, key=lambda row: (row[CLUSTER] or "", row["entity"], row["key"])))


def _by_cluster(table: pa.Table) -> dict[str | None, dict[Any, float]]:
    """The quotas of the levels that shadow, or can be shadowed, cluster by cluster."""
    rows = table.filter(pc.is_in(text_column(table, "level", QUOTAS_LABEL), _SHADOWY)).to_pylist()
    clusters = sorted({row.get(CLUSTER) for row in rows}, key=str)
    return {cluster: stored_of(row for row in rows if row.get(CLUSTER) == cluster) for cluster in clusters}


@dataclass(frozen=True)
class _KnownClients:
    """The known clients, each once, in order; with codes that are equal where a user, or a client-id, is."""

    table: pa.Table
    user: Longs
    client: Longs

    @classmethod
    def of(cls, clients: pa.Table) -> _KnownClients:
        (user, users), (client, client_ids) = (_codes(clients[name]) for name in ("user", "client_id"))
        if CLUSTER in clients.column_names:
            cluster, _ = _codes(clients[CLUSTER])
            user, client = cluster * users + user, cluster * client_ids + client
        order = np.lexsort((client, user))
        return cls(clients.take(pa.array(order)), user[order], client[order])

    def sharing(self, kind: Longs) -> Longs:
        """Counts of the clients that share each one's bucket, where the buckets are of these kinds."""
        shared = np.asarray(kind == BY_USER + BY_CLIENT, np.int64)
        for bucket_kind, codes in ((BY_USER, self.user), (BY_CLIENT, self.client)):
            own_codes = codes[kind == bucket_kind]
            shared[kind == bucket_kind] = np.bincount(own_codes)[own_codes] if len(own_codes) else 0
        return shared


def _codes(names: pa.ChunkedArray) -> tuple[Longs, int]:
    """Each name's place among the distinct ones, and how many there are."""
    encoded = names.combine_chunks().dictionary_encode()
    place = np.empty(len(encoded.dictionary), np.int64)
    place[np.asarray(pc.sort_indices(encoded.dictionary))] = np.arange(len(place))
    return place[np.asarray(encoded.indices)], len(place)


@dataclass(frozen=True)
class _Side:
    """The effective quota of each client: value (NaN: unlimited), level number (-1), bucket's kind, who shares it."""

    value: Doubles
    level: Longs
    kind: Longs
    clients: Longs

    @classmethod
    def of(cls, people: _KnownClients, answers: pa.ChunkedArray) -> _Side:
        whole = answers.combine_chunks()
        value, level = whole.field("value"), whole.field("level")
        numbers = np.asarray(pc.fill_null(level.indices, -1), np.int64)
        kind = KIND[numbers]
        return cls(np.asarray(value.fill_null(np.nan)), numbers, kind, people.sharing(kind))

    def take(self, rows: Longs) -> _Side:
        return _Side(self.value[rows], self.level[rows], self.kind[rows], self.clients[rows])


@dataclass(frozen=True)
class _Compared:
    """The clients whom a change touches in one key: their rows, and the numbers of effect and sharing."""

    key: str
    clients: int
    rows: Longs
    effect: Longs
    sharing: Longs
    before: _Side
    after: _Side

    @classmethod
    def of(cls, people: _KnownClients, key: str, was: pa.ChunkedArray, will: pa.ChunkedArray) -> _Compared:
        before, after = _Side.of(people, was), _Side.of(people, will)
        is_less, is_more = after.value < before.value, after.value > before.value
        cases = effect_cases(before.kind == 0, after.kind == 0, is_less, is_more)
        effect, sharing = np.select(cases, range(len(cases)), len(cases)), _sharing(before, after)
        same = (effect == EFFECTS.index(SAME_VALUE)) & ((sharing == SHARING.index(SAME)) | (sharing < 0))
        rows = np.flatnonzero(~same | (before.level != after.level))
        return cls(key, len(same), rows, effect[rows], sharing[rows], before.take(rows), after.take(rows))

    def counts(self) -> Iterator[dict[str, object]]:
        """Its rows of IMPACT_COUNTS, as EFFECTS and SHARING order them, the unchanged last."""
        numbers = np.bincount(self.effect * _WIDTH + self.sharing + 1)
        for code in np.flatnonzero(numbers):
            effect, sharing = divmod(int(code), _WIDTH)
            words = {"effect": EFFECTS[effect], "sharing": SHARING[sharing - 1] if sharing else None}
            yield {"key": self.key, **words, "clients": int(numbers[code])}
        if self.clients > len(self.rows):
            yield {"key": self.key, "effect": UNCHANGED, "clients": self.clients - len(self.rows)}


def effect_cases(free: Any, is_free: Any, is_less: Any, is_more: Any) -> list[Any]:
    """The conditions of EFFECTS but the last; `free` of a limit is who had none before, `is_free` who has none after.

    They are of operators alone, which mean the same for numpy's arrays and Spark's columns.
    """
    return [free & ~is_free, is_less, is_more, is_free & ~free]


def sharing_cases(was: Any, will: Any, clients_before: Any, clients_after: Any) -> list[Any]:
    """The conditions of SHARING but the last, by the bucket's kinds and clients before and after; as `effect_cases`."""
    both = BY_USER + BY_CLIENT
    more, fewer = clients_after > clients_before, clients_after < clients_before
    is_other = (was != will) & (was != both) & (will != both)
    return [
        (was == both) & (will != both),
        (was == will) & more,
        is_other,
        (was != both) & (will == both),
        (was == will) & fewer,
    ]


def _sharing(before: _Side, after: _Side) -> Longs:
    """The number of each client's sharing, -1 where there is no bucket before or after."""
    cases = sharing_cases(before.kind, after.kind, before.clients, after.clients)
    nobody = (before.kind == 0) | (after.kind == 0)
    return np.select([nobody, *cases], range(-1, len(cases)), SHARING.index(SAME))


def _impact_rows(people: _KnownClients, compared: Sequence[_Compared]) -> pa.Table:
    """IMPACT: the worst effect first, then by key and client."""
    rows, effect, sharing = (
        _joined([getattr(key_comparison, name) for key_comparison in compared])
        for name in ("rows", "effect", "sharing")
    )
    key = np.repeat(np.arange(len(compared)), [len(key_comparison.rows) for key_comparison in compared])
    order = np.argsort(((effect * _WIDTH + sharing + 1) * max(len(compared), 1) + key).astype(np.int32), kind="stable")
    chosen = people.table.take(pa.array(rows[order]))
    parts = {name: chosen[name] for name in chosen.column_names}
    parts |= {"key": _dictionary_column(key[order], [key_comparison.key for key_comparison in compared])}
    parts |= {
        "effect": _dictionary_column(effect[order], EFFECTS),
        "sharing": _dictionary_column(sharing[order], SHARING),
    }
    for name in ("before", "after"):
        parts |= _side_columns(chosen, name, [getattr(key_comparison, name) for key_comparison in compared], order)
    schema = led(schemas.IMPACT.schema, chosen.column_names)
    return pa.table([parts[name] for name in schema.names], schema=schema)


def _side_columns(chosen: pa.Table, name: str, sides: Sequence[_Side], order: Longs) -> dict[str, pa.Array]:
    """The columns of one side."""
    value, level, kind, clients = (_joined([getattr(s, n) for s in sides])[order] for n in _SIDE)
    return {
        f"value_{name}": pa.array(value.astype(np.float64), mask=kind == 0, from_pandas=False),
        f"level_{name}": _dictionary_column(level, [a_level.name for a_level in LEVELS]),
        f"bucket_user_{name}": _part(chosen["user"], kind, BY_USER),
        f"bucket_client_id_{name}": _part(chosen["client_id"], kind, BY_CLIENT),
        f"clients_{name}": pa.array(clients, mask=kind == 0),
    }


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0, np.int64), *parts])


def _dictionary_column(codes: Longs, words: Sequence[str]) -> pa.DictionaryArray:
    """The words of these numbers, null for -1."""
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(words), pa.string()))


def _part(names: pa.ChunkedArray, kind: Longs, wanted_kind: int) -> pa.ChunkedArray:
    """The names where the bucket goes by them, "" where it does not, null where there is no bucket."""
    return pc.if_else(pa.array(kind & wanted_kind != 0, mask=kind == 0), names, "")
