"""The clients near a limit or over it, the worst first; and who uses most, with the time that was watched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ExitState, UsageError, printable
from ..frames import meanings, schemas
from ..frames.answer import Answer
from ..frames.blocks import NEAR_PERCENT, NOTEBOOK, Page
from ..frames.lazy_answer import SparkAnswer
from ..frames.relational import (
    Frame,
    Measure,
    added_up,
    among,
    cluster_of,
    each_once,
    framed,
    having,
    in_arrow,
    members,
    others,
    read_columns,
    select,
    taken,
    where,
    with_columns,
    words_of,
)
from ..frames.schemas import noted
from ..frames.spark import is_stream
from ..model import figures
from ..model.findings import Coverage
from ..model.levels import LEVELS, LEVELS_BY_NAME
from ..model.quota_keys import USER_CLIENT_KEYS
from ..resolution.input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters, led
from ..resolution.kernel import asked_keys
from .arithmetic import BUCKET_TOTALS, WHY_UNKNOWN
from .covered import NAMED, of_brokers, remarks
from .limits_over_time import UNKNOWN
from .limits_used import (
    UNWATCHED_AFTER,
    USAGE_LABEL,
    in_buckets,
    measured_rows,
    watched_spans,
    with_limits,
)
from .request_log import LATE

if TYPE_CHECKING:
    from ..frames.blocks import Block

_ENDS: dict[str, Measure] = {"start": ("min", "start"), "end": ("max", "end")}
_OF_CLIENT: dict[str, Measure] = {
    "brokers": ("count_distinct", "broker"),
    "mean": ("full_sum", "mean"),
    "peak": ("full_max", "value"),
    "throttle_ms": ("max", "throttle_ms"),
}
"""The use of a client: a sum is unknown where a part of it is."""


MOST = 10
"""Clients of each key that are shown."""


class NearAnswer(Answer):
    """NEAR: one row per bucket and broker, the worst first. `limits` is how many were looked at, `unknown` of how many
    of them it is unknown how much was used, in full or in part.

    `coverage` says which brokers the usage has, and from when to when. `unjudged` are buckets that were used before the
    history of their limits begins, `unused` quotas whose use is not in the usage at all. `are_of_now` says that the
    usage, of whatever time, was judged by the limits of now.
    """

    def __init__(
        self,
        table: pa.Table,
        limits: int = 0,
        percent: float = NEAR_PERCENT,
        unknown: int = 0,
        coverage: Coverage = Coverage(),  # it is frozen
        unjudged: int = 0,
        are_of_now: bool = False,
        unused: Sequence[str] = (),
    ) -> None:
        super().__init__(table)
        self.limits, self.percent, self.unknown, self.unjudged = limits, percent, unknown, unjudged
        self.coverage, self.are_of_now, self.unused = coverage, are_of_now, tuple(unused)

    def _title(self) -> str:
        """Their number, and the worst of them."""
        rest, limits = self.coverage.not_known, "limits of now" if self.are_of_now else "limits"
        if not self.limits:
            return f"No client in this usage has a limit{rest}." if not self.unjudged else f"{self._unjudged}{rest}."
        if not len(self):
            known = self.limits - self.unknown
            when = f" from {self.coverage.span}" if self.coverage.span else ""
            none = f"None of {known:,} {limits} reached {self.percent:g} %{when}"
            return f"{none}, and no client was throttled{rest}."
        over = pc.sum(pc.greater(self._table["utilisation"], 100)).as_py() or 0
        (worst,) = self._table.slice(0, 1).to_pylist()
        is_throttled = pc.any(pc.less(self._table["utilisation"], self.percent)).as_py()
        near = f"above {self.percent:g} %" + (" or throttled" if is_throttled else "")
        exceeded = f"{over:,} of them exceeded" if over else "none exceeded"
        counts = f"{len(self):,} of {self.limits:,} {limits} are {near}, {exceeded}{rest}"
        return f"{counts}. Highest: {_bucket_sentence(worst)}."

    def _exit_state(self, detailed: bool = False) -> ExitState:
        """Where no limit is near as far as is known, and that is not all: as of rows that could not be read."""
        coverage = self.coverage
        is_known = not (coverage.missing or coverage.strange or self.unjudged)
        return super()._exit_state(detailed) if len(self) or is_known or not detailed else ExitState.FAILED

    @property
    def _unjudged(self) -> str:
        """How many buckets have no limit that is known."""
        return f"The limits of {self.unjudged:,} buckets are not known: they were used before the history begins"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What it was read from, and what is not known, in sentences."""
        return tuple(self._remarks())

    def _remarks(self) -> Iterator[str]:
        if self.are_of_now:
            yield _OF_NOW
        if self.unused:
            more = f" and {len(self.unused) - NAMED:,} more" if len(self.unused) > NAMED else ""
            whose = printable(f"{', '.join(self.unused[:NAMED])}{more}")
            yield f"The usage has no use of the limits of {whose}: how near these are is not known."
        if self.unjudged and self.limits:
            yield f"{self._unjudged}."
        if self.unknown:
            yield f"The use of {self.unknown:,} of {self.limits:,} limits is not known in full. {WHY_UNKNOWN}"
        yield from remarks(self.coverage)

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """What it was read from, and what is not known."""
        return (*self.notes, *self.warnings)


