"""The doctor: every step of a connection, the one that fails with what mends it, bounded, and without a secret."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import threading
import time

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.ports import Broker
from kadmin_nb.cluster import doctor as steps
from kadmin_nb.commands import terminal
from kadmin_nb.frames.blocks import window
from kadmin_nb.model.findings import FAILED, OK, SKIPPED, UNKNOWN, WARNING, Finding
from kadmin_nb.profiles import settings_for
from tests.connections.conftest import SCRAM
from tests.persons import give_password
from tests.self_signed import self_signed
from tests.waiting import eventually


def states_of(answer, *checks):
    """State and note by check; of the checks that are named, or of all."""
    table = answer.to_arrow().to_pylist()
    return [(row["check"], row["state"]) for row in table if not checks or row["check"] in checks]


def notes_of(answer, check):
    """What was seen, of one check."""
    return [row["note"] for row in answer if row["check"] == check]


def failure(answer):
    """The one row that failed."""
    (row,) = (row for row in answer.to_arrow().to_pylist() if row["state"] == "failed")
    return row


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as once:
        return once.getsockname()[1]


@pytest.fixture
def silent_port():
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]


class Registered:
    """A cluster that registers these brokers, and asks none of them."""

    def __init__(self, *brokers):
        self._brokers = brokers

    def brokers(self):
        return self._brokers

    def reach(self, broker, timeout):
        pass


@pytest.mark.broker
def test_all_steps_of_a_connection_that_works(kafka):
    """I wanted to see that it works, and where it goes."""
    answer = kn.doctor(kafka.bootstrap)
    states = [(name, state) for name, state in states_of(answer) if name != "optional"]
    names = [name for name, _ in states]
    assert names == ["settings", "connection", "version", "quotas", "clock", "rights", "installation"]
    assert {state for _, state in states} == {"ok"}
    assert answer.ok
    assert answer._title() == "No check failed."


@pytest.mark.broker
def test_the_verb_ends_with_the_state(kafka, closed_port, capsys):
    """Our health check could not tell a page of failures from one of successes."""
    assert terminal.run_line(["doctor", "--cluster", kafka.bootstrap]) == 0
    assert terminal.run_line(["doctor", "--cluster", f"127.0.0.1:{closed_port}"]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"^No check failed(, \d with a warning)?\.$", printed, re.MULTILINE)
    assert "1 of" in printed
    assert "Connection refused" in printed


def test_a_closed_port(closed_port):
    """Connection refused, and nobody said what else was tried."""
    answer = kn.doctor(f"127.0.0.1:{closed_port}")
    assert failure(answer)["check"] == "connection"
    assert "listeners" in failure(answer)["fix"]
    assert notes_of(answer, "not tried") == ["brokers, version, quotas, clock, rights: the check of connection failed"]


def test_a_name_that_nobody_knows():
    """A typo in the host name was a time-out."""
    answer = kn.doctor("nosuch.invalid:9092")
    assert failure(answer)["check"] == "connection"
    assert "spelling" in failure(answer)["fix"]


def test_a_name_service_that_never_answers(monkeypatch):
    """The VPN was down, and the page came after two minutes."""
    blocked = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: blocked.wait(60) and [])
    started = time.monotonic()
    answer = kn.doctor("broker.example.com:9092", timeout=0.3)
    blocked.set()
    assert time.monotonic() - started < 25
    assert "name service does not answer" in failure(answer)["note"]


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_silent_port_hangs_nothing(silent_port, protocol):
    """The broker was frozen, and so was the tool that should have told me."""
    started = time.monotonic()
    answer = kn.doctor(f"127.0.0.1:{silent_port}", properties={"security.protocol": protocol}, timeout=1.0)
    assert time.monotonic() - started < 25
    assert not answer.ok
    assert "within 1 s" in str(answer.to_arrow()["note"].to_pylist())


def test_steps_that_do_not_end_are_a_failure(silent_port, monkeypatch):
    """The machine was busy, and a broker that nobody had reached was passed over: *no check failed*."""
    blocked = threading.Event()
    monkeypatch.setattr(steps, "_broker_check", lambda *_: blocked.wait(60))
    brokers = Registered(Broker(1, "127.0.0.1", silent_port, None, False))
    unanswered, connection = steps._broker_checks(brokers, settings_for("a:1"), 0.05)
    blocked.set()
    assert (unanswered.severity, unanswered.message) == (FAILED, "not finished within 0.2 s")
    assert connection.message == "0 of 1 brokers answer; PLAINTEXT"


def test_settings_that_cannot_be_read(profiles, monkeypatch):
    """The variable of the password was not set, and the page was a stack trace."""
    monkeypatch.delenv("NO_SUCH_PASSWORD", raising=False)
    profiles('[profiles.prod]\nbootstrap = "a:1"\nusername = "u"\npassword = "env:NO_SUCH_PASSWORD"\n')
    answer = kn.doctor("prod")
    assert failure(answer)["check"] == "settings"
    assert "NO_SUCH_PASSWORD" in failure(answer)["note"]


@pytest.mark.secure
def test_a_wrong_password_is_named_and_not_repeated(secure_kafka):
    """The page was pasted into a ticket, with the password in it."""
    text = f'{SCRAM} required username="alice" password="CANARY-7";'
    answer = kn.doctor(
        secure_kafka.bootstrap,
        properties={
            "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": text,
        },
    )  # fmt: skip
    assert failure(answer)["check"] == "login"
    assert failure(answer)["fix"].startswith("Check user and password")
    pages = [answer.as_text(), answer.as_html(), json.dumps(answer.to_arrow().to_pylist()), repr(answer)]
    assert not [page for page in pages if "CANARY" in page]


@pytest.mark.secure
def test_missing_rights_have_their_names_and_the_lines_that_grant_them(secure_kafka):
    """All was green, and the first change was refused."""
    with secure_kafka.connect() as admin:
        give_password(admin.port, "dolores", "a-password", "SCRAM-SHA-512")
    properties = str(secure_kafka.remember_login("dolores", "a-password"))
    eventually(lambda: states_of(kn.doctor(properties), "connection"), [("connection", "ok")])
    answer = kn.doctor(properties)
    missing = [row for row in answer.failed.to_arrow().to_pylist() if row["check"] == "rights"]
    assert "ALTER_CONFIGS on the cluster" in [row["subject"] for row in missing]
    assert all(row["fix"].startswith("kafka-acls.sh ") for row in missing)
    assert states_of(answer, "version", "connection") == [("connection", "ok"), ("version", "ok")]


def test_each_broker_is_tried_at_the_address_that_it_advertises(closed_port, silent_port):
    """Bootstrap worked, and half of the brokers advertised a name of their own network."""
    brokers = Registered(
        Broker(1, "127.0.0.1", silent_port, None, False),
        Broker(2, "127.0.0.1", closed_port, None, False),
        Broker(3, "127.0.0.1", 1, None, True),
    )
    failed, fenced, connection = steps._broker_checks(brokers, settings_for("a:1"), 1.0)
    assert [failed.severity, fenced.severity, connection.severity] == ["failed", "warning", "ok"]
    assert "advertised.listeners of broker 2" in failed.fix
    assert "fenced" in fenced.message
    assert connection.message == "1 of 3 brokers answer; PLAINTEXT"


class Clocked:
    """A cluster whose controller's clock is so many milliseconds behind ours; None: it does not tell."""

    def __init__(self, behind):
        self.client_registry, self._behind = self, behind

    def brokers_clock(self, until):
        return 0 if self._behind is None else int(time.time() * 1000 - self._behind)


