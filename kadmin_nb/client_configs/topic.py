"""The entries of dynamic client configs: a compacted topic, read whole, and altered by compare-and-set.

Why an alter is atomic, across keys and entities: admin/lease.py has it, at 2. Here the judgement is that every entry is
as the plan saw it, or already as it is to be, which is what a commit looks like whose answer was lost.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa

from ..admin.compacted_topic import CONFIGS, CompactedTopic, appended_at, may_pass, patiently
from ..admin.ports import UNSIGNED, Signature
from ..admin.wire import Wire
from ..admin.wire_kinds import WireConfigs
from ..errors import Invalid, KadminError, TimedOut
from ..frames import schemas
from ..model.changes import Refusal
from ..model.client_configs import (
    CONFIGS_TOPIC,
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    ClientEntity,
    Replacement,
    merged,
    stored_value,
    timeouts_contradict,
)
from ..model.resources import Resource
from .records import MOST_BYTES, ClientConfigLog, ConfigKey, ConfigValue

TOMBSTONES_STAY = "delete.retention.ms"
TOPIC_CONFIGS: Mapping[str, str] = {
    **CONFIGS,
    TOMBSTONES_STAY: str(86_400_000),  # a client that was away for less sees what was removed meanwhile
}
"""The configs that the topic is made with."""


class ClientConfigTopic(CompactedTopic):
    """The topic of the entries."""

    def __init__(self, wire: Wire, name: str = CONFIGS_TOPIC) -> None:
        super().__init__(wire, name, TOPIC_CONFIGS)
        self._log = ClientConfigLog()

    def current(self, until: float, node: int | None = None) -> ClientConfigLog | None:
        """The entries, by the leader that this broker names, or any; None without a topic.

        Raises
        ------
        NotAuthorized, TimedOut, ConnectionFailed, Invalid
            It cannot be read, within that time or at all.
        """
        return patiently(lambda: self.newest(until) if self.exists(until, node) else None, until)

    def newest(self, until: float, end: int | None = None) -> ClientConfigLog:
        """The entries up to the offset `end`, as `read` has it.

        Raises
        ------
        NotAuthorized, TimedOut, ConnectionFailed, Invalid
            It cannot be read, within that time or at all.
        """
        if self.position is None:
            self._log = ClientConfigLog()
        for record in self.read(until, end):
            self._log.take(record.key, record.value, record.offset, record.timestamp)
        return self._log


# --- what may be stored ---


Entries = Mapping[ClientEntity, Mapping[str, str]]
"""The values of each entity's keys."""

Replacements = Mapping[ClientEntity, Mapping[str, Replacement]]
Refusals = dict[ClientEntity, Refusal]


SessionBounds = tuple[int, int]
"""The fewest and the most milliseconds that brokers take as the session timeout of a consumer."""


def refusals(stored: Entries, wishes: Replacements, bounds: SessionBounds | None) -> Refusals:
    """The entities whose new values cannot be stored: a bad value, out of range, or no heartbeat fits a session."""
    refused = {entity: refusal for entity in wishes if (refusal := _bad_value(entity, wishes[entity], bounds))}
    after = {**stored, **{entity: _after(stored.get(entity, {}), wishes[entity]) for entity in wishes}}
    changed = {entity for entity, values in wishes.items() if not values.keys().isdisjoint(_TIMEOUTS)}
    for entity in after:
        to_blame = [level for level in entity.levels if level in changed]
        if to_blame and timeouts_contradict(values := merged(after.get(level, {}) for level in entity.levels)):
            heartbeat, session = values[HEARTBEAT_INTERVAL], values[SESSION_TIMEOUT]
            both = f"{HEARTBEAT_INTERVAL}={heartbeat} is not below {SESSION_TIMEOUT}={session}"
            refusal = Refusal("INVALID_CONFIG", f"clients of {entity} would take neither: {both}")
            for level in to_blame:
                refused.setdefault(level, refusal)
    return refused


def conflicts(stored: Entries, wishes: Replacements) -> Refusals:
    """The entities whose entries are neither as they were when the wishes were planned, nor as they are to be."""
    refused = ((entity, _conflict(stored.get(entity, {}), values)) for entity, values in wishes.items())
    return {entity: refusal for entity, refusal in refused if refusal}


