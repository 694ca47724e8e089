"""Limits as they were: QUOTAS_HISTORY laid out so that clients are resolved as of any time, each at its own.

The rule is that of `lookup`. Quotas that name the same user, client-id or pair are cut into versions where one of them
changes, and a version is to `lookup` a cluster of its own. So what this takes grows with the changes, not with the
changes times the quotas. Three parts of the levels are looked up, each in its own version, and the closest one binds.

Both engines run it, Spark on its workers: tables of Arrow go in and come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, printable
from ..frames.frame import MOMENT
from ..model.levels import LEVELS, Level
from ..resolution.demand import numbered
from ..resolution.effects import OF_CLIENT, OF_USER
from ..resolution.input_columns import CLUSTER, QUOTA_COLUMNS
from ..resolution.kernel import Index
from ..resolution.lookup import Doubles, Flags, Longs, Tables
from ..resolution.lookup import resolve as look_up
from ..resolution.quota_tables import level_numbers
from .bucket_figures import DAY, Groups, Watched, axes_of, codes_of_both, micros

UNKNOWN = "UNKNOWN"
"""The `level` of a client at a time of which the history does not know the limits: before it begins."""

VALID_FROM, VALID_TO = "valid_from", "valid_to"

_ALWAYS, NEVER = -(1 << 62), 1 << 62
"""Microseconds before and after all times."""
_NAMES = (CLUSTER, "user", "client_id")
_PARTS = (("user", "client_id"), ("user",), ("client_id",))
"""The names that the quotas of a part have, all of them or none: pairs, users with any client-id, and the others."""
_NOTHING = len(LEVELS)
_LEVEL_WORDS = (*(level.name for level in LEVELS), None, UNKNOWN)


@dataclass(frozen=True)
class Versions:
    """Quotas of one part of the levels, in the `tables` as versions that are named by their numbers.

    A group are the quotas of a cluster that have the same `names`, with those that name nobody. `groups` are their
    codes, out of the places of the names in `known`; place 0 is that of all other names. `group` and `since` tell the
    group of each version, and its beginning, in that order.
    """

    names: tuple[str, ...]
    known: tuple[pa.Array, ...]
    groups: Longs
    group: Longs
    since: Longs
    tables: Tables

    def groups_of(self, clients: Sequence[pa.ChunkedArray]) -> Longs:
        """The group of each client, of its cluster and both names; -1 where no quota speaks of it."""
        given = dict(zip(_NAMES, clients, strict=True))
        codes = _codes(self.known, [given[name] for name in (CLUSTER, *self.names)])
        found = _place(self.groups, codes)
        of_others = _place(self.groups, codes // _size(self.known) * _size(self.known))
        return np.where(found < 0, of_others, found)

    def at(self, groups: Longs, times: Longs) -> Longs:
        """The version of each group at a time, -1 where it has none."""
        each = np.unique(self.since)
        begins = self.group * len(each) + np.searchsorted(each, self.since)
        wanted = groups * len(each) + np.searchsorted(each, times, "right") - 1
        version = np.searchsorted(begins, wanted, "right") - 1
        return np.where((version >= 0) & (groups >= 0) & (self.group[version] == groups), version, -1)

    def changes(self, groups: Longs) -> tuple[Longs, Longs]:
        """The places of these groups, each as often as it changes, and the times."""
        first, last = (np.searchsorted(self.group, groups, side) for side in ("left", "right"))
        place, version = _spread(first, last)
        return place, self.since[version]


@dataclass(frozen=True)
class LimitsOverTime:
    """The limits of clients at all times, of some keys. `since` are the times from which on the limits of a cluster are
    known, or None: always."""

    keys: tuple[str, ...]
    parts: tuple[Versions, ...]
    clusters: pa.Array
    since: Longs | None

    def changes(self, clients: Sequence[pa.ChunkedArray]) -> tuple[Longs, Longs]:
        """The places of clients, given by cluster and both names, each as often as its limits change, and the times."""
        changes = [part.changes(part.groups_of(clients)) for part in self.parts]
        changes.append((np.arange(len(clients[0])), self.known_since(clients[0])))
        return np.concatenate([place for place, _ in changes]), np.concatenate([time for _, time in changes])

    def versions(self, clients: Sequence[pa.ChunkedArray], times: Longs) -> list[Longs]:
        """The version of each client at a time, of each part."""
        return [part.at(part.groups_of(clients), times) for part in self.parts]

    def at(self, clients: Sequence[pa.ChunkedArray], versions: Sequence[Longs]) -> tuple[Doubles, Longs]:
        """The limit of each client in its versions, and the number of its level, both one row per key."""
        users, client_ids = clients[1:]
        shape = max(len(self.keys), 1), len(users)
        values, levels = np.zeros(shape), np.full(shape, _NOTHING)
        for part, version in zip(self.parts, versions, strict=True):
            found = look_up(part.tables, users, client_ids, pa.chunked_array([_numbered(version)]))
            for key, (value, level, *_) in enumerate(found):
                number = np.asarray(pc.fill_null(level.indices, _NOTHING))
                is_closer = number < levels[key]
                values[key] = np.where(is_closer, np.asarray(pc.fill_null(value, 0.0)), values[key])
                levels[key] = np.where(is_closer, number, levels[key])
        return values, levels

    def known_since(self, clusters: pa.ChunkedArray) -> Longs:
        """The time from which on the limits of each cluster are known."""
        if self.since is None:
            return np.full(len(clusters), _ALWAYS)
        places = np.asarray(pc.fill_null(pc.index_in(clusters, value_set=self.clusters), len(self.clusters)))
        times: Longs = np.append(self.since, NEVER)[places]
        return times


def limits_over_time(
    history: pa.Table, keys: tuple[str, ...], since: pa.Table | None = None, time: tuple[int, int] = (_ALWAYS, NEVER)
) -> LimitsOverTime:
    """The limits out of QUOTAS_HISTORY; or of QUOTAS, as if they had always been the same.

    `since`, with `cluster_id` and `taken_at`, says when the history of each cluster begins; else it is its first row.
    Of a `time`, from and until in microseconds, only what was in force in some part of it is kept.

    Raises
    ------
    Invalid
        As `Index.of`; and two intervals of an entity and key overlap.
    """
    rows = _with_times(history)
    begins = rows.select([CLUSTER, "start"])
    if since is not None:
        begins = pa.table({CLUSTER: since[CLUSTER].cast(pa.string()), "start": micros(since["taken_at"])})
    first = begins.group_by([CLUSTER], use_threads=False).aggregate([("start", "min")])
    is_then = pc.and_(pc.less(rows["start"], time[1]), pc.greater(rows["end"], time[0]))
    wanted = rows.filter(pc.and_(is_then, pc.is_in(rows["key"], pa.array(keys, pa.string()))))
    level_numbers(wanted["level"])  # refuses what is none
    _refuse_overlaps(wanted)
    parts = []
    for names in _PARTS:
        levels = [level.name for level in LEVELS if _names_of(level) == names]
        its_rows = wanted.filter(pc.is_in(wanted["level"], pa.array(levels)))
        if len(its_rows):
            parts.append(_versions_of(names, its_rows, keys))
    times = np.asarray(first["start_min"]) if VALID_FROM in history.column_names else None
    return LimitsOverTime(keys, tuple(parts), first[CLUSTER].combine_chunks(), times)


def _versions_of(names: tuple[str, ...], rows: pa.Table, keys: Sequence[str]) -> Versions:
    """Versions of rows with the columns of QUOTAS, `cluster_id`, and `start` and `end` in microseconds."""
    columns = [rows[name] for name in (CLUSTER, *names)]
    known = tuple(pc.unique(column.drop_null()) for column in columns)
    own, size = _codes(known, columns), _size(known)
    groups = np.unique(np.concatenate([own, np.arange(len(known[0])) * size]))
    last_of_all = np.where(own % size == 0, own + size, own + 1)  # what names nobody is in each group of its cluster
    row, group = _spread(np.searchsorted(groups, own), np.searchsorted(groups, last_of_all))
    start, end = (np.asarray(rows[name])[row] for name in ("start", "end"))
    times = np.unique(np.concatenate([start, end]))
    first, last = (group * len(times) + np.searchsorted(times, time) for time in (start, end))
    begins = np.unique(np.concatenate([first, last]))
    at, version = _spread(np.searchsorted(begins, first), np.searchsorted(begins, last))
    quotas = rows.select(QUOTA_COLUMNS).take(pa.array(row[at])).append_column(CLUSTER, _numbered(version))
    return Versions(
        names, known, groups, begins // len(times), times[begins % len(times)], Index.of(quotas, keys).tables
    )


def _names_of(level: Level) -> tuple[str, ...]:
    """The names of the part that a level is in."""
    if level.user != "name":
        return ("client_id",)
    return ("user", "client_id") if level.client_id == "name" else ("user",)


def limits_at(rows: pa.Table, limits: LimitsOverTime) -> pa.Table:
    """The rows with `limit`, `level`, `bucket_user` and `bucket_client_id` of their own `key` at their `start`."""
    clients, times = clients_of(rows), micros(rows["start"])
    is_known = times >= limits.known_since(clients[0])
    versions = limits.versions(clients, times)
    states = pa.table({**dict(zip(_NAMES, clients, strict=True)), **{f"{n}": of for n, of in enumerate(versions)}})
    codes, firsts = numbered(states, states.column_names)
    each = [column.take(pa.array(firsts)) for column in clients]
    values, levels = limits.at(each, [version[firsts] for version in versions])
    key = pc.index_in(rows["key"], value_set=pa.array(limits.keys, pa.string()))
    place = np.asarray(pc.fill_null(key, 0)), codes
    level = np.where(is_known, levels[place], _NOTHING + 1)
    level = np.where(np.asarray(key.is_null()), _NOTHING, level)
    is_bound, of_bucket = level < _NOTHING, np.minimum(level, _NOTHING)
    names = zip(("bucket_user", "bucket_client_id"), clients[1:], (OF_USER, OF_CLIENT), strict=True)
    columns = {
        "limit": pa.array(values[place], mask=~is_bound),
        "level": pa.array(_LEVEL_WORDS, pa.string()).take(pa.array(level)),
        **{bucket: _where(is_bound, _where(speaks[of_bucket], of, ""), None) for bucket, of, speaks in names},
    }
    return pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)), **columns})


def times_in_force(
    rows: pa.Table, by: Sequence[str], unwatched_after: float, watched: Watched, limits: LimitsOverTime, by_day: bool
) -> pa.Table:
    """The times in which each client's limits were the same: from `start` on, the watched windows `first` to `last`.

    Parameters
    ----------
    rows
        A row per window of a broker: the columns `by`, `start` and `end`. Rows without a window: `user`, `client_id`
        and `key` of each client.
    by, unwatched_after, watched
        As of `watched_windows`.
    by_day
        A new day in UTC begins a new time.
    """
    is_client = rows["start"].is_null()
    clients, times = rows.filter(is_client), rows.filter(pc.invert(is_client))
    times, groups = Groups.sorted(times, by, [micros(times["start"])])
    brokers = times.select(by).take(pa.array(groups.firsts))
    axes = axes_of(brokers, groups, (micros(times["start"]), micros(times["end"])), unwatched_after, watched)
    codes, of_client = codes_of_both(brokers, clients, by)
    axis = np.argsort(codes)[of_client] if len(codes) else of_client
    first = np.array([one.begins[0] for one in axes], np.int64)[axis]
    last = np.array([one.ends[-1] for one in axes], np.int64)[axis]
    client, time = limits.changes(clients_of(clients))
    points = [(np.arange(len(clients)), first), (client, time)]
    if by_day:
        place, day = _spread(first // DAY + 1, -(-last // DAY))
        points.append((place, day * DAY))
    client, time = (np.concatenate(parts) for parts in zip(*points, strict=True))
    inside = (time >= first[client]) & (time < last[client])
    client, time = np.unique(np.stack([client[inside], time[inside]]), axis=1)
    until = np.where(np.diff(client, append=-1) == 0, np.append(time[1:], 0), last[client])
    numbers = np.zeros((2, len(time)), np.int64)
    for number, one in enumerate(axes):
        of_broker = axis[client] == number
        numbers[:, of_broker] = one.numbers(time[of_broker]), one.numbers(until[of_broker])
    is_watched = numbers[0] < numbers[1]
    kept = clients.select([*by, "user", "client_id", "key"]).take(pa.array(client[is_watched]))
    columns = dict(zip(kept.column_names, kept.columns, strict=True))
    columns["start"] = pa.array(time[is_watched]).cast(MOMENT)
    return pa.table({**columns, "first": numbers[0][is_watched], "last": numbers[1][is_watched]})


def clients_of(rows: pa.Table) -> list[pa.ChunkedArray]:
    """The clusters, users and client-ids of rows, as texts; one cluster without a name where they have none."""
    clusters = rows[CLUSTER] if CLUSTER in rows.column_names else pa.chunked_array([pa.repeat("", len(rows))])
    columns = [clusters, rows["user"], rows["client_id"]]
    return [pa.chunked_array([column.cast(pa.string()).combine_chunks()], pa.string()) for column in columns]


def _where(condition: Flags, value: Any, otherwise: str | None) -> pa.ChunkedArray:
    return pc.if_else(pa.array(condition), value, pa.scalar(otherwise, pa.string()))


def _numbered(versions: Longs) -> pa.Array:
    return pa.array(versions).cast(pa.string())


def _size(known: Sequence[pa.Array]) -> int:
    """The number of codes that a cluster has."""
    return int(np.prod([len(names) + 1 for names in known[1:]]))


def _codes(known: Sequence[pa.Array], columns: Sequence[pa.ChunkedArray]) -> Longs:
    """A code of each row's names, negative where its cluster is not known."""
    clusters, *others = (
        np.asarray(pc.fill_null(pc.index_in(column, value_set=names), -1), np.int64)
        for column, names in zip(columns, known, strict=True)
    )
    codes = clusters
    for names, places in zip(known[1:], others, strict=True):
        codes = codes * (len(names) + 1) + places + 1
    return np.where(clusters < 0, -1, codes)


