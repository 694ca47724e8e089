"""`cluster.client_configs`: the dynamic configs of clients, who follows them, and who would follow a new one."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

import pyarrow as pa
from kafka.protocol.admin.cluster import DescribeQuorumRequest

from ..admin.compacted_topic import CompactedTopic, appended_at
from ..admin.wire import Wire
from ..errors import Invalid, KadminError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.frame import Frame
from ..frames.schemas import NOTES, mark, stamped
from ..model.client_configs import CLIENT_KEYS, CONSUMER_KEYS, PRODUCER_KEYS, ClientEntity, merged, refuse_unknown_key
from ..model.grammar import ANY, DEFAULT, Selector, matcher, selector
from .kafka import LiveKafka
from .records import REGISTRATIONS_TOPIC, STATUS_TOPIC, Log, Registration, RegistrationKey, Status, StatusKey
from .setup import SetupAnswer

# --- the clients that follow: the two records that each writes about itself, read and judged ---

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
    """The clients whose registration has not expired, and sentences on what was left out."""

    clients: list[RegisteredClient]
    notes: list[str]


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
        missing = [name for name, log in logs.items() if not self._read(name, log, until)]
        notes = [f"There is no topic {name}: client-configs init creates it." for name in missing]
        now = self.brokers_clock(until) or max(registrations.last, statuses.last)
        clients = []
        for name, (registration, _, seen) in registrations.newest.items():
            key = StatusKey(name.user, name.client_id, name.instance)
            status, _, said = statuses.newest.get(key, (None, 0, None))
            clients.append(RegisteredClient(name, registration, seen, status, said))
        alive = [client for client in clients if client.is_alive(now)]
        if expired := len(clients) - len(alive):
            notes.append(f"{expired:,} more registrations have expired: they were not renewed in time.")
        if passed_over := registrations.passed_over + statuses.passed_over:
            notes.append(f"{passed_over:,} records cannot be read, and were skipped.")
        return Registry(sorted(alive, key=lambda client: astuple(client.name)), notes)

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


# --- verbs ---

FOLLOWS, REFUSES, BEHIND, STATIC, SILENT = "follows", "refuses", "behind", "static", "silent"
"""The words of the column `state` of STATUS."""

_Row = dict[str, Any]


class ClientConfigs:
    """The dynamic client configs of a cluster (KIP-649), in a topic of kadmin_nb's, and the clients that follow them.

    They are advice to clients; and of themselves clients say what they like: any may claim any user.
    """

    def __init__(self, kafka: LiveKafka) -> None:
        self._kafka = kafka

    def describe(
        self,
        *,
        user: Any,
        client_id: Any = None,
        strict: bool = False,
        timeout: float | None = None,
    ) -> Answer:
        """CLIENT_CONFIGS as stored, sorted by user, client-id and key.

        Parameters
        ----------
        user
            A name, `kn.ANY`, `kn.Pattern("team-*")` or a list of them.
        client_id
            The same. Left out, the users' own entries and those of their client-ids.
        strict
            Only entities of exactly these parts: without a client-id the users' own.
        timeout
            Seconds for the topic to be read; 30 unless said.

        Raises
        ------
        Invalid
            No user, or `kn.DEFAULT`.
        NotAuthorized
            READ on the topic is missing.
        TimedOut
            The topic has no leader, or is not read in time.
        """
        users = _chosen_names("user", user)
        names = [name for name in users if isinstance(name, str)]
        table = self._kafka.client_configs.describe(names if len(names) == len(users) else None, timeout=timeout)
        is_user, is_client = matcher(users), _client_filter(client_id, strict)
        entities = zip(table["user"].to_pylist(), table["client_id"].to_pylist(), strict=True)
        chosen = pa.array([is_user(user) and is_client(client_id) for user, client_id in entities], pa.bool_())
        answer = Answer(stamped(table.filter(chosen), self._kafka.id))
        if topic := mark(table, schemas.TOPIC_MISSING):
            answer.hint = f"There is no topic {topic}: no client config was ever set."
        if passed_over := mark(table, schemas.PASSED_OVER):
            answer.hint = f"{passed_over} records of the topic cannot be read and were skipped."
        return answer

    def status(self, *, user: object = ANY, client_id: object = ANY) -> Answer:
        """STATUS: the values that each of these clients says it runs with, and why it refuses others.

        Arguments and errors as of `clients`; READ on the topic of the entries is needed, too.
        """
        registry = self._kafka.client_registry.describe()
        clients = _selected_clients(registry.clients, user, client_id)
        entries: dict[ClientEntity, dict[str, _Row]] = defaultdict(dict)
        for row in self._kafka.client_configs.describe({client.entity.user for client in clients}).to_pylist():
            entries[ClientEntity(row["user"], row["client_id"])][row["key"]] = row
        rows = (row for client in clients for row in _status_rows(client, entries))
        return self._registry_answer(schemas.STATUS, rows, registry)

    def clients(self, key: str | None = None, *, user: object = ANY, client_id: object = ANY) -> Answer:
        """FOLLOWERS: each registered instance that is alive, and whether it would follow a new value of a key.

        One row per instance and key: `acks` of producers, the timeouts of consumers; `keys` are all that it supports.

        Parameters
        ----------
        key
            Only the clients that have this key.
        user, client_id
            A name, `kn.Pattern("team-*")` or a list of them: only these.

        Raises
        ------
        Invalid
            An unknown key.
        NotAuthorized
            READ on a topic of the registry is missing.
        """
        if key is not None:
            refuse_unknown_key(key)
        registry = self._kafka.client_registry.describe()
        clients = _selected_clients(registry.clients, user, client_id)
        rows = (row for client in clients for row in _follower_rows(client, CLIENT_KEYS if key is None else (key,)))
        return self._registry_answer(schemas.FOLLOWERS, rows, registry)

    def forget(self, user: str, client_id: str | None = None) -> int:
        """The number of registrations that were removed: of an entity, or of all client-ids of a user.

        Those of clients that are alive come back, each within its interval: what remains away was of a client that is
        gone. KIP-649 has it as the removal of `supported.configs`.

        Raises
        ------
        Invalid
            No user.
        NotAuthorized
            READ or WRITE on the topic of registrations is missing.
        """
        self._kafka.wire.settings.refuse_unplanned("registrations are")
        entity = ClientEntity.of(user, client_id)
        clients = self._kafka.client_registry.describe().clients
        names = [client.name for client in clients if entity in client.entity.levels]
        self._kafka.client_registry.forget(names)
        return len(names)

    def setup(self) -> SetupAnswer:
        """CHECKS of the topics and rights as they are; its `apply()` creates the topics that are missing.

        Only the admin may write entries; clients read them, and write the two topics about themselves.

        Raises
        ------
        NotAuthorized
            DESCRIBE on the cluster or DESCRIBE_CONFIGS on a topic is missing.
        """
        return SetupAnswer(self._kafka)

    def _registry_answer(self, frame: type[Frame], rows: Iterable[_Row], registry: Registry) -> Answer:
        return Answer(stamped(schemas.table(frame, rows), self._kafka.id, {NOTES: "\n".join(registry.notes)}))


def _chosen_names(kind: str, value: Any) -> Selector:
    if value is None or DEFAULT in (chosen := selector(kind, value)):
        problem = f"{kind} is required" if value is None else f"{kind}=<default> has no client configs"
        raise Invalid(problem, code="INVALID_REQUEST", hint=f"For example {kind}=alice; {kind}=<any> for all.")
    return chosen


def _client_filter(client_id: Any, strict: bool) -> Any:
    if client_id is None:
        return (lambda name: name is None) if strict else (lambda name: True)
    fits = matcher(_chosen_names("client-id", client_id))
    return lambda name: name is not None and fits(name)


# --- clients ---


def without_default(kind: str, value: Any) -> Selector:
    """The names of these that clients may have: no default has any."""
    return tuple(part for part in selector(kind, value) if part is not DEFAULT)


def supported_keys(
    kafka: LiveKafka, user: Any, client_id: Any, timeout: float
) -> dict[tuple[ClientEntity, tuple[str, str]], list[str]]:
    """KIP-649's EntityCompatibility: the keys that each registered software and version supports."""
    registry, named = kafka.client_registry.describe(timeout=timeout), without_default
    keys: dict[tuple[ClientEntity, tuple[str, str]], set[str]] = defaultdict(set)
    for client in _selected_clients(registry.clients, named("user", user), named("client-id", client_id)):
        keys[client.entity, (client.name.software, client.name.version)].update(client.registration.keys)
    return {whose: [key for key in CLIENT_KEYS if key in supported] for whose, supported in keys.items()}