def _conflict(values: Mapping[str, str], wishes: Mapping[str, Replacement]) -> Refusal | None:
    for key, wish in wishes.items():
        if (now := values.get(key)) not in (wish.old, wish.new):
            return Refusal("CONFLICT", f"{key} was {wish.old or 'unset'}, is now {now or 'unset'}")
    return None


def is_done(stored: Entries, wishes: Replacements) -> bool:
    """True if every entry is as it is to be."""
    return all(_after(stored.get(entity, {}), values) == stored.get(entity, {}) for entity, values in wishes.items())


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
    if key == SESSION_TIMEOUT and bounds and not bounds[0] <= int(stored) <= bounds[1]:
        allowed = " to ".join(f"{key}={bound}" for key, bound in zip(_BOUNDS, bounds, strict=True))
        return f"{key}={stored} is out of the brokers' range: {allowed}"
    return None


def _after(values: Mapping[str, str], wishes: Mapping[str, Replacement]) -> dict[str, str]:
    kept = {key: value for key, value in values.items() if key not in wishes}
    return kept | {key: value.new for key, value in wishes.items() if value.new is not None}


_TIMEOUTS = {SESSION_TIMEOUT, HEARTBEAT_INTERVAL}


# --- read and altered ---


ALTERING = 30.0
"""Seconds in which an alter is tried again: a coordinator or a leader that was killed is replaced in 10 to 20."""

_POLICY, _COMPACTED = "cleanup.policy", "compact"
_BOUNDS = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")
_NOT_WRITTEN = "BROKER_NOT_AVAILABLE"
"""The code where no commit was asked for in time: nothing is in doubt, and what comes after would end the same way."""

_Answers = dict[ClientEntity, Refusal | None]


class WireClientConfigs:
    """`ports.ClientConfigs` over a connection."""

    def __init__(self, wire: Wire, topic: str = CONFIGS_TOPIC) -> None:
        self._wire, self._topic = wire, topic

    def describe(
        self, users: Collection[str] | None = None, *, node: int | None = None, timeout: float | None = None
    ) -> pa.Table:
        """CLIENT_CONFIGS of these users (default: all), as the leader has them that the broker `node` names.

        Raises
        ------
        NotAuthorized
            READ on the topic is missing.
        Invalid
            The topic is not kadmin_nb's: it has several partitions, or is too large.
        """
        until = time.monotonic() + (timeout or self._wire.timeout)
        log = ClientConfigTopic(self._wire, self._topic).current(until, node)
        if log is None:
            return schemas.marked(schemas.table(schemas.CLIENT_CONFIGS, ()), {schemas.TOPIC_MISSING: self._topic})
        table = schemas.table(schemas.CLIENT_CONFIGS, _entry_rows(log, users))
        return schemas.marked(table, {schemas.PASSED_OVER: str(log.passed_over)} if log.passed_over else None)

    def alter(
        self,
        wishes: Mapping[ClientEntity, Mapping[str, Replacement]],
        *,
        validate_only: bool = False,
        signature: Signature = UNSIGNED,
    ) -> _Answers:
        """The answer for each entity; where one is refused, nothing is written and the others say so.

        Raises
        ------
        TimedOut
            The commit got no answer: it has happened within `ports.LONGEST_TRANSACTION` seconds, or never.
        """
        alteration = _Alteration(self._wire, ClientConfigTopic(self._wire, self._topic), wishes, signature)
        return alteration.validate() if validate_only else alteration.carry_out()


