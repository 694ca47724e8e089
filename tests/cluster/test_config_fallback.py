"""What a config falls back to when it is reset: our rule beside what the broker says after the reset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.model.config_values import BROKER_KEYS, STAND_INS, ConfigValue, behind_listener, broker_key, in_unit_of
from kadmin_nb.model.resources import Resource, Source
from kadmin_nb.plans.advice.config_dangers import fallback_values
from tests.waiting import eventually

pytestmark = pytest.mark.broker

TOPIC, GROUP, ONE, ALL = Resource("TOPIC", "t"), Resource("GROUP", "g"), Resource("BROKER", "1"), Resource("BROKER", "")
FILE = {
    "log.retention.minutes": "77",
    "log.roll.hours": "48",
    "log.segment.bytes": "100000000",
    "max.connections": "777",
}
"""What stands in the broker's file; the other keys have Kafka's defaults."""

CUTS_OFF = "its change would cut off the test's own connection"
CLASS = "it names a Java class that the broker has to load"
SECRET = "a secret: nobody sees what it falls back to"
NOT_TRIED = {
    "min.insync.replicas": "Kafka sets it for all brokers itself, and refuses that brokers change it (KIP-966)",
    "listeners": CUTS_OFF,
    "listener.security.protocol.map": CUTS_OFF,
    "config.providers": CLASS,
    "metric.reporters": CLASS,
    "principal.builder.class": CLASS,
    "ssl.engine.factory.class": CLASS,
    "cordoned.log.dirs": "its only other value takes the broker's one folder out of service",
    "remote.storage.enable": "it needs a broker with tiered storage",
    "sasl.jaas.config": SECRET,
    "ssl.key.password": SECRET,
    "ssl.keystore.certificate.chain": SECRET,
    "ssl.keystore.key": SECRET,
    "ssl.keystore.password": SECRET,
    "ssl.truststore.certificates": SECRET,
    "ssl.truststore.password": SECRET,
}
"""The dynamic keys of topics and brokers that are not tried, and why."""

OF_LISTENERS = ("max.connections", "max.connection.creation.rate", "num.network.threads")
"""Keys that brokers take for a listener also as the default for all of them."""

TEXTS = {
    "cleanup.policy": ("compact", "compact,delete", "delete"),
    "compression.gzip.level": ("1", "2", "3"),
    "compression.type": ("gzip", "lz4", "zstd"),
    "errors.deadletterqueue.topic.name.prefix": ("", "a.", "b."),
    "follower.replication.throttled.replicas": ("0:1",),
    "leader.replication.throttled.replicas": ("0:1",),
    "message.timestamp.type": ("LogAppendTime", "CreateTime", "LogAppendTime"),
    "log.cleaner.dedupe.buffer.size": ("", "10000001", "10000002"),
    "log.cleaner.threads": ("", "2", "1"),
    "max.connections.per.ip.overrides": ("", "127.0.0.1:500", "127.0.0.1:600"),
    "num.recovery.threads.per.data.dir": ("", "3", "4"),
    "num.replica.fetchers": ("", "2", "1"),
    "remote.log.manager.follower.thread.pool.size": ("", "3", "4"),
}
"""Texts for the topic, the broker and all brokers, where a number that is near the default does not do."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[LiveKafka]:
    """A Kafka of its own: what is set for its brokers is felt by all its topics."""
    with kn.local.start(extra=FILE) as local, local.connect() as cluster:
        cluster.port.create_topics({TOPIC.name: 1})
        yield cluster.port


def configs_of(kafka: LiveKafka, resource: Resource, keys: Sequence[str] | None = None) -> dict[str, ConfigValue]:
    rows = kafka.configs.describe([resource], keys).to_pylist()
    return {row["key"]: ConfigValue.of(row) for row in rows if row["key"] is not None}


def dynamic(kafka: LiveKafka, resource: Resource) -> dict[str, ConfigValue]:
    return {key: config for key, config in configs_of(kafka, resource).items() if not config.is_read_only}


