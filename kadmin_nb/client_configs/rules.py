"""The rules of dynamic client configs: which record is an entry, and what all entries keep together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ..errors import KadminError
from ..model.refusal import Refusal
from .nouns import (
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    ClientEntity,
    Replacement,
    merged,
    stored_value,
    timeouts_contradict,
)
from .records import MOST_BYTES, ConfigKey, ConfigValue

Entries = Mapping[ClientEntity, Mapping[str, str]]
"""The values of each entity's keys."""


Replacements = Mapping[ClientEntity, Mapping[str, Replacement]]
Refusals = dict[ClientEntity, Refusal]


@dataclass(frozen=True, slots=True)
class SessionBounds:
    """The milliseconds that brokers take as the session timeout of a consumer: all between their two configs."""

    lowest: int
    highest: int


def read_entry(key: bytes | None, value: bytes | None) -> tuple[ClientEntity, str, ConfigValue | None] | None:
    """The entity, the key and the value of a record of CONFIGS_TOPIC, no value of a tombstone.

    None where it is none: it cannot be read, or no client may take it. Admins and clients read by this alone.
    """
    names = ConfigKey.decode(key)
    config = ConfigValue.decode(value)
    if names is None or (config is None and value is not None):
        return None
    try:
        entity = ClientEntity.of(names.user, names.client_id)
        if config is not None and stored_value(names.key, config.value) != config.value:
            return None
    except KadminError:
        return None
    return entity, names.key, config


def refusals(stored: Entries, wishes: Replacements, bounds: SessionBounds | None) -> Refusals:
    """The entities whose new values cannot be stored: a bad value, out of range, or no heartbeat fits a session."""
    refused = {entity: refusal for entity in wishes if (refusal := _bad_value(entity, wishes[entity], bounds))}
    after = {**stored, **{entity: _after(stored.get(entity, {}), wishes[entity]) for entity in wishes}}
    for entity in _affected(after, wishes):
        if timeouts_contradict(values := merged(after.get(level, {}) for level in entity.levels)):
            for changed in _to_blame(entity, wishes):
                refused.setdefault(changed, _contradiction(entity, values))
    return refused


def conflicts(stored: Entries, wishes: Replacements) -> Refusals:
    """The entities whose entries are neither as they were when the wishes were planned, nor as they are to be."""
    refused = ((entity, _conflict(stored.get(entity, {}), values)) for entity, values in wishes.items())
    return {entity: refusal for entity, refusal in refused if refusal}


def _conflict(values: Mapping[str, str], wishes: Mapping[str, Replacement]) -> Refusal | None:
    for key, wish in wishes.items():
        if (now := values.get(key)) not in (wish.old, wish.new):
            return Refusal("CONFLICT", f"{key} was {_in_words(wish.old)}, is now {_in_words(now)}")
    return None


def is_done(stored: Entries, wishes: Replacements) -> bool:
    """True if every entry is as it is to be."""
    return all(
        stored.get(entity, {}).get(key) == value.new
        for entity, values in wishes.items()
        for key, value in values.items()
    )


def all_or_none(entities: Collection[ClientEntity], refused: Refusals) -> dict[ClientEntity, Refusal | None]:
    """The answer for each entity where nothing is written because some are refused."""
    if not refused:
        return dict.fromkeys(entities)
    whose, refusal = next(iter(refused.items()))
    others = Refusal("OPERATION_NOT_ATTEMPTED", f"nothing was written, as {whose} was refused: {refusal.message}")
    return {entity: refused.get(entity, others) for entity in entities}


def _bad_value(entity: ClientEntity, values: Mapping[str, Replacement], bounds: SessionBounds | None) -> Refusal | None:
    for key, value in values.items():
        if len(ConfigKey(entity.user, entity.client_id, key).encode()) > MOST_BYTES:
            return Refusal("INVALID_REQUEST", f"the names are longer than {MOST_BYTES} bytes")
        if value.new is not None and (reason := _why_not(key, value.new, bounds)):
            return Refusal("INVALID_CONFIG", reason)
    return None


def _why_not(key: str, text: str, bounds: SessionBounds | None) -> str | None:
    try:
        stored = stored_value(key, text)
    except KadminError as exc:
        return str(exc)
    if key == SESSION_TIMEOUT and bounds and not bounds.lowest <= int(stored) <= bounds.highest:
        allowed = f"group.min.session.timeout.ms={bounds.lowest} to group.max.session.timeout.ms={bounds.highest}"
        return f"{key}={stored} is out of the brokers' range: {allowed}"
    return None


def _after(values: Mapping[str, str], wishes: Mapping[str, Replacement]) -> dict[str, str]:
    kept = {key: value for key, value in values.items() if key not in wishes}
    return kept | {key: value.new for key, value in wishes.items() if value.new is not None}


def _affected(after: Entries, wishes: Replacements) -> Iterator[ClientEntity]:
    """The entities whose merged timeouts the wishes may change: their own, and the client-ids of their users."""
    changed = {entity for entity, values in wishes.items() if not values.keys().isdisjoint(_TIMEOUTS)}
    yield from (entity for entity in after if changed.intersection(entity.levels))


def _to_blame(entity: ClientEntity, wishes: Replacements) -> Iterator[ClientEntity]:
    yield from (level for level in entity.levels if not wishes.get(level, {}).keys().isdisjoint(_TIMEOUTS))


_TIMEOUTS = {SESSION_TIMEOUT, HEARTBEAT_INTERVAL}


def _contradiction(entity: ClientEntity, values: Mapping[str, str]) -> Refusal:
    both = f"{HEARTBEAT_INTERVAL}={values[HEARTBEAT_INTERVAL]} is not below {SESSION_TIMEOUT}={values[SESSION_TIMEOUT]}"
    return Refusal("INVALID_CONFIG", f"clients of {entity} would take neither: {both}")


def _in_words(value: str | None) -> str:
    return "unset" if value is None else value
