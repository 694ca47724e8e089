"""A local Kafka with a typical company and live traffic: three clients, of which one wants more than its limit.

The traffic is a process of its own in the run's folder, as a node is: it ends with the broker, and whoever ends the run
ends it too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kadmin_nb.local import local_kafka, runs
from kadmin_nb.local.local_kafka import LocalKafka

if TYPE_CHECKING:
    from kadmin_nb.cluster import Cluster
    from kadmin_nb.plans.outcomes import Outcomes

# --- the company ---

TOPICS = {
    "orders": 6,
    "orders.dlq": 1,
    "payments": 6,
    "clickstream": 12,
    "inventory-changes": 3,
    "fraud.features": 3,
    "audit": 1,
}

QUOTA_LINES = """
# everyone, and every service of everyone
set producer_byte_rate=2MB/s consumer_byte_rate=4MB/s request_percentage=50% user=<default>
set producer_byte_rate=1MB/s user=<default> client-id=<default>
set consumer_byte_rate=8MB/s request_percentage=100% user=<default> client-id=spark-batch

# teams
set producer_byte_rate=20MB/s consumer_byte_rate=40MB/s controller_mutation_rate=20 user=team-orders
set producer_byte_rate=5MB/s user=team-orders client-id=<default>
set producer_byte_rate=10MB/s request_percentage=200% user=team-orders client-id=checkout
set producer_byte_rate=50MB/s consumer_byte_rate=50MB/s user=team-clickstream
set producer_byte_rate=30MB/s user=team-clickstream client-id=collector
set consumer_byte_rate=15MB/s user=team-fraud client-id=<default>
set request_percentage=75% controller_mutation_rate=5 user=team-fraud
set producer_byte_rate=500kB/s consumer_byte_rate=1MB/s user=alice
set consumer_byte_rate=10MB/s user=alice client-id=notebook
set producer_byte_rate=256KiB/s user=bob client-id=<default>
set producer_byte_rate=1MB/s user=ANONYMOUS

# client-ids: shadowed where the default user above has the same key
set producer_byte_rate=3MB/s consumer_byte_rate=6MB/s client-id=mirror-maker
set controller_mutation_rate=2 client-id=terraform
set producer_byte_rate=100kB/s controller_mutation_rate=1 client-id=<default>

# connections
set connection_creation_rate=50 ip=<default>
set connection_creation_rate=200 ip=10.1.2.3
set connection_creation_rate=10 ip=192.168.7.9
"""

CONFIG_LINES = """
set retention.ms=604800000 cleanup.policy=delete topic=orders
set cleanup.policy=compact,delete min.compaction.lag.ms=3600000 topic=inventory-changes
set retention.ms=86400000 max.message.bytes=2097152 topic=clickstream
set retention.ms=-1 topic=audit
set compression.type=zstd topic=payments
set log.retention.ms=259200000 message.max.bytes=1500000 broker=<default>
set log.cleaner.backoff.ms=20000 broker=1
set interval.ms=60000 metrics=org.apache.kafka.producer. client-metrics=producers
"""

SHORTENED = ("retention.ms topic=clickstream", "log.retention.ms broker=<default>")
"""The rows that are shorter than Kafka's default, and so must be allowed."""


def seed(cluster: Cluster) -> Outcomes:
    """Add the quotas, topics and configs of a typical company: quotas at all eight levels and of ips, configs at
    several sources.

    Seeding twice changes nothing.

    Returns
    -------
    Outcomes
        A row for each quota and config, verified on every broker.
    """
    cluster.port.create_topics(TOPICS)
    stage = cluster.new_stage()
    stage.add(QUOTA_LINES + CONFIG_LINES)
    return stage.plan("seed").apply(allow=SHORTENED).raise_for_errors()


# --- the clients ---

NAME = "demo"
TOPIC = "invoices"
RECORD = b"-" * 16_384
TICK = 0.05
"""Seconds between two sendings of a client."""

BEGINNING = 5.0
"""Seconds until the clients have the rates that they keep."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client under load, and the bytes per second that it sends where no quota delays it."""

    user: str
    client_id: str
    rate: float


CLIENTS = (
    Client("team-orders", "billing", 5.8e6),  # of 5 MB/s
    Client("alice", "notebook", 0.38e6),  # of 500 kB/s
    Client("team-app", "web", 0.42e6),  # of 1 MB/s
)