def _selected_clients(clients: Iterable[RegisteredClient], user: object, client_id: object) -> list[RegisteredClient]:
    is_user, is_client = matcher(selector("user", user)), matcher(selector("client-id", client_id))
    return [client for client in clients if is_user(client.name.user) and is_client(client.name.client_id)]


def _follower_rows(client: RegisteredClient, keys: Iterable[str]) -> Iterator[_Row]:
    """A row for each of these keys that such a client has."""
    for key in filter(client.is_of, keys):
        reason = client.why_not(key)
        yield {
            **asdict(client.name),
            **asdict(client.registration),
            "key": key,
            "follows": reason is None,
            "reason": reason,
            "seen_at": appended_at(client.seen),
        }


def _status_rows(client: RegisteredClient, entries: Mapping[ClientEntity, Mapping[str, _Row]]) -> Iterator[_Row]:
    """What it says of each key, beside the entries that it is to follow."""
    name, status = client.name, client.status
    row: _Row = {"user": name.user, "client_id": name.client_id, "instance": name.instance}
    if status is None or client.said is None:
        yield {**row, "state": SILENT}
        return
    row |= {"revision": status.revision, "at": appended_at(client.said)}
    in_force = merged(entries.get(level, {}) for level in client.entity.levels)
    keys = sorted({*status.effective, *status.rejected, *filter(client.supports, in_force)})
    for key in keys:
        value, reason = status.effective.get(key), status.rejected.get(key)
        behind = _behind(value, in_force.get(key))
        state = REFUSES if reason is not None else BEHIND if behind else FOLLOWS
        yield {**row, "key": key, "value": value, "state": state, "reason": reason or behind}
    if not keys:
        yield {**row, "state": STATIC}


def _behind(value: str | None, entry: _Row | None) -> str | None:
    """The entry that a client with this value does not follow, in words; None where it does."""
    if entry is None:
        return "no entry has it any more"
    return None if value == entry["value"] else f"the entry of revision {entry['revision']} is {entry['value']}"
