"""The topic that the lease stands in: made where it is missing, read as far as transactions are decided.

Read with kafka-python's messages: confluent-kafka's consumer requires a group, which asks for a right on a
group, and makes `__consumer_offsets` on a new cluster. `Fetcher.PartitionRecords`, an inner class, knows which
transactions were aborted; `tests/locking` says if that moves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import kafka.errors
from kafka.consumer.fetcher import Fetcher
from kafka.protocol.admin.topics import CreateTopicsRequest
from kafka.protocol.consumer import FetchRequest, IsolationLevel, ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from kafka.structs import TopicPartition

from ..errors import TimedOut, Unsupported
from ..model import rights
from . import error_codes
from .wire import Wire

KEY = b"lease"
"""The key of the one record that counts."""

_CLOCK = b"clock"
"""The key of an empty record whose only use is the time that the broker gives it."""

REPLICAS = 3
"""A lease that is lost with one broker would be taken twice."""

_CONFIGS = {
    "cleanup.policy": "compact",  # only the newest record counts, and it must never age away
    "message.timestamp.type": "LogAppendTime",  # one clock for every holder: the leader's
    "segment.bytes": str(1 << 20),  # the newest segment is never compacted: it bounds what a taker reads
    "compression.type": "uncompressed",  # whatever is written can be read without a codec
    "unclean.leader.election.enable": "false",  # a leader that missed the newest record would give it twice
}

_EARLIEST, _READ_COMMITTED, _ALL_REPLICAS, _LARGEST_FETCH = -2, IsolationLevel.READ_COMMITTED, -1, 1 << 20
_CUT_SHORT, _UNKNOWN_TOPIC, _NO_LEADER_YET, _FORBIDDEN, _EXISTS = 1, 3, 5, 29, 36
_PAUSE, _POLL = 0.01, 0.003
_UNDECIDED = 1.0
"""Seconds for a transaction that is open to be decided; one whose producer died stays open for 10 to 20."""
_ONE_ANSWER = 3.0
"""Seconds for an answer: a frozen leader is replaced in less than all the time that there is."""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The record that counts: its value, None for a tombstone, and when it was appended, in ms since 1970."""

    value: bytes | None
    appended: int


