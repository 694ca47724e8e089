"""The values that one client follows: read each interval; where they change, a client is built with them.

A thread reads, builds, and writes the two records about the client: that it is alive, and the values that it follows.
Only the application's own thread, at a boundary that the wrapper knows, puts the new client in the old one's place.
Whatever goes wrong here, the application's client works on as it is.
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, Self, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from ..errors import Invalid, KadminError, TimedOut
from ..model.client_configs import CONFIGS_TOPIC, ClientEntity
from ..version import VERSION
from .records import (
    REGISTRATIONS_TOPIC,
    STATUS_TOPIC,
    ClientConfigLog,
    Document,
    Entry,
    Registration,
    RegistrationKey,
    Status,
    StatusKey,
)
from .settings import Choice, ClientSettings, choose, effective, running

SOFTWARE = "kadmin_nb"

_WRITER = {"acks": "all", "allow.auto.create.topics": False, "log_level": 0}


@dataclass(frozen=True, slots=True)
class Reporter:
    """One client as it calls itself in its records; `instance` is a name that people can trace back to this process."""

    settings: ClientSettings
    keys: Sequence[str]
    instance: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}")

    def report(self, status: Status | None, timeout: float) -> None:
        """Register again, and write the status if it is a new one.

        Raises
        ------
        KadminError
            A topic is missing or forbidden, or a record was refused, or not acknowledged in time.
        """
        errors: list[KafkaError] = []
        records = self._records(status)

        def note(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                errors.append(error)

        try:
            with closing(Producer(self._config(timeout))) as producer:
                _refuse_missing(producer, [topic for topic, _, _ in records], timeout)
                for topic, key, value in records:
                    producer.produce(topic, value.encode(), key.encode(), on_delivery=note)
                producer.flush(timeout)
        except KafkaException as exc:
            errors.append(exc.args[0])
        if errors:
            raise KadminError(
                f"the records about this client were not written: {errors[0].str()}", code=errors[0].name()
            )

    def _config(self, timeout: float) -> dict[str, Any]:
        return self.settings.connection | _WRITER | {"message.timeout.ms": int(timeout * 1000)}

    def _records(self, status: Status | None) -> list[tuple[str, Document, Document]]:
        user, client_id = self.settings.entity.user, str(self.settings.entity.client_id)
        registration_key = RegistrationKey(user, client_id, SOFTWARE, VERSION, self.instance)
        interval_ms = int(self.settings.refresh_interval * 1000)
        group = self.settings.config.get("group.id")
        protocol = str(self.settings.config.get("group.protocol", "classic")) if group else None
        registration = Registration(list(self.keys), interval_ms, group, protocol)
        records: list[tuple[str, Document, Document]] = [(REGISTRATIONS_TOPIC, registration_key, registration)]
        if status is not None:
            records.append((STATUS_TOPIC, StatusKey(user, client_id, self.instance), status))
        return records


def _refuse_missing(producer: Producer, topics: Sequence[str], timeout: float) -> None:
    """librdkafka waits for a topic that is missing until its messages time out; its metadata tells at once."""
    for topic in topics:
        error = producer.list_topics(topic, timeout).topics[topic].error
        if error is not None:
            raise KadminError(f"the topic {topic} cannot be written: {error.str()}", code=error.name())


# --- reading, building, offering ---


log = logging.getLogger("kadmin_nb.clients")

LOOK_INTERVAL = 0.5
"""Seconds of waiting after which a wrapper looks for a candidate."""
STATUS_LIFETIME = 86_400.0
"""Seconds after which a status is written again: its topic drops what is older than a week."""

FIRST_READING = 3.0
"""Seconds that a start waits for the entries; then it starts without, and reads on beside."""
_READING, _REPORTING = 30.0, 10.0
"""Seconds that one refresh may take for either."""
_EARLIEST_SHARE = 0.8
"""Of the interval, after which the next refresh may begin: clients that started together do not ask together."""

Client = TypeVar("Client", Consumer, Producer)


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Client]):
    """A client that librdkafka has accepted with new values, and that waits to take the old one's place."""

    client: Client
    choice: Choice


