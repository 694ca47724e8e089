"""A believable hierarchy for a local Kafka, the same every time: itself a plan, applied and verified."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..plans.outcomes import Outcomes

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

HOSTILE_LINES = """
set producer_byte_rate=700kB/s user==<default>
set producer_byte_rate=710kB/s 'user=CN=etl, OU=data, O=Example' 'client-id=night job'
set producer_byte_rate=720kB/s user=DOMAIN\\alice
set producer_byte_rate=730kB/s user=жанна client-id=日本語
set producer_byte_rate=740kB/s 'user=<b onmouseover="alert(1)">bold</b>'
set producer_byte_rate=750kB/s user==--apply client-id==<any>
set producer_byte_rate=760kB/s 'client-id=a;b,c*d%20e'
"""
"""Names that are not what they look like."""

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


def seed(cluster: Cluster, *, hostile: bool = False, progress: Callable[[str], None] | None = None) -> Outcomes:
    """Add the quotas, topics and configs of a typical company: quotas at all eight levels and of ips, configs at
    several sources.

    Seeding twice changes nothing.

    Parameters
    ----------
    hostile
        Also add quotas with misleading names: markup, options, a user called `<default>`.
    progress
        Called with a line for each step.

    Returns
    -------
    Outcomes
        A row for each quota and config, verified on every broker.
    """

    say = progress or (lambda text: None)
    say(f"making {len(TOPICS)} topics")
    cluster.port.create_topics(TOPICS)
    stage = cluster.new_stage()
    stage.add(QUOTA_LINES + CONFIG_LINES + (HOSTILE_LINES if hostile else ""))
    say(f"setting {len(stage)} quotas and configs")
    return stage.plan("seed").apply(allow=SHORTENED).raise_for_errors()