class _Alteration:
    """The replacement of entries in one transaction."""

    def __init__(self, wire: Wire, topic: ClientConfigTopic, wishes: Replacements, signature: Signature) -> None:
        self._wire, self._topic, self._wishes = wire, topic, wishes
        self._records = dict(_replacing_records(wishes, signature))
        self._may_be_done = False

    def validate(self) -> _Answers:
        """Judge the new values alone; nothing is written."""
        log = self._topic.current(time.monotonic() + self._wire.timeout)
        stored = log.values() if log else {}
        self._refuse_other_settings()
        refused = refusals(stored, self._wishes, self._bounds())
        return {entity: refused.get(entity) for entity in self._wishes}

    def carry_out(self) -> _Answers:
        """Replace them; again where another writer came between, or a leader is replaced."""
        until, bounds = time.monotonic() + ALTERING, self._bounds()
        try:
            return patiently(lambda: self._try(until, bounds), until)
        except KadminError as exc:
            return self._not_done(exc)

    def _try(self, until: float, bounds: SessionBounds | None) -> _Answers:
        self._topic.ensure(until)
        self._refuse_other_settings()
        log = self._topic.newest(until)
        refused = self._judged(log, bounds)
        if not refused and not is_done(log.values(), self._wishes):
            refused = self._write(until, bounds)
        return all_or_none(self._wishes, refused)

    def _write(self, until: float, bounds: SessionBounds | None) -> dict[ClientEntity, Refusal]:
        from ..admin.transactions import FencedWriter, errors_as_ours  # librdkafka is loaded where something is written

        with errors_as_ours(self._topic.name):
            writer = FencedWriter(self._wire.settings, self._topic.name)
            writer.fence(until)
            offset, _ = writer.write(self._records, until)
            if refused := self._judged(self._topic.newest(until, end=offset), bounds):
                writer.abort()
                return refused
            self._may_be_done = True
            writer.commit(until)
            return {}

    def _judged(self, log: ClientConfigLog, bounds: SessionBounds | None) -> dict[ClientEntity, Refusal]:
        stored = log.values()
        return conflicts(stored, self._wishes) or refusals(stored, self._wishes, bounds)

    def _not_done(self, exc: KadminError) -> _Answers:
        """The answer after a failure: a refusal of all, unless a commit was asked for and may have happened."""
        if self._may_be_done:
            raise TimedOut(f"altering client configs: {exc}; the change may have been made", code="REQUEST_TIMED_OUT")
        certain = _NOT_WRITTEN if may_pass(exc) else exc.code or _NOT_WRITTEN
        return dict.fromkeys(self._wishes, Refusal(certain, f"nothing was written: {exc}"))

    def _refuse_other_settings(self) -> None:
        """Refuse a topic that loses entries; where its configs may not be seen, nobody can say."""
        name = self._topic.name
        (policy,) = self._configs(Resource("TOPIC", name), [_POLICY])
        if policy not in (None, _COMPACTED):
            problem = f"the topic {name} has {_POLICY}={policy}: its entries would be lost"
            hint = f"If it is kadmin_nb's: config set {_POLICY}={_COMPACTED} topic={name}"
            raise Invalid(problem, code="INVALID_CONFIG", hint=hint)

    def _bounds(self) -> SessionBounds | None:
        """The session timeouts that brokers take; None where no session timeout is set, or they may not be seen."""
        node = self._wire.lively()
        if node is None or not any(SESSION_TIMEOUT in values for values in self._wishes.values()):
            return None
        lowest, highest = self._configs(Resource("BROKER", str(node)), _BOUNDS)
        return (int(lowest), int(highest)) if lowest and highest else None

    def _configs(self, resource: Resource, keys: Sequence[str]) -> list[str | None]:
        """The values of these keys; None for those that are not seen."""
        rows = WireConfigs(self._wire).describe([resource], keys, synonyms=False).to_pylist()
        values = {row["key"]: row["value"] for row in rows}
        return [values.get(key) for key in keys]


def _replacing_records(wishes: Replacements, signature: Signature) -> Iterator[tuple[bytes, bytes | None]]:
    """The records that replace the entries; a tombstone removes one."""
    for entity, values in wishes.items():
        for key, wish in values.items():
            document = wish.new and ConfigValue(wish.new, signature.author, signature.plan_id).encode()
            yield ConfigKey(entity.user, entity.client_id, key).encode(), document or None


def _entry_rows(log: ClientConfigLog, users: Collection[str] | None) -> Iterator[dict[str, object]]:
    entries = log.entries
    chosen = [entity for entity in entries if users is None or entity.user in users]
    for entity in sorted(chosen, key=lambda entity: (entity.user, entity.client_id or "")):
        for key, entry in sorted(entries[entity].items()):
            yield {
                "entity": str(entity),
                "user": entity.user,
                "client_id": entity.client_id,
                "key": key,
                **entry._asdict(),
                "changed_at": appended_at(entry.changed),
            }
