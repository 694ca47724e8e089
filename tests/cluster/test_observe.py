"""The request log on for a while: off again after the time, after Ctrl-C and SIGTERM; after a kill it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

import kadmin_nb as kn
from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.cluster import observation
from kadmin_nb.commands import run
from kadmin_nb.commands.session import Session
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.resources import Resource
from tests.admin.logins import admin_client
from tests.logged_requests import requests_of
from tests.persons import give_password
from tests.waiting import eventually

pytestmark = pytest.mark.broker

LOGGER, SLOW = observation.LOGGER, 60.0


def level(cluster: kn.Cluster) -> str:
    return observation.levels(cluster.port, [1])[1]["value"]


def set_level(cluster: kn.Cluster, wanted: str) -> None:
    cluster.port.configs.alter({Resource("BROKER_LOGGER", "1"): [ConfigOperation("set", LOGGER, wanted)]})
    eventually(lambda: level(cluster), wanted)


@pytest.fixture
def quiet(cluster) -> Iterator[kn.Cluster]:
    """The cluster with its logger where Kafka starts it, before and after."""
    set_level(cluster, "WARN")
    yield cluster
    eventually(lambda: running(cluster), False, SLOW)
    set_level(cluster, "WARN")


def running(cluster: kn.Cluster) -> bool:
    """Whether somebody on this machine observes it."""
    try:
        with observation._alone(cluster.id):
            return False
    except kn.PlanRefused:
        return True


def states(answer: kn.Answer) -> list[tuple[object, ...]]:
    return [(r["broker"], r["state"], r["level_before"]) for r in answer.to_arrow().to_pylist()]


def test_on_for_a_while_and_then_as_before(quiet, kafka):
    """It was reset to the default, and the level that we had set for good was gone."""
    set_level(quiet, "INFO")
    place = kafka.folder / "node-1" / "request.log"
    size, seen = place.stat().st_size, []
    answer = quiet.observe(1.5, progress=lambda advance: seen.append((str(advance), level(quiet))))
    assert states(answer) == [(1, "restored", "INFO")]
    assert level(quiet) == "INFO"
    assert {one for _, one in seen[:-1]} == {"DEBUG"}
    assert place.stat().st_size > size
    assert answer.logs == (str(place),)
    assert str(place) in repr(answer)
    (row,) = answer.to_arrow().to_pylist()
    assert 1.5 <= (row["until"] - row["since"]).total_seconds() < 30


FILE = 10_000_000
"""Bytes at which a local broker rolls its request log."""


def produce(kafka: LocalKafka, client_id: str, requests: int) -> None:
    """So many PRODUCE requests, each answered before the next. Their lines are as long as the client-id."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "client.id": client_id, "linger.ms": 0})
    for _ in range(requests):
        producer.produce("observed", b"x")
        assert producer.flush(60) == 0


def observe_while_producing(
    cluster: kn.Cluster, kafka: LocalKafka, client_id: str, requests: int
) -> observation.ObservationAnswer:
    """An observation in which this client makes all of its requests."""
    pending = [requests]

    def once(advance: object) -> None:
        if pending:
            produce(kafka, client_id, pending.pop())

    return cluster.observe(1, progress=once)


def numbers(client_id: str, *logs: str) -> list[int]:
    """The correlation ids of its PRODUCE requests, in the order of the files."""
    headers = (one["requestHeader"] for one in requests_of(client_id, *map(Path, logs)))
    return [header["correlationId"] for header in headers if header["requestApiKeyName"] == "PRODUCE"]


@pytest.mark.long
def test_every_file_of_a_log_that_rolled_is_named(quiet, kafka, unique):
    """20 s of requests were 14.6 MB, it named the one file that was left last, and half of the usage was missing."""
    client_id = unique("long") + "x" * 20_000
    requests = 1_000
    assert requests * len(client_id) > FILE
    answer = observe_while_producing(quiet, kafka, client_id, requests)
    assert len(answer.logs) in (2, 3)
    assert answer.logs[-1] == str(kafka.folder / "node-1" / "request.log")
    found = numbers(client_id, *answer.logs)
    assert len(found) == requests
    assert found == sorted(set(found))
    assert answer.to_arrow()["complete"].to_pylist() == [True]
    assert answer.warnings == ()
    assert [f"request log: {log}" in repr(answer) for log in answer.logs] == [True] * len(answer.logs)
    assert len(quiet.observe(1).logs) == 1  # the rolled ones are of an earlier time


