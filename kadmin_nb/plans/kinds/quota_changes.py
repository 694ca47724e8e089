"""Quotas as a kind of change (KIP-546)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import ClassVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from ...admin.ports import Kafka, Quotas
from ...errors import Invalid, UsageError
from ...hints import did_you_mean
from ...model.changes import DELETE, NO_LIMIT, SET, Change, Edit, Fallback, Refusal, Target, given_key
from ...model.config_units import exact_number
from ...model.configurable import Configurable
from ...model.entity import ARGUMENTS, TYPES, Entity
from ...model.findings import Finding
from ...model.levels import LEVEL_NAMES, OTHER
from ...model.quota_keys import QUOTA_KEY_NAMES, QUOTA_KEYS, find, parse_value, text_of
from ...resolution.rules import entity_of, next_entities, stored_of
from ...secrets import Secret
from ..advice import quota_advice
from ..change_words import QUOTA_VERBS, quota_edits
from ..observed_state import LookOptions, ObservedState, add_quotas
from .change_kind import ChangeKind, FrameRow, is_null


class QuotaChanges(ChangeKind):
    """Client quotas: numbers on entities, which the broker validates, and every broker shows."""

    resources = Entity
    verbs: ClassVar = {op: verb for verb, op in QUOTA_VERBS.items()}
    words: ClassVar = TYPES
    columns = ("key", "value")
    columns_beside = ("entity", "level", "user", "client_id", "ip")
    tool_deletes_absent = False

    def line_edits(self, verb: str, words: Sequence[str], allow_unknown: Collection[str]) -> list[Edit]:
        return quota_edits(verb, words, allow_unknown)

    def check_values(self, change: Change) -> None:
        other = change.falls_back or NO_LIMIT
        if other.set_on:
            Entity.parse(other.set_on)
        for value in (change.old, change.wanted, change.after, other.value):
            if value not in (None, NO_LIMIT.value) and exact_number(value) is None:
                raise Invalid(f"the value {value} is not a number")

    def row_edit(self, row: FrameRow) -> Edit:
        entity, key, value = _row_entity(row), given_key(row["key"]), row["value"]
        if is_null(value):
            return Edit(DELETE, entity, key)
        return Edit(SET, entity, key, text_of(parse_value(key, value)))

    def read(self, kafka: Kafka, targets: Collection[Target], state: ObservedState, look: LookOptions) -> None:
        add_quotas(state, kafka, (_entity(resource) for resource, _ in targets), look)

    def misfit(self, change: Edit | Change) -> Refusal | None:
        known = find(change.key)
        if known is None or change.op != SET:
            return None
        kind = next((kind for kind, _ in _entity(change.resource).parts if kind not in known.entities), None)
        takes = kind and [key.name for key in QUOTA_KEYS if kind in key.entities]
        return Refusal("INVALID_REQUEST", f"{kind}=… takes {', '.join(takes)}") if takes else None

    def known_keys(self, edit: Edit, state: ObservedState) -> Sequence[str] | None:
        """Kafka removes unknown quota keys without a word."""
        return QUOTA_KEY_NAMES if edit.op == DELETE and find(edit.key) is None else None

    def fallbacks(self, changes: Sequence[Change], state: ObservedState) -> dict[int, Fallback]:
        """By the quotas before the changes where they set what was not set, and after them where they remove."""
        if state.quotas is None:
            return {}
        levels = {*pc.unique(state.quotas["level"]).to_pylist(), *(c.level for c in changes)}
        absent = {c.row: next_entities(_entity(c.resource), levels) for c in changes if None in (c.old, c.after)}
        names = pa.array({str(entity) for entities in absent.values() for entity in entities}, pa.string())
        before = stored_of(state.quotas.filter(pc.is_in(state.quotas["entity"], names)).to_pylist())
        gone = {change.target for change in changes}
        set_now = {c.target: float(c.after) for c in changes if c.after is not None}
        after = {target: value for target, value in before.items() if target not in gone} | set_now
        found = {}
        for change in changes:
            if change.row in absent and change.level != OTHER:
                stored = after if change.after is None else before
                targets = ((entity, change.key) for entity in absent[change.row])
                first = next((target for target in targets if target in stored), None)
                found[change.row] = Fallback(text_of(stored[first]), str(first[0])) if first else NO_LIMIT
        return found

    def waves(self, changes: Sequence[Change]) -> list[list[Change]]:
        return _safe_waves(changes)

    def port(self, kafka: Kafka) -> Quotas:
        return kafka.quotas

    def wish(self, changes: Sequence[Change], secrets: Mapping[str, Secret]) -> dict[str, float | None]:
        return {c.key: None if c.op == DELETE else float(c.after or "nan") for c in changes}

    def read_for_dangers(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        quota_advice.add_everyones(state, kafka, changes)

    def dangers(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        return [*quota_advice.dangers(changes, state), *quota_advice.unit_dangers(changes)]

    def read_for_warnings(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        quota_advice.add_facts(state, kafka, changes)

    def warnings(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        return quota_advice.warnings(changes, state)


def _entity(resource: Configurable) -> Entity:
    return cast(Entity, resource)


def _row_entity(row: FrameRow) -> Entity:
    """The entity of a QUOTAS row: its text when it has one, else its level and names."""
    if row.get("entity"):
        return _agreeing(Entity.parse(str(row["entity"])), row)
    level = row.get("level") or ""
    if level == OTHER or not level:
        raise UsageError("it has neither an entity nor a level")
    entity, names = entity_of(row), [name for name in LEVEL_NAMES if name != OTHER]
    if entity is None:
        raise UsageError(f"{level} is not a level", hint=did_you_mean(level, names, f"One of {', '.join(names)}."))
    return Entity.of(dict(entity.parts))


def _agreeing(entity: Entity, row: FrameRow) -> Entity:
    """The entity, if the names beside its text are its own: whoever changes one of them means another entity."""
    for column, kind in ARGUMENTS.items():
        name = row.get(column)
        if name and not is_null(name) and entity.get(kind) != name:
            raise UsageError(
                f"its entity is {entity}, and its {column} is {name}",
                hint="Change both, or leave the column entity out: level and names identify a quota, too.",
            )
    return entity


QUOTAS = QuotaChanges()


_RAISES, _LOWERS = 0, 2 * len(LEVEL_NAMES) + 1
_ADDITIONS = {name: n for n, name in enumerate(LEVEL_NAMES, _RAISES + 1)}
_REMOVALS = {name: n for n, name in enumerate(reversed(LEVEL_NAMES), _RAISES + 1 + len(LEVEL_NAMES))}


def _safe_waves(changes: Sequence[Change]) -> list[list[Change]]:
    """The safe order of quotas: between two waves nobody is held below both the limit they had and the one they get.

    Key by key: (A) raises of entries that exist; (B) additions, the most specific level first; (C) removals,
    the least specific first; (D) lowers. One entry at most of each level fits a client, so let `w` be the entry
    that binds it before and `x` the one that does after. A only raises. In B an entry that takes over from `w`
    is `x` itself: were it not, `x` would be more specific and so be there already. In C `w` goes only when all
    that it hid and that must go has gone, and then `x` binds. D reaches `x`, which binds already. Address
    quotas follow the same reasoning.

    That concerns entities that fit a common client. Where no other row of a key does, its row can be sent at
    any time. That is used to send the keys of one entity in one request, which Kafka carries out as a whole or
    not at all (KIP-546), unless two of its keys wait for rows of others.

    The one client that this does not cover is the empty user, whom a default user quota frees from all limits
    (`resolution.rules`): a plan can end that freedom before it has lifted what then binds.
    """
    ranks = list(map(_rank, changes))
    _merge(changes, ranks)
    numbered: dict[int, list[Change]] = defaultdict(list)
    for change, rank in zip(changes, ranks, strict=True):
        numbered[rank].append(change)
    return [numbered[rank] for rank in sorted(numbered)]


def _rank(change: Change) -> int:
    """The place of a quota's change in the safe order of its key."""
    if change.after is None:
        return _REMOVALS.get(_level(change), _REMOVALS[OTHER])
    if change.old is not None:
        return _RAISES if float(change.after) >= float(change.old) else _LOWERS
    return _ADDITIONS.get(_level(change), _ADDITIONS[OTHER]) if change.old_known else _LOWERS


