"""Throttles of copies that are under way: whoever removes one lets the copies take the whole line (KIP-73, KIP-113)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...admin.ports import Kafka
from ...model.changes import Change
from ...model.config_units import exact_number
from ...model.findings import DANGER, Finding
from ...model.resources import THROTTLE_RATES, is_throttle
from ..observed_state import ObservedState

THROTTLE = "throttle"
"""The danger's name."""


def add_copies(state: ObservedState, kafka: Kafka, changes: Iterable[Change]) -> None:
    """Add which of the throttles that these rows remove or lower hold back copies now; without such rows nothing."""
    if touched := [change.target for change in changes if _message(change)]:
        state.throttling.update(kafka.throttling(touched))


def dangers(changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
    """The rows that remove or lower a throttle while it holds back copies, or while that is not known."""
    for change in changes:
        reason, message = state.throttling.get(change.target), _message(change)
        if reason and message:
            yield Finding.about(change, DANGER, THROTTLE, f"{message}; {reason}")


def _message(change: Change) -> str | None:
    """What the row does to a throttle that is set; None where it takes nothing of it away."""
    if not is_throttle(change.target) or not change.old or change.is_same:
        return None
    return _of_rate(change) if change.key in THROTTLE_RATES else _of_list(change)


def _of_rate(change: Change) -> str | None:
    was, will = exact_number(change.old), exact_number(change.after)
    if change.after is None:
        return f"{change.old} B/s is removed: copies may take the whole line"
    if was is None or will is None or will < was:
        return f"{change.old} B/s becomes {change.after} B/s: copies may never end"
    return None


def _of_list(change: Change) -> str | None:
    """Replicas that are throttled no longer; `*` are all of them."""
    was, will = ({*(text or "").split(",")} - {""} for text in (change.old, change.after))
    if "*" in will or was <= will:
        return None
    which = "replicas" if "*" in was else f"{len(was - will):,} of {len(was):,} replicas"
    return f"{which} are no longer throttled: copies may take the whole line"
