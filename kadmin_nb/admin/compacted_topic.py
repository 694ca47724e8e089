"""A compacted topic of one partition: made where it is missing, read as far as transactions are decided.

Read with kafka-python's messages: confluent-kafka's consumer requires a group, which asks for a right on a
group, and makes `__consumer_offsets` on a new cluster. `Fetcher.PartitionRecords`, an inner class, knows which
transactions were aborted; `tests/locking` says if that moves.
"""

from __future__ import annotations

import random
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import kafka.errors
from kafka.consumer.fetcher import ConsumerRecord, Fetcher
from kafka.protocol.consumer import FetchRequest, IsolationLevel
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from kafka.structs import TopicPartition

from ..errors import Invalid, KadminError, NotFound, TimedOut, Unsupported
from ..model import rights
from . import error_codes, topics
from .wire import Wire

Result = TypeVar("Result")

REPLICAS = 3
"""As many replicas as that, where there are brokers for it: what stands in such a topic must outlive a broker."""

CONFIGS: Mapping[str, str] = {
    "cleanup.policy": "compact",  # only the newest record of a key counts, and it must never age away
    "message.timestamp.type": "LogAppendTime",  # one clock for every writer: the leader's
    "segment.bytes": str(1 << 20),  # the newest segment is never compacted: it bounds what a reader reads
    "compression.type": "uncompressed",  # whatever is written can be read without a codec
    "unclean.leader.election.enable": "false",  # a leader that missed the newest record would give it twice
}
"""The configs that such a topic is made with."""

LARGEST_TOPIC = 1 << 28
"""Bytes that are read of a topic at most: more than that is not ours, or was never compacted."""

UNDECIDED = 1.0
"""Seconds for a transaction that is open to be decided; one whose producer died stays open for 10 to 20."""

_CLOCK = b"clock"
"""The key of an empty record whose only use is the time that the broker gives it."""

_MOST_TOMBSTONES, _LARGEST_BATCH = 50, 1 << 20
"""Keys in one batch, which is below a broker's `message.max.bytes` even where each is as long as may be."""

_READ_COMMITTED, _ALL_REPLICAS, _LARGEST_FETCH = IsolationLevel.READ_COMMITTED, -1, 1 << 20
_CUT_SHORT, _UNKNOWN_TOPIC, _NO_LEADER_YET, _FORBIDDEN = 1, 3, 5, 29
_PAUSE, _LONGEST_PAUSE, _POLL = 0.01, 0.2, 0.003
_ONE_ANSWER = 3.0
"""Seconds for an answer: a frozen leader is replaced in less than all the time that there is."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_PASSING = frozenset(
    {
        "BROKER_ID_NOT_REGISTERED",
        "BROKER_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "OFFSET_OUT_OF_RANGE",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)


def replicas_on(brokers: int) -> int:
    """The replicas of such a topic on so many brokers."""
    return min(REPLICAS, brokers)


def configs_on(brokers: int, configs: Mapping[str, str]) -> dict[str, str]:
    """These configs, and how many replicas must be in sync on so many brokers: all but one."""
    return {**configs, "min.insync.replicas": str(max(1, replicas_on(brokers) - 1))}


def may_pass(exc: KadminError) -> bool:
    """True of what a request may meet while a leader is made or replaced, or the log was cut short."""
    return exc.code in _PASSING


def patiently(attempt: Callable[[], Result], until: float) -> Result:
    """The result of an attempt, made again while a leader is made or replaced, or another writer comes between."""
    while True:
        try:
            return attempt()
        except KadminError as exc:
            if not may_pass(exc) or time.monotonic() > until:
                raise
        time.sleep(random.uniform(_PAUSE, _LONGEST_PAUSE))  # two that fence each other must not go on in step


def deleting_line(topic: str) -> str:
    """The line of Kafka's own tool that deletes a topic; the address is left to the shell's `$BOOTSTRAP`."""
    return f'kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --delete --topic {shlex.quote(topic)}'


def appended_at(milliseconds: int) -> datetime:
    """A record's time, UTC."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