@pytest.mark.parametrize(
    ("behind", "severity", "words"),
    [
        (2_500, OK, r"2\.5 s ahead of the active controller, to within \d+ ms"),
        (-600_000, WARNING, r"10 min behind the active controller, to within \d+ ms"),
        (0, OK, r"as the active controller, to within \d+ ms"),
        (None, SKIPPED, "the active controller's time is not known"),
    ],
)
def test_our_clock_beside_the_brokers(behind, severity, words):
    """My laptop was ten minutes late: each token was refused, and *throttled now* was of the past."""
    check = steps._clock_check(Clocked(behind), 5.0)
    assert check.severity == severity
    assert re.fullmatch(words, check.message)


@pytest.mark.broker
def test_it_counts_quotas_and_compares_clocks(kafka):
    """It was connected, it said, and not whether that was the cluster with our quotas."""
    answer = kn.doctor(kafka.bootstrap)
    (quotas,), (clock,) = notes_of(answer, "quotas"), notes_of(answer, "clock")
    some = r"(no quotas|[\d,]+ quotas? of [\d,]+ entit(y|ies)); no custom quota callback on 1 of 1 brokers"
    assert re.fullmatch(some, quotas)
    assert "the active controller, to within" in clock


def test_an_extra_that_is_missing_is_absent_and_not_a_failure(monkeypatch):
    """I do not use Spark, and the page was red."""
    monkeypatch.setattr(steps, "_is_installed", lambda package: not package.startswith(("pyspark", "deltalake")))
    (row,) = (row for row in kn.doctor("nosuch.invalid:9092") if row["state"] == "absent")
    assert row["note"] == "not installed: deltalake, pyspark (pip install 'kadmin_nb[delta,local,spark]')"


@pytest.fixture
def tls_port():
    """Serves TLS with a certificate, and closes the connection after the handshake."""
    with contextlib.ExitStack() as stack:

        def serve(file):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file)
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
            stack.callback(listening.shutdown, socket.SHUT_RDWR)

            def answer():
                with contextlib.suppress(OSError):
                    while True:
                        accepted, _ = listening.accept()
                        with contextlib.suppress(OSError), accepted:
                            context.wrap_socket(accepted, server_side=True).close()

            threading.Thread(target=answer, daemon=True).start()
            return listening.getsockname()[1]

        yield serve


