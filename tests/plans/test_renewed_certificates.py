"""A value that is set again: a broker reads its key store again only when it is sent (KAFKA-7429, KAFKA-14136)."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.errors import PlanRefused
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import kinds, planning, sending
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.plans.stage import Stage
from tests.double import FakeKafka
from tests.double.faults import Answered, AnswerLost
from tests.notebook.conftest import notebook  # noqa: F401
from tests.plans.plan_rows import rows
from tests.plans.simulation import QUIET, Pages
from tests.self_signed import self_signed
from tests.waiting import eventually

LOCATION = "listener.name.ssl.ssl.keystore.location"
NOT_SAID = "accepted; the answer does not say whether the broker could read its store: openssl s_client shows the "


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(self_signed(tmp_path_factory.mktemp("store"), 30, "localhost"))


@pytest.fixture(scope="module")
def tls(store: Path) -> Iterator[LocalKafka]:
    """A broker with a key store in a file, which is also set dynamically, as when it was changed once."""
    in_a_file = {"listener.name.ssl.ssl.keystore.type": "PEM", LOCATION: str(store)}
    with kn.local.start(listeners={"SSL": "SSL"}, extra=in_a_file) as running:
        with running.connect() as cluster:
            stage = cluster.new_stage()
            stage.set_config(LOCATION, str(store), broker=1)
            stage.plan("a test").apply(allow=f"{LOCATION} broker=1").raise_for_errors()
        yield running


@pytest.fixture
def served(tls: LocalKafka) -> Callable[[], int]:
    """The serial number of the certificate that the broker shows to clients."""
    host, port = tls.address("SSL").split(":")

    def serial() -> int:
        pem = ssl.get_server_certificate((host, int(port)))
        return x509.load_pem_x509_certificate(pem.encode()).serial_number

    return serial


def renewed(store: Path) -> int:
    """Write a new certificate under the same name; its serial number."""
    self_signed(store.parent, 30, "localhost")
    return serial_in(store)


def serial_in(store: Path) -> int:
    """The serial number of the certificate in the file."""
    return x509.load_pem_x509_certificate(store.read_bytes()).serial_number


def _by_declared_file(tls: LocalKafka, store: Path, tmp_path: Path) -> list[str]:
    file = tmp_path / "cluster.yaml"
    configs = f"configs:\n  broker=1:\n    {LOCATION}: {store}\n"
    file.write_text(f"kadmin: 1\nkinds: [broker]\n{configs}")
    return ["plan", "from", str(file), "--again", "--apply", "--cluster", tls.bootstrap]


def _by_lines(tls: LocalKafka, store: Path, tmp_path: Path) -> list[str]:
    file = tmp_path / "lines.txt"
    file.write_text(f"set {LOCATION}={store} broker=1\n")
    return ["plan", "-f", str(file), "--again", "--apply", "--cluster", tls.bootstrap]


def _by_config_set(tls: LocalKafka, store: Path, tmp_path: Path) -> list[str]:
    return ["config", "set", f"{LOCATION}={store}", "broker=1", "--again", "--apply", "--cluster", tls.bootstrap]


def _by_kafka_configs(tls: LocalKafka, store: Path, tmp_path: Path) -> list[str]:
    broker = ["--entity-type", "brokers", "--entity-name", "1", "--add-config", f"{LOCATION}={store}"]
    return ["kafka-configs", "--bootstrap-server", tls.bootstrap, "--alter", *broker]


@pytest.mark.broker
@pytest.mark.parametrize("line", [_by_kafka_configs, _by_config_set, _by_lines, _by_declared_file])
def test_a_renewed_certificate_is_served(tls, store, served, tmp_path, line):
    """Completed updating config for broker 1, and clients still saw the certificate that ran out at night."""
    serial = renewed(store)
    assert served() != serial
    assert terminal.run_line(line(tls, store, tmp_path)) == 0
    eventually(served, serial)


@pytest.mark.broker
def test_a_renewed_certificate_is_served_from_python(tls, store, served):
    """The notebook that renews certificates had no word for it."""
    serial = renewed(store)
    with tls.connect() as cluster:
        stage = cluster.new_stage()
        stage.set_config(LOCATION, str(store), broker=1)
        outcomes = stage.plan(again=True).apply()
        assert rows(outcomes, "state", "message", "lag_ms") == [
            ("verified", f"{NOT_SAID}certificate that it serves", None)
        ]
        eventually(served, serial)
        with pytest.raises(PlanRefused, match="there is nothing to roll back"):
            cluster.rollback(outcomes.plan_id)


@pytest.mark.broker
@pytest.mark.parametrize(
    "lines",
    [
        ["%kconfig set {}", "%kconfig plan --again"],
        ["%kconfig set {} --again", "%kconfig plan"],
        ["%%kconfig --again\nset {}", "%kconfig plan"],
    ],
    ids=["plan", "line", "cell"],
)
def test_a_renewed_certificate_is_served_from_a_notebook(tls, store, served, notebook, lines):  # noqa: F811
    """What was staged with --again was planned without."""
    serial = renewed(store)
    notebook(f"%kadmin use {tls.bootstrap}")
    for line in lines:
        answer = notebook(line.format(f"{LOCATION}={store} broker=1"))
    assert rows(answer, "note")[0][0].endswith("the same value, sent again")
    notebook("%kconfig apply")
    eventually(served, serial)


@pytest.mark.broker
def test_a_broken_store_is_accepted_and_the_answer_says_what_it_does_not_know(tls, store, served, capsys):
    """Verified, and the renewal had failed: Kafka says so in the log of the broker alone."""
    serial = renewed(store)
    assert terminal.run_line(_by_config_set(tls, store, store.parent)) == 0
    eventually(served, serial)
    content = store.read_bytes()
    store.write_text("not a key store")
    try:
        assert terminal.run_line(_by_config_set(tls, store, store.parent)) == 0
    finally:
        store.write_bytes(content)
    assert NOT_SAID in " ".join(capsys.readouterr().out.split()) + " "
    assert served() == serial


@pytest.mark.broker
def test_a_store_that_is_not_sent_says_how_it_would_be(tls, store, served, capsys):
    """Nothing to change, 1 unchanged: and the certificate in the file was a new one."""
    eventually(served, serial_in(store))  # what the test before has sent is read by now
    before, _ = served(), renewed(store)
    line = ["config", "set", f"{LOCATION}={store}", "broker=1", "--apply", "--cluster", tls.bootstrap]
    assert terminal.run_line(line) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ": 1 unchanged" in said
    assert "nothing to change" not in said
    assert "the same value: send again with --again" in said
    assert served() == before


@pytest.mark.broker
def test_a_plan_of_a_file_names_the_stores_that_it_leaves_alone(tls, store, tmp_path, capsys):
    """The pipeline applied our file after the renewal, and said that there was nothing to do."""
    line = [word for word in _by_declared_file(tls, store, tmp_path) if word not in ("--again", "--apply")]
    assert terminal.run_line([*line, "--detailed-exitcode"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"1 of a broker's stores as declared ({LOCATION} of broker=1): --again sends them" in said


@pytest.mark.broker
def test_the_tool_sends_what_is_set_already(kafka, cluster, unique, tells, capsys):
    """Kafka's own tool compares nothing: what it sends has the effects that brokers give it."""
    user = unique("user")
    alter = ["--alter", "--user", user, "--add-config", "producer_byte_rate=1000000000000"]
    line = ["kafka-configs", "--bootstrap-server", kafka.bootstrap, *alter]
    assert [terminal.run_line(line) for _ in range(2)] == [0, 0]
    assert capsys.readouterr().out == f"Completed updating config for user {user}.\n" * 2
    assert terminal.run_line([*line, "--dry-run"]) == 0
    assert "1 to send again" in capsys.readouterr().out


