"""The topic of the entries: made where it is missing, not taken from somebody else, read past garbage."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.admin import compacted_topic
from kadmin_nb.client_configs.records import REGISTRATIONS_TOPIC, ConfigKey, ConfigValue
from kadmin_nb.commands import terminal
from kadmin_nb.errors import Invalid
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schemas import mark
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.client_configs import CONFIGS_TOPIC
from tests.admin.logins import admin_client
from tests.client_configs.conftest import ALICE, APP, codes
from tests.client_configs.written_entries import delete_topic
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def make(admin, name: str, *, partitions: int = 1, **configs: str) -> None:
    new = NewTopic(name, partitions, config={key.replace("_", "."): value for key, value in configs.items()})
    client = admin_client(admin.wire.settings)
    client.create_topics([new])[name].result(20)
    eventually(lambda: name in client.list_topics(timeout=10).topics, True)


def delete(admin) -> None:
    client = admin_client(admin.wire.settings)
    client.delete_topics([admin.topic])[admin.topic].result(20)


def described_configs(admin, *keys: str) -> dict[str, str]:
    from kadmin_nb.admin.wire_kinds import WireConfigs
    from kadmin_nb.model.resources import Resource

    rows = WireConfigs(admin.wire).describe([Resource("TOPIC", admin.topic)], keys).to_pylist()
    return {row["key"]: row["value"] for row in rows}


def test_without_a_topic_nothing_is_set_and_nothing_is_made(ann):
    """A look at an empty cluster made a topic there."""
    table = ann.port.describe()
    assert (table.num_rows, mark(table, schemas.TOPIC_MISSING)) == (0, ann.topic)
    assert ann.alter({ALICE: {"acks": (None, "1")}}, validate_only=True) == {ALICE: None}
    assert mark(ann.port.describe(), schemas.TOPIC_MISSING) == ann.topic


def test_it_is_made_so_that_nothing_ages_away(ann):
    """After a week the entries were gone: the topic had been made with the broker's defaults."""
    ann.alter({ALICE: {"acks": (None, "1")}})
    names = ("cleanup.policy", "delete.retention.ms", "message.timestamp.type", "unclean.leader.election.enable")
    assert described_configs(ann, *names) == {
        "cleanup.policy": "compact",
        "delete.retention.ms": "86400000",
        "message.timestamp.type": "LogAppendTime",
        "unclean.leader.election.enable": "false",
    }


def test_one_that_is_deleted_is_made_anew(ann, ben):
    """Somebody deleted the topic, and no alter worked any more."""
    ann.alter({ALICE: {"acks": (None, "1")}})
    delete(ann)
    eventually(lambda: mark(ben.port.describe(), schemas.TOPIC_MISSING), ann.topic)
    assert codes(ben.alter({ALICE: {"acks": ("1", "0")}})) == ["CONFLICT"]
    assert ben.alter({ALICE: {"acks": (None, "0")}}) == {ALICE: None}
    assert ann.stored() == {("user=alice", "acks"): "0"}


def test_somebody_elses_of_several_partitions_is_refused(ann):
    """A team had a topic of that name, and our entries went among their orders."""
    make(ann, ann.topic, partitions=3)
    for verb in (ann.port.describe, lambda: ann.alter({ALICE: {"acks": (None, "1")}}, validate_only=True)):
        with pytest.raises(Invalid, match=f"the topic {ann.topic} has 3 partitions: kadmin_nb did not make it"):
            verb()
    (refusal,) = ann.alter({ALICE: {"acks": (None, "1")}}).values()
    assert "has 3 partitions" in str(refusal)


@pytest.fixture(scope="module")
def open_kafka() -> Iterator[LocalKafka]:
    """One where anybody may create topics, and somebody has a quota."""
    with kn.local.start() as running:
        with running.connect() as cluster:
            stage = cluster.new_stage()
            stage.set_quota("producer_byte_rate", 1e12, user="bob")
            stage.plan().apply().raise_for_errors()
        yield running


