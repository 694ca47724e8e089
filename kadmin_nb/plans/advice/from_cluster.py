"""The advice on rows, from what the cluster says now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...admin.ports import Kafka
from ...model.changes import Change
from ..execution import order
from ..kinds.registry import by_kind
from ..observed_state import ObservedState
from ..secret_resolver import Resolver
from . import Advice, PlanWarning, dangers
from .warnings import about, several

IN_PARTS = "in parts"


def advice_on(kafka: Kafka, changes: Sequence[Change], picture: ObservedState | None, resolver: Resolver) -> Advice:
    """Dangers, judged now, and warnings, worked out when they are asked for; of rows that are not refused.

    Parameters
    ----------
    picture
        What was read when the rows were planned, if they were just now.
    """
    changes = [change for change in changes if not change.is_refused]
    warned = [kind.warnings(kafka, mine, picture) for kind, mine in by_kind(changes).items()]
    return Advice(
        dangers.found(kafka, changes, resolver),
        lambda: [*(warning for warn in warned for warning in warn()), *in_parts(changes)],
    )


def in_parts(changes: Iterable[Change]) -> Iterator[PlanWarning]:
    """A warning where the safe order sends an entity's or a resource's keys in several requests."""
    divided = order.divided(change for change in changes if not change.is_done)
    if divided:
        first = next(iter(divided.values()))[0][0]
        shown = [f"{whose} ({_in_turn(parts)})" for whose, parts in divided.items()]
        said = f"sent in several requests, as the safe order has other rows between: {several(shown)}"
        yield about(IN_PARTS, first, f"{said}; if a later request fails, the earlier ones stay")


def _in_turn(parts: Iterable[Iterable[Change]]) -> str:
    return ", then ".join(" and ".join(change.key for change in part) for part in parts)