# -- what is known of it, on a double that loses answers

SETTING = (Resource("BROKER", "1"), "ssl.keystore.location")
OPTIONS = ApplyOptions(verify_timeout=4.0, quiet_period=QUIET)


def again(kafka: FakeKafka) -> Plan:
    """The plan that sends again what is set."""
    kafka.cluster.write(SETTING, "/keys/broker.p12")
    kafka.cluster.settle()

    def planned(edits, reason, allow_unknown, *_) -> Plan:
        seen = kinds.take(kafka, [edit.target for edit in edits], whole=True)
        changes = sending.validated(kafka, planning.changes(edits, seen, allow_unknown))
        return Plan(PlanHead(kafka.id, kafka.now().isoformat(), reason), tuple(changes))

    stage = Stage(planned)
    stage.set_config("ssl.keystore.location", "/keys/broker.p12", broker=1)
    stage.set_quota("producer_byte_rate", 1000, user="alice")
    return stage.plan(again=True)


@pytest.mark.parametrize(
    ("fault", "state"),
    [(None, "verified"), (AnswerLost(), "unknown"), (Answered("INVALID_REQUEST"), "failed")],
    ids=["accepted", "answer lost", "refused"],
)
def test_only_the_brokers_yes_verifies_a_value_that_was_there_before(fault, state):
    """Verified, of a request that no broker had accepted: the value was the same all along."""
    kafka, pages = FakeKafka(), Pages()
    plan = again(kafka)
    faults = {} if fault is None else dict.fromkeys(range(1, 100), fault)
    done = executor.apply(kafka.beside(faults=faults), plan, pages.opened(), OPTIONS)
    assert done.outcomes[0].state == state


