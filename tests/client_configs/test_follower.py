"""The topic that a client follows, when it is missing, forbidden, full of garbage, made anew or not reachable."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

import kadmin_nb as kn
from kadmin_nb.admin import transactions
from kadmin_nb.client_configs import follower
from kadmin_nb.client_configs.follower import ConfigReader
from kadmin_nb.client_configs.records import MOST_BYTES, REGISTRATIONS_TOPIC, STATUS_TOPIC, ConfigKey, ConfigValue
from kadmin_nb.clients import DynamicProducer
from kadmin_nb.errors import Invalid, KadminError, TimedOut
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schemas import mark
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.client_configs import CONFIGS_TOPIC, ClientEntity
from tests.client_configs.raw_client import RawClient
from tests.client_configs.test_reading import GOOD, STRANGE_KEYS, STRANGE_VALUES, VALUE
from tests.client_configs.written_entries import (
    delete_topic,
    last_status,
    make_config_topics,
    records,
    registrations,
    was_taken,
    write_entry,
    write_record,
)
from tests.dangerous_plans import applied
from tests.persons import let_in
from tests.waiting import eventually

pytestmark = pytest.mark.broker

REFRESH = {"kadmin.refresh.interval.ms": 50}
LOGGER = "kadmin_nb.clients"


@pytest.fixture
def broker(kafka: LocalKafka, caplog) -> dict[str, str]:
    caplog.set_level(logging.INFO, LOGGER)
    broker = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(broker))
    return broker


@pytest.fixture(scope="module")
def another_kafka() -> Iterator[LocalKafka]:
    """One whose topics come and go."""
    with kn.local.start() as running:
        yield running


@pytest.fixture
def empty(another_kafka: LocalKafka, caplog) -> dict[str, str]:
    """A broker without the topics."""
    caplog.set_level(logging.INFO, LOGGER)
    broker = {"bootstrap.servers": another_kafka.bootstrap}
    admin = AdminClient(broker)
    if CONFIGS_TOPIC in admin.list_topics(timeout=10).topics:
        delete_topic(admin, CONFIGS_TOPIC)
    return broker


def lines(caplog: pytest.LogCaptureFixture, text: str) -> int:
    return sum(text in message for message in caplog.messages)


def test_a_missing_topic_is_said_once_and_the_client_works(empty, unique, caplog) -> None:
    """The log had a line every five minutes, and the application did not start."""
    user = unique("user")
    with DynamicProducer(empty | REFRESH, **{"kadmin.user": user}) as producer:
        refreshed = time.monotonic() + 0.5
        eventually(lambda: (producer.poll(0), time.monotonic() > refreshed)[1], True)
        assert lines(caplog, f"the topic {CONFIGS_TOPIC} cannot be read: ") == 1
        make_config_topics(AdminClient(empty))
        revision = write_entry(empty, user, None, "acks", "1")
        eventually(lambda: (producer.poll(0), was_taken(caplog, revision))[1], True)
        assert lines(caplog, "followed again") == 1


def test_without_topics_of_clients_values_arrive_as_quickly(empty, unique, caplog) -> None:
    """Nobody had run `init`: between two readings the client waited ten seconds for its registration."""
    admin, user = AdminClient(empty), unique("user")
    make_config_topics(admin)
    of_clients = (REGISTRATIONS_TOPIC, STATUS_TOPIC)
    for name in of_clients:
        delete_topic(admin, name)
    with DynamicProducer(empty | REFRESH, **{"kadmin.user": user}) as producer:
        began = time.monotonic()
        for value in ("0", "1", "0"):
            revision = write_entry(empty, user, None, "acks", value)
            eventually(lambda r=revision: (producer.poll(0), was_taken(caplog, r))[1], True)
        assert time.monotonic() - began < 25
        assert lines(caplog, f"not registered for now: the topic {REGISTRATIONS_TOPIC} cannot be written: ") == 1
        assert not {*of_clients} & {*admin.list_topics(timeout=10).topics}
        make_config_topics(admin)
        eventually(lambda: lines(caplog, "registered again"), 1)


def test_a_topic_that_was_made_anew_is_read_from_its_start(empty, unique, caplog) -> None:
    """Somebody deleted the topic and made it again: the clients read on at offset 20 of another topic."""
    user = unique("user")
    make_config_topics(admin := AdminClient(empty))
    for value in "01" * 5:
        write_entry(empty, user, None, "acks", value)
    with DynamicProducer(empty | REFRESH, **{"kadmin.user": user}) as producer:
        delete_topic(admin, CONFIGS_TOPIC)
        make_config_topics(admin)
        eventually(lambda: (producer.poll(0), "acks was 1 and is -1 (no entry)" in caplog.text)[1], True)
        for _ in range(12):
            write_entry(empty, user, "other", "acks", "1")
        revision = write_entry(empty, user, None, "acks", "0")
        eventually(lambda: (producer.poll(0), was_taken(caplog, revision))[1], True)


def test_a_log_that_only_looks_the_same_is_read_again(empty) -> None:
    """The new topic had grown past the old position before the client looked again."""
    make_config_topics(admin := AdminClient(empty))
    reader = ConfigReader(ClientEntity("alice", "app"))
    write_entry(empty, "alice", None, "acks", "0")
    write_entry(empty, "alice", "app", "acks", "1")
    assert [level["acks"].value for level in reader.read(empty, 10)] == ["1", "0"]
    delete_topic(admin, CONFIGS_TOPIC)
    make_config_topics(admin)
    write_entry(empty, "alice", None, "acks", "1")
    for _ in range(3):
        write_entry(empty, "bob", None, "acks", "1")
    user, client_id = reader.read(empty, 10)[::-1]
    assert (user["acks"].value, user["acks"].revision, client_id) == ("1", 0, {})


def test_reading_goes_on_where_it_ended(broker, unique, monkeypatch) -> None:
    """A thousand clients read the whole topic every five minutes."""
    reader = ConfigReader(ClientEntity(unique("user"), "app"))
    first = write_entry(broker, reader.entity.user, "app", "acks", "0")
    reader.read(broker, 10)
    starts = []
    records = follower._records
    monkeypatch.setattr(follower, "_records", lambda *args: starts.append(args[1]) or records(*args))
    revision = write_entry(broker, reader.entity.user, "app", "acks", "1")
    assert reader.read(broker, 10)[0]["acks"].revision == revision
    assert reader.read(broker, 10)[0]["acks"].revision == revision
    assert starts == [first, revision]
    monkeypatch.setattr(follower, "_WHOLE_AGAIN", 0.0)  # tombstones may be gone
    assert reader.read(broker, 10)[0]["acks"].revision == revision
    assert starts[-1] == 0


@pytest.mark.long
def test_a_removal_that_was_compacted_away_is_found(unique, monkeypatch) -> None:
    """A client that slept for two days followed an entry that had been removed, for ever, and status said *follows*."""
    with kn.local.start(extra={"log.cleaner.backoff.ms": "100"}) as kafka, kafka.connect() as cluster:
        config, user = {"bootstrap.servers": kafka.bootstrap}, unique("user")
        make_config_topics(AdminClient(config))
        soon = {"delete.retention.ms": 0, "segment.ms": 100, "min.cleanable.dirty.ratio": 0}
        stage = cluster.new_stage()
        for key, value in soon.items():
            stage.set_config(key, value, topic=CONFIGS_TOPIC)
        applied(stage.plan(reason="tombstones go at once")).raise_for_errors()
        reader, client = ConfigReader(ClientEntity(user, "app")), RawClient(config, user)
        first = write_entry(config, user, "app", "acks", "0")
        write_entry(config, "bob", "app", "acks", "1")
        client.register()
        client.say(first, {"acks": "0"})
        assert reader.read(config, 10)[0]["acks"].value == "0"
        write_entry(config, user, "app", "acks", None)
        numbers = iter(range(1000))

        def keys_left() -> set[bytes]:
            write_entry(config, f"other-{next(numbers)}", "app", "acks", "1")  # what is newest is never compacted
            return {message.key() for message in records(config, CONFIGS_TOPIC)}

        eventually(lambda: ConfigKey(user, "app", "acks").encode() in keys_left(), False, seconds=60)
        status = cluster.client_configs.status(user=user).to_arrow().to_pylist()
        assert [(row["key"], row["value"], row["state"], row["reason"]) for row in status] == [
            ("acks", "0", "behind", "no entry has it any more")
        ]
        setup = {row["subject"]: row["note"] for row in cluster.client_configs.setup().to_arrow().to_pylist()}
        assert setup[CONFIGS_TOPIC] == "delete.retention.ms=0 instead of 86400000"
        assert reader.read(config, 10)[0]["acks"].value == "0"
        monkeypatch.setattr(follower, "_WHOLE_AGAIN", 0.0)  # an hour later
        assert reader.read(config, 10)[0] == {}


def test_an_admin_sees_what_a_client_follows(broker, kafka) -> None:
    """A record that another tool wrote stood in describe, and no client followed it."""
    reader = ConfigReader(ClientEntity("alice", "app"))
    revision = write_entry(broker, "alice", "app", "acks", "1")
    with kafka.connect() as cluster:
        port = cluster.port.client_configs
        reader.read(broker, 10)
        before = int(mark(port.describe(), schemas.PASSED_OVER) or 0)
        strange = [(b"", b""), (b"\xff\x00", VALUE), (b"[" * 5000, VALUE)]
        strange += [(key, VALUE) for key in STRANGE_KEYS] + [(GOOD, value) for value in STRANGE_VALUES]
        strange += [(GOOD, b""), (GOOD, b"\xff\x00"), (GOOD, b"acks=0"), (GOOD, VALUE + b" " * MOST_BYTES)]
        for record in strange:
            write_record(broker, *record)
        own, of_user = reader.read(broker, 10)
        assert ({key: entry[:2] for key, entry in own.items()}, of_user) == ({"acks": ("1", revision)}, {})
        table = port.describe(["alice"])
        hint = cluster.client_configs.describe(user="alice").hint
    write_entry(broker, "alice", "app", "acks", None)
    assert [(row["value"], row["revision"]) for row in table.to_pylist()] == [("1", revision)]
    after = int(mark(table, schemas.PASSED_OVER))
    assert after - before == len(strange)
    assert hint == f"{after} records of the topic cannot be read and were skipped."


def test_a_strangers_topic_of_several_partitions_is_not_followed(empty) -> None:
    """An admin was told that the topic is somebody else's, and the clients followed what stood there."""
    admin = AdminClient(empty)
    admin.create_topics([NewTopic(CONFIGS_TOPIC, 2, 1)])[CONFIGS_TOPIC].result()
    eventually(lambda: CONFIGS_TOPIC in admin.list_topics(timeout=10).topics, True)
    with pytest.raises(Invalid, match=f"the topic {CONFIGS_TOPIC} cannot be read: it has 2 partitions"):
        ConfigReader(ClientEntity("alice")).read(empty, 10)


