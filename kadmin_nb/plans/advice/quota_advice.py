"""Advice on quotas. Dangers: lifted from everyone, or a limit whose unit was forgotten. Warnings: shadowed quotas, sums
per broker, names of users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from ...admin.ports import Kafka
from ...model.changes import Change, Edit, Target
from ...model.entity import Entity
from ...model.figures import digits, seconds
from ...model.findings import DANGER, WARNING, Finding
from ...model.grammar import DEFAULT
from ...model.levels import DEFAULT_IP
from ...model.quota_keys import find, readable, text_of
from ...resolution.rules import Stored, stored_of
from ...resolution.shadows import COMES_BEFORE, COMES_FIRST, Quota, comes_first, firsts, only_without, shadows_of_added
from ..observed_state import LookOptions, ObservedState, add_quotas, of_place, quota_values, table_after
from . import several
from .config_dangers import QUOTA

SHADOWS, SHADOWED, REACH = "shadows", "shadowed", "reach"
OF_PRECEDENCE = (SHADOWS, SHADOWED, REACH)
"""The warnings that say which of several quotas applies, by Kafka's own rules."""

CALLBACK = "callback"
PRINCIPAL, PER_BROKER = "principal", "per broker"


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
    late: dict[Place, list[tuple[Change, Quota]]] = defaultdict(list)
    levels = {*pc.unique(quotas["level"].cast(pa.string())).to_pylist(), *(c.level for c in sets)}
    rows = [c for c in sets if not levels.isdisjoint(COMES_FIRST.get(c.level or "", ()))]
    stored: Stored = {}
    if rows:
        names = pa.array({str(first) for c in rows for first in firsts(_entity(c))}, pa.string())
        after = table_after(quotas, changes)
        stored = stored_of(after.filter(pc.is_in(after["entity"], names)).to_pylist())
    for change in rows:
        if first := comes_first(stored, _entity(change), change.key):
            limit = Quota(first, change.key, stored[first, change.key])
            late[change.level or "", change.key].append((change, limit))
    for (level, key), pairs in late.items():
        first_row, limits = pairs[0][0], dict.fromkeys(limit for _, limit in pairs)
        whose = f"{key} of {several([change.resource for change, _ in pairs])}"
        if level in COMES_BEFORE:
            winning = several(dict.fromkeys(limit.entity for limit in limits))
            yield Finding.about(first_row, WARNING, SHADOWED, f"{whose} can never apply: {winning} always wins")
        else:
            yield Finding.about(first_row, WARNING, REACH, f"{whose} reaches {only_without(several(limits))}")


Place = tuple[str, str]
"""A level and a key."""


def _principals(sets: Iterable[Change]) -> Iterator[Finding]:
    """The quotas of users that are named as in an ACL, which no client is."""
    typed = [c for c in sets if str(_entity(c).get("user")).startswith("User:")]
    if typed:
        message = f"{several([c.resource for c in typed])}: a quota takes the name without its type, what follows User:"
        yield Finding.about(typed[0], WARNING, PRINCIPAL, message)


def _adding_up(sets: Sequence[Change], brokers: int) -> Iterator[Finding]:
    per_broker = (c for c in sets if find(c.key) and c.key != "controller_mutation_rate")
    if brokers > 1 and (first := next(per_broker, None)):
        limit = float(first.after or "nan")
        each_limit, total = (readable(first.key, value) for value in (limit, limit * brokers))
        yield Finding(PER_BROKER, WARNING, f"{each_limit} per broker: up to {total} in total")


SEVERAL = 2
"""Quotas of a level that may go before the level counts as emptied: one alone is somebody's."""

_CLIENTS = (
    Entity.of({"user": DEFAULT, "client-id": DEFAULT}),
    Entity.of({"user": DEFAULT}),
    Entity.of({"client-id": DEFAULT}),
)
_ADDRESSES = (Entity.of({"ip": DEFAULT}),)
EVERYONE = {**dict.fromkeys((e.level for e in _CLIENTS), _CLIENTS), DEFAULT_IP: _ADDRESSES}
"""The entities that hold for all, most specific first, by level."""


def add_everyones(state: ObservedState, kafka: Kafka, changes: Sequence[Change]) -> None:
    """Add the quotas that hold for everyone where these rows may lift one, or all where they may empty a level."""
    removals = _removals(changes)
    if state.quotas is not None or not removals:
        return
    if _emptying(removals):
        state.quotas = kafka.quotas.describe()
    elif any(change.level in EVERYONE for change in removals):
        add_quotas(state, kafka, {*_CLIENTS, *_ADDRESSES}, LookOptions())