def test_a_broker_whose_log_lost_files_is_left_out(quiet, monkeypatch):
    """log4j had deleted rolled files, the counts added up, and nobody said a word."""
    found = observation.RequestLog.found
    lost = "log4j deleted rolled files, so that requests are missing"
    monkeypatch.setattr(observation.RequestLog, "found", lambda log: (found(log)[0], False, lost))
    answer = quiet.observe(1)
    assert answer.to_arrow().select(["complete", "message"]).to_pylist() == [{"complete": False, "message": lost}]
    assert answer.warnings == (f"WARNING: broker 1: {lost}",)
    assert answer.warnings[0] in repr(answer)
    with pytest.raises(kn.errors.NotKnowable, match=lost):
        answer.requests()


@pytest.mark.parametrize("files", [(), ("request.log",), ("request.log", "request.log.1")])
def test_a_log_whose_first_file_is_gone_is_not_complete(files, tmp_path):
    """log4j keeps some rolled files. The others were gone."""
    place = tmp_path / "request.log"
    place.write_text("")
    with place.open("rb") as first:
        log = observation.RequestLog(first, place)
        assert log.found() == ([str(place)], True, None)
        place.unlink()
        for name in files:
            (tmp_path / name).write_text("")
        names, is_complete, _ = log.found()
    assert ({Path(name).name for name in names}, is_complete) == ({*files}, False)


def test_what_was_on_before_stays_on(quiet):
    """Somebody else had switched it on to debug, and my minute switched it off under them."""
    set_level(quiet, "TRACE")
    assert states(quiet.observe(1)) == [(1, "kept", "TRACE")]
    assert level(quiet) == "TRACE"


def test_what_somebody_sets_meanwhile_is_theirs(quiet, monkeypatch):
    """They set ERROR while it ran, and it put the old level back. It named a log that was on no broker."""
    monkeypatch.setattr(observation, "all_runs", list)
    with pytest.warns(UserWarning, match="cannot be read from here: copy it, and read it with"):
        answer = quiet.observe(1, progress=lambda advance: set_level(quiet, "ERROR"))
    assert states(answer) == [(1, "moved", "WARN")]
    assert answer.logs == ()
    assert answer.to_arrow()["message"].to_pylist() == [f"another level was set since; {observation.ELSEWHERE}"]
    assert level(quiet) == "ERROR"


def test_ctrl_c_ends_it_early_and_it_is_off(quiet):
    """I had seen enough, pressed Ctrl-C, and the log went on until the disk was full."""
    pressed = []

    def press(advance: object) -> None:
        if not pressed:
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(
        kn.errors.Interrupted, match=r"stopped by Ctrl-C after \d+ s, and all log levels were"
    ) as stopped:
        quiet.observe(300, progress=press)
    assert time.monotonic() - pressed[0] < 60
    assert states(stopped.value.outcomes) == [(1, "restored", "WARN")]
    assert level(quiet) == "WARN"


