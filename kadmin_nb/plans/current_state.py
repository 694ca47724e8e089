"""The current values of the targets of some changes: a picture, one call for each kind of change."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..admin.ports import Kafka
from ..model.changes import Target
from .kinds import registry
from .observed_state import LookOptions, ObservedState


def take(
    kafka: Kafka,
    targets: Iterable[Target],
    *,
    node: int | None = None,
    whole: bool = False,
    topic_ids: bool = False,
    within: float | None = None,
) -> ObservedState:
    """A picture of these targets, from one broker's metadata, or from any broker.

    Parameters
    ----------
    whole
        Keep the table of all quotas and list every key of the resources, as planning needs it.
    topic_ids
        Ask for the ids of the topics: one request for all of them.
    within
        Seconds that it may take; each call takes its own time unless said.
    """
    picture, look = ObservedState(), LookOptions(node, whole, topic_ids, _clock(kafka, within))
    for kind, mine in registry.targets_by_kind(targets).items():
        kind.read(kafka, mine, picture, look)
    return picture


def _clock(kafka: Kafka, within: float | None) -> Callable[[], float | None]:
    """Seconds that are left, None where they are not counted."""
    if within is None:
        return lambda: None
    deadline = kafka.monotonic() + within
    return lambda: max(0.05, deadline - kafka.monotonic())
