"""The clients that use most of each key, and the time that was watched to know it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import meanings, schemas
from ..frames.answer import Answer
from ..frames.pages import NOTEBOOK, Page
from .usage_rules import WHY_UNKNOWN
from .utilisation import UNWATCHED_AFTER, broker_columns, measured_rows, watched_spans

if TYPE_CHECKING:
    from ..frames.blocks import Block

_IN_FULL = pc.ScalarAggregateOptions(skip_nulls=False)
"""A sum is unknown where a part of it is."""

NAMED = 5
"""Clients of unknown use that are named."""

MOST = 10
"""Clients of each key that are shown."""


class TopAnswer(Answer):
    """TOP: a row a key and client, the most first.

    `watched` says of what time, which brokers, and by what; `warnings` name the clients whose use is unknown, and the
    brokers whose log lacks a part of it.
    """

    def __init__(self, table: pa.Table, watched: str = "", warnings: Sequence[str] = ()) -> None:
        super().__init__(table)
        self.watched, self.warnings = watched, tuple(warnings)

    def warned(self, warnings: Sequence[str]) -> TopAnswer:
        """The same with these warnings, too."""
        return TopAnswer(self._table, self.watched, (*self.warnings, *warnings))

    def footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The warnings."""
        return self.warnings

    def title(self) -> str:
        """The first of each key; then the time that was watched, and the brokers."""
        leaders = "; ".join(f"{client} uses most {', '.join(uses)}" for client, uses in self._leaders().items())
        return f"{leaders}. {self.watched}" if leaders else self.watched

    def _leaders(self) -> dict[str, list[str]]:
        """The clients that use most of some key, with these keys and how much it is."""
        firsts, leaders = dict[str, dict[str, Any]](), dict[str, list[str]]()
        for row in self._table.to_pylist():
            firsts.setdefault(row["key"], row)
        for key, row in firsts.items():
            if row["mean"]:
                share = (
                    "of those that are known" if row["share"] is None else f"{meanings.percent(row['share'])} of all"
                )
                amount = f"{meanings.used(key, row['mean'])}, {share}"
                leaders.setdefault(meanings.client(row["user"], row["client_id"]), []).append(f"{key} ({amount})")
        return leaders


def top(
    usage: Any,
    *,
    keys: Iterable[str] | None = None,
    most: int = MOST,
    time: tuple[datetime, datetime] | None = None,
) -> TopAnswer:
    """TOP out of USAGE.

    Parameters
    ----------
    usage
        USAGE, as anything with `__arrow_c_stream__`.
    keys
        Only these keys.
    most
        Clients of each key, at least 1.
    time
        From when to when somebody watched. Else it is from the first window of each broker to its last, without the
        time for which no client of a broker has a row for a minute.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, or `most` is less than 1.
    Invalid
        Windows of several lengths on one broker.
    """
    if most < 1:
        raise UsageError(f"the most of each key cannot be {most}", hint="1, or more.")
    rows = measured_rows(usage)
    watched = watched_spans(rows, UNWATCHED_AFTER) if time is None else _windows_in(rows, *time)
    asked = rows if keys is None else rows.filter(pc.is_in(rows["key"], value_set=pa.array(list(keys), pa.string())))
    ranked = _ranked(asked.join(watched, broker_columns(rows)))
    firsts = schemas.marked(_first_of_each_key(ranked, most), _kadmin_metadata(usage))
    return TopAnswer(firsts, _watched_sentence(rows, time), [*_unknown_sentences(ranked)])


def _kadmin_metadata(usage: Any) -> dict[bytes, bytes]:
    """The metadata of an answer: where it was taken, and by which engine."""
    metadata = usage.to_arrow().schema.metadata if isinstance(usage, Answer) else None
    return {name: text for name, text in (metadata or {}).items() if name.startswith(b"kadmin.")}


def _windows_in(rows: pa.Table, first: datetime, last: datetime) -> pa.Table:
    """The number of windows that each broker has in this time."""
    watched = watched_spans(rows, UNWATCHED_AFTER)
    lengths = pc.subtract(rows["end"], rows["start"]).cast(pa.int64())
    number = math.ceil((last - first) / timedelta(microseconds=pc.max(lengths).as_py() or 1))
    place = watched.schema.get_field_index("windows")
    return watched.set_column(place, "windows", pa.repeat(pa.scalar(number, pa.int64()), len(watched)))


def _ranked(rows: pa.Table) -> pa.Table:
    """A row a key and client, the most of each key first, and last those whose use is unknown."""
    part = pc.divide(rows["value"], rows["windows"].cast(pa.float64()))
    of_client = rows.append_column("mean", part).group_by(["key", "user", "client_id"])
    sums = of_client.aggregate(
        [("broker", "count_distinct"), ("mean", "sum", _IN_FULL), ("value", "max", _IN_FULL), ("throttle_ms", "max")]
    ).rename_columns(["key", "user", "client_id", "brokers", "mean", "peak", "throttle_ms"])
    of_key = sums.group_by("key").aggregate([("mean", "sum", _IN_FULL)])
    joined = sums.join(of_key, "key")
    total = pc.if_else(pc.equal(joined["mean_sum"], 0), None, joined["mean_sum"])
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


def _first_of_each_key(ranked: pa.Table, most: int) -> pa.Table:
    """The first rows of each key."""
    codes = np.asarray(pc.dictionary_encode(ranked["key"].cast(pa.string())).combine_chunks().indices)
    firsts = np.searchsorted(codes, codes) if len(codes) else codes
    return ranked.filter(pa.array(np.arange(len(codes)) - firsts < most))


def _watched_sentence(rows: pa.Table, time: tuple[datetime, datetime] | None) -> str:
    """The time, the brokers and the source of a usage, in a sentence."""
    if not len(rows):
        return f"Nobody asked for anything{f' in {_length(*time)}' if time else ''}."
    first, last = time or (pc.min(rows["start"]).as_py(), pc.max(rows["end"]).as_py())
    ids = sorted(pc.unique(rows["broker"]).to_pylist())
    brokers = f"broker{'s' * (len(ids) > 1)} {', '.join(map(str, ids))}"
    sources = sorted({source.partition(":")[0] for source in pc.unique(rows["source"]).to_pylist() if source})
    when = f"{first:%Y-%m-%d %H:%M:%S} to {_end(first, last)} UTC"
    return f"Watched {_length(first, last)}, {when}, {brokers}; by {', '.join(sources)}."


def _length(first: datetime, last: datetime) -> str:
    seconds = (last - first).total_seconds()
    return (
        f"{seconds:.6g} s"
        if seconds < 120
        else f"{seconds / 60:.3g} min"
        if seconds < 7200
        else f"{seconds / 3600:.3g} h"
    )


def _end(first: datetime, last: datetime) -> str:
    return f"{last:%H:%M:%S}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M:%S}"