_EXTRA = {
    "log.retention.bytes": "16777216",  # the traffic's topic keeps 24 MB
    "log.segment.bytes": "8388608",
    "log.segment.delete.delay.ms": "1000",
    "log.retention.check.interval.ms": "5000",
    "quota.window.num": "4",  # a client is delayed after 3 s above its limit, by default after 10
}


def demo(*, traffic: bool = True, progress: Callable[[str], None] | None = None) -> Cluster:
    """A connection to the demo: a local Kafka with the quotas of a typical company, and three clients under load.

    It is the one that this process has started, or `kadmin-nb demo`; otherwise one is started, which ends with this
    process.

    Parameters
    ----------
    traffic
        False: one without clients.
    progress
        Called with a line of text where something takes long.

    Examples
    --------
    >>> cluster = kn.demo()  # doctest: +SKIP
    >>> requests = cluster.observe(5, to_read=True).requests()  # doctest: +SKIP
    >>> cluster.quotas.why("team-orders", "billing", usage=requests)  # doctest: +SKIP
    """
    if traffic and (lasting := _lasting()) is not None:
        return lasting.connect()
    if traffic not in _started or _started[traffic].state != "running":
        _started[traffic] = _filled(local_kafka.start, None, traffic, progress)
    return _started[traffic].connect()


_started: dict[bool, LocalKafka] = {}
"""The demos of this process, with traffic and without."""


def lasting_demo(progress: Callable[[str], None] | None = None) -> LocalKafka:
    """The demo of the terminal, with traffic, started unless it runs; it stays until it is stopped."""
    return _lasting() or _filled(local_kafka.launch, NAME, True, progress)


def _lasting() -> LocalKafka | None:
    return next((one for one in local_kafka.status() if one.name == NAME and one.state == "running"), None)


def _filled(
    start: Callable[..., LocalKafka], name: str | None, traffic: bool, progress: Callable[[str], None] | None
) -> LocalKafka:
    """A new local Kafka, with what the company has set, and the clients."""
    users = [client.user for client in CLIENTS] if traffic else []
    kafka = start(name=name, users=users, extra=_EXTRA if traffic else None, progress=progress)
    try:
        with kafka.connect() as cluster:
            seed(cluster)
            if traffic:
                cluster.port.create_topics({TOPIC: 1})
                _begin_traffic(kafka)
    except BaseException:
        kafka.stop()
        raise
    return kafka


_PROGRAM = "import sys; from kadmin_nb.local import demo, find; demo.send_while_it_runs(find(sys.argv[1]))"


def _begin_traffic(kafka: LocalKafka) -> None:
    """Start the process of the traffic."""
    folder = kafka.folder / "traffic"
    folder.mkdir(mode=0o700)
    token = f"{kafka.nodes[0].run.run_id}-traffic"
    command = [sys.executable, "-c", _PROGRAM, kafka.name, token]
    runs.spawn(folder, token, command, runs.environment())


def _producer(kafka: LocalKafka, client: Client) -> Any:
    """A producer with a short queue."""
    from confluent_kafka import Producer

    from kadmin_nb.admin import transactions
    from kadmin_nb.profiles import settings_for

    login = transactions.config(settings_for(str(kafka.user_properties(client.user))))
    short = {"linger.ms": 20, "queue.buffering.max.kbytes": 2048, "message.timeout.ms": 10_000}
    return Producer({**login, **short, "client.id": client.client_id})


def send_while_it_runs(kafka: LocalKafka) -> None:
    """Send until the broker is gone."""
    producers = [(_producer(kafka, client), client) for client in CLIENTS]
    due, last = dict.fromkeys(CLIENTS, 0.0), time.monotonic()
    while kafka.nodes[0].pid is not None:
        until = time.monotonic() + 1
        while (now := time.monotonic()) < until:
            for producer, client in producers:
                due[client] = min(due[client] + client.rate * (now - last), client.rate)
                with suppress(BufferError):  # while a broker delays it, its queue is full
                    while due[client] >= len(RECORD):
                        producer.produce(TOPIC, RECORD)
                        due[client] -= len(RECORD)
                producer.poll(0)
            last = now
            time.sleep(TICK)
