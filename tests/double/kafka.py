"""A connection to the double: `ports.Kafka` over a cluster in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from kadmin_nb.admin import error_codes
from kadmin_nb.admin.ports import UNSIGNED, Broker, Component, ConfigOperation, CredentialChange, Signature
from kadmin_nb.client_configs.topic import Replacements
from kadmin_nb.errors import ConnectionFailed, KadminError, NotFound, TimedOut
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Refusal, Target
from kadmin_nb.model.client_configs import ClientEntity, Replacement
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Partition, Resource
from kadmin_nb.model.scram import ScramUser

from . import client_config_rules, config_rules, leases, quota_rules, scram_rules
from .calls import Call
from .faults import Fault
from .metadata import Cluster, Value

START = datetime(2026, 1, 1, tzinfo=UTC)
LATENCY = 0.001
"""Seconds that a request takes there, and its answer back."""

Answers = dict[Any, Refusal | None]


class FakeKafka:
    """A cluster of so many brokers, or another connection to one; each connection counts its own calls.

    The n-th broker is n times `lag` seconds behind the controller. `faults` maps the number of a call, from 1, to what
    goes wrong there. `before` is called before every call and sleep: an interleaving of several connections hangs
    there. `carried` are told of every call that is made. Without `locks`, no lease can be had.
    """

    id = "double"
    version = "4.4"

    def __init__(
        self,
        brokers: int = 3,
        *,
        faults: Mapping[int, Fault] | None = None,
        cluster: Cluster | None = None,
        timeout: float = 30.0,
        lag: float = 0.002,
        locks: bool = True,
    ) -> None:
        self.cluster = cluster or Cluster(brokers, lag)
        self.faults = dict(faults or {})
        self.calls: list[Call] = []
        self.before: Callable[[str], None] = lambda what: None
        self.carried: list[Callable[[Call], None]] = []
        self.interrupted = False
        self.slept = 0.0
        self.timeout, self.locks = timeout, locks
        self.quotas, self.configs, self.scram = _Quotas(self), _Configs(self), _Scram(self)
        self.client_configs = _ClientConfigs(self)

    def beside(self, **options: Any) -> FakeKafka:
        """Another connection to the same cluster."""
        return FakeKafka(cluster=self.cluster, **options)

    def brokers(self) -> list[Broker]:
        """Every registered broker, fenced ones included."""
        nodes = self.cluster.nodes.values()
        return self.request(
            "list brokers",
            lambda _: [Broker(n.id, f"b{n.id}", 9092, None, n.is_fenced(self.cluster.now)) for n in nodes],
        )

    def together(self, *questions: Callable[[], Any]) -> list[Any]:
        """The answers, one after the other: a call has its number."""
        return [question() for question in questions]

    def lease(self, plan_id: str, holder: str, *, steal: bool = False) -> leases.Lease:
        """The right to change this cluster (reliability.md A3.8)."""
        return leases.had(self, plan_id, holder, steal)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.cluster.now)

    def monotonic(self) -> float:
        return self.cluster.now - self.slept

    def boottime(self) -> float:
        return self.cluster.now

    def suspend(self, seconds: float) -> None:
        """The machine sleeps, as a closed laptop does, while the cluster goes on."""
        self.slept += seconds
        self.cluster.pass_(seconds)

    def sleep(self, seconds: float) -> None:
        self.before("sleep")
        self.cluster.pass_(seconds)

    def topics(self) -> list[str]:
        return sorted(self.cluster.topics)

    def create_topics(self, wanted: Mapping[str, int]) -> None:
        """They are known everywhere at once."""
        self.cluster.topics |= set(wanted)

    def groups(self) -> list[str]:
        return list(self.cluster.groups)

    def throttling(self, throttles: Collection[Target]) -> dict[Target, str]:
        return dict.fromkeys(throttles, self.cluster.copying) if self.cluster.copying else {}

    def partitions(self, names: Collection[str]) -> list[Partition]:
        """The partitions of these topics; those that nobody may read are an error."""
        known = self.cluster.partitions
        if known is None:
            raise error_codes.error(Refusal("TOPIC_AUTHORIZATION_FAILED"), "asking for the leaders of topics")
        return [partition for partition in known if partition.topic in names]

    def recreate_topic(self, name: str) -> None:
        """It is deleted and created again, without what was set on it."""
        self.cluster.recreated[name] += 1
        for key in [*self.cluster.head.values.get(Resource("TOPIC", name), ())]:
            self.cluster.write((Resource("TOPIC", name), key), None)

    def grant(self) -> None:
        """All rights are back."""
        self.cluster.may_read = self.cluster.may_alter = True

    @property
    def alters(self) -> list[Call]:
        """The calls so far that were to change something."""
        return [call for call in self.calls if call.alters]

    def request(
        self,
        verb: str,
        carry_out: Callable[[Mapping[Any, Any]], Any],
        *,
        node: int | None = None,
        timeout: float | None = None,
        parts: Mapping[Any, Any] | None = None,
        validate_only: bool = False,
    ) -> Any:
        """One call: counted, struck by the fault that is scheduled for it, else delivered."""
        self.before(verb)
        number = len(self.calls) + 1
        where = self._anyone(number) if node is None else node
        call = Call(number, verb, where, timeout or self.timeout, carry_out, parts or {}, validate_only)
        self.calls.append(call)
        for told in self.carried:
            told(call)
        fault = self.faults.get(number)
        return fault.strike(self, call) if fault and fault.fits(call) else self.deliver(call)

    def deliver(self, call: Call, parts: Mapping[Any, Any] | None = None) -> Any:
        """The way of a call to its broker and back."""
        node = self.cluster.nodes.get(call.node)
        if node is None:
            raise NotFound(f"broker {call.node} is not in the cluster", code="BROKER_ID_NOT_REGISTERED")
        self.cluster.pass_(LATENCY)
        if node.is_down(self.cluster.now):
            raise ConnectionFailed(f"broker {call.node} refuses the connection", code="NETWORK_EXCEPTION")
        answer = call.carry_out(call.parts if parts is None else parts)
        self.cluster.pass_(LATENCY)
        return answer

    def _anyone(self, turn: int) -> int:
        """Any broker that serves, another one each time."""
        now = self.cluster.now
        lively = [n.id for n in self.cluster.nodes.values() if not n.is_down(now) and not n.is_fenced(now)]
        if not lively:
            return next(iter(self.cluster.nodes))
        return lively[turn % len(lively)]


def _shuffled(answers: Answers) -> Answers:
    """Answers in another order than asked, as Kafka's hash maps give them."""
    return dict(sorted(answers.items(), key=lambda answer: str(answer[0])[::-1]))