@pytest.mark.parametrize("name", [CONFIGS_TOPIC, REGISTRATIONS_TOPIC])
def test_a_strangers_topic_hides_no_quota(open_kafka, name, capsys):
    """Somebody made a topic of that name, and nobody's quota could be described any more."""
    at, admin = open_kafka.bootstrap, AdminClient({"bootstrap.servers": open_kafka.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result()
    eventually(lambda: name in admin.list_topics(timeout=10).topics, True)
    tool = ("kafka-configs", "--bootstrap-server", at, "--describe")
    whom = ("--user", "bob") if name == CONFIGS_TOPIC else ("--user", "bob", "--client", "app")
    for words in ((*tool, *whom), (*tool, "--entity-type", "users")):
        assert terminal.run_line([*words]) == 0, words
        shown = capsys.readouterr().out
        assert "producer_byte_rate" in shown or "app" in words, words
        has_line = name == CONFIGS_TOPIC or {"app", "config"} & {*words}
        assert (f"the topic {name} has 2 partitions" in shown) == bool(has_line), words
    delete_topic(admin, name)


def test_one_that_is_not_compacted_is_refused(ann):
    """The topic aged its records away, and clients fell back to acks=all one by one."""
    make(ann, ann.topic, cleanup_policy="delete")
    says = "has cleanup.policy=delete: its entries would be lost"
    with pytest.raises(Invalid, match=says) as refused:
        ann.alter({ALICE: {"acks": (None, "1")}}, validate_only=True)
    assert "\n" not in str(refused.value)
    (refusal,) = ann.alter({ALICE: {"acks": (None, "1")}}).values()
    assert says in str(refusal)
    assert ann.stored() == {}


def test_garbage_is_passed_over_and_counted(ann, append):
    """A script wrote nonsense into the topic, and no client config could be described."""
    ann.alter({ALICE: {"acks": (None, "1")}})
    append((b"x", b"y"), (b"\xff" * 30_000, b"z"), (b'{"v":9}', None))
    evil = ConfigKey("alice", None, "sasl.jaas.config").encode(), ConfigValue("x", "y", "z").encode()
    append(evil, *[(b"%d" % n, b"garbage") for n in range(2_000)])
    table = ann.port.describe()
    assert [(row["entity"], row["key"], row["value"]) for row in table.to_pylist()] == [("user=alice", "acks", "1")]
    assert mark(table, schemas.PASSED_OVER) == "2004"
    assert ann.alter({ALICE: {"acks": ("1", "0")}}) == {ALICE: None}


def test_a_topic_without_an_end_is_not_read_for_ever(ann, append, monkeypatch):
    """Somebody's job filled the topic, and my describe took all memory."""
    ann.alter({ALICE: {"acks": (None, "1")}})
    monkeypatch.setattr(compacted_topic, "LARGEST_TOPIC", 1 << 20)
    append(*[(b"%d" % n, b"x" * 100_000) for n in range(25)])
    with pytest.raises(Invalid, match="more than 1 MiB of records"):
        ann.port.describe()


@pytest.mark.parametrize("hours", [-1, 1, 24])
def test_a_clock_that_is_wrong_decides_nothing(hours, ann, ben, monkeypatch):
    """His clock was an hour behind, and his older value won."""
    ann.alter({ALICE: {"acks": (None, "1")}, APP: {"acks": (None, "0")}})
    before = ann.port.describe()["changed_at"].to_pylist()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3_600 * hours)
    assert codes(ben.alter({ALICE: {"acks": ("-1", "0")}})) == ["CONFLICT"]
    assert ben.alter({ALICE: {"acks": ("1", "0")}}) == {ALICE: None}
    monkeypatch.undo()
    rows = ann.port.describe().to_pylist()
    assert [row["value"] for row in rows] == ["0", "0"]
    assert rows[0]["revision"] > rows[1]["revision"]
    assert 0 <= (rows[0]["changed_at"] - before[0]).total_seconds() < 60


def test_a_thousand_entries_are_one_transaction(ann):
    """Of a plan of a thousand clients a part was done when the network went away."""
    from kadmin_nb.model.client_configs import ClientEntity

    clients = [ClientEntity("alice", f"app-{n}") for n in range(6_000)]
    assert not any(ann.alter({client: {"acks": (None, "1")} for client in clients}).values())
    assert len(ann.stored()) == 6_000
    again = ann.alter({**{client: {"acks": ("1", "0")} for client in clients}, ALICE: {"acks": ("1", "0")}})
    assert (again[ALICE].code, {refusal.code for refusal in again.values()}) == (
        "CONFLICT",
        {"CONFLICT", "OPERATION_NOT_ATTEMPTED"},
    )
    assert {*ann.stored().values()} == {"1"}
