"""The quotas of a frame, read, checked, and laid out as the tables that `lookup` reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, Unsupported
from ..frames.given_frames import text_column
from ..model.levels import LEVEL_NAMES, LEVELS, Level
from .input_columns import CLUSTER, QUOTAS_LABEL, non_null_column, number_column
from .lookup import CLIENT_BIT, NUMBER_SHIFT, USER_BIT, Flags, Ints, Longs, NameTable, Probe, Tables
from .rules import entity_of

_MOST_ENTITIES = 2 ** (31 - NUMBER_SHIFT) - 1


@dataclass(frozen=True)
class NameCodes:
    """A column of names as codes into its distinct names; -1 is null."""

    names: pa.Array
    codes: Longs

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> NameCodes:
        encoded = column.combine_chunks().dictionary_encode()
        return cls(encoded.dictionary, np.asarray(pc.fill_null(encoded.indices, -1), np.int64))

    def name(self, code: int) -> str | None:
        return None if code < 0 else str(self.names[code].as_py())


@dataclass(frozen=True)
class StoredRows:
    """QUOTAS rows of the eight user and client levels, one an entity and key.

    `entity` numbers the entities from 0, the less specific first; `first` is a row of each.
    """

    level: Longs
    cluster: NameCodes | None
    user: NameCodes
    client: NameCodes
    key: NameCodes
    values: npt.NDArray[np.float64]
    entity: Longs
    first: Longs

    @classmethod
    def of(cls, table: pa.Table) -> StoredRows:
        """Read and check the rows.

        Raises
        ------
        Invalid
            See `Index.of`.
        """
        values = np.asarray(number_column(table, "value", QUOTAS_LABEL), np.float64)
        names = {name: text_column(table, name, QUOTAS_LABEL) for name in table.column_names if name != "value"}
        filled = {n: non_null_column(names[n], n, QUOTAS_LABEL) for n in (CLUSTER, "key") if n in names}
        level = level_numbers(names["level"])
        user, client = NameCodes.of(names["user"]), NameCodes.of(names["client_id"])
        _check_names(level, user, client)
        key = NameCodes.of(filled["key"])
        cluster = NameCodes.of(filled[CLUSTER]) if CLUSTER in filled else None
        entity, first = _entities(level, cluster, user, client)
        rows = cls(level, cluster, user, client, key, values, entity, first)
        rows._check_twice(table)
        return rows

    @property
    def clusters(self) -> Longs:
        """The number of each row's cluster, 0 of a single one."""
        return np.zeros(len(self.level), np.int64) if self.cluster is None else self.cluster.codes

    def _check_twice(self, table: pa.Table) -> None:
        """Refuse an entity and key that is there twice: which of them the cluster has, nobody can say."""
        identity = self.entity * len(self.key.names) + self.key.codes
        order = np.sort(identity[self.entity >= 0])
        twice = order[1:][order[1:] == order[:-1]]
        if len(twice):
            first, second = np.flatnonzero(identity == twice[0])[:2].tolist()
            [row] = table.slice(first, 1).to_pylist()
            place = f" in cluster {row[CLUSTER]}" if CLUSTER in row else ""
            raise Invalid(
                f"{row['key']} of {entity_of(row)}{place} is twice in {QUOTAS_LABEL}, in rows {first} and {second}",
                hint="One row per entity and key. Several clusters need a cluster_id.",
            )


def level_numbers(column: pa.ChunkedArray) -> Longs:
    """The number of each row's level; 8 and up are passed over.

    Raises
    ------
    Invalid
        It is not known.
    """
    positions = pc.index_in(column, value_set=pa.array(LEVEL_NAMES))
    if positions.null_count:
        row = pc.index(pc.is_null(positions), True).as_py()
        raise Invalid(
            f"level {column[row].as_py()} in row {row} of {QUOTAS_LABEL} is not known",
            hint=f"They are {', '.join(LEVEL_NAMES)}.",
        )
    return np.asarray(positions, np.int64)


