"""The advice on rows, from what the cluster says now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...admin.ports import Kafka
from ...model.changes import Change
from ...model.configurable import Configurable
from ...model.findings import WARNING, Finding
from ..execution import order
from ..kinds.registry import by_kind, kind_of
from ..observed_state import ObservedState
from ..secret_resolver import Resolver
from . import Advice, dangers
from .warnings import several

IN_PARTS = "in parts"


def advice_on(kafka: Kafka, changes: Sequence[Change], picture: ObservedState | None, resolver: Resolver) -> Advice:
    """Dangers, judged now, and warnings, worked out when they are asked for; of rows that are not refused.

    Parameters
    ----------
    picture
        What was read when the rows were planned, if they were just now.
    """
    changes = [change for change in changes if not change.is_refused]
    facts = ObservedState() if picture is None else picture
    groups = by_kind(changes)
    for kind, mine in groups.items():
        kind.read_for_warnings(kafka, mine, facts)

    def warn() -> list[Finding]:
        return [*(warned for kind, mine in groups.items() for warned in kind.warnings(mine, facts)), *in_parts(changes)]

    return Advice(dangers.found(kafka, changes, resolver, facts), warn)


def in_parts(changes: Iterable[Change]) -> Iterator[Finding]:
    """A warning for each reason to send an entity's or a resource's keys in several requests."""
    by_reason: dict[str, dict[Configurable, list[list[Change]]]] = {}
    for whose, parts in order.divided(change for change in changes if not change.is_done).items():
        by_reason.setdefault(kind_of(whose).why_divided, {})[whose] = parts
    for reason, divided in by_reason.items():
        first = next(iter(divided.values()))[0][0]
        shown = several([f"{whose} ({_in_turn(parts)})" for whose, parts in divided.items()])
        text = f"sent in several requests, {reason}: {shown}; if a later request fails, the earlier ones stay"
        yield Finding.about(first, WARNING, IN_PARTS, text)


def _in_turn(parts: Iterable[Iterable[Change]]) -> str:
    return ", then ".join(" and ".join(change.key for change in part) for part in parts)