_OF_NOW = (
    "Judged by the limits of now: whether they were the same in that time is not known. --history WHERE judges each "
    "window by the limit of its time."
)


def near(
    utilisation: Any,
    percent: float = NEAR_PERCENT,
    *,
    brokers: Iterable[int] | None = None,
    quotas: pa.Table | None = None,
    are_of_now: bool = False,
    notes: Sequence[str] = (),
) -> NearAnswer:
    """NEAR from UTILISATION: buckets that used this share of a limit in a window, or were throttled.

    Parameters
    ----------
    utilisation
        UTILISATION of one cluster, in Spark or as anything with `__arrow_c_stream__`.
    percent
        The share of a limit, in percent, from which a bucket counts as near.
    brokers
        The ids of the cluster's brokers: of those that the usage lacks nothing is known, and the answer says so.
    quotas
        QUOTAS of the cluster: of those whose clients the usage lacks nothing is known, either.
    are_of_now
        The usage was judged by the limits of now, whatever they were in its time: the answer says that, too.
    notes
        Sentences on what could not be read, to be shown with the answer.
    """
    rows = taken(utilisation, (CLUSTER, *schemas.UTILISATION.names), "the rows of utilisation")
    if cluster_of(rows):
        raise UsageError("the rows of utilisation have a cluster_id", hint="Take one cluster, and drop the column.")
    words = words_of(rows)
    judged = where(rows, ~words.is_null(words.column("limit")) | (words.column("level") == UNKNOWN))
    judged = in_arrow(judged)
    limited = judged.filter(judged["limit"].is_valid())
    is_full = pc.greater_equal(limited["utilisation"], percent)
    is_near = pc.or_(pc.fill_null(is_full, False), pc.fill_null(pc.greater(limited["throttle_ms"], 0), False))
    order = [("utilisation", "descending"), ("throttle_ms", "descending"), ("broker", "ascending")]
    nearest = limited.filter(is_near).sort_by(order).select(schemas.NEAR.names).cast(schemas.NEAR.schema)
    unknown = pc.sum(pc.greater(limited["windows_unknown"], 0)).as_py() or 0
    coverage = _coverage_of(rows, judged, brokers)
    nearest = noted(schemas.marked(nearest, kadmin_metadata(utilisation)), notes)
    unjudged = len(judged) - len(limited)
    unused = () if quotas is None else _unused(quotas, limited)
    return NearAnswer(nearest, len(limited), percent, unknown, coverage, unjudged, are_of_now, unused)


def _unused(quotas: pa.Table, limited: pa.Table) -> list[str]:
    """The entities with quotas of users and client-ids that bind no client of these rows of UTILISATION."""
    stored = quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), pa.array([*LEVELS_BY_NAME])))
    stored = stored.filter(pc.is_in(stored["key"].cast(pa.string()), pa.array([*USER_CLIENT_KEYS])))
    named = by_quota(stored, "level", ("user", "client_id")).append_column("entity", stored["entity"])
    bound = by_quota(limited, "level", ("bucket_user", "bucket_client_id"))
    return sorted(pc.unique(others(named, bound, bound.column_names)["entity"]).to_pylist())


def by_quota(rows: pa.Table, level: str, names: tuple[str, str]) -> pa.Table:
    """The quota that each row is of: its key, its level, and the names that this level has, out of these columns."""
    levels = rows[level].cast(pa.string())
    columns = {"key": rows["key"].cast(pa.string()), "level": levels}
    for name, column in zip(("user", "client_id"), names, strict=True):
        has_name = [one.name for one in LEVELS if getattr(one, name) == "name"]
        text = pc.fill_null(rows[column].cast(pa.string()), "")
        columns[name] = pc.if_else(pc.is_in(levels, pa.array(has_name)), text, "")
    return pa.table(columns)


_SPAN = ["broker", "since", "until", "watched_s"]