class _Quotas:
    """`ports.Quotas`."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka

    def describe(
        self,
        components: Sequence[Component] = (),
        *,
        strict: bool = False,
        node: int | None = None,
        timeout: float | None = None,
    ) -> pa.Table:
        kafka = self._kafka
        return kafka.request(
            "describe quotas",
            lambda _: self._described(components, strict, kafka.calls[-1].node),
            node=node,
            timeout=timeout,
        )

    def describe_each(self, filters: Iterable[tuple[Sequence[Component], bool]]) -> list[pa.Table]:
        """An answer for each filter."""
        return [self.describe(components, strict=strict) for components, strict in filters]

    def _described(self, components: Sequence[Component], strict: bool, node: int) -> pa.Table:
        """An answer is made once for one image: a simulation asks for it again and again."""
        cluster = self._kafka.cluster
        if not cluster.may_read:
            raise error_codes.error(Refusal("CLUSTER_AUTHORIZATION_FAILED"), "describing quotas")
        image = cluster.values(node)
        asked = cluster.nodes[node].image.records, tuple(components), strict
        if asked not in cluster.answers:
            held = {whom: values for whom, values in image.items() if isinstance(whom, Entity)}
            cluster.answers[asked] = quota_rules.described(held, components, strict)
        return cluster.answers[asked]

    def alter(self, wishes: Mapping[Entity, Mapping[str, float | None]], *, validate_only: bool = False) -> Answers:
        return self._kafka.request(
            "alter quotas",
            lambda chosen: self._altered(chosen, validate_only),
            parts=wishes,
            validate_only=validate_only,
        )

    def _altered(self, parts: Mapping[Entity, Mapping[str, float | None]], validate_only: bool) -> Answers:
        if not self._kafka.cluster.may_alter:
            refusal = Refusal("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.")
            return dict.fromkeys(parts, refusal)
        complaints = {entity: quota_rules.complaint(entity, values) for entity, values in parts.items()}
        if not validate_only:
            self._write({e: v for e, v in parts.items() if complaints[e] is None})
        return _shuffled({e: Refusal("INVALID_REQUEST", why) if why else None for e, why in complaints.items()})

    def _write(self, parts: Mapping[Entity, Mapping[str, float | None]]) -> None:
        """One record for each value that differs: the same again writes none."""
        cluster = self._kafka.cluster
        for entity, values in parts.items():
            for key, value in values.items():
                if cluster.head.values.get(entity, {}).get(key) != value:
                    cluster.write((entity, key), value)


class _Scram:
    """`ports.Scram`."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka

    def describe(
        self, users: Iterable[ScramUser] = (), *, node: int | None = None, timeout: float | None = None
    ) -> pa.Table:
        asked = {*users}
        return self._kafka.request("describe scram", lambda _: self._described(asked), node=node, timeout=timeout)

    def _described(self, asked: Collection[ScramUser]) -> pa.Table:
        cluster = self._kafka.cluster
        if not cluster.may_read:
            raise error_codes.error(Refusal("CLUSTER_AUTHORIZATION_FAILED"), "describing SCRAM users")
        return scram_rules.described(cluster.values(self._kafka.calls[-1].node), asked)

    def alter(self, wishes: Mapping[ScramUser, CredentialChange], *, validate_only: bool = False) -> Answers:
        if validate_only:
            return dict.fromkeys(wishes)
        return self._kafka.request("alter scram", self._altered, parts=wishes)

    def _altered(self, parts: Mapping[ScramUser, CredentialChange]) -> Answers:
        cluster = self._kafka.cluster
        if not cluster.may_alter:
            return dict.fromkeys(parts, Refusal("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."))
        refusals = {user: scram_rules.refusal(cluster.head.values, user, change) for user, change in parts.items()}
        for user, change in parts.items():
            if refusals[user] is None:
                cluster.write((user, change.mechanism), None if change.password is None else float(change.iterations))
        return _shuffled(refusals)