def texts_for(config: ConfigValue) -> tuple[str, ...]:
    """Three texts that the broker takes, the first for the topic, then the broker, then all brokers."""
    aliases = {broker_key: key for key, broker_key in BROKER_KEYS.items()}
    if special := TEXTS.get(config.key) or TEXTS.get(aliases.get(config.key, "")):
        return special
    if config.type == "BOOLEAN":
        other = "false" if config.text == "true" else "true"
        return other, str(config.text), other
    if config.type == "DOUBLE":
        return "0.6", "0.7", "0.8"
    number = int(config.text or 1_000_000)
    start = number - 10 if number > 2_000_000_000 else number if number >= 0 else 100_000
    return str(start + 1), str(start + 2), str(start + 3)


def alter(kafka: LiveKafka, resource: Resource, texts: Mapping[str, str | None]) -> None:
    operations = [ConfigOperation("delete" if t is None else "set", key, t) for key, t in texts.items()]
    assert kafka.configs.alter({resource: operations}) == {resource: None}


def predicted(kafka: LiveKafka, resource: Resource, keys: Iterable[str]) -> dict[str, str | None]:
    """What our rule says that these keys fall back to."""
    values = fallback_values(kafka, [(resource, key) for key in keys])
    return {key: text for (_, key), texts in values.items() for text in texts}


def applied(kafka: LiveKafka, resource: Resource, keys: Iterable[str]) -> dict[str, str | None]:
    """What the broker says of these keys. Where it passes one over, its topics say it, or the key of all listeners."""
    configs, topic = configs_of(kafka, ONE if resource == ALL else resource), configs_of(kafka, TOPIC)
    topic_keys = {broker_key: key for key, broker_key in BROKER_KEYS.items()}
    sources = {key: topic[topic_keys[key]] if key in STAND_INS else configs.get(key) for key in keys}
    return {key: (config or configs[behind_listener(key) or key]).text for key, config in sources.items()}


def check_a_reset(kafka: LiveKafka, resource: Resource, keys: Sequence[str]) -> None:
    expected = predicted(kafka, resource, keys)
    assert set(expected) == set(keys)
    alter(kafka, resource, dict.fromkeys(keys))
    eventually(lambda: applied(kafka, resource, keys), expected)


def test_a_reset_falls_back_as_the_rule_says(kafka: LiveKafka) -> None:
    """The plan said that 604800000 was below, and the topic then kept its records for 77 minutes."""
    topic, broker = dynamic(kafka, TOPIC), dynamic(kafka, ONE)
    assert {*NOT_TRIED} <= {*topic, *broker}
    of_topics = {key: texts_for(config)[0] for key, config in topic.items() if key not in NOT_TRIED}
    plain = [key for key in broker if not key.startswith(("sasl.", "ssl.")) and key not in NOT_TRIED]
    of_broker, of_all = ({key: texts_for(broker[key])[place] for key in plain} for place in (1, 2))
    for resource, texts in ((TOPIC, of_topics), (ONE, of_broker), (ALL, of_all)):
        alter(kafka, resource, texts)
    eventually(lambda: {key: configs_of(kafka, ONE)[key].own for key in plain}, of_broker)
    eventually(lambda: {key: configs_of(kafka, TOPIC)[key].own for key in of_topics}, of_topics)
    for resource, keys in ((TOPIC, [*of_topics]), (ONE, plain), (ALL, plain)):
        check_a_reset(kafka, resource, keys)


def test_a_topic_alone_falls_back_to_what_stands_in_files(kafka: LiveKafka) -> None:
    """A topic's own value hides that the broker's file says minutes: Kafka then names no synonym at all."""
    keys = {"retention.ms": "5000", "segment.ms": "6000", "flush.ms": "7000"}
    alter(kafka, TOPIC, keys)
    eventually(lambda: {key: configs_of(kafka, TOPIC)[key].own for key in keys}, keys)
    assert predicted(kafka, TOPIC, keys) == {
        "retention.ms": "4620000", "segment.ms": "172800000", "flush.ms": "9223372036854775807",
    }  # fmt: skip
    check_a_reset(kafka, TOPIC, [*keys])


