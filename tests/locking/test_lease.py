"""Two editors of one cluster: one of them holds the lease, and the other is told so before anything is sent."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest
from confluent_kafka import Producer

import kadmin_nb as kn
from kadmin_nb.admin import lease, transactions
from kadmin_nb.admin.lease import KEY, LeaseLog
from kadmin_nb.admin.wire import ALTER_TIMEOUT
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import PlanRefused, TimedOut
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.journal import Journal
from kadmin_nb.processes import Process
from kadmin_nb.secrets import Secret
from tests.admin.logins import logs_in
from tests.persons import give_password
from tests.waiting import eventually, state_of_process

pytestmark = pytest.mark.broker

LOCKED = re.compile(
    r"alice on \S+ holds the lease for plan plan-of- since \S+Z, alive until \S+Z \((59|60) s\)$",
)


TAKEN = re.compile(r"bob on \S+ took the lease for plan plan-of- at \S+Z and gave it back$")
OVERTAKEN = re.compile(
    r"plan \w{8} did not hold the lease throughout: \S+ took the lease for plan \w{8} at \S+Z and gave it back; what "
    r"was sent meanwhile may have overwritten that editor's changes, and was checked again: rows 1$"
)


def refusal(call: Callable[[], object]) -> PlanRefused:
    with pytest.raises(PlanRefused) as refused:
        call()
    return refused.value


def write(kafka, topic: str, value: bytes | None, **config: object) -> Producer:
    """Someone else's record under the lease's key."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0, **config})
    if "transactional.id" in config:
        producer.init_transactions(10)
        producer.begin_transaction()
    producer.produce(topic, value, KEY)
    assert producer.flush(10) == 0
    return producer


def test_a_second_editor_is_refused_and_the_first_goes_on(alice, bob):
    """My colleague and I applied at the same time, and each undid half of the other."""
    first = alice.take()
    refused = refusal(bob.take)
    assert (refused.code, bool(LOCKED.match(str(refused)))) == ("LOCKED", True), str(refused)
    assert "steal=True" in (refused.hint or "")
    first.renew()
    first.release()


def test_an_editor_who_may_have_the_lease_has_no_note(alice):
    """I could not tell whether the lock was real."""
    held = alice.take()
    assert held.note is None
    held.release()


def test_it_is_free_at_once_when_it_is_given_back(alice, bob):
    """My colleague was done, and I waited for two minutes."""
    for _ in range(3):
        alice.take().release()
        bob.take().release()


def test_of_many_at_once_one_gets_it(editor):
    """Both of us looked, both saw it free, and both began."""
    editors = [editor(f"editor-{n}") for n in range(5)]
    together = threading.Barrier(len(editors))

    def take(one) -> object:
        together.wait()
        try:
            return one.take()
        except PlanRefused as refused:
            return refused.code

    with ThreadPoolExecutor(len(editors)) as pool:
        said = list(pool.map(take, editors))
    held = [answer for answer in said if answer != "LOCKED"]
    assert [one.note for one in held] == [None]
    held[0].renew()
    held[0].release()


def test_who_looked_too_early_is_refused_under_the_fence(alice, bob, monkeypatch):
    """He looked a moment before I began, was refused in the end, and my apply died of it."""
    first = alice.take()
    looks = iter([True])
    real = LeaseLog.newest
    monkeypatch.setattr(LeaseLog, "newest", lambda *a, **o: None if next(looks, False) else real(*a, **o))
    fenced = first._producer
    assert refusal(bob.take).code == "LOCKED"
    first.renew()
    assert first._producer is not fenced
    assert refusal(bob.take).code == "LOCKED"
    first.release()


def test_a_lease_that_has_ended_is_taken_over(alice, bob):
    """She had gone home, and nobody could apply any more."""
    first = alice.take(seconds=3.0)  # it is to be looked at before it ends, on a busy machine too
    refusal(bob.take)
    time.sleep(3.1)
    second = bob.take()
    refused = refusal(first.renew)
    assert refused.code == "FENCED"
    assert re.match(r"bob on \S+ took the lease for plan plan-of- at \S+Z$", str(refused))
    second.renew()
    first.release()
    assert refusal(alice.take).code == "LOCKED"


def test_a_lease_that_has_ended_and_that_nobody_took_goes_on(alice, bob):
    """A batch took long, nobody else was there, and my apply stopped in the middle."""
    first = alice.take(seconds=3.0)  # it is to be looked at before it ends again, on a busy machine too
    time.sleep(3.2)
    first.renew()
    assert refusal(bob.take).code == "LOCKED"


def test_a_stolen_lease_stops_its_holder(alice, bob):
    """I took over in an emergency, and the other apply went on beside mine."""
    first = alice.take()
    second = bob.take(steal=True)
    assert refusal(first.renew).code == "FENCED"
    second.renew()
    second.release()
    assert refusal(first.renew).code == "FENCED"
    alice.take().release()


