"""Real clients of a broker that logs its requests: some within their limits, some above, and two that share one."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import javaproperties
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.dangerous_plans import applied
from tests.logged_requests import requests_of
from tests.persons import give_password
from tests.waiting import eventually

TOPIC = "usage"
ALICE, BOB = "usage-alice", "usage-bob"
FREE, EASY, TIGHT, READER = "free", "easy", "tight", "reader"
"""alice's clients: without a limit, far below it, and above it."""
LEFT, RIGHT = "left", "right"
"""bob's, whose one limit they share: neither is above it alone."""
LIMIT, FAR = 100_000.0, 50_000_000.0
SENT = {LEFT: 850, RIGHT: 850, TIGHT: 1500, EASY: 300, FREE: 3000}
"""Records of 1,000 bytes."""
OWNERS = {LEFT: BOB, RIGHT: BOB, TIGHT: ALICE, EASY: ALICE, FREE: ALICE}
READ = 2000


class Traffic:
    """Real clients of a broker that logs its requests, and what they themselves saw."""

    def __init__(self, kafka: LocalKafka, topic: str) -> None:
        self.kafka, self.topic = kafka, topic
        self.log = kafka.nodes[0].folder / "request.log"
        self.throttled: dict[str, float] = {}
        self.traffic: dict[str, dict[str, int]] = {}
        self.quotas: kn.Answer | None = None

    def settings(self, user: str, client_id: str) -> dict[str, object]:
        told = javaproperties.loads(self.kafka.user_properties(user).read_text())
        password = told["sasl.jaas.config"].split('password="', 1)[1].split('"', 1)[0]
        return {
            "bootstrap.servers": self.kafka.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": told["sasl.mechanism"],
            "sasl.username": user,
            "sasl.password": password,
            "client.id": client_id,
            "statistics.interval.ms": 100,
            "stats_cb": lambda text: self.traffic.update({client_id: json.loads(text)}),
            "throttle_cb": lambda event: self._mute(client_id, event.throttle_time * 1000),
        }

    def _mute(self, client_id: str, ms: float) -> None:
        self.throttled[client_id] = max(self.throttled.get(client_id, 0.0), ms)

    def produce(self, user: str, client_id: str, records: int) -> None:
        producer = Producer({**self.settings(user, client_id), "linger.ms": 20, "batch.size": 50_000})
        for _ in range(records):
            producer.produce(self.topic, bytes(1000))
            producer.poll(0)
        assert producer.flush(60) == 0
        producer.poll(0.5)

    def fetch(self, user: str, client_id: str, records: int) -> None:
        consumer = Consumer({**self.settings(user, client_id), "group.id": client_id, "enable.auto.commit": False})
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        until, seen = time.monotonic() + 60, 0
        while seen < records and time.monotonic() < until:
            seen += sum(message.error() is None for message in consumer.consume(1000, 0.2))
        consumer.poll(0.5)
        consumer.close()
        assert seen >= records

    def told(self, client_id: str, field: str) -> int:
        """What librdkafka counted on its connections, every request and answer in full."""
        return sum(broker[field] for broker in self.traffic[client_id]["brokers"].values())

    def logged(self, client_id: str) -> list[dict[str, object]]:
        """The client's requests by the log, read in another way."""
        return requests_of(client_id, self.log)

    def run(self) -> None:
        """All that produce at once, then the one that reads."""
        with ThreadPoolExecutor(len(SENT)) as threads:
            list(threads.map(self.produce, OWNERS.values(), SENT, SENT.values()))
        self.fetch(ALICE, READER, READ)
        eventually(self._is_logged, True)

    def _is_logged(self) -> bool:
        """An answer is logged a moment after the client has it."""
        fetches = [one for one in self.logged(READER) if one["requestHeader"]["requestApiKeyName"] == "FETCH"]
        topics = [topic for one in fetches for topic in one["response"]["responses"]]
        return sum(part["recordsSizeInBytes"] for topic in topics for part in topic["partitions"]) >= READ * 1000


def told_by(kafka: LocalKafka, folder: Path) -> Traffic:
    """The traffic of all clients, with the request log on meanwhile; a copy of it is in the folder."""
    traffic = Traffic(kafka, TOPIC)
    with kafka.connect() as cluster:
        cluster.port.create_topics({TOPIC: 1})
        for user in (ALICE, BOB):
            give_password(cluster.port, user, "s3cret")
            kafka.remember_login(user, "s3cret")
        stage = cluster.new_stage()
        stage.set_config("kafka.request.logger", "DEBUG", broker_logger=1)
        stage.set_quota("producer_byte_rate", FAR, user=ALICE, client_id=EASY)
        stage.set_quota("producer_byte_rate", LIMIT, user=ALICE, client_id=TIGHT)
        stage.set_quota("consumer_byte_rate", LIMIT, user=ALICE, client_id=READER)
        stage.set_quota("producer_byte_rate", LIMIT, user=BOB)
        outcomes = stage.plan().apply()
        assert outcomes.ok
        try:
            _allow(traffic, (ALICE, BOB))
            traffic.run()
            traffic.quotas = cluster.quotas.describe()
            traffic.log = Path(shutil.copy(traffic.log, folder))
        finally:
            applied(cluster.rollback(outcomes.plan_id))
    return traffic


def _allow(traffic: Traffic, users: Sequence[str]) -> None:
    """Rights and logins reach the broker a moment after they are acknowledged."""
    admin = AdminClient({k: v for k, v in traffic.settings("admin", "acls").items() if not k.endswith("_cb")})
    rights = [(ResourceType.TOPIC, TOPIC), (ResourceType.GROUP, READER)]
    all_of_it = (AclOperation.ALL, AclPermissionType.ALLOW)
    acls = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", *all_of_it)
        for kind, name in rights
        for user in users
    ]
    for future in admin.create_acls(acls).values():
        future.result()
    for user in users:
        eventually(lambda user=user: _can_write(traffic, user), True)


def _can_write(traffic: Traffic, user: str) -> bool:
    errors: list[object] = []
    producer = Producer({**traffic.settings(user, "probe"), "message.timeout.ms": 5000})
    producer.produce(traffic.topic, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(10)
    return errors == [None]
