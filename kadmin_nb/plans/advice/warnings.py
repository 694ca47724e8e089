"""Warnings about a plan: shadowed quotas, clients that escape, shared buckets, sums per broker, odd names, groups."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from ...admin.ports import Kafka
from ...errors import KadminError
from ...hints import short_id
from ...model.changes import Change, SentRows
from ...model.config_values import has_effect
from ...model.entity import Entity
from ...model.findings import WARNING, Finding
from ...model.grammar import DEFAULT, format_word
from ...model.levels import LEVELS, LEVELS_BY_NAME, SHARED, Level
from ...model.quota_keys import find, readable
from ...model.resources import Resource
from ...resolution.rules import Stored, next_entities, stored_of
from ...resolution.shadows import COMES_BEFORE, COMES_FIRST, Quota, comes_first, firsts, only_without, shadows_of_added
from ..observed_state import ObservedState, of_place, table_after

SHADOWS, SHADOWED, REACH, BLANK = "shadows", "shadowed", "reach", "blank client-id"
OF_PRECEDENCE = (SHADOWS, SHADOWED, REACH, BLANK)
"""The warnings that say which of several quotas applies, by Kafka's own rules."""

CALLBACK = "callback"
SHARING, PRINCIPAL, PER_BROKER, NO_EFFECT = "sharing", "principal", "per broker", "no effect"

BEHIND = "behind"

_MAX_NAMES = 3
"""Names that a warning has; the rest is counted."""

ANONYMOUS = "ANONYMOUS"
UNAUTHENTICATED = frozenset({"PLAINTEXT", "SSL"})
"""Protocols on which a client may have no name."""

_NOBODY = ("user", ANONYMOUS)
_LISTENERS = ("listeners", "listener.security.protocol.map", "controller.listener.names")


def add_facts(state: ObservedState, kafka: Kafka, changes: Sequence[Change]) -> None:
    """Add what the warnings of these rows need: all QUOTAS, the number of brokers, the protocols of listeners."""
    mine = [change for change in changes if change.level]
    if not mine:
        return
    if any(_NOBODY in _entity(change).parts for change in mine):
        state.protocols = _protocols(kafka)
    if state.quotas is None:
        state.quotas = kafka.quotas.describe()
    state.brokers = len(kafka.brokers())


def behind(changes: Iterable[Change], sent: SentRows) -> Iterator[Finding]:
    """For each plan of ours that is on its way: how many rows were seen with the value before it."""
    counts: Counter[str] = Counter()
    for change in changes:
        rows = sent.get(change.target, ())
        seen = (row for row in rows if (row.change.old, row.change.old_known) == (change.old, change.old_known))
        counts.update(row.plan_id for row in islice(seen, 1))
    for plan_id, count in counts.items():
        short = short_id(plan_id)
        rows_have = "row still has" if count == 1 else "rows still have"
        yield Finding(
            BEHIND,
            WARNING,
            f"{count:,} {rows_have} the value before plan {short}, which was sent and not yet seen on every broker: "
            f"plan again when plan verify {short} shows it everywhere",
        )


def _protocols(kafka: Kafka) -> frozenset[str]:
    """The protocols of all brokers' listeners for clients; none where one broker's cannot be seen."""
    brokers = kafka.brokers()
    if any(broker.is_fenced for broker in brokers):
        return frozenset()
    values: dict[str, dict[str, str]] = {broker.resource.name: {} for broker in brokers}
    for row in kafka.configs.describe([broker.resource for broker in brokers], _LISTENERS).to_pylist():
        if row["key"] is not None:
            values[row["resource_name"]][row["key"]] = row["value"] or ""
    of_each = []
    for of_broker in values.values():
        listed, protocols, of_controllers = (of_broker.get(key, "") for key in _LISTENERS)
        protocol_of = dict(item.split(":", 1) for item in protocols.split(",") if ":" in item)
        listeners = {listener.split("://")[0].strip() for listener in listed.split(",") if "://" in listener}
        of_each.append({protocol_of.get(name, name) for name in listeners - {*of_controllers.split(",")}})
    return frozenset().union(*of_each) if all(of_each) else frozenset()


