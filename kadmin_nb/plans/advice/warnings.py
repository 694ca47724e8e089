"""Warnings about a plan: shadowed quotas, sums per broker, names of users, groups that ignore a config."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from ...admin.ports import Kafka
from ...model.changes import Change
from ...model.entity import Entity
from ...model.findings import WARNING, Finding
from ...model.quota_keys import find, readable
from ...resolution.rules import Stored, stored_of
from ...resolution.shadows import COMES_BEFORE, COMES_FIRST, Quota, comes_first, firsts, only_without, shadows_of_added
from ..observed_state import ObservedState, table_after

SHADOWS, SHADOWED, REACH = "shadows", "shadowed", "reach"
OF_PRECEDENCE = (SHADOWS, SHADOWED, REACH)
"""The warnings that say which of several quotas applies, by Kafka's own rules."""

CALLBACK = "callback"
PRINCIPAL, PER_BROKER = "principal", "per broker"

_MAX_NAMES = 3
"""Names that a warning has; the rest is counted."""


def add_facts(state: ObservedState, kafka: Kafka, changes: Sequence[Change]) -> None:
    """Add what the warnings of these rows need: all QUOTAS, the number of brokers."""
    if not any(change.level for change in changes):
        return
    if state.quotas is None:
        state.quotas = kafka.quotas.describe()
    state.brokers = len(kafka.brokers())


def warnings(changes: Sequence[Change], state: ObservedState) -> list[Finding]:
    """The warnings of these rows, few even for many rows."""
    quotas = [change for change in changes if change.level and not change.is_same]
    sets = [change for change in quotas if change.after is not None]
    if not quotas or state.quotas is None:
        return []
    return [
        *_shadowing(quotas, state.quotas),
        *_coming_late(sets, quotas, state.quotas),
        *_principals(sets),
        *_adding_up(sets, state.brokers),
    ]


def _entity(change: Change) -> Entity:
    """The words of the entity that a quota is set on."""
    return cast(Entity, change.resource)


def several(names: Collection[object]) -> str:
    """A few of them, and how many more."""
    first_names, more = list(map(str, islice(names, _MAX_NAMES))), len(names) - _MAX_NAMES
    return ", ".join(first_names) + (f" and {more:,} more" if more > 0 else "")


# -- what always comes first


_SHADOWING_LEVELS = sorted({level for levels in COMES_BEFORE.values() for level in levels})


def _shadowing(changes: Sequence[Change], quotas: pa.Table) -> Iterator[Finding]:
    """New quotas that shadow others, which can then never apply."""
    if not any(c.level in _SHADOWING_LEVELS and c.old is None and c.after for c in changes):
        return
    names = pa.array([*COMES_BEFORE, *_SHADOWING_LEVELS], pa.string())
    before, after = (
        stored_of(table.filter(pc.is_in(table["level"].cast(pa.string()), names)).to_pylist())
        for table in (quotas, table_after(quotas, changes))
    )
    shadowed_by_change = shadows_of_added(before, after)
    for change in changes:
        if shadowed := shadowed_by_change.get((_entity(change), change.key)):
            who = f"{change.resource} {change.key} shadows {len(shadowed):,} quota{'s' * (len(shadowed) != 1)}"
            yield Finding.about(change, WARNING, SHADOWS, f"{who}, which can never apply any more: {several(shadowed)}")


def _coming_late(sets: Sequence[Change], changes: Sequence[Change], quotas: pa.Table) -> Iterator[Finding]:
    """Quotas that reach no client with a client-id, as others come first for all of these."""
    shadowed: dict[tuple[Entity, str], list[Change]] = defaultdict(list)
    reaching: dict[Place, list[tuple[Change, Quota]]] = defaultdict(list)
    places = _places(quotas, sets)
    rows = [c for c in sets if any((first, c.key) in places for first in COMES_FIRST.get(c.level or "", ()))]
    stored: Stored = {}
    if rows:
        names = pa.array({str(first) for c in rows for first in firsts(_entity(c))}, pa.string())
        after = table_after(quotas, changes)
        stored = stored_of(after.filter(pc.is_in(after["entity"], names)).to_pylist())
    for change in rows:
        first = comes_first(stored, _entity(change), change.key)
        if first and change.level in COMES_BEFORE:
            shadowed[first, change.key].append(change)
        elif first:
            limit = Quota(first, change.key, stored[first, change.key])
            reaching[change.level or "", change.key].append((change, limit))
    for (first, key), late in shadowed.items():
        message = f"{key} of {several([c.resource for c in late])} can never apply: {first} always wins"
        yield Finding.about(late[0], WARNING, SHADOWED, message)
    for (_, key), pairs in reaching.items():
        limits = dict.fromkeys(limit for _, limit in pairs)
        whose, reach = several([c.resource for c, _ in pairs]), only_without(several(limits))
        yield Finding.about(pairs[0][0], WARNING, REACH, f"{key} of {whose} reaches {reach}")


Place = tuple[str, str]
"""A level and a key."""


def _places(quotas: pa.Table, sets: Iterable[Change]) -> set[Place]:
    """The levels and keys at which a quota is set now, or by these rows."""
    places = pa.table({name: quotas[name].cast(pa.string()) for name in ("level", "key")})
    there = places.group_by(["level", "key"]).aggregate([]).to_pylist()
    return {(row["level"], row["key"]) for row in there} | {(c.level or "", c.key) for c in sets}


def _principals(sets: Iterable[Change]) -> Iterator[Finding]:
    """The quotas of users that are named as in an ACL, which no client is."""
    typed = [c for c in sets if str(_entity(c).get("user")).startswith("User:")]
    if typed:
        message = f"{several([c.resource for c in typed])}: a quota takes the name without its type, what follows User:"
        yield Finding.about(typed[0], WARNING, PRINCIPAL, message)


_AT_THE_CONTROLLER = "controller_mutation_rate"


def _adding_up(sets: Sequence[Change], brokers: int) -> Iterator[Finding]:
    per_broker = (c for c in sets if find(c.key) and c.key != _AT_THE_CONTROLLER)
    if brokers > 1 and (first := next(per_broker, None)):
        limit = float(first.after or "nan")
        each_limit, total = (readable(first.key, value) for value in (limit, limit * brokers))
        yield Finding(PER_BROKER, WARNING, f"{each_limit} per broker: up to {total} in total")
