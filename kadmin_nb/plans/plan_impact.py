"""The impact of a plan on clients: whom it touches, whom it would have throttled, who stalls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pyarrow as pa

from ..frames import schemas
from ..frames.answer import Answer
from ..frames.relational import of_cluster, others
from ..frames.schemas import stamped
from ..model.changes import Change
from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS_BY_NAME
from ..resolution import effects as comparing
from ..resolution import input_columns
from ..resolution.kernel import PAIRS
from ..usage import backtesting
from ..usage.backtesting import ImpactAnswer
from ..usage.limits_used import known_clients
from ..usage.near_and_top import by_quota
from . import stalls
from .observed_state import table_after

_MEASURED = {"broker", "key", "window_start", "window_end", "value"}


def of_changes(
    changes: Sequence[Change],
    cluster_id: str,
    quotas: Any,
    clients: Any,
    brokers: Sequence[int] | None = None,
) -> ImpactAnswer:
    """Clients touched by changes, among PAIRS or a USAGE of their cluster; of a USAGE also the throttled and stalled.

    Of the cluster's `brokers`, where they are known, the answer says which ones the usage has.
    """
    stored = input_columns.read_columns(quotas, schemas.QUOTAS.names, input_columns.QUOTAS_LABEL)
    before = of_cluster(stored, cluster_id)
    after = table_after(before, changes)
    measured = is_usage(clients)
    of_usage = [*sorted(_MEASURED), "source", "throttle_ms"] if measured else []
    read = input_columns.read_columns(clients, ("user", "client_id", *of_usage), PAIRS)
    clients_read = of_cluster(read, cluster_id)
    known = known_clients(clients_read) if measured else clients_read
    compared = comparing.compare(before, after, known)
    parts: dict[str, Any] = {}
    if measured:
        parts["dangers"] = stalls.stop_dangers(changes, before, clients_read)
        predicted = stalls.stalls(changes, before, clients_read)
        replayed = stamped(backtesting.replayed(after, clients_read), cluster_id)
        touched = {*backtesting.buckets(compared.rows, "_before"), *backtesting.buckets(compared.rows, "_after")}
        own = pa.array([bucket in touched for bucket in backtesting.buckets(replayed, "")], pa.bool_())
        parts["backtest"] = backtesting.backtest_answer(replayed.filter(own), clients_read, brokers)
        parts["stalls"] = stalls.answer_of(predicted, clients_read, cluster_id, brokers)
        parts["coverage"] = parts["stalls"].coverage
    parts |= {"unseen": unseen(changes, known), "of_rows": clients_of_rows(changes, compared.rows)}
    return ImpactAnswer(stamped(compared.rows, cluster_id), compared.counts, **parts)


def clients_of_rows(changes: Sequence[Change], impact: pa.Table) -> dict[int, int]:
    """The number of IMPACT's clients that get the quota of each row, or had the one that it removes, where any does."""
    before, after = (_by_quota(impact, side) for side in ("before", "after"))
    found = {}
    for change in (change for change in changes if change.level and not change.is_same):
        names = (cast(Entity, change.resource).get(kind) for kind in ("user", "client-id"))
        quota = (change.key, change.level, *(name if isinstance(name, str) else "" for name in names))
        found[change.row] = (before if change.after is None else after).get(quota, 0)
    return {row: count for row, count in found.items() if count}


def _by_quota(impact: pa.Table, side: str) -> dict[tuple[Any, ...], int]:
    """The number of clients of each quota before or after, by its key, its level and the names in it."""
    of_quotas = by_quota(impact, f"level_{side}", ("user", "client_id"))
    counted = of_quotas.group_by(of_quotas.column_names).aggregate([([], "count_all")])
    return {tuple(quota): count for *quota, count in zip(*(c.to_pylist() for c in counted.columns), strict=True)}


def unseen(changes: Sequence[Change], clients: pa.Table) -> list[str]:
    """The entities of these changes of quotas that name a user or a client-id which no known client has, each once."""
    by_parts: defaultdict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for entity in dict.fromkeys(change.resource for change in changes if change.level in LEVELS_BY_NAME):
        parts = cast(Entity, entity).parts
        named = {kind.replace("-", "_"): str(name) for kind, name in parts if name is not DEFAULT}
        if named:
            by_parts[tuple(named)].append({"entity": str(entity), **named})
    found: list[str] = []
    for kinds, rows in by_parts.items():
        known = pa.table({kind: clients[kind].cast(pa.string()) for kind in kinds})
        found += sorted(others(pa.Table.from_pylist(rows), known, kinds)["entity"].to_pylist())
    return found


def is_usage(frame: Any) -> bool:
    """True if the frame has what USAGE has beyond names."""
    return _names_of(frame) >= _MEASURED


def _names_of(frame: Any) -> set[str]:
    """The names of its columns; none if it is not a frame."""
    table = frame.to_arrow() if isinstance(frame, Answer) else frame
    names: Iterable[object] = table.column_names if isinstance(table, pa.Table) else getattr(table, "columns", ())
    return set(map(str, names))