def warnings(changes: Sequence[Change], state: ObservedState) -> list[Finding]:
    """The warnings of these rows, few even for many rows."""
    quotas = [change for change in changes if change.level and not change.is_same]
    sets = [change for change in quotas if change.after is not None]
    if not quotas or state.quotas is None:
        return []
    levels = _Levels.of(state.quotas, quotas)
    return [
        *_shadowing(quotas, levels),
        *_coming_late(sets, levels),
        *_escaping(sets, levels),
        *_sharing(sets, levels),
        *_unmatched(sets, state.protocols),
        *_adding_up(sets, state.brokers),
    ]


def add_group_types(state: ObservedState, kafka: Kafka, changes: Sequence[Change]) -> None:
    """Add the types of groups, where something is set on one; none where they cannot be listed."""
    if any(_group_name(change) for change in changes):
        with suppress(KadminError):
            state.group_types = kafka.group_types()


def of_groups(changes: Sequence[Change], state: ObservedState) -> Iterator[Finding]:
    """A warning for each type of group that ignores what is set on it."""
    ignored: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        group_type = state.group_types.get(_group_name(change) or "")
        if has_effect(change.key, group_type) is False:
            ignored[group_type or ""].append(change)
    for group_type, rows in ignored.items():
        what = several([f"{change.key} of {change.resource}" for change in rows])
        have = "has" if len(rows) == 1 else "have"
        yield Finding.about(rows[0], WARNING, NO_EFFECT, f"{what} {have} no effect on a {group_type} group")


def _group_name(change: Change) -> str | None:
    """The group that a change of a config sets something on; None of all others."""
    resource = cast(Resource, change.resource)
    is_set = resource.type == "GROUP" and change.after is not None and not change.is_same
    return resource.name if is_set else None


def _entity(change: Change) -> Entity:
    """The words of the entity that a quota is set on."""
    return cast(Entity, change.resource)


def several(names: Collection[object]) -> str:
    """A few of them, and how many more."""
    first_names, more = list(map(str, islice(names, _MAX_NAMES))), len(names) - _MAX_NAMES
    return ", ".join(first_names) + (f" and {more:,} more" if more > 0 else "")


# -- what always comes first


_SHADOWING_LEVELS = sorted({level for levels in COMES_BEFORE.values() for level in levels})


def _shadowing(changes: Sequence[Change], levels: _Levels) -> Iterator[Finding]:
    """New quotas that shadow others, which can then never apply."""
    if not any(c.level in _SHADOWING_LEVELS and c.old is None and c.after for c in changes):
        return
    names = pa.array([*COMES_BEFORE, *_SHADOWING_LEVELS], pa.string())
    before, after = (
        stored_of(quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), names)).to_pylist())
        for quotas in (levels.quotas_before, levels.quotas_after)
    )
    shadowed_by_change = shadows_of_added(before, after)
    for change in changes:
        if shadowed := shadowed_by_change.get((_entity(change), change.key)):
            who = f"{change.resource} {change.key} shadows {len(shadowed):,} quota{'s' * (len(shadowed) != 1)}"
            yield Finding.about(change, WARNING, SHADOWS, f"{who}, which can never apply any more: {several(shadowed)}")


def _coming_late(sets: Sequence[Change], levels: _Levels) -> Iterator[Finding]:
    """Quotas that reach no client with a client-id, as others come first for all of these."""
    shadowed: dict[tuple[Entity, str], list[Change]] = defaultdict(list)
    reaching: dict[Place, list[tuple[Change, Quota]]] = defaultdict(list)
    rows = [c for c in sets if any(levels.after[first, c.key] > 0 for first in COMES_FIRST.get(c.level or "", ()))]
    stored: Stored = {}
    if rows:
        names = pa.array({str(first) for c in rows for first in firsts(_entity(c))}, pa.string())
        stored = stored_of(levels.quotas_after.filter(pc.is_in(levels.quotas_after["entity"], names)).to_pylist())
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


# -- levels, before and after

Place = tuple[str, str]
"""A level and a key."""