def test_who_looks_is_not_told_that_it_was_sent():
    """plan verify said verified of a plan that was never applied."""
    kafka = FakeKafka()
    plan = again(kafka)
    (looked, _) = executor.check(kafka, plan).outcomes
    assert (looked.state, looked.message) == (
        "unverified",
        "the value is there, as it was before; no journal here says that it was sent again",
    )
    (looked, _) = executor.check(kafka, plan, accepted=[1]).outcomes
    assert looked.state == "verified"


def test_a_second_apply_does_not_send_it_once_more():
    """A job that retries a plan restarted the listener of each broker."""
    kafka, pages = FakeKafka(), Pages()
    plan = again(kafka)
    executor.apply(kafka.beside(), plan, pages.opened(), OPTIONS)
    second = kafka.beside()
    executor.apply(second, plan, pages.opened(), OPTIONS)
    assert not second.alters


def test_again_is_kept_in_the_file_of_a_plan(tmp_path):
    """A plan that was approved as *send again* was applied as a change of nothing."""
    plan = again(FakeKafka())
    file = plan.save(tmp_path / "p.json")
    first, second = json.loads(file.read_text())["body"]["changes"]
    assert (first["is_again"], "is_again" in second) == (True, False)
    assert kn.Plan.load(file).changes[0].is_again


@pytest.mark.parametrize(
    ("resource", "key", "reloads"),
    [
        (Resource("BROKER", "1"), "ssl.keystore.location", True),
        (Resource("BROKER", "1"), "listener.name.external.ssl.truststore.location", True),
        (Resource("BROKER", "1"), "listener.name.external.ssl.keystore.certificate.chain", True),
        (Resource("BROKER", "1"), "listener.name.external.ssl.key.password", True),
        (Resource("BROKER", "1"), "ssl.truststore.type", True),
        (Resource("BROKER", "1"), "ssl.client.auth", False),
        (Resource("BROKER", "1"), "log.retention.ms", False),
        (Resource("BROKER", ""), "ssl.keystore.location", False),
        (Resource("TOPIC", "t"), "ssl.keystore.location", False),
    ],
    ids=lambda value: str(value),
)
def test_the_stores_of_a_broker(resource, key, reloads):
    """--again sent the retention of each topic."""
    assert resource.reloads(key) is reloads