def _coverage_of(rows: Frame, judged: pa.Table, brokers: Iterable[int] | None) -> Coverage:
    """The coverage of UTILISATION, some of whose rows are here already."""
    spans = each_once(judged, _SPAN)
    if pc.max(judged["brokers"]).as_py() != pc.count_distinct(spans["broker"]).as_py():  # no client of one has a limit
        spans = in_arrow(each_once(rows, _SPAN))
    return of_brokers(spans, brokers)


def _bucket_sentence(row: Mapping[str, Any]) -> str:
    """One row in words: whose bucket, the key, and how much of how much."""
    whose = meanings.client(row["bucket_user"] or None, row["bucket_client_id"] or None)
    used = meanings.of_limit(row["key"], row["peak"], row["windows_unknown"], row["limit"])
    share = "" if row["utilisation"] is None else f" ({figures.percent(row['utilisation'])})"
    return printable(f"{whose} {row['key']} {used}{share} on broker {row['broker']}")


def alerts(
    usage: Any,
    quotas: Any,
    percent: float = NEAR_PERCENT,
    *,
    keys: str | Iterable[str] | None = None,
    late: str = LATE,
) -> Frame:
    """ALERTS: a row for each bucket, broker and window in which it used this share of its limit, or was throttled.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`. For a stream the alerts are a stream, too.
    quotas
        QUOTAS, as anything that `resolve` takes. They are read now: a stream uses them until it is started again.
    percent
        The percentage of the limit from which a window is reported.
    keys
        The keys; default: the four of users and clients.
    late
        For a stream from a table of USAGE: how much later than the latest window a row may come and still count. A
        stream of `kn.usage.usage` has its own.

    Raises
    ------
    UsageError, Invalid
        As `utilisation`.

    Examples
    --------
    >>> alerts(usage, quotas).writeStream.option("checkpointLocation", …).toTable("alerts")  # doctest: +SKIP
    """
    chosen, stored = asked_keys(keys), read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL)
    rows, cluster = measured_rows(usage)
    check_clusters(cluster, USAGE_LABEL, bool(cluster_of(stored)))
    by = [*cluster, "broker", "measured"]
    words = words_of(rows)
    limited = having(in_buckets(with_limits(among(rows, "key", chosen), stored, chosen), by), "limit")
    if is_stream(rows):
        from .spark_lines import timed_as

        limited = timed_as(limited, "end", usage, late)
    buckets = [*by, "key", "bucket_user", "bucket_client_id", "level", "limit", "start", "end"]
    windows = added_up(limited, buckets, BUCKET_TOTALS, in_order=True)
    used, limit, throttle_ms = (words.column(name) for name in ("used", "limit", "throttle_ms"))
    is_full = (used > 0) & (used * 100.0 >= limit * percent)
    columns = {
        "window_start": words.column("start"),
        "window_end": words.column("end"),
        "utilisation": words.when(limit > 0, used * 100.0 / words.when(limit > 0, limit)),
    }
    full = where(windows, is_full | (throttle_ms > 0))
    order = [(name, "ascending") for name in ("window_start", *cluster, "broker", "key", "bucket_user")]
    return framed(with_columns(full, columns), led(schemas.ALERTS.schema, cluster), order)


