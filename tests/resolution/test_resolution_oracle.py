"""Kafka's own ClientQuotaManager, driven through py4j, says the same as the rule: limits and buckets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from kadmin_nb.jars import find_jars
from kadmin_nb.java import find_java
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.resolution.rules import Stored, entity_at, explain, metric_tags, sanitized
from tests.resolution.hierarchies import HOSTILE, KEY, subset

pytestmark = pytest.mark.broker
UNLIMITED = 2.0**63
CLIENTS = [("alice", "app"), ("alice", ""), ("alice", "else"), ("bob", "app"), ("bob", ""), ("", "app"), ("", "")]


class Broker:
    """The broker's quota manager of one quota type, holding one hierarchy at a time."""

    def __init__(self, jvm: Any) -> None:
        self.jvm, self.held = jvm, dict[tuple[Entity, str], float]()
        server, common = jvm.org.apache.kafka.server, jvm.org.apache.kafka.common
        config = server.config.ClientQuotaManagerConfig()
        produce, clock = server.quota.QuotaType.PRODUCE, common.utils.Time.SYSTEM
        self.manager_class = server.quota.ClientQuotaManager
        self.manager = self.manager_class(config, common.metrics.Metrics(), produce, clock, "oracle")
        self.optional, self.quota = jvm.java.util.Optional, common.metrics.Quota
        self.sessions, self.maps = dict[str, Any](), dict[tuple[tuple[str, str], ...], Any]()
        self.session, self.principal = jvm.org.apache.kafka.network.Session, common.security.auth.KafkaPrincipal

    def hold(self, stored: Stored) -> None:
        """Change what is held to this hierarchy, quota by quota, as a broker does when metadata changes."""
        for entity, _ in self.held.keys() - stored.keys():
            self._update(entity, self.optional.empty())
        for (entity, key), value in stored.items():
            if self.held.get((entity, key)) != value:
                self._update(entity, self.optional.of(self.quota.upperBound(value)))
        self.held = dict(stored)

    def _update(self, entity: Entity, quota: Any) -> None:
        self.manager.updateQuota(self._user(entity), self._client(entity), quota)

    def _user(self, entity: Entity) -> Any:
        name = entity.get("user")
        if name is None or name is DEFAULT:
            return self._absent_or(name, self.manager_class.DEFAULT_USER_ENTITY)
        return self.optional.of(self.manager_class.UserEntity(self.sanitized(str(name))))

    def _client(self, entity: Entity) -> Any:
        name = entity.get("client-id")
        if name is None or name is DEFAULT:
            return self._absent_or(name, self.manager_class.DEFAULT_USER_CLIENT_ID)
        return self.optional.of(self.manager_class.ClientIdEntity(str(name)))

    def _absent_or(self, name: object, default: Any) -> Any:
        return self.optional.empty() if name is None else self.optional.of(default)

    def sanitized(self, user: str) -> str:
        return str(self.jvm.org.apache.kafka.common.utils.internals.Sanitizer.sanitize(user))

    def limit(self, user: str, client_id: str) -> float:
        return float(self.manager.quota(user, client_id).bound())

    def tags(self, user: str, client_id: str) -> Any:
        """The bucket: the tags of the sensors that this client's traffic is counted on, a map of Java's."""
        if user not in self.sessions:
            self.sessions[user] = self.session(self.principal("User", user), None)
        return self.manager.getOrCreateQuotaSensors(self.sessions[user], client_id).metricTags()

    def java_map(self, tags: Mapping[str, str]) -> Any:
        """The same as Java has it: maps are compared there, as each word of one takes a call."""
        items = tuple(tags.items())
        if items not in self.maps:
            self.maps[items] = self.jvm.java.util.HashMap()
            for name, value in items:
                self.maps[items].put(name, value)
        return self.maps[items]


@pytest.fixture(scope="module")
def gateway() -> Iterator[JavaGateway]:
    jars, java = find_jars().classpath, find_java()
    options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={os.devnull}"]
    port, token = launch_gateway(
        classpath=jars, java_path=str(java.command), javaopts=options, die_on_exit=True, enable_auth=True
    )
    running = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    yield running
    running.shutdown()


@pytest.fixture
def broker(gateway: JavaGateway) -> Iterator[Broker]:
    started = Broker(gateway.jvm)
    yield started
    started.manager.shutdown()


def compare(broker: Broker, stored: Stored, clients: Iterable[tuple[str, str]]) -> None:
    for user, client_id in clients:
        (ours,) = explain(stored, user, client_id, [KEY])
        assert broker.limit(user, client_id) == (UNLIMITED if ours.value is None else ours.value), str(ours)
        if ours.bucket is not None:
            tags = broker.tags(user, client_id)
            assert tags.equals(broker.java_map(metric_tags(*ours.bucket))), f"{ours}: {tags}"


def test_the_broker_agrees_on_every_subset_of_levels(broker: Broker) -> None:
    """The tool said USER and the broker throttled by CLIENT."""
    for number in (n ^ n >> 1 for n in range(256)):
        broker.hold(subset(number))
        compare(broker, subset(number), CLIENTS)


@pytest.mark.parametrize("number", [255, 0b00100101, 0b11011010, 0b11000000])
def test_the_broker_agrees_on_hostile_names(broker: Broker, number: int) -> None:
    """A user with a star in his name was looked up under another one."""
    names = list(HOSTILE)
    stored = {key: value for name in names for key, value in subset(number, name, name).items()}
    broker.hold(stored)
    compare(broker, stored, [(user, client) for user in names for client in (user, "", "alice", names[0])])


def test_the_broker_spells_users_in_tags_as_we_do(broker: Broker) -> None:
    """The dashboard's query found no metric for a user with a space."""
    for name in (*HOSTILE, "".join(map(chr, range(1, 256)))):
        assert broker.sanitized(name) == sanitized(name)


def test_the_broker_agrees_when_quotas_come_and_go(broker: Broker) -> None:
    """After a removal the broker still used the level that was gone."""
    for level in LEVELS:
        for kept in LEVELS:
            stored = {(entity_at(one, "alice", "app"), KEY): 7.0 for one in {level, kept}}
            broker.hold(stored)
            compare(broker, stored, CLIENTS)
        broker.hold({})
        compare(broker, {}, CLIENTS)