class CompactedTopic:
    """One partition, read forward: what was read before is not read again.

    `position` is the next offset to read, None where it has to be read from the start, as after it was cut short.
    """

    def __init__(self, wire: Wire, name: str, configs: Mapping[str, str] = CONFIGS) -> None:
        self.name = name
        self.position: int | None = None
        self._wire = wire
        self._configs = configs
        self._leader = -1

    def exists(self, until: float, node: int | None = None) -> bool:
        """True if the topic exists, as that broker, or any, knows it; after that its leader is known.

        Raises
        ------
        Invalid
            It has several partitions.
        NotAuthorized, TimedOut, ConnectionFailed
            It cannot be seen, or has no leader in time.
        """
        while True:
            answer = self._metadata(until, node).topics[0]
            if answer.error_code == _UNKNOWN_TOPIC:
                return False
            if answer.error_code != _NO_LEADER_YET:
                self._refuse_foreign(answer)
                if (leader := answer.partitions[0].leader_id) >= 0:
                    self._leader = leader
                    return True
            self._pause(until)

    def ensure(self, until: float) -> None:
        """Find the topic's leader; make the topic where it does not exist.

        Raises
        ------
        Invalid
            It has several partitions.
        NotAuthorized, TimedOut, ConnectionFailed
            It cannot be seen or made.
        """
        while not self.exists(until):
            self._create(until)
            self._pause(until)

    def read(self, until: float, end: int | None = None) -> Iterator[ConsumerRecord]:
        """The records since the last reading, among those whose transaction is decided, up to the offset `end`.

        Of each `timestamp` is when it was appended, in ms since 1970; a null value is a tombstone.

        Without `end` it is as far as the leader's last stable offset, after a moment for what is undecided: a commit
        is acknowledged before its marker stands in the log, so a record just replaced would look like the newest.

        Raises
        ------
        NotFound
            The leader was not found before, as the topic is not there.
        TimedOut
            The end was not reached in time.
        Invalid
            The topic is larger than may be read.
        """
        if self.position is None:
            answer = self._ask(lambda: topics.offsets_request({self.name: [0]}, topics.EARLIEST), until)
            earliest = answer.topics[0].partitions[0]
            self._check_reading(earliest.error_code)
            self.position = int(earliest.offset)
        hurry, bytes_left = time.monotonic() + UNDECIDED, LARGEST_TOPIC
        while True:
            partition = self._fetched(until)
            if partition is not None:
                bytes_left -= len(partition.records or b"")
                yield from self._decided(partition)
                last = partition.last_stable_offset if time.monotonic() > hurry else partition.high_watermark
                if self.position >= (last if end is None else end):
                    return
                if bytes_left < 0:
                    raise Invalid(
                        f"the topic {self.name} has more than {LARGEST_TOPIC >> 20} MiB of records",
                        code="POLICY_VIOLATION",
                        hint="Check who writes to it, and whether it is compacted.",
                    )
            if time.monotonic() > until:
                raise TimedOut(f"the topic {self.name} was not read in time", code="REQUEST_TIMED_OUT")
            if partition is None or not partition.records:
                time.sleep(_POLL)

    def clock(self, until: float) -> int:
        """The leader's time in ms since 1970.

        This machine's where the topic keeps the producer's time, or where we may not write.
        """
        partition = self._append([_CLOCK], until, may_be_forbidden=True)
        append_time: int = partition.log_append_time_ms
        return append_time if append_time >= 0 else int(time.time() * 1000)

    def remove(self, keys: Iterable[bytes], until: float) -> None:
        """Append a tombstone for each of these keys.

        Raises
        ------
        NotAuthorized
            WRITE on the topic is missing.
        """
        remaining = list(keys)
        for start in range(0, len(remaining), _MOST_TOMBSTONES):
            self._append(remaining[start : start + _MOST_TOMBSTONES], until)

    def _append(self, keys: Sequence[bytes], until: float, *, may_be_forbidden: bool = False) -> Any:
        """The partition's answer to these tombstones."""
        doing = f"writing to the topic {self.name}"
        answer = self._wire.tell(lambda: self._tombstones(keys), node=self._leader, doing=doing, timeout=_left(until))
        partition = answer.responses[0].partition_responses[0]
        if partition.error_code != _FORBIDDEN or not may_be_forbidden:
            error_codes.raise_for_error(
                partition.error_code, partition.error_message, doing, rights.on_topic("WRITE", self.name)
            )
        return partition

    def _refuse_foreign(self, answer: Any) -> None:
        error_codes.raise_for_error(
            answer.error_code, None, f"looking for the topic {self.name}", rights.on_topic("DESCRIBE", self.name)
        )
        if (count := len(answer.partitions)) != 1:
            raise Invalid(
                f"the topic {self.name} has {count} partitions: kadmin_nb did not make it, as its topic has one",
                code="INVALID_PARTITIONS",
                hint=f"If it is not needed: {deleting_line(self.name)}",
            )

    def _pause(self, until: float) -> None:
        if time.monotonic() > until:
            raise TimedOut(f"the topic {self.name} has no leader", code="LEADER_NOT_AVAILABLE")
        time.sleep(_PAUSE)

    def _fetched(self, until: float) -> Any:
        """An answer of the partition; None for a client above its consumer quota, which gets nothing."""
        answer = self._ask(self._fetch, until)
        if answer.throttle_time_ms and not answer.responses:
            return None
        partition = answer.responses[0].partitions[0]
        if partition.error_code == _CUT_SHORT:
            self.position = None
        self._check_reading(partition.error_code)
        return partition

    def _decided(self, partition: Any) -> Iterator[ConsumerRecord]:
        """The committed records of a fetched partition; the position is behind them."""
        records = Fetcher.PartitionRecords(
            self.position,
            TopicPartition(self.name, 0),
            MemoryRecords(partition.records or b""),
            isolation_level=_READ_COMMITTED,
            aborted_transactions=partition.aborted_transactions,
            check_crcs=False,  # in Python they take a third of the time; brokers check what is appended, TCP the rest
        )
        try:
            yield from records.take()
        except kafka.errors.KafkaError as exc:  # only where others made the topic: ours is uncompressed
            raise Unsupported(f"the topic {self.name} cannot be read: {exc}", code="CORRUPT_MESSAGE") from None
        self.position = records.next_fetch_offset

    def _check_reading(self, code: int) -> None:
        error_codes.raise_for_error(code, None, f"reading the topic {self.name}", rights.on_topic("READ", self.name))

    def _ask(self, request: Any, until: float) -> Any:
        if self._leader < 0:
            raise NotFound(f"there is no topic {self.name}", code="UNKNOWN_TOPIC_OR_PARTITION")
        return self._wire.ask(request, node=self._leader, doing=f"reading the topic {self.name}", timeout=_left(until))

    def _metadata(self, until: float, node: int | None = None) -> Any:
        doing = f"looking for the topic {self.name}"
        return topics.metadata(self._wire, [self.name], doing=doing, node=node, timeout=_left(until))

    def _create(self, until: float) -> None:
        brokers = len(self._metadata(until).brokers)
        topics.create(
            self._wire,
            self.name,
            replicas=replicas_on(brokers),
            configs=configs_on(brokers, self._configs),
            within=_left(until, topics.CREATED_WITHIN),
        )

    def _fetch(self) -> Any:
        topic = FetchRequest.FetchTopic
        partition = topic.FetchPartition(partition=0, fetch_offset=self.position, partition_max_bytes=_LARGEST_FETCH)
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_LARGEST_FETCH,
            isolation_level=_READ_COMMITTED,
            topics=[topic(topic=self.name, partitions=[partition])],
            forgotten_topics_data=[],
            min_version=4,  # the first with transactions
            max_version=11,  # the last with the topic's name
        )

    def _tombstones(self, keys: Iterable[bytes]) -> Any:
        builder = MemoryRecordsBuilder(2, 0, _LARGEST_BATCH)
        for key in keys:
            builder.append(int(time.time() * 1000), key, None)
        builder.close()
        topic = ProduceRequest.TopicProduceData
        topic_data = topic(
            name=self.name, partition_data=[topic.PartitionProduceData(index=0, records=builder.buffer())]
        )
        return ProduceRequest(
            acks=_ALL_REPLICAS, timeout_ms=5000, topic_data=[topic_data], min_version=3, max_version=9
        )


def _left(until: float, most: float = _ONE_ANSWER) -> float:
    """Seconds for an answer, and a moment where the time is over: a bound of 0 is none."""
    return max(0.1, min(most, until - time.monotonic()))
