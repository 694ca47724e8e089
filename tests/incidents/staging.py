"""The incidents as they are staged on a real cluster: names and values are drawn, real clients make the traffic."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.frames.answer import Answer
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.quota_keys import text_of
from kadmin_nb.plans.outcomes import Outcomes
from tests.cluster.conftest import PLUGINS
from tests.dangerous_plans import allowances, applied
from tests.incidents import clients
from tests.waiting import eventually

OBSERVED = 13.0
"""Seconds that an incident is watched: brokers average over 11 s, and let a client use all of it at once."""

Question = Callable[[], Answer]


@dataclass
class Scene:
    """One incident on a cluster: what was drawn for it, and what is put back when it is over."""

    kafka: LocalKafka
    cluster: kn.Cluster
    user: str
    over: contextlib.ExitStack
    drawn: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.drawn |= {"user": self.user, "client_id": self.name("job no")}

    @property
    def client_id(self) -> str:
        return self.drawn["client_id"]

    def name(self, stem: str) -> str:
        """A name that nobody has used; a client-id may have a blank."""
        return f"{stem} {secrets.token_hex(3)}" if " " in stem else f"{stem}-{secrets.token_hex(3)}"

    def draw(self, low: int, high: int) -> int:
        """A value, and with it `limit` and `twice` of the key."""
        value = random.randint(low, high)
        self.drawn |= {"limit": text_of(value), "twice": text_of(2 * value)}
        return value

    def change(self, *lines: str, kind: str = "quota") -> None:
        """Make these changes, and take them back when it is over."""
        stage = self.cluster.new_stage()
        stage.add("\n".join(lines), kind=kind)
        outcomes = applied(stage.plan("an incident")).raise_for_errors()
        self.over.callback(self._take_back, outcomes)

    def _take_back(self, outcomes: Outcomes) -> None:
        plan = self.cluster.rollback(outcomes.plan_id)
        self.cluster.apply(plan, allow=allowances(plan)).raise_for_errors()

    def topic(self, replicas: Sequence[Sequence[int]] = ((1,), (2,), (3,))) -> str:
        """A topic whose partitions have these replicas, the first of each its leader."""
        name = self.drawn["topic"] = self.name("topic")
        admin = AdminClient(clients.login(self.kafka, "admin", "staging"))
        admin.create_topics([NewTopic(name, len(replicas), replica_assignment=[*map(list, replicas)])])[name].result()
        eventually(lambda: {one.leader for one in self.cluster.port.partitions([name])}, {one[0] for one in replicas})
        self.over.callback(admin.delete_topics, [name])
        return name

    def login(self, client_id: str | None = None) -> dict[str, object]:
        return clients.login(self.kafka, self.user, client_id or self.client_id)

    def runs(self, work: Callable[[clients.Stop], None]) -> None:
        self.over.enter_context(clients.running(work))

    def fill(self, topic: str, records: int, acks: object = "all") -> None:
        """Write records of 1 kB to the partitions in turn."""
        producer = Producer({**clients.login(self.kafka, "admin", "filling"), "acks": acks})
        partitions = len(self.cluster.port.partitions([topic]))
        for number in range(records):
            producer.produce(topic, os.urandom(1_000), partition=number % partitions)
            producer.poll(0)
        assert producer.flush(30) == 0

    def why_client(self, client_id: str | None = None, before: float = 3.0) -> Question:
        """Ask about the client, after its traffic has gone on for a while."""
        time.sleep(before)
        requests = self.cluster.observe(OBSERVED, to_read=True).requests()
        asked = self.client_id if client_id is None else client_id
        return lambda: self.cluster.quotas.why(self.user, asked, usage=requests)


def share_group(scene: Scene) -> Question:
    topic, group, limit = scene.topic(), scene.name("group"), scene.draw(50_000, 150_000)
    scene.change(f"set consumer_byte_rate={limit} 'client-id={scene.client_id}'")
    scene.change(f"set share.auto.offset.reset=earliest group={group}", kind="config")
    scene.fill(topic, 20_000)
    scene.runs(clients.shares(scene.login(), topic, group))
    return scene.why_client(before=10.0)


def request_quota(scene: Scene) -> Question:
    limit = scene.draw(1, 3)
    scene.change(f"set request_percentage={limit} user={scene.user} 'client-id={scene.client_id}'")
    scene.runs(clients.writes(scene.login(), scene.topic(), size=50, batch=100))
    return scene.why_client()


def replication_throttle(scene: Scene) -> Question:
    leader, follower = random.sample((1, 2, 3), 2)
    topic, node = scene.topic([[leader, follower]]), scene.kafka.nodes[follower - 1]
    scene.change(
        f"set follower.replication.throttled.replicas=0:{follower} topic={topic}",
        f"set follower.replication.throttled.rate={scene.draw(1_000, 9_000)} broker={follower}",
        kind="config",
    )
    node.pause()
    try:
        scene.fill(topic, 5_000, acks=1)
        eventually(lambda: {one.in_sync for one in scene.cluster.port.partitions([topic])}, {(leader,)})
    finally:
        node.resume()
    eventually(lambda: sum(not broker.is_fenced for broker in scene.cluster.port.brokers()), 3)
    return lambda: scene.cluster.configs.why(topic=topic)


def noisy_neighbour(scene: Scene) -> Question:
    limit, topic = scene.draw(100_000, 200_000), scene.topic()
    neighbour = scene.drawn["neighbour"] = scene.name("batch")
    scene.change(f"set producer_byte_rate={limit} user={scene.user}")
    scene.runs(clients.writes(scene.login(neighbour), topic))
    scene.runs(clients.writes(scene.login(), topic, pause=0.1))
    return scene.why_client()


def stale_override(scene: Scene) -> Question:
    limit = scene.draw(50_000, 150_000)
    scene.change(
        f"set producer_byte_rate={50 * limit} user={scene.user}",
        f"set producer_byte_rate={limit} user={scene.user} 'client-id={scene.client_id}'",
    )
    scene.runs(clients.writes(scene.login(), scene.topic()))
    return scene.why_client()


def custom_callback(scene: Scene) -> Question:
    """The class of a broker's file: it takes a broker of its own."""
    extra = {"client.quota.callback.class": "GenerousCallback"}
    kafka = scene.over.enter_context(kn.local.start(plugins=[PLUGINS], extra=extra))
    cluster = scene.over.enter_context(kafka.connect())
    return lambda: cluster.quotas.why(scene.user, scene.client_id)