def _place(values: Longs, wanted: Longs) -> Longs:
    """The place of each wanted one in sorted values, -1 where it is missing."""
    places = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[places] == wanted, places, -1)


def _spread(firsts: Longs, lasts: Longs) -> tuple[Longs, Longs]:
    """For each of many ranges its place, as often as it has numbers, and these numbers."""
    counts = lasts - firsts
    place = np.repeat(np.arange(len(firsts)), counts)
    return place, np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - firsts, counts)


def _with_times(history: pa.Table) -> pa.Table:
    """The columns of QUOTAS as plain texts and numbers, the cluster, and `start` and `end` in microseconds."""
    texts = {name: history[name].cast(pa.string()) for name in ("level", "user", "client_id", "key")}
    cluster, *_ = clients_of(history)
    columns = {CLUSTER: cluster, **texts, "value": history["value"]}
    for name, of, without in (("start", VALID_FROM, _ALWAYS), ("end", VALID_TO, NEVER)):
        given = history[of].cast(MOMENT, safe=False).cast(pa.int64()) if of in history.column_names else None
        columns[name] = pc.fill_null(given, without) if given is not None else pa.repeat(without, len(history))
    rows = pa.table(columns)
    return rows.filter(pc.less(rows["start"], rows["end"]))


def _refuse_overlaps(rows: pa.Table) -> None:
    """Refuse two intervals of an entity and key that overlap: which limit was in force at that time is not known."""
    identity = [CLUSTER, "level", "user", "client_id", "key"]
    rows, groups = Groups.sorted(rows, identity, [rows["start"]])
    start, end = (np.asarray(rows[name]) for name in ("start", "end"))
    overlaps = np.flatnonzero(~groups.begins[1:] & (start[1:] < end[:-1]))
    if len(overlaps):
        (row,) = rows.select(identity).slice(overlaps[0], 1).to_pylist()
        whose = ", ".join(f"{name} {text}" for name, text in row.items() if text)
        raise Invalid(printable(f"two limits at one time: {whose}"), hint="Intervals of one limit may not overlap.")