def _merge(changes: Sequence[Change], ranks: list[int]) -> None:
    """Give the changes of an entity one rank, where at most one rank of theirs is bound to others of their keys."""
    places: dict[Configurable, list[int]] = defaultdict(list)
    for place, change in enumerate(changes):
        places[change.resource].append(place)
    groups = [group for group in places.values() if len({ranks[place] for place in group}) > 1]
    by_names = _ranks_by_names(changes, ranks) if groups else {}
    for group in groups:
        bound = {ranks[place] for place in group if _ranks_met(changes[place], by_names) - {ranks[place]}}
        if len(bound) <= 1:
            rank = min(bound or {ranks[place] for place in group})
            for place in group:
                ranks[place] = rank


def _level(change: Change) -> str:
    return change.level or change.resource.level or OTHER


_ALL = object()
"""Stands for every user, or every client-id, where rows are looked up without regard to it."""


_RanksByNames = Mapping[tuple[object, ...], set[int]]


def _ranks_by_names(changes: Sequence[Change], ranks: Sequence[int]) -> _RanksByNames:
    """The ranks of changes by key and by the users and client-ids that they concern.

    A user and a client-id that are not named, absent or the default, fit everyone. So do entities of other types:
    a host name and an address may be the same.
    """
    by_names: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for change, rank in zip(changes, ranks, strict=True):
        user, client_id = _client_names(change.resource)
        for names in product((user, _ALL), (client_id, _ALL)):
            by_names[change.key, *names].add(rank)
    return by_names


def _ranks_met(change: Change, by_names: _RanksByNames) -> set[int]:
    """The ranks of all changes of its key that fit a client which it fits; its rank among them."""
    # a name meets itself and no name; no name meets all
    meeting = ((_ALL,) if name is None else (name, None) for name in _client_names(change.resource))
    return set().union(*(by_names.get((change.key, *names), ()) for names in product(*meeting)))


def _client_names(resource: Configurable) -> tuple[str | None, str | None]:
    """Its user and its client-id, None where it fits any."""
    user, client_id = (cast(Entity, resource).get(kind) for kind in ("user", "client-id"))
    return user if isinstance(user, str) else None, client_id if isinstance(client_id, str) else None