@pytest.mark.parametrize(
    ("days", "host", "trusted", "words"),
    [
        (60, "localhost", True, "closes the connection"),
        (-1, "localhost", True, "certificate has expired"),
        (60, "broker.internal", True, "Hostname mismatch"),
        (60, "localhost", False, "Set ssl.truststore.location to a store"),
    ],
    ids=["good", "expired", "another host", "another authority"],
)
def test_a_certificate(tls_port, tmp_path, days, host, trusted, words):
    """ "SSL handshake failed" is all that I was told."""
    file = self_signed(tmp_path, days, host)
    store = {"ssl.truststore.type": "PEM", "ssl.truststore.location": file} if trusted else {}
    answer = kn.doctor(f"localhost:{tls_port(file)}", properties={"security.protocol": "SSL", **store}, timeout=2)
    assert states_of(answer, "connection") == [("connection", "failed")]
    assert words in str(answer.to_arrow().to_pylist())


def test_keys_without_effect_are_named(client):
    """My retries did nothing, and nobody told me."""
    check = steps._settings_check(settings_for(client("bootstrap.servers=a:1\nacks=all\n")))
    assert check.message.endswith("without effect here: acks")


@pytest.mark.parametrize(
    "bound", [["--timeout", "0.5"], ["--property", "default.api.timeout.ms=500"]], ids=["option", "property"]
)
def test_a_typed_timeout_holds_for_every_call(silent_port, capsys, bound):
    """The terminal waited for thirty seconds, whatever I did."""
    started = time.monotonic()
    assert terminal.run_line(["users", "--cluster", f"127.0.0.1:{silent_port}", *bound]) == 1
    assert "within 0.5 s" in capsys.readouterr().err
    assert time.monotonic() - started < 25


@pytest.mark.broker
def test_a_timeout_of_the_properties_holds_for_alters_too(kafka):
    """A change to a frozen broker took a minute and a half to fail."""
    with kn.connect(kafka.bootstrap, properties={"default.api.timeout.ms": "7000"}) as cluster:
        assert (cluster.port.wire.timeout, cluster.port.wire.alter_timeout) == (7.0, 7.0)


def test_what_is_not_known_is_not_called_failed():
    """The doctor ended in *PartlyFailed: 1 of 3 rows failed*, and no row had failed."""
    ok, right = Finding("Kafka", OK, "", "b"), Finding("right", UNKNOWN, "no broker judged it", "ALTER_CONFIGS")
    answer = steps.DoctorAnswer([ok, ok, right], "")
    with pytest.raises(
        kn.errors.NotKnowable, match="1 of 3 are not known; the first: right of ALTER_CONFIGS: no broker judged"
    ):
        answer.raise_for_errors()
    failed = steps.DoctorAnswer([Finding("port", FAILED, "closed", "a:1"), right], "")
    with pytest.raises(kn.PartlyFailed, match="1 of 2 rows failed, 1 more not known; the first: port of a:1: closed"):
        failed.raise_for_errors()


PAGE = steps.DoctorAnswer(
    [
        Finding(
            "rights", FAILED, "missing: you cannot change quotas", "ALTER_CONFIGS", fix="kafka-acls.sh --add --cluster"
        ),
        Finding("broker", "warning", "fenced", "3 at c:1", fix="Start broker 3 again."),
        Finding("connection", OK, "2 of 3 brokers answer; PLAINTEXT, no login"),
        Finding("optional", "absent", "not installed: pyspark (pip install 'kadmin_nb[spark]')"),
    ],
    "",
)


def test_one_line_a_check_with_its_fix_below():
    """A page of five columns: the line that fixes it was cut, and what failed was in the middle."""
    assert PAGE.as_text(window(72, "")).split("\n")[2:] == [
        "✗  rights      ALTER_CONFIGS: missing: you cannot change quotas",
        "               kafka-acls.sh --add --cluster",
        "!  broker      3 at c:1: fenced",
        "               Start broker 3 again.",
        "✓  connection  2 of 3 brokers answer; PLAINTEXT, no login",
        "-  optional    not installed: pyspark (pip install 'kadmin_nb[spark]')",
    ]


def test_without_unicode_signs_are_words():
    """Over a serial line each check began with \\u2713."""
    signs = [line[:4].strip() for line in PAGE.as_text(window(80, "", ascii_only=True)).split("\n")[2:]]
    assert signs == ["FAIL", "", "!", "", "ok", "-"]


def test_signs_have_colours_in_a_terminal_and_in_lab():
    """In Lab a failed check looked as one that had succeeded."""
    text, page = PAGE.as_text(window(72, "", colour=True)), PAGE.as_html()
    assert [sign for sign in ("\x1b[31m✗", "\x1b[33m!", "\x1b[32m✓", "\x1b[2m-") if sign not in text] == []
    assert re.findall(r'<span class="kadmin-(\w+)" title="(\w+)">(.)</span>', page) == [
        ("bad", "failed", "✗"), ("fair", "warning", "!"), ("good", "ok", "✓"), ("dim", "absent", "-"),
    ]  # fmt: skip
    assert '<tr class="kadmin-below"><td></td><td></td><td><code>kafka-acls.sh --add --cluster</code></td></tr>' in page
