"""The impact of a plan on clients: whom it touches, whom it would have throttled, who stalls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..frames import schemas
from ..frames.answer import Answer
from ..frames.relational import of_cluster
from ..frames.schema_metadata import stamped
from ..policy.capacities import OfBrokers
from ..resolution import impact as comparing
from ..resolution import input_columns
from ..resolution.kernel import PAIRS
from ..usage import backtesting
from ..usage.engines import Usage
from ..usage.limits_used import known_clients
from ..usage.oversubscription import capacity, oversubscriptions
from ..usage.touched_clients import ImpactAnswer
from . import stalls

if TYPE_CHECKING:
    from .plan import Plan

_MEASURED = {"broker", "key", "window_start", "window_end", "value"}


def of_plan(
    plan: Plan, quotas: Any, clients: Any, able: OfBrokers | None = None, brokers: Iterable[int] = ()
) -> ImpactAnswer:
    """Clients touched by a plan, among PAIRS or a USAGE of its cluster; of a USAGE also the throttled and stalled.

    With what brokers can do, CAPACITY is there too, and the plan warns where its limits add up to more.
    """
    before = input_columns.read_columns(quotas, schemas.QUOTAS.names, input_columns.QUOTAS_LABEL)
    before, after = (of_cluster(table, plan.cluster_id) for table in (before, plan.quotas_after(before)))
    measured = is_usage(clients)
    read = input_columns.read_columns(
        clients, ("user", "client_id", *(sorted(_MEASURED | {"source"}) if measured else ())), PAIRS
    )
    clients_read = of_cluster(read, plan.cluster_id)
    compared = comparing.impact(before, after, known_clients(clients_read) if measured else clients_read)
    fits = None
    if able is not None:
        used = Usage.of(clients).of_cluster(plan.cluster_id).frame if measured else None
        fits = capacity(before, clients_read, brokers=brokers, stated=able, usage=used, after=after)
        plan = plan._with_warnings(oversubscriptions(fits))
    parts: dict[str, Any] = {"capacity": fits}
    if measured:
        plan = plan._with_dangers(stalls.stop_dangers(plan.changes, before, clients_read))
        predicted = stamped(stalls.stalls(plan.changes, before, clients_read), plan.cluster_id)
        replayed = stamped(backtesting.replayed(after, clients_read), plan.cluster_id)
        touched = {*backtesting.buckets(compared.rows, "_before"), *backtesting.buckets(compared.rows, "_after")}
        unknown = backtesting.unknown_clients(clients_read)
        parts["backtest"] = backtesting.BacktestAnswer(replayed, touched, unknown)
        parts["stalls"] = stalls.StallsAnswer(predicted)
    return ImpactAnswer(stamped(compared.rows, plan.cluster_id), compared.counts, compared.shadowed, plan, **parts)


def is_usage(frame: Any) -> bool:
    """True if the frame has what USAGE has beyond names."""
    table = frame.to_arrow() if isinstance(frame, Answer) else frame
    names: Iterable[object] = table.column_names if isinstance(table, pa.Table) else getattr(table, "columns", ())
    return set(map(str, names)) >= _MEASURED
