"""Quotas as a kind of change (KIP-546)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from ...admin.ports import Kafka, Quotas
from ...errors import Invalid, UsageError
from ...hints import did_you_mean
from ...model.changes import DELETE, NO_LIMIT, SET, Change, Edit, Fallback, Refusal, Target, given_key
from ...model.config_units import exact_number
from ...model.configurable import Configurable
from ...model.entity import ARGUMENTS, TYPES, Entity, type_word
from ...model.findings import Finding
from ...model.grammar import format_word
from ...model.java_text import QUOTA_TYPES
from ...model.levels import LEVEL_NAMES, OTHER
from ...model.quota_keys import QUOTA_KEY_NAMES, QUOTA_KEYS, find, parse_value, text_of
from ...resolution.rules import entity_of, next_entities, stored_of
from ...secrets import Secret
from ..advice import quota_dangers, warnings
from ..change_words import QUOTA_VERBS, quota_edits
from ..execution import safe_order
from ..observed_state import LookOptions, ObservedState, add_quotas
from .change_kind import ChangeKind, FrameRow, ToolWords, is_null

_TOOL_TYPES = {entity_type: tool_type for tool_type, entity_type in QUOTA_TYPES.items()}


class QuotaChanges(ChangeKind):
    """Client quotas: numbers on entities, which the broker validates, and every broker shows."""

    resources = Entity
    verbs: ClassVar = {op: verb for verb, op in QUOTA_VERBS.items()}
    words: ClassVar = TYPES
    columns = ("key", "value")
    columns_beside = ("entity", "level", "user", "client_id", "ip")
    magic = "%%kquota"
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
        return safe_order.waves(changes)

    def port(self, kafka: Kafka) -> Quotas:
        return kafka.quotas

    def wish(self, changes: Sequence[Change], secrets: Mapping[str, Secret]) -> dict[str, float | None]:
        return {c.key: None if c.op == DELETE else float(c.after or "nan") for c in changes}

    def read_for_dangers(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        quota_dangers.add_everyones(state, kafka, changes)

    def dangers(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        return [*quota_dangers.dangers(changes, state), *quota_dangers.unit_dangers(changes)]

    def read_for_warnings(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        warnings.add_facts(state, kafka, changes)

    def warnings(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        return warnings.warnings(changes, state)

    def line_words(self, resource: Configurable) -> str:
        return " ".join(format_word(type_word(kind), name) for kind, name in _entity(resource).parts)

    def unknown_keys(self, changes: Iterable[Change]) -> Iterable[str]:
        return dict.fromkeys(change.key for change in changes if not find(change.key))

    def tool_words(self, resource: Configurable) -> ToolWords | None:
        parts = _entity(resource).parts
        return [(_TOOL_TYPES[k], name) for k, name in parts] if {k for k, _ in parts} <= {*_TOOL_TYPES} else None

    def tool_takes(self, change: Change) -> bool:
        quota_key = find(change.key)
        return quota_key is not None and _entity(change.resource).parts[0][0] in quota_key.entities


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