def test_a_record_of_an_aborted_transaction_is_not_followed(broker, unique) -> None:
    """The plan was given up, and its value was in force."""
    user = unique("user")
    revision = write_entry(broker, user, "app", "acks", "1")
    with closing(Producer(broker | {"transactional.id": user})) as writer:
        writer.init_transactions(30)
        writer.begin_transaction()
        key, value = ConfigKey(user, "app", "acks"), ConfigValue("0", "admin", "plan")
        writer.produce(CONFIGS_TOPIC, value.encode(), key.encode())
        assert writer.flush(10) == 0
        reader = ConfigReader(ClientEntity(user, "app"))
        assert reader.read(broker, 10)[0]["acks"].revision == revision
        writer.abort_transaction(30)
    assert reader.read(broker, 10)[0]["acks"].revision == revision


def test_a_topic_that_is_too_long_for_one_reading_is_read_in_several(broker, unique, monkeypatch) -> None:
    """Somebody filled the topic, and no client ever came to its end."""
    user = unique("user")
    for _ in range(30):
        write_record(broker, b"x", b"y" * 1000)
    revision = write_entry(broker, user, "app", "acks", "1")
    monkeypatch.setattr(follower, "MOST_BYTES_AT_ONCE", 20_000)
    reader = ConfigReader(ClientEntity(user, "app"))
    with pytest.raises(TimedOut, match="was not reached"):
        reader.read(broker, 10)
    eventually(lambda: revision_read(reader, broker), revision)