@pytest.fixture
def terminal(kafka, quiet) -> Iterator[subprocess.Popen[bytes]]:
    """A terminal that observes for five minutes, and is on."""
    start = "from kadmin_nb.commands import main; main()"
    words = ["observe", "--for", "5m", "--cluster", kafka.bootstrap]
    with subprocess.Popen(
        [sys.executable, "-c", start, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        eventually(lambda: process.poll() is not None or level(quiet) == "DEBUG", True, SLOW)
        assert process.poll() is None, process.communicate()
        yield process
        process.kill()


LINE = f"kadmin-nb config set {LOGGER}=WARN broker-logger=1 --apply"


def test_killed_it_is_told_with_the_line_that_switches_it_off(quiet, kafka, terminal):
    """The kernel was killed for its memory, and the brokers wrote every request for a week."""
    terminal.kill()
    terminal.wait(SLOW)
    eventually(lambda: running(quiet), False, SLOW)
    assert level(quiet) == "DEBUG"
    with pytest.raises(kn.PlanRefused, match="an observation was killed, and left") as refused:
        quiet.observe(1)
    assert (refused.value.code, refused.value.hint) == ("LEFT_ON", LINE)
    assert [row["fix"] for row in kn.doctor(kafka.bootstrap) if row["check"] == "observation"] == [LINE]
    for why in (quiet.configs.why(broker=1), quiet.quotas.why("ANONYMOUS", "app")):
        assert [note for note in why.notes if note.endswith(LINE)]
    run(LINE.split()[1:], Session(connected=quiet, owns=False))
    assert level(quiet) == "WARN"
    assert not [row for row in kn.doctor(kafka.bootstrap) if row["check"] == "observation"]
    assert states(quiet.observe(1)) == [(1, "restored", "WARN")]


def test_ended_by_sigterm_it_is_off(quiet, terminal):
    """The scheduler stopped the job, and the log went on."""
    terminal.terminate()
    assert terminal.wait(SLOW) == 128 + signal.SIGTERM
    assert level(quiet) == "WARN"
    assert observation.left_on(quiet.port) == []


def test_a_second_one_is_refused(quiet, terminal):
    """Two of us observed, and whoever was first switched it off for both."""
    with pytest.raises(kn.PlanRefused, match="this machine already observes this cluster") as refused:
        quiet.observe(1)
    assert refused.value.code == "LOCKED"
    terminal.send_signal(signal.SIGINT)
    said, _ = terminal.communicate(timeout=SLOW)
    assert terminal.returncode == 130
    assert b"restored" in said
    assert level(quiet) == "WARN"
    assert states(quiet.observe(1)) == [(1, "restored", "WARN")]


def test_a_broker_that_does_not_take_it_back_is_said(quiet, monkeypatch):
    """One broker was down at the end, the summary was green, and its log filled the disk."""
    tried = []

    def failing(loggers: object, brokers: object) -> dict[int, str]:
        tried.append(brokers)
        return {1: "it is down"}

    monkeypatch.setattr(observation, "WITHIN", 0.5)
    monkeypatch.setattr(observation._Loggers, "tried", failing)
    with pytest.raises(kn.PartlyFailed, match="still at DEBUG, as far as is known: it is down") as failed:
        quiet.observe(1)
    assert len(tried) > 1
    assert states(failed.value.outcomes)[0][1] == "left"
    assert failed.value.hint == LINE
    assert LINE in repr(failed.value.outcomes)
    assert observation.left_on(quiet.port) == [LINE]


@pytest.mark.secure
def test_without_the_right_nothing_is_sent(secure_kafka):
    """It failed half-way with a stack trace, and nobody knew whether it was on."""
    with secure_kafka.connect() as admin:
        give_password(admin.port, "onlooker", "x" * 12)
        secure_kafka.remember_login("onlooker", "x" * 12)
        eventually(lambda: refusal(secure_kafka), kn.NotAuthorized)
        may_look = (ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL, "User:onlooker", "*")
        acl = AclBinding(*may_look, AclOperation.DESCRIBE_CONFIGS, AclPermissionType.ALLOW)
        client = admin_client(admin.settings)
        client.create_acls([acl])[acl].result()
        eventually(lambda: refusal(secure_kafka), kn.PlanRefused)
        assert level(admin) == "WARN"


def refusal(kafka: LocalKafka) -> type[kn.KadminError] | None:
    """What `observe` says to somebody without rights, once the login is known."""
    try:
        with kafka.connect("onlooker") as cluster:
            cluster.observe(1)
    except kn.KadminError as exc:
        return type(exc) if exc.code == "CLUSTER_AUTHORIZATION_FAILED" else None
    return None


@pytest.mark.secure
def test_with_a_login_no_secret_is_written_down(secure_kafka):
    """The file of what was switched on had the password."""
    seen: list[bytes] = []
    with secure_kafka.connect() as admin:
        place = observation._place(admin.id)
        answer = admin.observe(1, progress=lambda advance: seen.append(place.read_bytes()))
        assert states(answer) == [(1, "restored", "WARN")]
        assert {*seen} == {b'{"before":{"1":"WARN"},"level":"DEBUG"}'}
        assert not place.exists()


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("2", 2), ("1.5m", 90), ("1h", 3600)])
def test_the_verb_reads_lengths(text, seconds):
    """`--for 5m` was five seconds."""
    asked = []

    class Cluster:
        def observe(self, seconds: float, **options: object) -> None:
            asked.append(seconds)

    run(["observe", "--for", text], Session(connected=Cluster(), owns=False))
    assert asked == [seconds]


def test_with_out_it_says_where_the_requests_are(quiet, tmp_path):
    """`observe --out o.json` ran for a minute and printed nothing: where were the requests?"""
    said: list[str] = []
    session = Session(connected=quiet, owns=False, note=said.append)
    result = run(["observe", "--for", "1s", "--out", str(tmp_path / "o.json")], session)
    assert said == [f"request log: {log}" for log in result.value.logs] != []


@pytest.mark.parametrize("text", ["soon", "5x", "-1s", ""])
def test_the_verb_refuses_what_is_no_length(text):
    """It observed for ever."""
    with pytest.raises(kn.UsageError, match="is not a duration"):
        run(["observe", "--for", text], Session())


@pytest.mark.parametrize("seconds", [0, 0.5, 3601, float("nan"), float("inf")])
def test_it_is_bounded(cluster, seconds):
    """A typing error left it on for a month."""
    with pytest.raises(kn.UsageError, match=r"an observation of .* s is not possible"):
        cluster.observe(seconds)
