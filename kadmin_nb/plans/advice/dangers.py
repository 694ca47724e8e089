"""Rows that weaken durability, security or the limits of many clients, judged by what holds now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...admin.ports import Kafka
from ...model.changes import Change
from ...model.configurable import Configurable
from ...model.findings import WARNING, Finding
from .. import sending
from ..kinds import by_kind, kind_of
from ..observed_state import ObservedState
from ..secret_resolver import Resolver
from . import Advice, in_order
from .warnings import several


def found(
    kafka: Kafka,
    changes: Sequence[Change],
    resolver: Resolver | None = None,
    state: ObservedState | None = None,
) -> tuple[Finding, ...]:
    """The dangers of these rows on the cluster as it is; most plans have none, and ask no broker.

    A row that the broker refuses changes nothing, and so has none.

    Parameters
    ----------
    resolver
        Looks secrets up, so that a login module in one can be named; the secret is not repeated.
    state
        What was read just now; what is missing in it is added.

    Raises
    ------
    NotAuthorized, TimedOut, ConnectionFailed
        What holds now could not be read.
    """
    state = ObservedState() if state is None else state
    for kind, mine in by_kind(change for change in changes if not change.is_refused).items():
        kind.read_for_dangers(kafka, mine, state)
    return judged(changes, state, resolver)


def judged(changes: Iterable[Change], state: ObservedState, resolver: Resolver | None = None) -> tuple[Finding, ...]:
    """The dangers of these rows by what was read."""
    groups = by_kind(change for change in changes if not change.is_refused)
    return in_order(danger for kind, mine in groups.items() for danger in kind.dangers(mine, state, resolver))


def certain(changes: Iterable[Change]) -> tuple[Finding, ...]:
    """The dangers that the rows tell by themselves: both values are set, or the old one is hidden."""
    groups = by_kind(change for change in changes if not change.is_refused)
    return tuple(danger for kind, mine in groups.items() for danger in kind.certain_dangers(mine))


IN_PARTS = "in parts"


def advice_on(kafka: Kafka, changes: Sequence[Change], state: ObservedState | None, resolver: Resolver) -> Advice:
    """Dangers and warnings of the rows that are not refused, judged now.

    Parameters
    ----------
    state
        What was read when the rows were planned, if they were just now.
    """
    changes = [change for change in changes if not change.is_refused]
    facts = ObservedState() if state is None else state
    groups = by_kind(changes)
    for kind, mine in groups.items():
        kind.read_for_warnings(kafka, mine, facts)
    all_dangers = found(kafka, changes, resolver, facts)
    warnings = (warning for kind, mine in groups.items() for warning in kind.warnings(mine, facts))
    return Advice(all_dangers, (*warnings, *in_parts(changes)))


def in_parts(changes: Iterable[Change]) -> Iterator[Finding]:
    """A warning for each reason to send an entity's or a resource's keys in several requests."""
    by_reason: dict[str, dict[Configurable, list[list[Change]]]] = {}
    for whose, parts in sending.divided(change for change in changes if not change.is_done).items():
        by_reason.setdefault(kind_of(whose).why_divided, {})[whose] = parts
    for reason, divided in by_reason.items():
        first = next(iter(divided.values()))[0][0]
        turns = {
            whose: [" and ".join(change.key for change in part) for part in parts] for whose, parts in divided.items()
        }
        shown = several([f"{whose} ({', then '.join(keys)})" for whose, keys in turns.items()])
        text = f"sent in several requests, {reason}: {shown}; if a later request fails, the earlier ones stay"
        yield Finding.about(first, WARNING, IN_PARTS, text)