def two_brakes(scene: Scene) -> Question:
    written = scene.draw(20_000, 40_000)
    scene.drawn["twice_written"] = text_of(2 * written)
    scene.change(
        f"set producer_byte_rate=500MB/s user={scene.user}",
        f"set producer_byte_rate={written} user={scene.user} 'client-id={scene.client_id}'",
        f"set request_percentage={scene.draw(3, 6)} user={scene.user}",
    )
    topic = scene.topic()
    scene.runs(clients.writes(scene.login(), topic, batch=64_000))
    scene.runs(clients.asks_often(scene.login(), topic))
    return scene.why_client()


def raised_since(scene: Scene) -> Question:
    limit = scene.draw(50_000, 150_000)
    own = f"user={scene.user} 'client-id={scene.client_id}'"
    scene.change(f"set producer_byte_rate={limit} {own}")
    scene.runs(clients.writes(scene.login(), scene.topic()))
    question = scene.why_client()
    scene.change(f"set producer_byte_rate={1000 * limit} {own}")
    return question


def unseen(scene: Scene) -> Question:
    """Somebody leaves out the last letter of the client-id."""
    scene.change(f"set producer_byte_rate={scene.draw(50_000, 150_000)} user={scene.user}")
    scene.runs(clients.writes(scene.login(), scene.topic()))
    typed = scene.drawn["typed"] = scene.client_id[:-1]
    return scene.why_client(typed)


def two_keys(scene: Scene) -> Question:
    own, read_at = f"user={scene.user} 'client-id={scene.client_id}'", random.randint(50_000, 150_000)
    scene.drawn["twice_read"] = text_of(2 * read_at)
    scene.change(
        f"set producer_byte_rate=500MB/s user={scene.user}",
        f"set producer_byte_rate={scene.draw(50_000, 150_000)} {own}",
        f"set consumer_byte_rate={read_at} {own}",
    )
    written, read = scene.topic(), scene.topic()
    scene.fill(read, 20_000)
    scene.runs(clients.writes(scene.login(), written))
    scene.runs(clients.reads(scene.login(), read, **{"max.partition.fetch.bytes": 50_000}))
    return scene.why_client()


def none_at_all(scene: Scene) -> Question:
    scene.change(
        f"set producer_byte_rate={scene.draw(50_000_000, 90_000_000)} user={scene.user}",
        f"set request_percentage=400 user={scene.user}",
        "set connection_creation_rate=5000 ip=127.0.0.1",
    )
    scene.runs(clients.writes(scene.login(), scene.topic(), pause=0.02))
    return scene.why_client()


STAGED: dict[str, Callable[[Scene], Question]] = {
    "a share group": share_group,
    "a request quota": request_quota,
    "a replication throttle left behind": replication_throttle,
    "a bucket shared with a noisy neighbour": noisy_neighbour,
    "a stale override": stale_override,
    "a custom callback": custom_callback,
    "two brakes at once": two_brakes,
    "throttled yesterday, raised since": raised_since,
    "a client that nobody saw": unseen,
    "two keys at 100 %": two_keys,
    "none at all": none_at_all,
}