def _check_names(level: Longs, user: NameCodes, client: NameCodes) -> None:
    """A level that says "name" has one, any other has none; a name is never empty."""
    numbers = np.minimum(level, len(LEVELS))
    for column, coded in (("user", user), ("client_id", client)):
        needed = np.array([getattr(a_level, column) == "name" for a_level in LEVELS] + [False])[numbers]
        blank = coded.codes == np.asarray(pc.fill_null(pc.index_in(pa.array([""]), value_set=coded.names), -2))
        wrong = ((needed != (coded.codes >= 0)) | blank) & (numbers < len(LEVELS))
        if wrong.any():
            row = int(np.argmax(wrong))
            name = coded.name(coded.codes[row])
            raise Invalid(f"level {LEVELS[level[row]]} does not fit {column}={name!r} in row {row} of {QUOTAS_LABEL}")


def _entities(level: Longs, cluster: NameCodes | None, user: NameCodes, client: NameCodes) -> tuple[Longs, Longs]:
    """The number of each row's entity, and a row of each entity; -1 where the level is passed over."""
    rows = np.flatnonzero(level < len(LEVELS))
    identity = len(LEVELS) - 1 - level[rows]
    if cluster is not None:
        identity = identity * (len(cluster.names) + 1) + cluster.codes[rows]
    for coded in (user, client):
        identity = identity * (len(coded.names) + 1) + coded.codes[rows] + 1
    encoded = pc.dictionary_encode(pa.array(identity))
    distinct, codes = np.asarray(encoded.dictionary), np.asarray(encoded.indices)
    if len(distinct) > _MOST_ENTITIES:
        raise Unsupported(f"{len(distinct)} entities are more than one table takes ({_MOST_ENTITIES})")
    place, first, entity = np.empty_like(distinct), np.empty_like(distinct), np.full(len(level), -1, np.int64)
    place[np.argsort(distinct)] = np.arange(len(distinct))
    entity[rows] = place[codes]
    first[entity[rows]] = rows
    return entity, first


@dataclass(frozen=True)
class _Entities:
    """The entities themselves, with their tags, a column per key (0 where that key is not set)."""

    level: Longs
    cluster: Longs
    clusters: int
    tags: Ints
    user_row: Longs
    client_row: Longs
    row_cluster: Longs

    def at(self, level: Level) -> Flags:
        return np.asarray(self.level == level.number)


def tables_of(rows: StoredRows, keys: tuple[str, ...], overridden: bool) -> Tables:
    """The kernel's tables for these keys; with the chains that list overridden quotas, if asked."""
    values, tags = _values_and_tags(rows, keys)
    clusters = 1 if rows.cluster is None else len(rows.cluster.names)
    each = np.arange(clusters + 1)
    users, user_row, user_cluster = _side(rows, rows.user, 0 * each, 0 * each, 1)
    clients, client_row, row_cluster = _side(rows, rows.client, 2 * each, 2 * each + 1, 2 * (clusters + 1))
    row_cluster[: 2 * (clusters + 1)] = each.repeat(2)
    entities = _Entities(
        rows.level[rows.first], rows.clusters[rows.first], clusters, tags, user_row, client_row, row_cluster
    )
    both = np.flatnonzero(entities.at(LEVELS[0]))  # exact pairs of a user and a client-id
    pair_keys = user_row[both] * len(row_cluster) + client_row[both]
    no_pair = np.zeros((1, len(keys)), np.int32)
    of_user = _user_tables(entities, len(user_cluster))
    of_client = _client_tables(entities)
    return Tables(
        keys,
        tuple(level.name for level in LEVELS),
        None if rows.cluster is None else rows.cluster.names,
        users,
        clients,
        Probe.of(pair_keys, np.arange(len(both)) + 1),
        np.concatenate([no_pair, tags[both]]),
        np.maximum.reduce(of_user),
        np.maximum.reduce(of_client),
        values,
        (of_user, of_client) if overridden else None,
    )