class TopAnswer(Answer):
    """TOP: one row per key and client, the most first.

    `watched` says of what time, which brokers, and by what; `warnings` name the clients whose use is unknown, and the
    brokers whose log lacks a part of it. `coverage` says which brokers were seen, of which.
    """

    def __init__(
        self,
        table: pa.Table,
        watched: str = "",
        warnings: Sequence[str] = (),
        coverage: Coverage = Coverage(),  # it is frozen
    ) -> None:
        super().__init__(table)
        self.watched, self.warnings, self.coverage = watched, tuple(warnings), coverage

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The warnings."""
        return self.warnings

    def _title(self) -> str:
        """The time that was watched, and the brokers."""
        return self.watched


def top(
    usage: Any,
    *,
    keys: Iterable[str] | None = None,
    most: int = MOST,
    time: tuple[datetime, datetime] | None = None,
    brokers: Iterable[int] | None = None,
    watched: Iterable[int] = (),
    notes: Sequence[str] = (),
) -> TopAnswer:
    """TOP: the clients that use most of each key, from USAGE.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`.
    keys
        Only these keys.
    most
        The number of clients of each key, at least 1.
    time
        The start and end of the observation. Default: from the first window of each broker to its last, without gaps of
        more than a minute in which no client of the broker has a row.
    brokers
        The ids of the cluster's brokers: of those that were not seen nothing is known, and the answer says so.
    watched
        Brokers that were observed, and that count as seen even where no client has a row.
    notes
        Sentences on what could not be read, to be shown with the answer.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, or `most` is less than 1.
    Invalid
        Windows of several lengths on one broker.
    """
    if most < 1:
        raise UsageError(f"the most of each key cannot be {most}", hint="1, or more.")
    rows, cluster = measured_rows(usage)
    words, by = words_of(rows), [*cluster, "broker", "measured"]
    spans = watched_spans(rows, cluster, UNWATCHED_AFTER)
    of_each = in_arrow(members(added_up(rows, [*by, "source"], _ENDS), spans, by))
    coverage = of_brokers(of_each, brokers)
    if time is not None:  # all that were watched were seen for all of it
        windows = math.ceil((time[1] - time[0]) / timedelta(microseconds=pc.max(of_each["length"]).as_py() or 1))
        spans = with_columns(spans, {"windows": words.literal(windows, pa.int64())})
        seen = (coverage.seen or frozenset()) | frozenset(watched)
        coverage = replace(coverage, seen=seen, since=time[0], until=time[1], in_part=frozenset())
    asked = rows if keys is None else among(rows, "key", [*keys])
    parts = members(asked, select(spans, [*by, "windows"]), by)
    parts = with_columns(parts, {"mean": words.column("value") / words.number(words.column("windows"))})
    ranked = _ranked(in_arrow(added_up(parts, ["key", "user", "client_id"], _OF_CLIENT)))
    codes = np.asarray(pc.dictionary_encode(ranked["key"].cast(pa.string())).combine_chunks().indices)
    places = np.arange(len(codes)) - np.searchsorted(codes, codes)
    firsts = schemas.marked(ranked.filter(pa.array(places < most)), kadmin_metadata(usage))
    sentence = _watched_sentence(of_each, coverage)
    missing = remarks(coverage) if coverage.missing and time is None else ()  # an observation says why it has none
    return TopAnswer(firsts, sentence, [*_unknown_sentences(ranked), *missing, *notes], coverage)


def kadmin_metadata(usage: Any) -> dict[bytes, bytes]:
    """The metadata of an answer: where it was taken, and by which engine."""
    if isinstance(usage, SparkAnswer):
        return {name.encode(): text.encode() for name, text in usage.marks.items()}
    table = usage.to_arrow() if isinstance(usage, Answer) else usage
    metadata = table.schema.metadata if isinstance(table, pa.Table) else None
    return {name: text for name, text in (metadata or {}).items() if name.startswith(b"kadmin.")}


def _ranked(sums: pa.Table) -> pa.Table:
    """One row per key and client, the most of each key first, and last the clients whose use is unknown."""
    joined = sums.join(added_up(sums, ["key"], {"of_key": ("full_sum", "mean")}), "key")
    total = pc.if_else(pc.equal(joined["of_key"], 0), None, joined["of_key"])
    shares = joined.append_column("share", pc.multiply(pc.divide(joined["mean"], total), 100.0))
    order = [("key", "ascending"), ("mean", "descending"), ("user", "ascending"), ("client_id", "ascending")]
    return shares.sort_by(order).select(schemas.TOP.names).cast(schemas.TOP.schema)


def _unknown_sentences(ranked: pa.Table) -> Iterator[str]:
    """A sentence for each key of which the use of some clients is unknown; the first of them are named."""
    unknown = ranked.filter(ranked["mean"].is_null())
    for key in pc.unique(unknown["key"].cast(pa.string())).to_pylist():
        rows = unknown.filter(pc.equal(unknown["key"], key))
        names = [meanings.client(row["user"], row["client_id"]) for row in rows.slice(0, NAMED).to_pylist()]
        more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
        yield f"The {key} of {', '.join(names)}{more} is unknown. {WHY_UNKNOWN}"


def _watched_sentence(watched: pa.Table, coverage: Coverage) -> str:
    """The time, the brokers and the source of a usage, in a sentence, and what is not known."""
    length = ""
    if coverage.since and coverage.until:
        length = figures.seconds((coverage.until - coverage.since).total_seconds())
    if not len(watched):
        return f"No client traffic{length and f' in {length}'}{coverage.not_known}."
    ids = sorted(coverage.seen or ())
    brokers = f"broker{'s' * (len(ids) > 1)} {', '.join(map(str, ids))}"
    sources = sorted({source.partition(":")[0] for source in pc.unique(watched["source"]).to_pylist() if source})
    return f"Watched {length}, {coverage.span}, {brokers}; by {', '.join(sources)}{coverage.not_known}."
