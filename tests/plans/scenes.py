"""What the simulator plays: small clusters, and plans with every kind of change on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Change
from kadmin_nb.model.client_configs import ClientEntity, Replacement
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import sending
from kadmin_nb.plans.sending import Wave
from kadmin_nb.plans.stage import Stage
from kadmin_nb.plans.stalls import schedule
from tests.double import FakeKafka
from tests.plans.simulation import Scene

RATE, PERCENT = "producer_byte_rate", "request_percentage"


def hold(kafka: FakeKafka, quotas: dict[tuple[str, str], float], configs: dict[tuple[str, str], str]) -> None:
    """The cluster holds this, and has the topics that are named."""
    for (entity, key), value in quotas.items():
        kafka.cluster.write((Entity.parse(entity), key), value)
    for (resource, key), text in configs.items():
        whom = Resource.parse(resource)
        kafka.cluster.topics |= {whom.name} if whom.type == "TOPIC" else set()
        kafka.cluster.write((whom, key), text)


def levels(kafka: FakeKafka) -> None:
    quotas = {
        ("user=raised", RATE): 100.0,
        ("user=lowered", RATE): 100.0,
        ("user=lowered", PERCENT): 9.0,
        ("user=<default>", RATE): 50.0,
        ("user=gone client-id=app", RATE): 5.0,
        ("user=so", RATE): 30.0,
        ("user=bystander", RATE): 7.0,
    }
    hold(kafka, quotas, {})


def change_levels(stage: Stage) -> None:
    stage.set_quota(RATE, 200, user="raised")
    stage.set_quota(RATE, 10, user="lowered")
    stage.set_quota(PERCENT, 20, user="lowered")
    stage.set_quota(RATE, 20, user=kn.DEFAULT)
    stage.set_quota(RATE, 60, user="new", client_id="app")
    stage.remove_quota(RATE, user="gone", client_id="app")
    stage.set_quota(PERCENT, 50, client_id="new")
    stage.set_quota(RATE, 30, user="so")


def settings(kafka: FakeKafka) -> None:
    configs = {
        ("topic=set", "retention.ms"): "1000",
        ("topic=set", "max.message.bytes"): "5000",
        ("topic=reset", "retention.ms"): "1000",
        ("topic=lists", "cleanup.policy"): "compact,delete",
        ("topic=grows", "max.message.bytes"): "6000",
        ("topic=bystander", "retention.ms"): "77",
        ("broker=2", "max.connections"): "20",
    }
    hold(kafka, {("user=bystander", RATE): 7.0}, configs)


def change_settings(stage: Stage) -> None:
    stage.set_config("retention.ms", "2000", topic="set")
    stage.reset_config("retention.ms", topic="reset")
    stage.subtract_config("cleanup.policy", "compact", topic="lists")
    stage.append_config("cleanup.policy", "compact", topic="grows")
    stage.set_config("max.connections", "30", broker=kn.DEFAULT)
    stage.reset_config("max.connections", broker=2)
    stage.set_config("log.retention.ms", "5000", broker=1)
    stage.set_config("kafka.server.KafkaApis", "DEBUG", broker_logger=3)


def both(kafka: FakeKafka) -> None:
    hold(kafka, {("user=a", RATE): 5.0, ("user=b", RATE): 6.0}, {("topic=t", "retention.ms"): "1000"})


def change_both(stage: Stage) -> None:
    stage.set_quota(RATE, 50, user="a")
    stage.remove_quota(RATE, user="b")
    stage.set_config("retention.ms", "2000", topic="t")


def one(kafka: FakeKafka) -> None:
    hold(kafka, {("user=a", RATE): 5.0}, {})


def change_one(stage: Stage) -> None:
    stage.set_quota(RATE, 50, user="a")


def busy(kafka: FakeKafka) -> None:
    hold(kafka, {("user=busy", RATE): 5e6, ("user=b", RATE): 6.0}, {})


def lower(stage: Stage) -> None:
    stage.set_quota(RATE, 100_000, user="busy")
    stage.set_quota(RATE, 60, user="b")


def in_steps(kafka: FakeKafka):
    """As `Cluster.apply(gradual=60)` does it; what is the same again and again is computed once."""

    def waves(changes: Sequence[Change]) -> list[Wave]:
        quotas = kafka.quotas.describe()
        asked = tuple(changes), str(quotas.to_pylist())
        if asked not in SCHEDULES:
            SCHEDULES[asked] = schedule(sending.waves(changes), quotas, USED, 60.0, request=1e4)
        return SCHEDULES[asked]

    return waves


SCHEDULES: dict[object, list[Wave]] = {}


def client_configs(kafka: FakeKafka) -> None:
    hold(kafka, {("user=a", RATE): 5.0}, {})
    own, of_app = {"acks": Replacement(None, "all")}, {"heartbeat.interval.ms": Replacement(None, "5000")}
    kafka.client_configs.alter({ClientEntity("a", None): own, ClientEntity("a", "app"): of_app})


def change_client_configs(stage: Stage) -> None:
    stage.set_quota(RATE, 50, user="a")
    stage.set_client_config("heartbeat.interval.ms", "6000", user="a", client_id="app")
    stage.reset_client_config("acks", user="a")
    stage.set_client_config("session.timeout.ms", "50000", user="b")


NOW = datetime(2026, 1, 1, tzinfo=UTC)
USED = schemas.table(
    schemas.USAGE,
    [
        {
            "broker": 1,
            "user": "busy",
            "client_id": "app",
            "key": RATE,
            "window_start": NOW - timedelta(seconds=30),
            "window_end": NOW,
            "value": 1e6,
            "source": "a test",
        }
    ],
)

SCENES = {
    "quotas of several levels": Scene("levels", levels, change_levels),
    "configs of several kinds": Scene("settings", settings, change_settings),
    "a quota lowered in steps": Scene("steps", busy, lower, waves=in_steps),
}
SMALL = {
    "one quota on slow brokers": Scene("one", one, change_one, lag=0.05),
    "quotas and configs": Scene("both", both, change_both),
}
UNDONE = {"client configs and a quota": Scene("client configs", client_configs, change_client_configs)}
"""Played by what rolls back alone."""