class _ClientConfigs:
    """`ports.ClientConfigs`."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka

    def describe(
        self, users: Collection[str] | None = None, *, node: int | None = None, timeout: float | None = None
    ) -> pa.Table:
        return self._kafka.request(
            "describe client configs", lambda _: self._described(users), node=node, timeout=timeout
        )

    def _described(self, users: Collection[str] | None) -> pa.Table:
        cluster: Any = self._kafka.cluster
        if not cluster.may_read:
            raise error_codes.error(Refusal("TOPIC_AUTHORIZATION_FAILED"), "reading the topic")
        return client_config_rules.described(cluster.values(self._kafka.calls[-1].node), cluster.signed, users)

    def alter(
        self,
        wishes: Mapping[ClientEntity, Mapping[str, Replacement]],
        *,
        validate_only: bool = False,
        signature: Signature = UNSIGNED,
    ) -> Answers:
        return self._kafka.request(
            "alter client configs",
            lambda parts: self._altered(parts, validate_only, signature),
            parts=wishes,
            validate_only=validate_only,
        )

    def _altered(self, parts: Replacements, validate_only: bool, signature: Signature) -> Answers:
        cluster = self._kafka.cluster
        if not cluster.may_alter:
            return dict.fromkeys(parts, Refusal("TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed."))
        answers: Answers = client_config_rules.answers(cluster.head.values, parts, validate_only=validate_only)
        if not validate_only and not any(answers.values()):
            self._write(parts, signature)
        return _shuffled(answers)

    def _write(self, parts: Replacements, signature: Signature) -> None:
        cluster = self._kafka.cluster
        for entity, values in parts.items():
            for key, wish in values.items():
                cluster.signed[entity, key] = client_config_rules.Signed(len(cluster.log), signature, self._kafka.now())
                cluster.write((entity, key), wish.new)


class _Configs:
    """`ports.Configs`; like the real one it turns a call's failure into its resources' errors."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka

    def describe(
        self,
        resources: Iterable[Resource],
        keys: Sequence[str] | None = None,
        *,
        synonyms: bool = True,
        documentation: bool = False,
        node: int | None = None,
        timeout: float | None = None,
    ) -> pa.Table:
        rows: list[dict[str, Any]] = []
        for target, batch in _by_broker(resources, node).items():
            rows += self._asked(batch, keys, target, timeout, documentation=documentation, synonyms=synonyms)
        rows.sort(key=lambda r: (r["resource_type"], r["resource_name"], r["key"] or ""))
        return schemas.table(schemas.CONFIGS, rows)

    def _asked(
        self,
        batch: list[Resource],
        keys: Sequence[str] | None,
        target: int | None,
        timeout: float | None,
        **shown: bool,
    ) -> list[dict[str, Any]]:
        kafka = self._kafka

        def rows(_: object) -> list[dict[str, Any]]:
            return [row for r in batch for row in self._rows(r, keys, kafka.calls[-1].node, **shown)]

        try:
            found: list[dict[str, Any]] = kafka.request("describe configs", rows, node=target, timeout=timeout)
        except KadminError as exc:
            if target is None:
                raise
            refusal = Refusal(exc.code or "UNKNOWN_SERVER_ERROR", str(exc))
            return [config_rules.failed(r, refusal) for r in batch]
        return found

    def _rows(self, resource: Resource, keys: Sequence[str] | None, node: int, **shown: bool) -> list[dict[str, Any]]:
        cluster = self._kafka.cluster
        if not cluster.may_read:
            return [config_rules.failed(resource, _forbidden(resource))]
        if resource.type == "TOPIC" and resource.name not in cluster.topics:
            return [config_rules.failed(resource, _NO_TOPIC)]
        image: Any = cluster.values(node)
        broker = cluster.nodes[node]
        chosen = None if keys is None else tuple(keys)
        asked = (node, broker.image.records, *broker.loggers.items()), resource, chosen, *shown.values()
        if asked not in cluster.answers:
            cluster.answers[asked] = config_rules.rows(image, broker, resource, keys, **shown)
        return cluster.answers[asked]

    def alter(self, wishes: Mapping[Resource, Sequence[ConfigOperation]], *, validate_only: bool = False) -> Answers:
        answers: Answers = {}
        for target, batch in _by_broker(wishes, None).items():
            answers |= self._told({r: wishes[r] for r in batch}, target, validate_only)
        return answers

    def _told(
        self, parts: Mapping[Resource, Sequence[ConfigOperation]], target: int | None, validate_only: bool
    ) -> Answers:
        try:
            return self._kafka.request(
                "alter configs",
                lambda chosen: _shuffled({r: self._altered(r, ops, validate_only) for r, ops in chosen.items()}),
                node=target,
                parts=parts,
                validate_only=validate_only,
            )
        except TimedOut as exc:
            return dict.fromkeys(parts, Refusal("REQUEST_TIMED_OUT", str(exc)))
        except KadminError as exc:
            return dict.fromkeys(parts, Refusal(exc.code or "UNKNOWN_SERVER_ERROR", str(exc)))

    def _altered(
        self, resource: Resource, operations: Sequence[ConfigOperation], validate_only: bool
    ) -> Refusal | None:
        cluster = self._kafka.cluster
        if not cluster.may_alter:
            return _forbidden(resource)
        if resource.type == "TOPIC" and resource.name not in cluster.topics:
            return _NO_TOPIC
        try:
            if resource.type == "BROKER_LOGGER":
                levels = config_rules.levels_altered(cluster.nodes[resource.broker or 0], operations)
                return None if validate_only else self._set_levels(resource, levels)
            own: Any = cluster.head.values.get(resource, {})
            values = config_rules.altered(own, resource, operations)
        except config_rules.Refused as exc:
            return exc.refusal
        return None if validate_only else self._write(resource, values)

    def _set_levels(self, resource: Resource, levels: Mapping[str, str | None]) -> None:
        """At once, on that broker alone, and not in the log."""
        self._kafka.cluster.nodes[resource.broker or 0].loggers |= {k: v for k, v in levels.items() if v is not None}

    def _write(self, resource: Resource, values: Mapping[str, Value | None]) -> None:
        """A broker's value is written even if it is the same (KAFKA-14136)."""
        cluster = self._kafka.cluster
        for key, value in values.items():
            held = cluster.head.values.get(resource, {}).get(key)
            if held != value or (resource.type == "BROKER" and value is not None):
                cluster.write((resource, key), value)

    def resources(self, kinds: Iterable[str]) -> list[Resource]:
        """The resources of these types; groups and metrics once something is set on them."""
        wanted, cluster = set(kinds), self._kafka.cluster
        found = {r for r in cluster.head.values if isinstance(r, Resource) and r.type in ("GROUP", "CLIENT_METRICS")}
        found |= {Resource("TOPIC", name) for name in cluster.topics}
        found |= {Resource(kind, str(node)) for kind in ("BROKER", "BROKER_LOGGER") for node in cluster.nodes}
        return sorted((r for r in found if r.type in wanted), key=str)


def _by_broker(resources: Iterable[Resource], node: int | None) -> dict[int | None, list[Resource]]:
    """The resources by the broker that alone can answer for them, or by the one that was asked for."""
    batches: dict[int | None, list[Resource]] = defaultdict(list)
    for resource in dict.fromkeys(resources):
        batches[resource.broker if resource.broker is not None else node].append(resource)
    return batches


_NO_TOPIC = Refusal("UNKNOWN_TOPIC_OR_PARTITION", "No such topic.")


def _forbidden(resource: Resource) -> Refusal:
    word = {"TOPIC": "Topic", "GROUP": "Group"}.get(resource.type, "Cluster")
    return Refusal(f"{word.upper()}_AUTHORIZATION_FAILED", f"{word} authorization failed.")