class LeaseLog:
    """One partition, read forward: what was read before is not read again."""

    def __init__(self, wire: Wire, topic: str) -> None:
        self.topic = topic
        self._wire = wire
        self._leader = -1
        self._next: int | None = None
        self._hurry = 0.0
        self._newest: LeaseRecord | None = None

    def ensure(self, until: float) -> None:
        """Find the topic's leader; make the topic where there is none.

        Raises
        ------
        NotAuthorized, Invalid, TimedOut, ConnectionFailed
            It cannot be seen or made.
        """
        while (answer := self._metadata(until)).topics[0].error_code or answer.topics[0].partitions[0].leader_id < 0:
            code = answer.topics[0].error_code
            if code == _UNKNOWN_TOPIC:
                self._create(min(REPLICAS, len(answer.brokers)), until)
            elif code != _NO_LEADER_YET:
                error_codes.raise_for_error(
                    code,
                    None,
                    f"looking for the topic {self.topic}",
                    rights.on_topic("DESCRIBE", self.topic),
                )
            time.sleep(_PAUSE)
        self._leader = answer.topics[0].partitions[0].leader_id

    def newest(self, until: float, end: int | None = None) -> LeaseRecord | None:
        """The record that counts, among those whose transaction is decided, up to the offset `end`.

        Without `end` it is as far as the leader's last stable offset, after a moment for what is undecided: a commit
        is acknowledged before its marker stands in the log, so a lease just given back would look alive.

        Raises
        ------
        TimedOut
            The end was not reached in time.
        """
        self._next = self._earliest(until) if self._next is None else self._next
        self._hurry = time.monotonic() + _UNDECIDED
        while not self._read(until, end):
            if time.monotonic() > until:
                raise TimedOut(f"the topic {self.topic} was not read in time", code="REQUEST_TIMED_OUT")
            time.sleep(_POLL)
        return self._newest

    def clock(self, until: float) -> int:
        """The leader's time in ms since 1970.

        This machine's where the topic keeps the producer's time, or where we may not write.
        """
        doing = f"writing to the topic {self.topic}"
        answer = self._wire.tell(self._empty_record, node=self._leader, doing=doing, timeout=_left(until))
        partition = answer.responses[0].partition_responses[0]
        if partition.error_code != _FORBIDDEN:
            error_codes.raise_for_error(
                partition.error_code, partition.error_message, doing, rights.on_topic("WRITE", self.topic)
            )
        append_time: int = partition.log_append_time_ms
        return append_time if append_time >= 0 else int(time.time() * 1000)

    def _read(self, until: float, end: int | None) -> bool:
        """Read on; whether the end was reached."""
        answer = self._ask(self._fetch, until)
        if answer.throttle_time_ms and not answer.responses:  # a client above its consumer quota gets nothing
            return False
        partition = answer.responses[0].partitions[0]
        if partition.error_code == _CUT_SHORT:
            self._next = self._newest = None
        self._check_reading(partition.error_code)
        records = Fetcher.PartitionRecords(
            self._next,
            TopicPartition(self.topic, 0),
            MemoryRecords(partition.records or b""),
            isolation_level=_READ_COMMITTED,
            aborted_transactions=partition.aborted_transactions,
        )
        try:
            for record in records.take():
                if record.key == KEY:
                    self._newest = LeaseRecord(record.value, record.timestamp)
        except kafka.errors.KafkaError as exc:  # only where others made the topic: ours is uncompressed
            raise Unsupported(f"the topic {self.topic} cannot be read: {exc}", code="CORRUPT_MESSAGE") from None
        self._next = records.next_fetch_offset
        if end is None:
            end = partition.last_stable_offset if time.monotonic() > self._hurry else partition.high_watermark
        return self._next >= end

    def _check_reading(self, code: int) -> None:
        error_codes.raise_for_error(code, None, f"reading the topic {self.topic}", rights.on_topic("READ", self.topic))

    def _ask(self, request: Any, until: float) -> Any:
        return self._wire.ask(request, node=self._leader, doing=f"reading the topic {self.topic}", timeout=_left(until))

    def _metadata(self, until: float) -> Any:
        topic = MetadataRequest.MetadataRequestTopic(name=self.topic)
        return self._wire.ask(
            lambda: MetadataRequest(topics=[topic], allow_auto_topic_creation=False),
            doing=f"looking for the topic {self.topic}",
            timeout=_left(until),
        )

    def _create(self, replicas: int, until: float) -> None:
        topic = CreateTopicsRequest.CreatableTopic
        configs = _CONFIGS | {"min.insync.replicas": str(max(1, replicas - 1))}
        new_topic = topic(
            name=self.topic,
            num_partitions=1,
            replication_factor=replicas,
            assignments=[],
            configs=[topic.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        doing, seconds_left = f"creating the topic {self.topic}", _left(until, 30.0)
        answer = self._wire.tell(
            lambda: CreateTopicsRequest(topics=[new_topic], timeout_ms=int(seconds_left * 1000), validate_only=False),
            doing=doing,
            timeout=seconds_left,
        )
        made = answer.topics[0]
        code = 0 if made.error_code == _EXISTS else made.error_code
        error_codes.raise_for_error(code, made.error_message, doing, rights.on_topic("CREATE", self.topic))

    def _earliest(self, until: float) -> int:
        topic = ListOffsetsRequest.ListOffsetsTopic
        wanted = topic.ListOffsetsPartition(partition_index=0, timestamp=_EARLIEST)
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=_READ_COMMITTED, topics=[topic(name=self.topic, partitions=[wanted])]
        )
        partition = self._ask(lambda: request, until).topics[0].partitions[0]
        self._check_reading(partition.error_code)
        return int(partition.offset)

    def _fetch(self) -> Any:
        topic = FetchRequest.FetchTopic
        partition = topic.FetchPartition(partition=0, fetch_offset=self._next, partition_max_bytes=_LARGEST_FETCH)
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_LARGEST_FETCH,
            isolation_level=_READ_COMMITTED,
            topics=[topic(topic=self.topic, partitions=[partition])],
            forgotten_topics_data=[],
            min_version=4,  # the first with transactions
            max_version=11,  # the last with the topic's name
        )

    def _empty_record(self) -> Any:
        builder = MemoryRecordsBuilder(2, 0, 1024)
        builder.append(int(time.time() * 1000), _CLOCK, None)
        builder.close()
        topic = ProduceRequest.TopicProduceData
        topic_data = topic(
            name=self.topic, partition_data=[topic.PartitionProduceData(index=0, records=builder.buffer())]
        )
        return ProduceRequest(
            acks=_ALL_REPLICAS, timeout_ms=5000, topic_data=[topic_data], min_version=3, max_version=9
        )


def _left(until: float, most: float = _ONE_ANSWER) -> float:
    """Seconds for an answer, and a moment where the time is over: a bound of 0 is none."""
    return max(0.1, min(most, until - time.monotonic()))
