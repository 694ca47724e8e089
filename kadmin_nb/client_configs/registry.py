"""The clients that follow dynamic client configs: the two records that each writes about itself, read and judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from kafka.protocol.admin.cluster import DescribeQuorumRequest

from ..admin.compacted_topic import CompactedTopic
from ..admin.wire import Wire
from ..errors import KadminError
from ..model.changes import UNCHANGED, UNVERIFIED, VERIFIED, Change, Outcome, Target
from ..model.client_configs import CONSUMER_KEYS, PRODUCER_KEYS, ClientEntity, merged
from ..model.grammar import format_word
from ..model.resources import Resource
from ..plans.execution.progress import Advance, Progress, silent
from .records import REGISTRATIONS_TOPIC, STATUS_TOPIC, Log, Registration, RegistrationKey, Status, StatusKey

if TYPE_CHECKING:
    import pyarrow as pa

    from .kafka import LiveKafka

INTERVALS = 3
"""A registration that was not sent again in so many of its intervals has expired."""

SHORTEST_LIFE = 10_000
"""Milliseconds before a registration expires, however short its interval: one that is on its way may take so long."""

GROUP_ON_BROKERS = "consumer"
"""The group protocol (KIP-848) whose timeouts are the group's configs, on the brokers."""


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredClient:
    """One instance of a client. `seen` and `said` are when its registration and its status were appended, in ms."""

    name: RegistrationKey
    registration: Registration
    seen: int
    status: Status | None = None
    said: int | None = None

    @property
    def entity(self) -> ClientEntity:
        """The user and client-id that it belongs to."""
        return ClientEntity(self.name.user, self.name.client_id)

    def is_below(self, entity: ClientEntity) -> bool:
        """True if an entry of that entity may decide its values."""
        return entity in self.entity.levels

    def is_alive(self, now: int) -> bool:
        """True until its registration has expired, at a time of the brokers in ms since 1970."""
        return self.seen + max(SHORTEST_LIFE, INTERVALS * self.registration.interval_ms) >= now

    def supports(self, key: str) -> bool:
        """True if its software can follow the key."""
        return key in self.registration.keys

    def is_of(self, key: str) -> bool:
        """True of a client that has such a config: a producer `acks`, a consumer its timeouts."""
        is_consumer = self.registration.group_id is not None or any(map(self.supports, CONSUMER_KEYS))
        return self.supports(key) or key in (CONSUMER_KEYS if is_consumer else PRODUCER_KEYS)

    def why_not(self, key: str) -> str | None:
        """The reason that it does not follow a key, None where it does."""
        if not self.supports(key):
            return f"{self.name.software} {self.name.version} does not support {key}"
        if self.registration.group_protocol == GROUP_ON_BROKERS and key in CONSUMER_KEYS:
            return f"its group {self.registration.group_id} takes {key} from the brokers: consumer.{key} of the group"
        return self.status.rejected.get(key) if self.status else None


_METADATA_LOG = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class Registry:
    """The clients whose registration has not expired, and how many records were left out."""

    clients: tuple[RegisteredClient, ...]
    expired: int
    passed_over: int
    missing: tuple[str, ...]
    """The topics that are not there."""


class WireClientRegistry:
    """The registry of clients over a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def describe(self, *, timeout: float | None = None) -> Registry:
        """The clients that are alive by the brokers' clock, with their status.

        Raises
        ------
        NotAuthorized
            READ on a topic is missing.
        TimedOut, ConnectionFailed, Invalid
            A topic cannot be read, within that time or at all.
        """
        until = time.monotonic() + (timeout or self._wire.timeout)
        registrations, statuses = Log(RegistrationKey, Registration), Log(StatusKey, Status)
        logs: dict[str, Log[Any, Any]] = {REGISTRATIONS_TOPIC: registrations, STATUS_TOPIC: statuses}
        missing = tuple(name for name, log in logs.items() if not self._read(name, log, until))
        now = self.brokers_clock(until) or max(registrations.last, statuses.last)
        clients = []
        for name, (registration, _, seen) in registrations.newest.items():
            key = StatusKey(name.user, name.client_id, name.instance)
            status, _, said = statuses.newest.get(key, (None, 0, None))
            clients.append(RegisteredClient(name, registration, seen, status, said))
        alive = tuple(client for client in clients if client.is_alive(now))
        return Registry(
            tuple(sorted(alive, key=_order)),
            len(clients) - len(alive),
            registrations.passed_over + statuses.passed_over,
            missing,
        )

    def forget(self, names: Iterable[RegistrationKey]) -> None:
        """Remove these registrations; live clients register again within their interval.

        Raises
        ------
        NotAuthorized
            WRITE on the topic is missing.
        """
        until = time.monotonic() + self._wire.timeout
        topic = CompactedTopic(self._wire, REGISTRATIONS_TOPIC)
        if topic.exists(until):
            topic.remove([name.encode() for name in names], until)

    def _read(self, name: str, log: Log[Any, Any], until: float) -> bool:
        """True after reading a topic; False if the cluster does not have it."""
        topic = CompactedTopic(self._wire, name)
        if not topic.exists(until):
            return False
        for record in topic.read(until):
            log.take(record.key, record.value, record.offset, record.timestamp)
        return True

    def brokers_clock(self, until: float) -> int:
        """The active controller's time in ms since 1970; 0 where it may not be asked: then the newest record is now.

        Nothing else tells the time of a cluster without writing: the leader has always just caught up with itself.
        """
        topic = DescribeQuorumRequest.TopicData
        asked = topic(topic_name=_METADATA_LOG, partitions=[topic.PartitionData(partition_index=0)])
        try:
            answer = self._wire.ask(
                lambda: DescribeQuorumRequest(topics=[asked]),
                doing="asking for the brokers' time",
                timeout=max(0.1, until - time.monotonic()),
            )
        except KadminError:
            return 0
        partitions = [partition for topic in answer.topics for partition in topic.partitions]
        voters = ((partition.leader_id, voter) for partition in partitions for voter in partition.current_voters)
        return max((v.last_caught_up_timestamp for leader, v in voters if v.replica_id == leader), default=0)


def _order(client: RegisteredClient) -> tuple[str, ...]:
    name = client.name
    return name.user, name.client_id, name.software, name.version, name.instance


# --- the clients that a plan's client configs are about: who will follow, and, after applying, who says so ---

SILENT_CLIENTS = "CLIENTS_SILENT"
"""The error of a row whose clients did not all say, in time, that they follow it."""

_POLL, _LONGEST_POLL, _MOST_NAMES = 0.2, 2.0, 5

Entries = Mapping[ClientEntity, Mapping[str, tuple[str, int]]]
"""The value and the revision of each entity's keys."""