@dataclass(frozen=True)
class _Levels:
    """The number of quotas of each key and level, before and after; all QUOTAS, where that is asked."""

    before: Counter[Place]
    after: Counter[Place]
    quotas_before: pa.Table
    changes: Sequence[Change]

    @classmethod
    def of(cls, quotas: pa.Table, changes: Sequence[Change]) -> _Levels:
        before = _counts(quotas)
        after = Counter(before)
        after.update((c.level or "", c.key) for c in changes if c.old is None and c.after is not None)
        after.subtract((c.level or "", c.key) for c in changes if c.old is not None and c.after is None)
        return cls(before, after, quotas, changes)

    @cached_property
    def quotas_after(self) -> pa.Table:
        """All QUOTAS after the changes: few warnings need them."""
        return table_after(self.quotas_before, self.changes)


def _counts(quotas: pa.Table) -> Counter[Place]:
    """The number of quotas at each level and key."""
    places = pa.table({name: quotas[name].cast(pa.string()) for name in ("level", "key")})
    counts = places.group_by(["level", "key"]).aggregate([([], "count_all")])
    return Counter({(row["level"], row["key"]): row["count_all"] for row in counts.to_pylist()})


def _names(quotas: pa.Table, level: str, key: str, kind: str) -> set[str]:
    """The users, or client-ids, that have a quota of their own at a level."""
    return {*of_place(quotas, level, key)["client_id" if kind == "client-id" else kind].to_pylist()}


def _part_name(change: Change, kind: str) -> str:
    return str(_entity(change).get(kind))


_FOR_ANY_CLIENT = ("DEFAULT_CLIENT_OF_USER", "DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_CLIENT")


def _escaping(sets: Sequence[Change], levels: _Levels) -> Iterator[Finding]:
    """A quota for any client-id, which clients without a client-id escape."""
    groups: dict[Place, list[Change]] = defaultdict(list)
    for change in sets:
        if change.level in _FOR_ANY_CLIENT and levels.after["DEFAULT_USER", change.key] <= 0:
            groups[change.level, change.key].append(change)
    for (level, key), changes in groups.items():
        bound = _names(levels.quotas_after, "USER", key, "user") if level == _FOR_ANY_CLIENT[0] else set()
        free = [change for change in changes if _part_name(change, "user") not in bound]
        if free:
            whose = f"{several([change.resource for change in free])} {key}"
            beside = "the user" if level == _FOR_ANY_CLIENT[0] else "user=<default>"
            message = (
                f"clients without a client-id are not limited by {whose}, so unlimited: a quota of {beside} limits them"
            )
            yield Finding.about(free[0], WARNING, BLANK, message)


_COVERS_ALL = ("DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_USER")


def _sharing(sets: Sequence[Change], levels: _Levels) -> Iterator[Finding]:
    """The first quotas of a level move clients from the bucket that a broader level gave them."""
    first: dict[Place, list[Change]] = defaultdict(list)
    for change in sets:
        place = change.level or "", change.key
        if change.level in LEVELS_BY_NAME and change.old is None and levels.before[place] == 0:
            first[place].append(change)
    for (name, key), changes in first.items():
        broader = _taken_from(LEVELS_BY_NAME[name], key, changes, levels)
        # what a row falls back to says itself who shares that
        if broader is not None and broader.name not in {e.level for e in next_entities(_entity(changes[0]))}:
            who = f"{several([c.resource for c in changes])}, the first {key} at this level"
            message = f"{who}: clients that a quota of {_called(broader)} limited use another bucket, {SHARED[name]}"
            yield Finding.about(changes[0], WARNING, SHARING, f"{message}; before it was {SHARED[broader.name]}")


def _called(level: Level) -> str:
    """A level as the grammar writes one: `user=<default> client-id=…`."""
    parts = (("user", level.user), ("client-id", level.client_id))
    return " ".join(f"{kind}={'<default>' if part == 'default' else '…'}" for kind, part in parts if part)


def _taken_from(level: Level, key: str, changes: Sequence[Change], levels: _Levels) -> Level | None:
    """The closest broader level that bound some of the same clients from buckets of another kind."""
    for broader in LEVELS[level.number + 1 :]:
        if levels.before[broader.name, key] > 0 and _meet(broader, key, changes, levels):
            if (bool(broader.user), bool(broader.client_id)) != (bool(level.user), bool(level.client_id)):
                return broader
            if broader.name in _COVERS_ALL:
                return None
    return None