class Follower(Generic[Client]):
    """Reads for one client, and offers `candidate` where its values have changed."""

    def __init__(
        self, settings: ClientSettings, keys: Sequence[str], build: Callable[[dict[str, Any]], Client]
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._build: Callable[[dict[str, Any]], Client] = build
        self._reader = ConfigReader(settings.entity)
        self._reporter = Reporter(settings, keys)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = self._is_changing = False
        self._is_late = False
        self._problems: dict[str, str] = {}
        self._status: Status | None = None
        self._status_due = 0.0
        self.current = Choice()
        self.candidate: Candidate[Client] | None = None

    def start(self) -> Client:
        """The first client: with the values of the entries, or without them if they cannot be read in time."""
        choice = self._read(FIRST_READING)
        self._is_late = choice is None
        choice = choice or Choice()
        first, accepted = self._built(choice) if choice.values else (None, choice)
        self._accept(accepted)
        if first is None:
            first = self._build(dict(self._settings.config))
        threading.Thread(target=self._run, name="kadmin-client-configs", daemon=True).start()
        return first

    def stop(self) -> None:
        """End the thread; it is not waited for."""
        self._stopped = True
        self._wake.set()

    def take(self) -> Candidate[Client] | None:
        """The candidate, for the one caller that is first; `applied` or `postponed` follows."""
        with self._lock:
            candidate, self.candidate = self.candidate, None
            self._is_changing |= candidate is not None
        return candidate

    def applied(self, candidate: Candidate[Client]) -> None:
        """The candidate is the client now."""
        with self._lock:
            self._accept(candidate.choice)
            self._is_changing = False
        self._wake.set()

    def postponed(self, reason: str) -> None:
        """The candidate was dropped for now; the next refresh offers another."""
        self._is_changing = False
        log.warning("%s: not yet changed, tried again at the next refresh: %s", self._settings.entity, reason)

    def _run(self) -> None:
        due = time.monotonic() if self._is_late else time.monotonic() + self._pause()
        self._report()
        while not self._stopped:
            if self._wake.wait(max(0.0, due - time.monotonic())):
                self._wake.clear()
            else:
                if (choice := self._read(_READING)) is not None:
                    self._consider(choice)
                due = time.monotonic() + self._pause()
            self._report()

    def _pause(self) -> float:
        return self._settings.refresh_interval * random.uniform(_EARLIEST_SHARE, 1.0)

    def _read(self, timeout: float) -> Choice | None:
        """The choice by what stands there; None where it cannot be read: the client stays as it is."""
        try:
            levels = self._reader.read(self._settings.connection, timeout)
        except Exception as exc:  # callbacks of the application, such as oauth_cb, are called in there
            self._tell("followed", f"not followed for now: {exc}")
            return None
        self._tell("followed")
        return choose(levels, self._settings.config, self.current.values, self._keys)

    def _consider(self, choice: Choice) -> None:
        """Offer a client with these values, or take the choice as it is where the client runs with them already."""
        client, accepted = self._built(choice) if self._is_new(choice) else (None, choice)
        with self._lock:
            if self._is_changing or self._stopped:
                return  # the next refresh sees which client there is
            self.candidate = Candidate(client, accepted) if client is not None and self._is_new(accepted) else None
            if self.candidate is None:
                self._accept(accepted)

    def _built(self, choice: Choice) -> tuple[Client | None, Choice]:
        """A client with these values, or none and the values refused, for the reason that librdkafka gives."""
        try:
            return self._build({**self._settings.config, **choice.values}), choice
        except KafkaException as exc:
            reasons = dict.fromkeys(choice.values, exc.args[0].str())
            return None, choice.refusing(reasons, self.current.values)

    def _is_new(self, choice: Choice) -> bool:
        return self._running(choice) != self._running(self.current)

    def _running(self, choice: Choice) -> dict[str, str]:
        return running(self._settings.config, choice.values, self._keys)

    def _accept(self, choice: Choice) -> None:
        """The client runs with this choice: say what is new."""
        before, after = self._running(self.current), self._running(choice)
        origin = "no entry" if choice.revision < 0 else f"revision {choice.revision}"
        for key in self._keys:
            if before[key] != after[key]:
                log.info("%s: %s was %s and is %s (%s)",
                         self._settings.entity, key, before[key], after[key], origin)  # fmt: skip
        for key, reason in choice.rejected.items() - self.current.rejected.items():
            log.warning("%s: %s was refused (revision %d): %s", self._settings.entity, key, choice.revision, reason)
        self.current = choice

    def _report(self) -> None:
        if self._stopped or self._problems.get("followed"):
            return
        status = self._new_status()
        try:
            self._reporter.report(status, _REPORTING)
        except Exception as exc:  # as for reading
            self._tell("registered", f"not registered for now: {exc}")
            return
        self._tell("registered")
        if status is not None:
            self._status, self._status_due = status, time.monotonic() + STATUS_LIFETIME

    def _new_status(self) -> Status | None:
        """The status, where it is another than the one written last, or that one may have expired soon."""
        choice = self.current
        since = self._status.since_ms if self._status else 0
        values = effective(self._settings.config, choice)
        status = Status(choice.revision, values, dict(choice.rejected), since)
        if status != self._status:
            return replace(status, since_ms=int(time.time() * 1000))
        return status if time.monotonic() > self._status_due else None

    def _tell(self, state: str, problem: str = "") -> None:
        """One line when a state ends, and one when it comes back."""
        if problem and not self._problems.get(state):
            log.warning("%s: %s", self._settings.entity, problem)
        elif self._problems.get(state) and not problem:
            log.info("%s: %s again", self._settings.entity, state)
        self._problems[state] = problem


# --- what both wrappers share ---


def end_of(timeout: float) -> float:
    """The end of a time limit by the monotonic clock; a negative one has none."""
    return float("inf") if timeout < 0 else time.monotonic() + timeout


class Followed(Generic[Client]):
    """The calls that both wrappers answer alike, by the client behind them, which `_change` replaces."""

    _settings: ClientSettings
    _client: Client

    def __init_subclass__(cls) -> None:
        """Send every call of confluent-kafka's class that a wrapper does not answer itself to the client behind it."""
        super().__init_subclass__()
        theirs = cls.__bases__[-1]
        for name in vars(theirs).keys() - {*vars(cls), *vars(Followed)}:
            if not name.startswith("_"):
                setattr(cls, name, property(attrgetter(f"_client.{name}")))

    def _follow(self, settings: ClientSettings, keys: Sequence[str], build: Callable[[dict[str, Any]], Client]) -> None:
        """Build the first client, and follow the entries of its user and client-id until this one is closed."""
        self._settings = settings
        self._follower: Follower[Client] = Follower(settings, keys, build)
        self._client = self._follower.start()
        self._end: weakref.finalize[..., Any] = weakref.finalize(self, self._follower.stop)

    def _change(self) -> None:
        raise NotImplementedError

    def _waiting(self, timeout: float) -> Iterator[float]:
        """The seconds to wait for next, until the time is over; between two of them a candidate is looked for."""
        until = end_of(timeout)
        while (remaining := until - time.monotonic()) > 0:
            yield min(LOOK_INTERVAL, remaining)
            self._change()

    def set_sasl_credentials(self, username: str, password: str) -> None:
        self._client.set_sasl_credentials(username, password)
        self._settings.config.update({"sasl.username": username, "sasl.password": password})

    def close(self) -> Any:
        self._end()
        return self._client.close()

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> Any:
        self._end()
        return self._client.__exit__(exc_type, exc_value, exc_traceback)


# --- the entries about one client, read from their topic: from its start, and later on from where the reading ended ---

# A consumer is opened for each reading and closed after it: between two readings a client has no further connection
# and no thread. It is assigned, so it joins no group and commits nothing. Where a reading ended is marked by the last
# record. If that is no longer there, compaction dropped it, or somebody made the topic anew: everything is read again.

MOST_BYTES_AT_ONCE = 64 * 1024 * 1024
"""Of one reading; the next one continues there."""

_WHOLE_AGAIN = 3600.0
"""Seconds after which everything is read again: a tombstone that was compacted away, after `delete.retention.ms`, tells
nothing to who was away or reads seldom."""

_READER = {
    "group.id": "kadmin-nb-client-configs",  # librdkafka requires one; nothing joins it
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": False,
    "fetch.wait.max.ms": 0,  # an end that was reached is told at once
    "queued.max.messages.kbytes": 4096,
    "log_level": 0,  # what goes wrong is in the errors
}
_POLL_TIMEOUT = 0.05


@dataclass(frozen=True, slots=True)
class _Mark:
    """A record by which the log is recognised."""

    offset: int
    timestamp: int
    key: bytes | None

    @classmethod
    def of(cls, message: Message) -> _Mark:
        return cls(message.offset() or 0, message.timestamp()[1], message.key())


class ConfigReader:
    """The entries of a client's two levels, as far as they were read."""

    def __init__(self, entity: ClientEntity) -> None:
        self.entity = entity
        self._log = ClientConfigLog(entity.levels)
        self._mark: _Mark | None = None
        self._whole_at = 0.0

    def read(self, connection: dict[str, Any], timeout: float) -> list[dict[str, Entry]]:
        """The entries, the narrowest level first, once the topic was read to its end.

        Raises
        ------
        Invalid, TimedOut, KadminError
            The topic is missing, forbidden, somebody else's, not read to its end in time, or too long for one reading.
        """
        until = time.monotonic() + timeout
        try:
            with closing(Consumer(connection | _READER)) as consumer:
                _check_topic(consumer, max(0.0, until - time.monotonic()))
                if abs(time.time() - self._whole_at) > _WHOLE_AGAIN or not self._is_same_log(consumer, until):
                    self._log, self._mark, self._whole_at = ClientConfigLog(self.entity.levels), None, time.time()
                    self._take_all(_records(consumer, 0, until))
        except KafkaException as exc:
            raise _reading_failed(exc.args[0]) from None
        entries = self._log.entries
        return [entries.get(level, {}) for level in self.entity.levels]

    def _is_same_log(self, consumer: Consumer, until: float) -> bool:
        """True after reading on from a log that still has the mark; False, with nothing read, from another."""
        if self._mark is None:
            return False
        records = _records(consumer, self._mark.offset, until)
        first = next(records, None)
        if first is None or _Mark.of(first) != self._mark:
            return False
        self._take_all(records)
        return True

    def _take_all(self, records: Iterator[Message]) -> None:
        message = None
        try:
            for message in records:
                self._log.take(message.key(), message.value(), message.offset() or 0, message.timestamp()[1])
        finally:  # the next reading goes on from there, though this one did not come to the end
            self._mark = self._mark if message is None else _Mark.of(message)


def _records(consumer: Consumer, offset: int, until: float) -> Iterator[Message]:
    """The records from this offset to the end of what is committed.

    Raises
    ------
    TimedOut, KadminError
        The end was not reached within the time, or within the bytes of one reading.
    """
    consumer.assign([TopicPartition(CONFIGS_TOPIC, 0, offset)])
    size = 0
    while time.monotonic() < until and size < MOST_BYTES_AT_ONCE:
        message = consumer.poll(_POLL_TIMEOUT)
        if message is not None and (error := message.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return
            if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART):
                raise _reading_failed(error)  # librdkafka recovers from others by itself; the group is not ours to use
        elif message is not None:
            size += len(message)
            yield message
    raise TimedOut(f"the end of the topic {CONFIGS_TOPIC} was not reached", code="REQUEST_TIMED_OUT")


def _check_topic(consumer: Consumer, timeout: float) -> None:
    """Refuse what an admin refuses, too: else a stranger's topic would be followed, and nobody would see its entries.

    librdkafka waits in silence for a topic that is missing or forbidden; its metadata tells at once.
    """
    topic = consumer.list_topics(CONFIGS_TOPIC, timeout).topics[CONFIGS_TOPIC]
    if topic.error is not None:
        raise _reading_failed(topic.error)
    if (count := len(topic.partitions)) != 1:
        raise Invalid(f"the topic {CONFIGS_TOPIC} cannot be read: it has {count} partitions, and kadmin_nb's has one")


def _reading_failed(error: KafkaError) -> KadminError:
    return KadminError(f"the topic {CONFIGS_TOPIC} cannot be read: {error.str()}", code=error.name())