def _values_and_tags(rows: StoredRows, keys: tuple[str, ...]) -> tuple[npt.NDArray[np.float64], Ints]:
    """Values, a row per key, by the entities' numbers; and tags, a row per entity, 0 where the key is not set."""
    values = np.zeros((len(keys), len(rows.first) + 1))
    tags = np.zeros((len(rows.first), len(keys)), np.int32)
    speaks = np.array([(bool(a.user) << USER_BIT) | (bool(a.client_id) << CLIENT_BIT) | a.number for a in LEVELS])
    tag = ((np.arange(len(rows.first)) + 1) << NUMBER_SHIFT) | speaks[rows.level[rows.first]]
    codes = pc.fill_null(pc.index_in(pa.array(keys, pa.string()), value_set=rows.key.names), -1)
    for column, code in enumerate(codes.to_pylist()):
        at = np.flatnonzero((rows.key.codes == code) & (rows.entity >= 0))
        entity = rows.entity[at]
        values[column, entity + 1] = rows.values[at]
        tags[entity, column] = tag[entity]
    return values, tags


def _side(
    rows: StoredRows, coded: NameCodes, unknown: Longs, blank: Longs, first_row: int
) -> tuple[NameTable, Longs, Longs]:
    """One side's look-up, the table row of each entity's name (-1: it has none), and each row's cluster."""
    code, cluster = coded.codes[rows.first], rows.clusters[rows.first]
    has_name = code >= 0
    encoded = pc.dictionary_encode(pa.array(cluster[has_name] * len(coded.names) + code[has_name]))
    identity, inverse = np.asarray(encoded.dictionary), np.asarray(encoded.indices)
    numbers = np.arange(len(identity)) + first_row
    row = np.full(len(code), -1)
    row[has_name] = numbers[inverse]
    row_cluster = np.concatenate([np.zeros(first_row, np.int64), identity // max(len(coded.names), 1)])
    table = np.full(len(coded.names) + 1, unknown[0])
    if rows.cluster is None:  # the code of a name says all
        table[identity] = numbers
    probe = None if rows.cluster is None else Probe.of(identity, numbers)
    return NameTable(coded.names, table, unknown, blank, probe), row, row_cluster


def _user_tables(entities: _Entities, count: int) -> tuple[Ints, ...]:
    """For each level that names the user alone: tags by the user's row; below, those for a blank client-id."""
    return tuple(
        np.concatenate([table, table * (level.client_id is None)])
        for level in LEVELS
        if level.user == "name" and level.client_id != "name"
        for table in [_placed(entities, level, entities.user_row, count)]
    )


def _client_tables(entities: _Entities) -> tuple[Ints, ...]:
    """For each level that does not name the user: tags by the client-id's row; below, those for an empty user.

    A blank client-id takes nothing from a level that speaks of client-ids, an empty user nothing from one that
    speaks of users; and where a default user quota alone fits, Kafka finds nothing for an empty user (`rules`).
    """
    count, blank = len(entities.row_cluster), np.arange(len(entities.row_cluster)) < 2 * (entities.clusters + 1)
    blank &= np.arange(count) % 2 == 1
    fits = {}
    for level in LEVELS:
        if level.user != "name":
            is_named = level.client_id == "name"
            fits[level.name] = (
                _placed(entities, level, entities.client_row, count) if is_named else _spread(entities, level)
            )
            fits[level.name][blank] *= level.client_id is None
    is_for_any_client = (fits["CLIENT_OF_DEFAULT_USER"] != 0) | (fits["DEFAULT_CLIENT_OF_DEFAULT_USER"] != 0)
    heard = is_for_any_client | (fits["DEFAULT_USER"] == 0)
    return tuple(
        np.concatenate([table, table * heard * (level.user is None)])
        for level in LEVELS
        if (table := fits.get(level.name)) is not None
    )


def _placed(entities: _Entities, level: Level, row: Longs, count: int) -> Ints:
    """The level's tags at the rows of their names."""
    table = np.zeros((count, entities.tags.shape[1]), np.int32)
    table[row[entities.at(level)]] = entities.tags[entities.at(level)]
    return table


def _spread(entities: _Entities, level: Level) -> Ints:
    """The tags of a level without names, the same for all rows of a cluster."""
    of_cluster = np.zeros((entities.clusters + 1, entities.tags.shape[1]), np.int32)
    of_cluster[entities.cluster[entities.at(level)]] = entities.tags[entities.at(level)]
    return of_cluster[entities.row_cluster]