def test_who_gives_back_what_was_stolen_is_told_by_whom(alice, bob):
    """My lease was stolen while I slept, my change went over theirs, and I was told that all is well."""
    first = alice.take()
    second = bob.take(steal=True)
    lost = first.release()
    assert (lost.code, bool(TAKEN.match(f"{lost.message} and gave it back"))) == ("FENCED", True), lost
    assert first.release() is None
    second.renew()
    assert second.release() is None


def test_who_gives_back_what_was_taken_and_given_back_is_told_by_whom(alice, bob):
    """They were done when I woke up, and nothing said that the lease had been theirs."""
    first = alice.take()
    bob.take(steal=True).release()
    lost = first.release()
    assert (lost.code, bool(TAKEN.match(lost.message))) == ("FENCED", True), lost


def test_where_the_log_no_longer_says_who_had_it_that_is_said(alice, bob, monkeypatch):
    """The topic was compacted while I slept, and I was told that I had taken the lease from myself."""
    first = alice.take()
    bob.take(steal=True).release()
    monkeypatch.setattr(LeaseLog, "last_holder", property(lambda log: None, lambda log, record: None), raising=False)
    lost = first.release()
    assert (lost.code, lost.message) == (
        "FENCED",
        "another editor took the lease and gave it back, or the topic was emptied",
    )


def test_giving_back_with_a_lost_answer_is_not_taken_for_another(alice, monkeypatch):
    """The answer to my own giving back was lost, and I was told that somebody had taken my lease."""
    held, real, calls = alice.take(), transactions.FencedWriter.commit, []

    def lose_the_answer(self, until):
        real(self, until)
        calls.append(until)
        if len(calls) == 1:
            raise TimedOut("no answer", code="REQUEST_TIMED_OUT")

    monkeypatch.setattr(transactions.FencedWriter, "commit", lose_the_answer)
    assert held.release() is None
    assert len(calls) == 2


@pytest.mark.parametrize("pause", [60.0, 0.0])
def test_a_plan_that_was_overtaken_in_its_sleep_says_so(pause, cluster, kafka, unique, monkeypatch):
    """SIGSTOP after the intent, and somebody stole the lease, applied and gave it back: mine ended with 'verified'."""
    user, real = unique("user"), Journal.write
    mine, theirs = (_rate(cluster, user, rate) for rate in (1000, 2000))

    def sleep(journal, kind, **says):
        real(journal, kind, **says)
        if kind == "intent" and journal.place.name.startswith(mine.id):
            with kn.connect(kafka.bootstrap) as other:
                other.apply(theirs, steal=True)

    monkeypatch.setattr(Journal, "write", sleep)
    monkeypatch.setattr(executor, "PAUSE", pause)
    if pause == 60.0:
        with pytest.raises(kn.PartlyFailed) as told:
            cluster.apply(mine)
        assert OVERTAKEN.match(str(told.value)), str(told.value)
        assert told.value.outcomes.to_arrow()["state"].to_pylist() == ["verified"]
    else:
        done = cluster.apply(mine).to_arrow().to_pylist()
        assert [(row["state"], row["error"]) for row in done] == [("skipped", "FENCED")]
    assert _limit(cluster, user) == [1000.0 if pause == 60.0 else 2000.0]


def _rate(cluster, user: str, rate: int):
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", rate, user=user)
    return stage.plan()


def _limit(cluster, user: str) -> list[float]:
    return cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist()


def test_a_frozen_holder_sends_nothing_when_it_wakes_up(carol, alice, kafka, unique):
    """His laptop slept in the middle of an apply, and in the evening it went on, over my changes."""
    before, after = unique("user"), unique("user")
    frozen = carol(seconds=1.5)
    assert frozen.heard() == "held"
    frozen.alter(before)
    assert frozen.heard() == "sent"
    frozen.process.send_signal(signal.SIGSTOP)
    frozen.alter(after)
    eventually(lambda: _taken(alice), True)
    frozen.process.send_signal(signal.SIGCONT)
    assert re.match(r"FENCED alice on \S+ took the lease .*$", frozen.heard())
    time.sleep(0.2)
    altered = {e for e in alice.kafka.quotas.describe()["entity"].to_pylist() if e.endswith((before, after))}
    assert altered == {f"user={before}"}


def _taken(editor) -> bool:
    with contextlib.suppress(PlanRefused):
        return editor.take().note is None
    return False


def test_what_a_killed_holder_leaves_is_taken_at_once(carol, alice, bob):
    """The job was killed, its retry came within two minutes, and was refused by the lease of the dead run."""
    killed = carol(plan="what-the-killed-did")
    assert killed.heard() == "held"
    killed.process.kill()
    killed.process.wait()
    held = alice.take()
    assert (held.note, held.left_by) == (None, "what-the-killed-did")
    assert refusal(bob.take).code == "LOCKED"
    held.release()
    assert bob.take().left_by == ""


