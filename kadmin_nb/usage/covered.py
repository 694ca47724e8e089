"""How much of the world a usage covers: its brokers, from when to when it has rows of them, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from ..frames.relational import Measure, added_up, in_arrow, of_kinds
from ..model.findings import Coverage
from ..resolution.input_columns import CLUSTER
from .limits_used import KINDS, USAGE_LABEL

IN_ALL = 0.9
"""The share of the time of a usage from which on a broker counts as seen in all of it."""

NAMED = 5
"""Clients, or entities, that a sentence names; the others are counted."""

_ENDS: dict[str, Measure] = {
    "since": ("min", "window_start"),
    "until": ("max", "window_end"),
    "rows": ("count_rows", "broker"),
}


def is_of_brokers(frame: Any) -> bool:
    """True of a USAGE of one cluster here, and not of names alone, as PAIRS are."""
    names = set(pa.table(frame).column_names)
    return {"broker", "window_start", "window_end"} <= names and CLUSTER not in names


def coverage(usage: Any, brokers: Iterable[int] | None = None) -> Coverage:
    """How much of the whole a USAGE of one cluster has: its brokers, and from when to when it has rows of them.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`.
    brokers
        The ids of the cluster's brokers: those without a row are then known, too.

    Returns
    -------
    Coverage
        Its text says it in a phrase, `not_known` what is missing.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing or of another type.
    """
    rows = of_kinds(usage, {name: KINDS[name] for name in ("broker", "window_start", "window_end")}, USAGE_LABEL)
    return of_brokers(in_arrow(added_up(rows, ["broker"], _ENDS), task="Spark looks for the brokers"), brokers)


def of_brokers(spans: pa.Table, brokers: Iterable[int] | None = None) -> Coverage:
    """The same of rows with `broker`, `since` and `until`, and `watched_s` and `rows` where these are known."""
    found = [row for row in spans.to_pylist() if None not in (row["broker"], row["since"], row["until"])]
    known = None if brokers is None else frozenset(brokers)
    if not found:
        return Coverage(frozenset(), known)
    since, until = min(row["since"] for row in found), max(row["until"] for row in found)
    whole = {row["broker"] for row in found if _seconds(row) >= IN_ALL * (until - since).total_seconds()}
    seen = frozenset(row["broker"] for row in found)
    rows = sum(row["rows"] for row in found) if "rows" in spans.column_names else None
    return Coverage(seen, known, since, until, rows, in_part=seen - whole)


def _seconds(row: Mapping[str, Any]) -> float:
    """The time for which there are rows of a broker."""
    watched = row.get("watched_s")
    return float((row["until"] - row["since"]).total_seconds() if watched is None else watched)


def remarks(coverage: Coverage) -> Iterator[str]:
    """What a conclusion was read from, and the line that shows what it does not cover."""
    if text := str(coverage):
        yield f"Read from {text}."
    if coverage.missing:
        brokers = ", ".join(map(str, sorted(coverage.missing)))
        yield (
            f"The usage has no row of broker {brokers}: add its request log, or read all brokers' metrics from a "
            "Prometheus."
        )
    if coverage.strange:
        yield "If it is the usage of another cluster, give that of this one; what brokers had that are gone is counted."