def entries_of(stored: pa.Table) -> Entries:
    """CLIENT_CONFIGS by entity and key."""
    entries: dict[ClientEntity, dict[str, tuple[str, int]]] = {}
    for row in stored.to_pylist():
        entity = ClientEntity(row["user"], row["client_id"])
        entries.setdefault(entity, {})[row["key"]] = row["value"], row["revision"]
    return entries


def entries_for(client: RegisteredClient, entries: Entries) -> Mapping[str, tuple[str, int]]:
    """The value and the revision of each key that a client is to follow."""
    return merged(_levels_for(client, entries))


def _levels_for(client: RegisteredClient, entries: Entries) -> list[Mapping[str, tuple[str, int]]]:
    """The entries that reach a client, of the keys that it supports, its narrowest level first."""
    levels = (entries.get(level, {}) for level in client.entity.levels)
    return [{key: entry for key, entry in level.items() if client.supports(key)} for level in levels]


def with_follower_notes(kafka: LiveKafka, changes: Sequence[Change]) -> list[Change]:
    """The changes; one of a client config has a note on the known clients that follow it, and on groups that cannot."""
    mine = {change.row for change in changes if change.kind == ClientEntity.kind and not change.is_done}
    if not mine:
        return [*changes]
    notes_on = _writer_of_notes(kafka, changes)
    return [change.noted(*notes_on(change)) if change.row in mine else change for change in changes]


def _writer_of_notes(kafka: LiveKafka, changes: Sequence[Change]) -> Callable[[Change], Iterable[str]]:
    """Gives the notes on a change; where nobody may see who registered, one says so."""
    try:
        registry = kafka.client_registry.describe()
    except KadminError as exc:
        unknown = [f"the clients that follow are unknown: {exc.code}"]
        return lambda change: unknown
    own = _own_values(kafka, changes)
    return lambda change: _follower_notes(kafka, change, registry, own)


def _own_values(kafka: LiveKafka, changes: Sequence[Change]) -> set[Target]:
    """The client-ids that have a value of their own once these changes are made."""
    users = {_entity_of(change).user for change in changes if change.kind == ClientEntity.kind}
    stored = {(ClientEntity(row["user"], row["client_id"]), row["key"])
              for row in kafka.client_configs.describe(users).to_pylist()}  # fmt: skip
    planned = {change.target: change.after for change in changes}
    unset = {target for target, after in planned.items() if after is None}
    return (stored - unset) | {target for target, after in planned.items() if after is not None}


def _follower_notes(kafka: LiveKafka, change: Change, registry: Registry, own: set[Target]) -> Iterator[str]:
    entity = _entity_of(change)
    known = [client for client in registry.clients if client.is_below(entity) and client.is_of(change.key)]
    if not known:
        yield "no known client follows: none is registered"
        return
    following = [client for client in known if client.why_not(change.key) is None and _is_reached(client, change, own)]
    yield f"{len(following)} of {len(known)} known client{'s' * (len(known) != 1)} follow{'s' * (len(known) == 1)}"
    registrations = (client.registration for client in known)
    groups = sorted({r.group_id or "" for r in registrations if r.group_protocol == GROUP_ON_BROKERS})
    if groups and change.key in CONSUMER_KEYS:
        yield from _group_lines(kafka, change, groups)


def _is_reached(client: RegisteredClient, change: Change, own: set[Target]) -> bool:
    """False of a client-id with a value of its own, where the user's is changed."""
    return client.entity == change.resource or (client.entity, change.key) not in own