def test_what_a_topic_has_from_the_brokers_stands_instead_of_what_holds_without_it(kafka: LiveKafka) -> None:
    """max.message.bytes 1500000 instead of 1500000, it said: brokers call it message.max.bytes."""
    broker, names = dynamic(kafka, ONE), {broker_key: key for key, broker_key in BROKER_KEYS.items()}
    texts = {key: texts_for(broker[key])[1] for key in names if key in broker and key not in NOT_TRIED}
    for resource, source in ((ONE, Source.BROKER), (ALL, Source.ALL_BROKERS)):
        alter(kafka, resource, texts)
        keys = {names[key] for key in texts}
        eventually(lambda: {configs_of(kafka, TOPIC)[key].source for key in keys}, {source})  # noqa: B023
        below = {key: config.below(source) for key, config in configs_of(kafka, TOPIC).items() if key in keys}
        expected = {key: in_unit_of(key, synonym) for key, synonym in below.items() if synonym}
        assert {*keys} - {*expected} <= {"segment.jitter.ms", "flush.ms"}  # of these Kafka names no default
        alter(kafka, resource, dict.fromkeys(texts))
        eventually(lambda: {key: configs_of(kafka, TOPIC)[key].text for key in expected}, expected)  # noqa: B023


LISTENER_TEXTS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.kerberos.kinit.cmd": "/bin/true",
    "sasl.kerberos.principal.to.local.rules": "RULE:[1:$1]",
    "sasl.kerberos.service.name": "kafka",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256",
    "ssl.client.auth": "requested",
    "ssl.enabled.protocols": "TLSv1.3",
    "ssl.endpoint.identification.algorithm": "",
    "ssl.keymanager.algorithm": "PKIX",
    "ssl.keystore.location": "/keystore",
    "ssl.keystore.type": "PEM",
    "ssl.protocol": "TLSv1.2",
    "ssl.provider": "SunJSSE",
    "ssl.secure.random.implementation": "SHA1PRNG",
    "ssl.trustmanager.algorithm": "SunX509",
    "ssl.truststore.location": "/truststore",
    "ssl.truststore.type": "PEM",
}


def test_a_listeners_key_falls_back_to_its_default_for_all_brokers_first(kafka: LiveKafka) -> None:
    """The broker's own max.connections was said to apply, and the listener's default for all brokers did."""
    broker = dynamic(kafka, ONE)
    secured = [key for key in broker if key.startswith(("sasl.", "ssl.")) and key not in NOT_TRIED]
    of_one = {key: LISTENER_TEXTS.get(key) for key in secured}
    texts = {key: text if text is not None else texts_for(broker[key])[0] for key, text in of_one.items()}
    scoped = {f"listener.name.x.{key}": text for key, text in texts.items()}
    everywhere = {f"listener.name.x.{key}": texts_for(broker[key])[2] for key in OF_LISTENERS}
    alter(kafka, ALL, everywhere)
    alter(kafka, ONE, {**scoped, **{key: str(int(text) - 1) for key, text in everywhere.items()}})
    alter(kafka, ONE, {key: texts_for(broker[key])[1] for key in OF_LISTENERS})
    eventually(lambda: {key: configs_of(kafka, ONE, [key])[key].own for key in scoped}, scoped)
    check_a_reset(kafka, ONE, [*scoped, *everywhere])
    check_a_reset(kafka, ALL, [*everywhere])
    alter(kafka, ONE, dict.fromkeys(OF_LISTENERS))


@pytest.mark.parametrize("resource", [TOPIC, GROUP], ids=["topic", "group"])
def test_the_brokers_keys_are_those_that_kafka_names(kafka: LiveKafka, resource: Resource) -> None:
    """Kafka 4.4 has a broker's key for each of them; a later Kafka's further ones are to be added."""
    synonyms = {key: config.synonyms for key, config in configs_of(kafka, resource).items()}
    named = {key: chain[-1].key for key, chain in synonyms.items() if chain and chain[-1].key != key}
    assert {key: broker_key(resource.type, key) for key in named} == named
    if resource == TOPIC:
        same = {key: name for key, name in BROKER_KEYS.items() if key == name or name in STAND_INS}
        assert named | same == BROKER_KEYS