def dangers(changes: Sequence[Change], state: ObservedState) -> Iterator[Finding]:
    """The rows that lift a limit from everyone, or take away all quotas of a level with no such limit behind them."""
    removals = _removals(changes)
    from_everyone, emptying = [c for c in removals if c.level in EVERYONE], _emptying(removals)
    if not from_everyone and not emptying:
        return  # as in most plans
    by_text = {str(entity): entity for entity in (*_CLIENTS, *_ADDRESSES)}
    observed = state.values if state.quotas is None else quota_values(state.quotas, by_text)
    after = {target: now.value for target, now in observed.items()} | {c.target: c.after for c in changes}
    for change in from_everyone:
        if not _is_for_everyone(after, change.level or "", change.key):
            whose = f"{readable(change.key, float(change.old or 0))} for everyone is removed"
            consequence = "with no other limit behind it: clients without a quota of their own are unlimited"
            yield Finding.about(change, DANGER, QUOTA, f"{whose}, {consequence}")
    for (level, key), rows in emptying.items() if state.quotas is not None else ():
        everyones = DEFAULT_IP if level == "IP" else _CLIENTS[0].level
        left = {*of_place(state.quotas, level, key)["entity"].to_pylist()} - {str(change.resource) for change in rows}
        if not left and not _is_for_everyone(after, everyones, key):
            message = f"all {len(rows):,} quotas of the level {level} are removed, and none is for everyone"
            yield Finding.about(rows[0], DANGER, QUOTA, message)


def _removals(changes: Iterable[Change]) -> list[Change]:
    return [c for c in changes if c.level and c.after is None and not c.is_same]


def _emptying(removals: Iterable[Change]) -> dict[Place, list[Change]]:
    """The removals of several quotas of one level and key; the levels of everyone have but one."""
    groups: dict[Place, list[Change]] = defaultdict(list)
    for change in removals:
        if change.level not in EVERYONE:
            groups[change.level or "", change.key].append(change)
    return {place: rows for place, rows in groups.items() if len(rows) >= SEVERAL}


def _is_for_everyone(limits: Mapping[Target, str | None], level: str, key: str) -> bool:
    """True if a limit of this key holds for everyone."""
    return any(limits.get((entity, key)) is not None for entity in EVERYONE[level])


UNIT = "unit"
"""The danger's name."""

THOUSANDFOLD = 1000.0
"""Times up or down from which on a changed limit counts as a slip."""

REQUEST_BYTES = 16_384
"""The bytes of an ordinary request: a batch of Kafka's default `batch.size`."""

LONGEST = 60.0
"""Seconds that an ordinary request may take under a limit."""

BYTE_RATES = ("producer_byte_rate", "consumer_byte_rate")
"""The keys whose lowering stalls."""


def unit_dangers(changes: Iterable[Change]) -> Iterator[Finding]:
    """The rows whose new limit looks as if a unit was forgotten: 5 B/s where 5 MB/s were meant.

    A row tells it by itself: the limit is a thousandth or a thousand times of what it was, or so low that one ordinary
    request takes minutes. A broker lets a request through and then throttles its connection until the average is within
    the limit again, so such a client all but stops.
    """
    for change in changes:
        if change.after is not None and not change.is_same and (message := _message(change)):
            yield Finding.about(change, DANGER, UNIT, message)


def _message(change: Change) -> str | None:
    key, after = change.key, float(change.after or "nan")
    before = None if change.old is None else float(change.old)
    slip = f"Was {after:g}MB/s meant?" if _lacks_unit(key, after) else "Was a unit forgotten?"
    if key in BYTE_RATES and after * LONGEST < REQUEST_BYTES:
        return f"one request of 16 KiB would take {seconds(REQUEST_BYTES / after)} at {readable(key, after)}. {slip}"
    way = f"{readable(key, before)} becomes {readable(key, after)}" if before else ""
    if before and after <= before / THOUSANDFOLD:
        return f"{way}, a {digits(before / after)}th. {slip}"
    if before and after >= before * THOUSANDFOLD:
        return f"{way}, {digits(after / before)} times as much. {slip}"
    return None


def _lacks_unit(key: str, after: float) -> bool:
    """True of a rate of bytes that would be an ordinary one in MB/s."""
    return key in BYTE_RATES and after < 1000


def meant(change: Change) -> Edit | None:
    """The edit that was probably meant in place of a dangerous row: 5 MB/s where it sets 5 B/s."""
    if change.after is None or not _lacks_unit(change.key, float(change.after)):
        return None
    return Edit(change.op, change.resource, change.key, text_of(float(change.after) * 1e6))
