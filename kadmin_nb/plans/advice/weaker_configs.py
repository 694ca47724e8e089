"""Configs that weaken durability or security: the rules of `config_dangers`, judged against what holds now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import cast

from ...admin.ports import Kafka
from ...errors import KadminError
from ...model.changes import Change
from ...model.client_configs import ACKS, ALL_REPLICAS, ClientEntity
from ...model.config_units import with_unit
from ...model.findings import DANGER, Finding
from ...model.resources import Resource
from ..observed_state import ObservedState
from ..secret_resolver import Resolver
from .config_dangers import LOGIN, DangerRule, cut, rule_of
from .fallback import fallback_values

_REMOTE_LOGINS = ("JndiLoginModule", "LdapLoginModule")
"""Login modules by which a broker can be made to load somebody's code (CVE-2023-25194, CVE-2025-27818)."""


def add_fallbacks(state: ObservedState, kafka: Kafka, changes: Iterable[Change]) -> None:
    """Add what applies to these configs without their own value, and which of their topics have no records."""
    configs = [change for change in changes if _rule(change)]
    unset = (c.target for c in configs if c.old_known and (c.old is None or c.after is None))
    state.below.update(fallback_values(kafka, unset))
    if topics := {topic for c in configs if (topic := _shorter_lived(c)) and _weakening(c, state)}:
        state.empty.update(kafka.empty_topics(topics))


def dangers(changes: Iterable[Change], state: ObservedState, resolver: Resolver | None = None) -> Iterable[Finding]:
    """The dangers of these configs; a topic without records loses none."""
    for change in changes:
        rule, message = _rule(change), _weakening(change, state)
        if rule and message and _shorter_lived(change) not in state.empty:
            text = f"{message}: {rule.why}{_modules(change, rule, resolver)}"
            yield Finding.about(change, DANGER, rule.danger, text)


def certain(changes: Iterable[Change]) -> Iterable[Finding]:
    """The dangers that the rows tell by themselves: both values are set, or the old one is hidden."""
    told = (c for c in changes if _rule(c) and not (c.old_known and None in (c.old, c.after)))
    return dangers((change for change in told if not _shorter_lived(change)), ObservedState())


def _shorter_lived(change: Change) -> str | None:
    """The topic whose records a shorter retention would delete: where it has none, nothing is lost."""
    rule, resource = _rule(change), cast(Resource, change.resource)
    return resource.name if rule and rule.weakens is cut and resource.type == "TOPIC" else None


def _rule(change: Change) -> DangerRule | None:
    is_logger = cast(Resource, change.resource).type == "BROKER_LOGGER"
    return None if is_logger else rule_of(change.key)


def _weakening(change: Change, state: ObservedState) -> str | None:
    """From what to what, where that is weaker or cannot be seen; nothing where it is not weaker."""
    rule, below = _rule(change), state.below.get(change.target, ())
    if rule is None or change.is_same:
        return None
    if change.is_secret or not change.old_known:
        return f"a value that is not shown {'is removed' if change.after is None else 'is set or replaced'}"
    old, new = ([value] if value is not None else [*below] for value in (change.old, change.after))
    if not old or not new:
        return f"{_value_text(change.key, old)} becomes {_value_text(change.key, new)}"
    worst = next((pair for pair in product(old, new) if rule.weakens(*pair)), None)
    return " becomes ".join(_value(change.key, value) for value in worst) if worst else None


def _value_text(key: str, values: Sequence[str | None]) -> str:
    return _value(key, values[0]) if values else "a value that cannot be seen"


def _value(key: str, text: str | None) -> str:
    return "nothing" if text is None else with_unit(key, text) or "empty"


def _modules(change: Change, rule: DangerRule, resolver: Resolver | None) -> str:
    """The login modules in a secret that load code from elsewhere, by name."""
    if rule.danger != LOGIN or change.after is None or resolver is None:
        return ""
    try:
        text = resolver(change.after).reveal()
    except KadminError:
        return ""
    modules = [module for module in _REMOTE_LOGINS if module in text]
    return f"; it has {' and '.join(modules)}, which can make a broker run code from elsewhere" * bool(modules)


_AllAcks = Mapping[ClientEntity, str | None]


def may_lower_acks(changes: Sequence[Change]) -> list[Change]:
    """The rows that change acks: what else is set for their users decides whether these are lowered."""
    return [change for change in changes if change.key == ACKS and not change.is_same]


def acks_dangers(changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
    """The rows that lower the acks of their clients; a value that is not set counts as all replicas.

    They are judged level by level, as a client-id's entry goes before its user's.
    """
    if not (rows := may_lower_acks(changes)):
        return []
    stored = ((target, now.value) for target, now in state.values.items() if target[1] == ACKS)
    return _lowered_acks(rows, {cast(ClientEntity, whose): acks for (whose, _), acks in stored})


def certain_acks_dangers(changes: Iterable[Change]) -> Iterable[Finding]:
    """The same of rows that tell it by themselves, as they set a lower value in place of one."""
    return _lowered_acks([c for c in changes if c.key == ACKS and None not in (c.old, c.after)], {})


def _lowered_acks(rows: Sequence[Change], stored: _AllAcks) -> Iterable[Finding]:
    rule = rule_of(ACKS)
    before = {**stored, **{_whose_acks(row): row.old for row in rows}}
    after = {**stored, **{_whose_acks(row): row.after for row in rows}}
    for row in rows:
        old, new = _acks(_whose_acks(row), before), _acks(_whose_acks(row), after)
        if rule and new is not None and rule.weakens(old or ALL_REPLICAS[0], new):
            text = f"{old or 'the value of the clients themselves'} becomes {new}: {rule.why}"
            yield Finding.about(row, DANGER, rule.danger, text)


def _acks(entity: ClientEntity, values: _AllAcks) -> str | None:
    return next((value for level in entity.levels if (value := values.get(level)) is not None), None)


def _whose_acks(change: Change) -> ClientEntity:
    return cast(ClientEntity, change.resource)
