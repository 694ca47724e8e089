"""confluent-kafka's producer and consumer, which take new values while they run: one more stands between each and the
application."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from ..model.client_configs import CONSUMER_KEYS, PRODUCER_KEYS
from .follower import LOOK_INTERVAL, Candidate, Followed, end_of
from .settings import client_settings

# --- producers ---


_INSIDE = 0.0005
"""Seconds after which the calls within `produce` are counted again."""
FLUSH_TIMEOUT = 5.0
"""Seconds that a producer waits for its messages before it takes a new value."""
_GRACE = 0.5
"""Seconds after the flush's bound until a waiting message gives up the change; then a callback waits for it."""


class DynamicProducer(Followed[Producer], Producer):
    """confluent-kafka's Producer, which follows the client configs of its user and client-id.

    It takes the same configuration, and keys of its own that begin with `kadmin.`: docs/client-configs.md lists them.
    A new value comes into force in `poll` or `flush`: messages produced meanwhile wait until those before them are
    delivered, and go to a client with the new value. If that takes longer than five seconds, nothing changes, and the
    next refresh tries again. Delivery reports are called by `poll` and `flush`, as always. All other calls are
    confluent-kafka's own.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, /, **keywords: Any) -> None:
        self._changed = threading.Condition()
        self._changing: int | None = None
        self._given_up = False
        self._follow(client_settings(config, keywords), PRODUCER_KEYS, Producer)
        self._produce: Callable[..., None] = self._client.produce

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        self._produce(topic, value, key, partition, callback or on_delivery, None, timestamp, headers)

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
    ) -> int:
        with self._changed:
            self._wait_for_change()
            return self._client.produce_batch(topic, messages, partition, callback or on_delivery)

    def poll(self, timeout: float = -1) -> int:
        if self._follower.candidate:
            self._change()
        if 0 <= timeout <= LOOK_INTERVAL:
            return self._client.poll(timeout)
        return next((events for seconds in self._waiting(timeout) if (events := self._client.poll(seconds))), 0)

    def flush(self, timeout: float = -1) -> int:
        self._change()
        return self._client.flush(timeout)

    def __len__(self) -> int:
        return len(self._client)

    def __bool__(self) -> bool:
        return True

    def _change(self) -> None:
        """Put the candidate in the producer's place, once that has delivered everything within the bound."""
        candidate = self._follower.take()
        if candidate is None:
            return
        with self._changed:
            self._changing, self._given_up = threading.get_ident(), False
            self._produce = self._produce_after_change
        is_drained = False
        try:
            is_drained = self._drain(time.monotonic() + FLUSH_TIMEOUT)
        finally:  # a callback of the application may raise
            with self._changed:
                self._finish(candidate, is_drained)

    def _drain(self, until: float) -> bool:
        """Wait for the calls that are within `produce`, then for their messages. Delivery callbacks are called here."""
        while _is_any_producing():
            if time.monotonic() > until:
                return False
            time.sleep(_INSIDE)
        return self._client.flush(max(0.0, until - time.monotonic())) == 0

    def _finish(self, candidate: Candidate[Producer], is_drained: bool) -> None:
        if is_drained and not self._given_up and not len(self._client):
            self._client = candidate.client
            self._follower.applied(candidate)
        else:
            self._follower.postponed(f"{len(self._client)} messages wait for their delivery")
        self._changing, self._produce = None, self._client.produce
        self._changed.notify_all()

    def _produce_after_change(self, *message: Any) -> None:
        with self._changed:
            self._wait_for_change()
            self._client.produce(*message)

    def _wait_for_change(self) -> None:
        """Wait with the lock until no thread changes the client; a callback of the changing thread goes ahead.

        A callback of the application may wait for a lock whose owner waits here. That ends with the bound: the owner
        gives the change up, and goes ahead.
        """
        bound = FLUSH_TIMEOUT + _GRACE
        if not self._changed.wait_for(lambda: self._changing in (None, threading.get_ident()), bound):
            self._given_up = True


def _is_any_producing() -> bool:
    """True if another thread is within `produce`, past the place where it would wait for a change.

    A lock or a count of calls would cost each message a tenth of its time; a change looks at the stacks instead.
    """
    others = (frame for thread, frame in sys._current_frames().items() if thread != threading.get_ident())
    return any(map(_is_producing, others))


def _is_producing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not _WAITING:
        if frame.f_code is _PRODUCING:
            return True
        frame = frame.f_back
    return False


_PRODUCING, _WAITING = DynamicProducer.produce.__code__, DynamicProducer._produce_after_change.__code__


# --- consumers ---


RebalanceCallback = Callable[[Consumer, list[TopicPartition]], None]


class DynamicConsumer(Followed[Consumer], Consumer):
    """confluent-kafka's Consumer, which follows the client configs of its user and client-id.

    It takes the same configuration, and keys of its own that begin with `kadmin.`: docs/client-configs.md lists them.
    New timeouts come into force in `poll` or `consume` of a consumer that has subscribed: it leaves its group as
    `close` does, and another client joins with the new values. To the application that is a rebalance: `on_revoke` and
    `on_assign` are called, and reading continues from the committed offsets. With a `group.instance.id` the other
    members of the group notice nothing. One that assigns its partitions itself has no session, and stays as it is.
    All other calls are confluent-kafka's own.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, /, **keywords: Any) -> None:
        self._join: Callable[[], None] = lambda: None
        self._is_settled = False
        self._follow(client_settings(config, keywords), CONSUMER_KEYS, Consumer)

    def subscribe(
        self,
        topics: list[str],
        on_assign: RebalanceCallback | None = None,
        on_revoke: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        told = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost or on_revoke}
        callbacks = {event: partial(self._tell, told[event], event == "on_assign") for event in told}
        self._join, self._is_settled = lambda: self._client.subscribe(topics, **callbacks), False
        self._join()

    def unsubscribe(self) -> None:
        self._client.unsubscribe()
        self._is_settled = False

    def poll(self, timeout: float = -1) -> Message | None:
        if self._follower.candidate:
            self._change()
        if 0 <= timeout <= LOOK_INTERVAL:
            return self._client.poll(timeout)
        polled = (self._client.poll(seconds) for seconds in self._waiting(timeout))
        return next((message for message in polled if message is not None), None)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        if self._follower.candidate:
            self._change()
        if 0 <= timeout <= LOOK_INTERVAL:
            return self._client.consume(num_messages, timeout)
        until = end_of(timeout)
        consumed = (self._client.consume(num_messages, seconds) for seconds in self._waiting(timeout))
        messages = next(filter(None, consumed), [])
        if not messages or len(messages) == num_messages:
            return messages
        remaining = -1 if timeout < 0 else max(0.0, until - time.monotonic())
        return messages + self._client.consume(num_messages - len(messages), remaining)

    def _change(self) -> None:
        """Put the candidate in the place of a consumer that has joined its group: it leaves, and the other joins."""
        candidate = self._follower.take() if self._is_settled else None
        if candidate is None:
            return
        try:
            self._client.close()  # commits what is stored, where the application wants that
        finally:  # a callback of the application may raise
            self._client, self._is_settled = candidate.client, False
            self._join()
            self._follower.applied(candidate)

    def _tell(
        self, callback: RebalanceCallback | None, is_settled: bool, _: Consumer, partitions: list[TopicPartition]
    ) -> None:
        """Call the application's callback, with this consumer rather than the one behind it."""
        self._is_settled = is_settled
        if callback is not None:
            callback(self, partitions)
