"""`ports.Kafka` over a real cluster, but for client configs: those are in `client_configs/kafka.py`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from kafka.protocol.admin.cluster import DescribeClusterRequest
from kafka.protocol.admin.groups import ListGroupsRequest
from kafka.protocol.metadata import MetadataRequest

from ..errors import TimedOut
from ..model.changes import Target
from ..model.connection_settings import Settings
from ..model.resources import Partition, Resource
from . import acls, error_codes, topics
from .ports import Broker, Lease
from .wire import ALTER_TIMEOUT, PATIENCE, READ_TIMEOUT, Wire, asked_together
from .wire_kinds import WireConfigs, WireQuotas, WireScram

_PAUSE = 0.02

_COUNTS_SLEEP: int | None = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC if sys.platform == "darwin" else None)
"""The clock that goes on while the machine sleeps: Linux has one for it, of macOS it is CLOCK_MONOTONIC."""


class WireKafka:
    """A cluster, reached. Closing it ends its connections and its thread."""

    def __init__(self, settings: Settings, timeout: float | None = None) -> None:
        self.wire = Wire(settings, timeout or settings.timeout or READ_TIMEOUT, settings.timeout or ALTER_TIMEOUT)
        self.quotas = WireQuotas(self.wire)
        self.configs = WireConfigs(self.wire)
        self.scram = WireScram(self.wire)
        try:
            self.id: str = self._describe().cluster_id
        except BaseException:
            self.close()
            raise

    @property
    def version(self) -> str:
        """Kafka's version, as the requests tell that a broker takes."""
        return self.wire.version

    def together(self, *questions: Callable[[], Any]) -> list[Any]:
        """The answers to questions that do not depend on each other, asked side by side; the first error is raised."""
        return asked_together(questions, len(questions))

    def brokers(self) -> list[Broker]:
        """Every registered broker, asked now, sorted by id.

        Fenced brokers, which Metadata leaves out, are included from DescribeCluster 2 on (Kafka 4.0).
        """
        self.wire.refresh()
        found = [
            Broker(one.broker_id, one.host, one.port, one.rack, bool(getattr(one, "is_fenced", False)))
            for one in self._describe().brokers
        ]
        return sorted(found, key=lambda broker: broker.id)

    def reach(self, broker: Broker, timeout: float) -> None:
        """Get an answer of this broker, or raise the reason why it gives none.

        Raises
        ------
        ConnectionFailed, TimedOut, NotFound
            It cannot be reached, is silent, or is not registered.
        """
        self.wire.ask(
            lambda: MetadataRequest(topics=[]), node=broker.id, doing=f"asking broker {broker.id}", timeout=timeout
        )

    def topics(self) -> list[str]:
        """The topics that we may describe; the others are left out by the broker."""
        answer = self.wire.ask(lambda: MetadataRequest(topics=None), doing="listing topics")
        return sorted(topic.name for topic in answer.topics if topic.error_code == 0)

    def partitions(self, names: Collection[str]) -> list[Partition]:
        """The partitions of these topics; without topics that do not exist or that we may not describe."""
        return topics.partitions(self.wire, names)

    def throttling(self, throttles: Collection[Target]) -> dict[Target, str]:
        """The throttles that hold back copies now, with the reason; see `ports.Kafka`."""
        return topics.throttling(self.wire, throttles)

    def groups(self) -> list[str]:
        """The groups that we may describe: each broker lists the groups it coordinates, beside the others."""
        patience = min(PATIENCE, self.wire.timeout)  # a frozen broker must not hold up the others
        ask = partial(self.wire.ask, ListGroupsRequest, doing="listing groups", timeout=patience)
        listed = self.together(*(partial(ask, node=broker.id) for broker in self.brokers() if not broker.is_fenced))
        return sorted({group.group_id for answer in listed for group in answer.groups})

    def acls(self) -> Counter[str] | None:
        """The number of ACLs of each principal, `User:alice` say; None where the brokers have no authorizer."""
        found = acls.all_acls(self.wire)
        return None if found is None else Counter(acl.principal for acl in found)

    def create_topics(self, partitions: Mapping[str, int]) -> None:
        """Make these topics, a number of partitions each, and wait until every broker knows them.

        Raises
        ------
        NotAuthorized, Invalid
            The first that the broker refuses.
        TimedOut
            A broker did not learn of them.
        """
        for name, count in partitions.items():
            topics.create(self.wire, name, partitions=count)
        deadline = time.monotonic() + self.wire.timeout
        made = [Resource("TOPIC", name) for name in partitions]
        for broker in (one for one in self.brokers() if not one.is_fenced):
            while True:
                seen = self.configs.describe(made, ["retention.ms"], synonyms=False, node=broker.id)
                if "UNKNOWN_TOPIC_OR_PARTITION" not in seen["error"].to_pylist():
                    break
                if time.monotonic() > deadline:
                    raise TimedOut(f"broker {broker.id} does not know the new topics yet", code="REQUEST_TIMED_OUT")
                time.sleep(_PAUSE)

    def lease(self, plan_id: str, holder: str, *, steal: bool = False) -> Lease:
        """The cluster's one lease between editors; it says in its note where it cannot be had.

        Raises
        ------
        Locked
            Another's is alive, and `steal` was not asked for.
        """
        from . import lease  # transactions are loaded where something is changed

        return lease.take(self.wire, plan_id, holder, steal=steal)

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()

    def boottime(self) -> float:
        """Seconds on a clock that never jumps and goes on while the machine sleeps, where the system has one."""
        return time.monotonic() if _COUNTS_SLEEP is None else time.clock_gettime(_COUNTS_SLEEP)

    def now(self) -> datetime:
        """The time of day, UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """End the connections."""
        self.wire.close()

    def _describe(self) -> Any:
        answer = self.wire.ask(
            lambda: DescribeClusterRequest(include_fenced_brokers=True),
            doing="describing the cluster",
            patience=PATIENCE,
        )
        error_codes.raise_for_error(answer.error_code, answer.error_message, "describing the cluster")
        return answer