def revision_read(reader: ConfigReader, broker: dict[str, str]) -> int | None:
    try:
        return reader.read(broker, 10)[0]["acks"].revision
    except TimedOut:
        return None


@pytest.mark.parametrize("client_id", ["größe-日本", "a=b c", 'quo"te', "\U0001f600", "back\\slash"])
def test_client_ids_beyond_ascii_are_followed(broker, unique, caplog, client_id: str) -> None:
    """The client-id had an umlaut: nothing ever happened."""
    user = unique("user=ä")
    with DynamicProducer(broker | REFRESH, **{"kadmin.user": user, "client.id": client_id}) as producer:
        revision = write_entry(broker, user, client_id, "acks", "1")
        eventually(lambda: (producer.poll(0), last_status(broker, user))[1], (revision, {"acks": "1"}, {}))
    assert {key.client_id for key in registrations(broker, user)} == {client_id}


def test_two_software_versions_of_one_client_id_are_both_there(broker, unique) -> None:
    """The last client to register hid the version of all others."""
    user = unique("user")
    with DynamicProducer(broker, **{"kadmin.user": user, "client.id": "app"}):
        RawClient(broker, user).register()
        eventually(lambda: len({(key.software, key.version) for key in registrations(broker, user)}), 2)


def test_a_broker_that_nobody_reaches_delays_a_start_by_the_bound(caplog, monkeypatch) -> None:
    """The whole application hung at its start, because a config topic did not answer."""
    began = time.monotonic()
    settings = {"bootstrap.servers": "127.0.0.1:1", "kadmin.user": "alice", "log_level": 0}
    monkeypatch.setattr(follower, "FIRST_READING", 0.3)
    producer = DynamicProducer(settings)
    assert time.monotonic() - began < 20
    assert lines(caplog, "not followed for now") == 1
    producer.purge()
    producer.close()


