"""Limits that are lowered so far that a client which is known to be busy would stand still. Pure: over a USAGE.

The arithmetic is that of `stalls`: a broker holds a client up until the average of its window is within the new limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from ...frames.meanings import client, seconds
from ...model.changes import Change
from ...model.findings import DANGER, Finding
from ...model.quota_keys import readable, rounded
from .stalls import WINDOW, stalls

STOP = "stop"
"""The danger's name."""

STANDSTILL = 120.0
"""Seconds that a client may stand still: Kafka's default `delivery.timeout.ms`; a producer then loses records."""


def dangers(
    changes: Sequence[Change], quotas: pa.Table, usage: Any, *, cluster_id: str | None = None
) -> Iterator[Finding]:
    """The rows that would stop a client of this usage, each with its worst one; arguments as of `stalls`.

    Raises
    ------
    UsageError
        As `stalls`.
    """
    by_row = {change.row: change for change in changes if not change.is_refused}
    stopped = [row for row in stalls(changes, quotas, usage, cluster_id=cluster_id).to_pylist() if _stops(row, by_row)]
    for number, rows in groupby(sorted(stopped, key=itemgetter("row", "stall_s")), key=itemgetter("row")):
        *others, worst = rows
        change = by_row[number]
        yield Finding.about(change, DANGER, STOP, _message(worst, others))


def _stops(row: Mapping[str, Any], by_row: Mapping[int, Change]) -> bool:
    """True where a row of the plan lowers a limit, and the client stands still for too long."""
    if row["stall_s"] <= STANDSTILL or row["row"] not in by_row:
        return False
    return row["limit_before"] is None or bool(row["limit_after"] < row["limit_before"])


def _message(worst: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    used, limit = rounded(worst["key"], worst["bucket_rate"]), readable(worst["key"], worst["limit_after"])
    whose = f"{client(worst['user'], worst['client_id'])} on broker {worst['broker']}"
    more = len({(row["user"], row["client_id"]) for row in others} - {(worst["user"], worst["client_id"])})
    stands = f"stands still for {seconds(round(worst['stall_s']))}, ({used} / {limit} - 1) x {WINDOW:g} s"
    return f"{whose} {stands}" + (f"; and {more:,} more" if more else "")