def test_what_a_zombie_holds_is_taken_at_once(carol, alice):
    """The container has no init: the job was killed, nobody asked how it ended, and its lease was waited for."""
    killed = carol(plan="what-the-zombie-did")
    assert killed.heard() == "held"
    killed.process.kill()
    eventually(lambda: state_of_process(killed.process.pid), "Z")
    held = alice.take()
    assert (held.note, held.left_by) == (None, "what-the-zombie-did")
    held.release()


def test_a_process_that_has_the_id_of_the_dead_holds_nothing(kafka, alice, topic):
    """Process 4711 had died with the lease, some shell was 4711 by then, and I waited for that shell."""
    alice.take().release()
    me = asdict(Process.this())
    write(kafka, topic, json.dumps({"holder": "carol", "plan": "old", "seconds": 60, "process": me}).encode())
    assert refusal(alice.take).code == "LOCKED"
    me["began"] = 1
    write(kafka, topic, json.dumps({"holder": "carol", "plan": "old", "seconds": 60, "process": me}).encode())
    assert alice.take().left_by == "old"


def test_a_process_of_another_machine_is_not_taken_for_dead(kafka, alice, topic):
    """No process here had its id, and the living editor of the other machine lost its lease."""
    alice.take().release()
    me = {**asdict(Process.this()), "machine": "another boot", "began": 1}
    write(kafka, topic, json.dumps({"holder": "carol", "plan": "old", "seconds": 60, "process": me}).encode())
    assert refusal(alice.take).code == "LOCKED"


def test_the_plan_that_was_killed_is_resumed_at_once(carol, alice):
    """My kernel died, and I could not resume my own plan for two minutes."""
    killed = carol(plan="the-same")
    assert killed.heard() == "held"
    assert refusal(lambda: alice.take(plan="the-same")).code == "LOCKED"
    killed.process.kill()
    killed.process.wait()
    held = alice.take(plan="the-same")
    assert (held.note, held.left_by) == (None, "")
    held.release()


def test_the_plan_that_was_interrupted_at_its_beginning_is_applied_again_at_once(alice, bob, monkeypatch):
    """I pressed Ctrl-C twice as it began, and for two minutes 'me@host holds the lease': I did not."""

    def interrupted(*words):
        raise KeyboardInterrupt

    with monkeypatch.context() as pressing:
        pressing.setattr(lease.HeldLease, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            alice.take(plan="the-same").release()
    assert refusal(bob.take).code == "LOCKED"
    held = alice.take(plan="the-same")
    assert held.note is None
    held.renew()
    held.release()


def test_ctrl_c_while_a_delivery_is_reported_is_a_ctrl_c(alice, monkeypatch):
    """SystemError: <method 'poll' of 'cimpl.Producer' objects> returned NULL without setting an exception."""

    class Interrupted(Producer):
        def poll(self, seconds):
            raise SystemError("returned NULL without setting an exception")

    monkeypatch.setattr(transactions, "Producer", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        alice.take()


def test_a_taker_that_died_half_way_keeps_nobody_waiting(kafka, alice, bob, topic):
    """Someone's transaction hung, and the lock could be neither taken nor read."""
    alice.take().release()
    open_one = write(kafka, topic, b'{"holder": "mallory", "seconds": 60}', **{"transactional.id": topic})
    started = time.monotonic()
    held = bob.take()
    assert (held.note, time.monotonic() - started < 30) == (None, True)
    assert refusal(alice.take).code == "LOCKED"
    del open_one


def test_what_was_aborted_never_was(kafka, alice, topic):
    """A taking that failed counted as taken."""
    alice.take().release()
    write(kafka, topic, b'{"holder": "mallory", "seconds": 60}', **{"transactional.id": "other"}).abort_transaction()
    alice.take().release()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[]",
        b"null",
        b"NaN",
        b"[" * 50_000,
        b'{"seconds": "60", "holder": 7, "pid": 1e999}',
        b'{"seconds": NaN}',
        b'{"seconds": -1e400}',
        b'{"seconds": [60], "nonce": null, "taken": {}}',
        b'{"seconds": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda value: repr(value[:20]),
)
def test_nonsense_in_the_topic_holds_nobody_up(value, kafka, alice, bob, topic):
    """Somebody wrote to the topic by mistake, and no plan could be applied any more."""
    alice.take().release()
    write(kafka, topic, value)
    held = alice.take()
    assert held.note is None
    assert refusal(bob.take).code == "LOCKED"


def test_a_hostile_record_is_shown_escaped_and_ends(kafka, alice, topic):
    """A record cleared my terminal, and locked everyone out until the year 9999."""
    alice.take().release()
    texts = {"holder": "\x1b[2Jroot\n", "host": "\u202eevil", "plan": "p" * 5000, "taken": "<script>"}
    write(kafka, topic, json.dumps(texts | {"seconds": 10**30}).encode())
    refused = refusal(alice.take)
    said = str(refused)
    assert said.startswith(r"\x1b[2Jroot\n on \u202eevil holds the lease for plan pppppppp since <script>, ")
    assert said.endswith(" s)")
    assert float(said.rsplit("(", 1)[1].split()[0]) <= 3600
    alice.take(steal=True).release()


def test_a_clock_that_is_wrong_takes_nothing(alice, bob, monkeypatch):
    """His clock was a day ahead, and to him my lease had ended yesterday."""
    first = alice.take()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86_400)
    assert refusal(bob.take).code == "LOCKED"
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    first.release()
    bob.take().release()