def test_whatever_fails_while_it_reads_the_client_works_on(broker, topic, unique, caplog, monkeypatch) -> None:
    """Our token callback raised once, and from then on nothing was followed: the thread was gone."""
    user, read = unique("user"), ConfigReader.read
    monkeypatch.setattr(ConfigReader, "read", lambda *_: 1 / 0)
    with DynamicProducer(broker | REFRESH, **{"kadmin.user": user}) as producer:
        producer.produce(topic, "x")
        assert producer.flush(10) == 0
        assert lines(caplog, "not followed for now: division by zero") == 1
        monkeypatch.setattr(ConfigReader, "read", read)
        revision = write_entry(broker, user, None, "acks", "1")
        eventually(lambda: (producer.poll(0), was_taken(caplog, revision))[1], True)


def test_a_reader_names_the_topic_that_is_missing(empty) -> None:
    """It said: unknown topic."""
    with pytest.raises(KadminError, match=CONFIGS_TOPIC):
        ConfigReader(ClientEntity("alice")).read(empty, 10)


@pytest.mark.secure
def test_a_forbidden_topic_is_said_once_and_followed_once_it_is_allowed(secure_kafka, unique, caplog) -> None:
    """Without a right on the topic the producer did not start."""
    caplog.set_level(logging.INFO, LOGGER)
    user = unique("user")
    let_in(secure_kafka, user)
    with secure_kafka.connect() as as_admin, secure_kafka.connect(user) as as_user:
        admin, config = (transactions.config(cluster.settings) for cluster in (as_admin, as_user))
    make_config_topics(AdminClient(admin))
    revision = write_entry(admin, user, None, "acks", "1")
    with DynamicProducer(config | REFRESH) as producer:
        refreshed = time.monotonic() + 0.5
        eventually(lambda: (producer.poll(0), time.monotonic() > refreshed)[1], True)
        assert lines(caplog, "not followed for now") == 1
        allow_reading(admin, user)
        eventually(lambda: (producer.poll(0), was_taken(caplog, revision))[1], True)
        eventually(lambda: lines(caplog, "not registered for now"), 1)


def allow_reading(config: dict[str, str], user: str) -> None:
    binding = AclBinding(
        ResourceType.TOPIC,
        CONFIGS_TOPIC,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    admin = AdminClient(config)
    admin.create_acls([binding])[binding].result()