def _group_lines(kafka: LiveKafka, change: Change, groups: Sequence[str]) -> Iterator[str]:
    """The lines that change what groups of the new protocol (KIP-848) take from the brokers."""
    key = f"consumer.{change.key}"
    verb = f"config reset {key}" if change.after is None else f"config set {key}={change.after}"
    lines = [f"{verb} {format_word('group', group)}" for group in groups[:_MOST_NAMES]]
    more = f" and {len(groups) - _MOST_NAMES} more groups" if len(groups) > _MOST_NAMES else ""
    yield f"groups on the brokers need: {', '.join(lines)}{more}"
    if reason := _out_of_range(kafka, change):
        yield reason


def _out_of_range(kafka: LiveKafka, change: Change) -> str | None:
    """The reason that brokers would refuse that of a group; None where they take it, or their bounds are not seen."""
    if change.after is None:
        return None
    broker = Resource("BROKER", str(kafka.brokers()[0].id))
    lowest, highest = (f"group.consumer.{end}.{change.key}" for end in ("min", "max"))
    rows = kafka.configs.describe([broker], [lowest, highest], synonyms=False).to_pylist()
    bounds = {row["key"]: int(row["value"]) for row in rows if row["value"] is not None}
    if bounds.get(lowest, 0) <= int(change.after) <= bounds.get(highest, int(change.after)):
        return None
    return f"brokers refuse {change.after} there: {lowest}={bounds.get(lowest)}, {highest}={bounds.get(highest)}"


def _entity_of(change: Change) -> ClientEntity:
    return cast(ClientEntity, change.resource)


# --- after applying ---


@dataclass(frozen=True, slots=True)
class _Answer:
    """What all clients that a row is about say, in a sentence or two; `error` is the row's until all of them do."""

    text: str
    is_complete: bool
    error: str | None = SILENT_CLIENTS


def awaited(
    kafka: LiveKafka,
    outcomes: Sequence[Outcome],
    seconds: float,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = silent,
) -> list[Outcome]:
    """The outcomes, once every live client that a row of client configs is about has said that it follows or refuses.

    A row is not verified where one has not within so many seconds, or until `stop` is true.
    """
    in_force = [outcome.change for outcome in outcomes if outcome.state in (VERIFIED, UNCHANGED)]
    mine = [change for change in in_force if change.kind == ClientEntity.kind]
    until, pause = kafka.monotonic() + seconds, _POLL
    while mine:
        answers = _answers(kafka, mine)
        answered = sum(answer.is_complete for answer in answers.values())
        progress(Advance("followed", answered, len(mine), left=until - kafka.monotonic()))
        if answered == len(mine) or stop() or kafka.monotonic() + pause > until:
            return [_with_answer(o, answers[o.change.row]) if o.change.row in answers else o for o in outcomes]
        kafka.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_POLL)
    return [*outcomes]


def _with_answer(outcome: Outcome, answer: _Answer) -> Outcome:
    if answer.is_complete:
        return replace(outcome, message=answer.text)
    return replace(outcome, state=UNVERIFIED, error=answer.error, message=answer.text)


def _answers(kafka: LiveKafka, changes: Sequence[Change]) -> dict[int, _Answer]:
    """The answer of all live clients to each row, by its number.

    An error is one too, as what was applied must not go untold over it.
    """
    try:
        clients = kafka.client_registry.describe().clients
        stored = kafka.client_configs.describe({_entity_of(change).user for change in changes})
    except KadminError as exc:
        unknown = _Answer(f"its clients could not be asked: {exc}", False, exc.code)
        return {change.row: unknown for change in changes}
    entries = entries_of(stored)
    return {change.row: _answer_to(change, clients, entries) for change in changes}


def _answer_to(change: Change, clients: Sequence[RegisteredClient], entries: Entries) -> _Answer:
    those = [c for c in clients if c.is_below(_entity_of(change)) and c.supports(change.key)]
    reasons = {client: client.status.rejected.get(change.key) for client in those
               if client.status and _has_answered(client, change.key, entries)}  # fmt: skip
    refusals = [f"{_name_of(client)} ({reason})" for client, reason in reasons.items() if reason is not None]
    silent = [_name_of(client) for client in those if client not in reasons]
    parts = [f"{len(reasons) - len(refusals)} of {len(those)} live clients follow"]
    parts += [f"refused by {_several(refusals)}"] * bool(refusals)
    parts += [f"not said by {_several(silent)}"] * bool(silent)
    return _Answer("; ".join(parts), not silent)


def _has_answered(client: RegisteredClient, key: str, entries: Entries) -> bool:
    """True if its status is about the newest of the entries that it follows, and has the key as they have it."""
    levels = _levels_for(client, entries)
    newest = max((revision for level in levels for _, revision in level.values()), default=-1)
    value, _ = merged(levels).get(key, (None, -1))
    status = client.status
    if status is None or status.revision != newest:
        return False
    return key in status.rejected or status.effective.get(key) == value


def _name_of(client: RegisteredClient) -> str:
    return f"{client.entity} {client.name.instance}"


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