def test_a_renewal_that_took_too_long_is_made_again(alice, monkeypatch):
    """The network hung in a renewal, and what was left of the lease was shorter than the alter."""
    held = alice.take(seconds=2)
    commits = []
    real = transactions.FencedWriter.commit

    def slow_once(self, until):
        real(self, until)
        commits.append(time.sleep(0 if commits else 0.6))

    monkeypatch.setattr(transactions.FencedWriter, "commit", slow_once)
    held.renew()
    assert len(commits) == 2


def test_the_lease_is_longer_than_an_alter():
    """The lease ended while its holder's alter was still on its way."""
    assert lease.SECONDS * (1 - lease._USED_BY_RENEWAL) >= ALTER_TIMEOUT


def test_nothing_is_printed(alice, bob, capfd):
    """librdkafka wrote FATAL into my notebook."""
    first = alice.take()
    bob.take(steal=True)
    refusal(first.renew)
    first.release()
    assert capfd.readouterr() == ("", "")


def test_without_rights_it_says_so_and_goes_on(secure_kafka, unique):
    """I may alter quotas and make no topics, and could not apply at all."""
    with secure_kafka.connect() as admin:
        give_password(admin.port, "alice", "secret")
    login = Settings(
        secure_kafka.bootstrap,
        security_protocol="SASL_PLAINTEXT",
        mechanism="SCRAM-SHA-512",
        username="alice",
        password=Secret("secret"),
    )
    eventually(lambda: logs_in(login), True)
    with contextlib.closing(LiveKafka(login)) as reached:
        held = reached.lease("the-plan", "alice")
        assert held.note == "not locked (no right on __kadmin_nb_lease); run `plan verify` afterwards"
        held.renew()
        held.release()


@pytest.fixture
def frozen(own_kafka):
    """Two editors' connections, and a broker that the test freezes; it thaws at the end."""
    with contextlib.closing(LiveKafka(Settings(own_kafka.bootstrap))) as reached:
        yield own_kafka.nodes[0], reached
        own_kafka.nodes[0].resume()
        reached.brokers()


def test_a_frozen_broker_does_not_hang_it(frozen, topic, monkeypatch):
    """The broker hung, and so did my notebook."""
    node, kafka = frozen
    held = lease.take(kafka.wire, "plan", "alice", topic=topic)
    assert held.note is None
    monkeypatch.setattr(lease, "TAKING", 1.0)
    monkeypatch.setattr(lease, "RENEWING", 1.0)
    monkeypatch.setattr(lease, "RELEASING", 0.5)
    node.pause()
    started = time.monotonic()
    note = lease.take(kafka.wire, "plan", "bob", topic=topic).note or ""
    assert re.match(r"not locked \(no answer in time while \S+ .*", note), note
    with pytest.raises(TimedOut):
        held.renew()
    held.release()
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("verb", ["take", "renew"])
def test_ctrl_c_is_heard(verb, frozen, topic):
    """Ctrl-C did nothing while it waited for the lock."""
    node, kafka = frozen
    held = lease.take(kafka.wire, "plan", "alice", topic=topic)
    node.pause()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        held.renew() if verb == "renew" else lease.take(kafka.wire, "plan", "bob", topic=topic)
    assert time.monotonic() - started < (25 if verb == "renew" else 9)


@pytest.mark.long
def test_an_editor_who_is_above_its_own_quota_gets_the_lease_too(kafka, cluster, unique):
    """IndexError: the broker answers a throttled fetch with nothing."""
    slow = unique("slow")
    limit = cluster.new_stage()
    limit.set_quota("consumer_byte_rate", 3000, client_id=slow)
    limit.plan().apply().raise_for_errors()
    with kn.connect(kafka.bootstrap, properties={"client.id": slow}) as throttled:
        for rate in (5000, 6000):
            stage = throttled.new_stage()
            stage.set_quota("consumer_byte_rate", rate, client_id=f"{slow}-other")
            assert stage.plan().apply().ok