def _meet(broader: Level, key: str, changes: Sequence[Change], levels: _Levels) -> bool:
    """True if some client fits both: where both name a user, or a client-id, it is the same."""
    for kind, presence in (("user", broader.user), ("client-id", broader.client_id)):
        mine = {_part_name(c, kind) for c in changes if isinstance(_entity(c).get(kind), str)}
        if presence == "name" and mine and not mine & _names(levels.quotas_before, broader.name, key, kind):
            return False
    return True


# -- names and numbers


def _unmatched(sets: Sequence[Change], protocols: Collection[str]) -> Iterator[Finding]:
    rows_by_name = _first_rows_by_name(sets)
    spaced = sorted((row, name) for name, row in rows_by_name["client-id"].items() if name != name.strip())
    odd: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, row, says in oddities(rows_by_name["user"], protocols):
        odd[says].append((name, row))
    by_row = {change.row: change for change in sets} if odd or spaced else {}
    for says, odd_names in odd.items():
        names = [format_word("user", name) for name, _ in odd_names]
        yield Finding.about(by_row[odd_names[0][1]], WARNING, PRINCIPAL, f"{several(names)}: {says}")
    if spaced:
        names = [format_word("client-id", name) for _, name in spaced]
        message = f"{several(names)}: the name begins or ends with a space, which a client would have to send"
        yield Finding.about(by_row[spaced[0][0]], WARNING, PRINCIPAL, message)


def _first_rows_by_name(changes: Sequence[Change]) -> dict[str, dict[str, int]]:
    """The names of each kind, each with its first row."""
    rows_by_name: dict[str, dict[str, int]] = defaultdict(dict)
    for change in reversed(changes):
        for kind, name in _entity(change).parts:
            if name is not DEFAULT:
                rows_by_name[kind][name] = change.row  # type: ignore[index]
    return rows_by_name


_AT_THE_CONTROLLER = "controller_mutation_rate"


def _adding_up(sets: Sequence[Change], brokers: int) -> Iterator[Finding]:
    per_broker = (c for c in sets if find(c.key) and c.key != _AT_THE_CONTROLLER)
    if brokers > 1 and (first := next(per_broker, None)):
        limit = float(first.after or "nan")
        each_limit, total = (readable(first.key, value) for value in (limit, limit * brokers))
        yield Finding(PER_BROKER, WARNING, f"{each_limit} per broker: up to {total} in total")


# -- names that look right and that no client ever has: as Kafka calls a user, so must its quota


ODDITIES: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda name: name.startswith("User:"),
     "a quota names the principal without its type: a client's name is what follows User:"),
    (lambda name: name != name.strip(), "the name begins or ends with a space, which the clients' does not"),
    (lambda name: re.search(r"%(?:3D|2C|20|40|2F|3A)", name, re.IGNORECASE) is not None and " " not in name,
     "this is how metrics write a name; a quota takes the name itself, with = instead of %3D"),
    (lambda name: name in ("*", "<any>"), "this is a name and not a pattern: <default> means everyone"),
    (lambda name: name != ANONYMOUS and name.upper() == ANONYMOUS,
     "Kafka calls a client without a login ANONYMOUS, in capitals"),
)  # fmt: skip
"""Whether a name is odd, and what somebody should know; the first that a name has is told."""

_SUSPECT = r"(?i)^User:|^\pZ|^\s|\pZ$|\s$|%[0-9a-f]{2}|^\*$|^<any>$|^anonymous$"
"""A character that every odd name has, and almost no other."""

_ALL_LOG_IN = "every listener requires a login, so no client is called ANONYMOUS"


def oddities(users: Mapping[str, int], protocols: Collection[str]) -> Iterator[tuple[str, int, str]]:
    """The odd names among users, with their rows, and what is odd about each.

    Parameters
    ----------
    protocols
        Those of the cluster's listeners; none where they are not known.
    """
    names = pa.array(users, pa.string())
    suspects = names.filter(pc.match_substring_regex(names, _SUSPECT)).to_pylist()
    for name in sorted(suspects, key=lambda name: users[name]):
        if name == ANONYMOUS and protocols and not UNAUTHENTICATED & {*protocols}:
            yield name, users[name], _ALL_LOG_IN
        elif says := next((says for is_so, says in ODDITIES if is_so(name)), None):
            yield name, users[name], says
