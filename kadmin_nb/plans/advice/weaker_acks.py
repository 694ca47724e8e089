"""Dynamic `acks` that weaken durability: judged level by level, as a client-id's entry goes before its user's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from ...model.changes import Change
from ...model.client_configs import ACKS, ALL_REPLICAS, ClientEntity
from ...model.findings import DANGER, Finding
from ..observed_state import ObservedState
from .config_dangers import DangerRule, rule_of

_AllAcks = Mapping[ClientEntity, str | None]


def may_lower(changes: Sequence[Change]) -> list[Change]:
    """The rows that change acks: what else is set for their users decides whether these are lowered."""
    return [change for change in changes if change.key == ACKS and not change.is_done]


def dangers(changes: Sequence[Change], picture: ObservedState) -> Iterable[Finding]:
    """The rows that lower the acks of their clients; a value that is not set counts as all replicas."""
    if not (rows := may_lower(changes)):
        return []
    stored = ((target, now.value) for target, now in picture.values.items() if target[1] == ACKS)
    return _lowered_acks(rows, {cast(ClientEntity, whose): acks for (whose, _), acks in stored})


def certain_dangers(changes: Iterable[Change]) -> Iterable[Finding]:
    """The same of rows that tell it by themselves, as they set a lower value in place of one."""
    return _lowered_acks([c for c in changes if c.key == ACKS and None not in (c.old, c.after)], {})


def _lowered_acks(rows: Sequence[Change], stored: _AllAcks) -> Iterable[Finding]:
    rule = rule_of(ACKS)
    before = {**stored, **{_whose_acks(row): row.old for row in rows}}
    after = {**stored, **{_whose_acks(row): row.after for row in rows}}
    for row in rows:
        old, new = _acks(_whose_acks(row), before), _acks(_whose_acks(row), after)
        if rule and new is not None and rule.weakens(old or ALL_REPLICAS[0], new):
            yield Finding.about(row, DANGER, rule.danger, _danger_text(rule, old, new))


def _acks(entity: ClientEntity, values: _AllAcks) -> str | None:
    return next((value for level in entity.levels if (value := values.get(level)) is not None), None)


def _danger_text(rule: DangerRule, old: str | None, new: str) -> str:
    return f"{old or 'the value of the clients themselves'} becomes {new}: {rule.why}"


def _whose_acks(change: Change) -> ClientEntity:
    return cast(ClientEntity, change.resource)
