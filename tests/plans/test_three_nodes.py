"""Verified means every broker says so; a broker that is frozen, fenced or gone is named, and time is bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from kafka.protocol.admin.cluster import DescribeQuorumRequest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka, Node
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.journal.store import journals
from tests.dangerous_plans import applied
from tests.plans.plan_rows import rows
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture
def wide(three: LocalKafka) -> Iterator[kn.Cluster]:
    """A connection of its own to a whole cluster, made whole again afterwards."""
    with kn.connect(three.bootstrap, timeout=12.0) as connected:
        yield connected
        for node in three.nodes:
            node.resume()
            if node.pid is None:
                node.start()
        until = time.monotonic() + 30
        while time.monotonic() < until and sum(not b.is_fenced for b in connected.port.brokers()) < 3:
            time.sleep(0.1)


def controller(three: LocalKafka, cluster: kn.Cluster) -> Node:
    quorum = DescribeQuorumRequest.TopicData
    request = DescribeQuorumRequest(
        topics=[quorum(topic_name="__cluster_metadata", partitions=[quorum.PartitionData(partition_index=0)])]
    )
    answer = cluster.port.wire.ask(lambda: request, doing="asking for the quorum")
    return three.nodes[answer.topics[0].partitions[0].leader_id - 1]


def others(three: LocalKafka, cluster: kn.Cluster) -> list[Node]:
    active = controller(three, cluster)
    return [node for node in three.nodes if node.id != active.id]


def staged(cluster: kn.Cluster, user: str) -> kn.Stage:
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user=user)
    return stage


def test_every_broker_is_asked(wide, unique):
    """The broker that I was connected to had it, the two others had not."""
    stage = staged(wide, unique("user"))
    stage.set_config("log.retention.ms", "5000", broker=kn.DEFAULT)
    stage.set_config("log.retention.ms", "6000", broker=2)
    assert rows(applied(stage.plan("a test")), "resource", "state", "brokers_agreeing", "brokers")[1:] == [
        ("broker=<default>", "verified", 3, 3),
        ("broker=2", "verified", 1, 1),
    ]


@pytest.mark.long
def test_a_frozen_broker_is_named_and_not_waited_for_for_ever(three, wide, unique):
    """One of three hung, and the notebook said verified."""
    stage = staged(wide, unique("user"))
    stage.set_config("log.retention.ms", "7000", broker=kn.DEFAULT)
    plan, frozen = stage.plan("a test"), others(three, wide)[0]
    frozen.pause()
    started = time.monotonic()
    outcomes = applied(plan, verify_timeout=4.0)
    took = time.monotonic() - started
    assert rows(outcomes, "state", "brokers_agreeing", "brokers") == [("unverified", 2, 3)] * 2
    assert all(f"broker {frozen.id} " in message for (message,) in rows(outcomes, "message"))
    assert not outcomes.ok
    assert took < 20
    frozen.resume()


@pytest.mark.long
def test_a_client_is_resolved_while_a_broker_is_frozen(three, wide, unique):
    """Its quotas are asked of all brokers side by side, and the one that was frozen held up the answer."""
    user = unique("user")
    applied(staged(wide, user).plan("a test"))
    frozen = others(three, wide)[0]
    frozen.pause()
    started = time.monotonic()
    answer = wide.quotas.resolve(user=user, client_id="app", keys=["producer_byte_rate"])
    took = time.monotonic() - started
    assert rows(answer, "level", "value") == [("USER", 1000.0)]
    assert took < 20
    frozen.resume()


@pytest.mark.long
def test_a_broker_that_is_down_is_named(three, wide, unique):
    """Metadata leaves out a broker that is down, so everybody that was left agreed."""
    plan, stopped = staged(wide, unique("user")).plan(), others(three, wide)[0]
    stopped.kill()
    outcomes = wide.apply(plan, verify_timeout=10.0)
    assert rows(outcomes, "state", "brokers_agreeing", "brokers") == [("unverified", 2, 3)]
    assert f"broker {stopped.id} " in rows(outcomes, "message")[0][0]
    eventually(lambda: {b.id for b in wide.port.brokers() if b.is_fenced}, {stopped.id})
    fenced = staged(wide, unique("user")).plan().apply(verify_timeout=8.0)
    assert rows(fenced, "state", "message") == [
        ("unverified", f"not seen on every broker: broker {stopped.id} is fenced")
    ]
    stopped.start()
    again = wide.apply(plan, verify_timeout=60.0)
    assert rows(again, "state", "brokers_agreeing") == [("verified", 3)]
    assert rows(wide.apply(plan), "state") == [("unchanged",)]


@pytest.mark.long
def test_a_frozen_broker_does_not_hold_up_a_resolve(three, wide, unique):
    """Which limit binds a client was a question of half a minute, or the frozen broker was passed over in silence."""
    frozen = others(three, wide)[0]
    frozen.pause()
    started = time.monotonic()
    answer = wide.quotas.resolve(unique("user")).to_arrow()
    assert time.monotonic() - started < 15
    notes = answer.schema.metadata[b"kadmin.notes"].decode()
    assert f"broker {frozen.id} was not read" in notes or f"broker {frozen.id} is down" in notes  # fenced by now
    frozen.resume()


@pytest.mark.long
def test_a_frozen_broker_uses_up_the_time_of_no_connection(three, wide):
    """One of three hung, and every third command failed before it had begun."""
    frozen = others(three, wide)[0]
    frozen.pause()
    started = time.monotonic()
    for _ in range(8):
        with kn.connect(three.bootstrap, timeout=5.0) as connected:
            connected.quotas.describe()
    assert time.monotonic() - started < 16
    frozen.resume()


@pytest.mark.long
def test_a_lost_answer_is_never_called_a_success(three, wide, unique, monkeypatch):
    """The controller hung, the alter got no answer, and the table said verified."""
    plan, active = staged(wide, unique("user")).plan(), controller(three, wide)
    wire = wide.port.wire
    real = wire.tell
    monkeypatch.setattr(wire, "tell", lambda request, **o: real(request, **{**o, "timeout": 2.0}))
    active.pause()
    started = time.monotonic()
    outcomes = wide.apply(plan, verify_timeout=4.0, quiet_period=5.0)
    took = time.monotonic() - started
    assert rows(outcomes, "state", "error") == [("unknown", "REQUEST_TIMED_OUT")]
    assert not outcomes.ok
    with pytest.raises(kn.PartlyFailed, match="is unknown"):
        outcomes.raise_for_errors()
    assert took < 40
    active.resume()


@pytest.mark.long
def test_a_frozen_controller_does_not_hold_up_a_plan(three, wide, unique):
    """The plan waited for minutes: another broker may reach the next controller, else nobody could validate."""
    active = controller(three, wide)
    active.pause()
    started = time.monotonic()
    plan = staged(wide, unique("user")).plan()
    assert rows(plan, "validated")[0][0] in ("ok", "not possible")
    assert time.monotonic() - started < 30
    active.resume()


@pytest.mark.long
def test_the_terminal_says_that_a_broker_has_yet_to_agree(three, wide, unique, tmp_path, capsys):
    """One of three hung, and the pipeline went on, as the exit code was 0."""
    plan, frozen = staged(wide, unique("user")).plan(), others(three, wide)[0]
    plan.save(tmp_path / "plan.json")
    frozen.pause()
    code = terminal.run_line(
        ["plan", "apply", str(tmp_path / "plan.json"), "--cluster", three.bootstrap, "--wait", "4"]
    )
    said = capsys.readouterr().out
    assert code == 4
    assert f"plan {plan.id[:8]}: 1 unverified" in said
    assert f"broker {frozen.id} " in said
    frozen.resume()
    assert rows(wide.apply(plan.id, verify_timeout=20.0), "state", "brokers_agreeing") == [("verified", 3)]


def quotas_of(cluster: kn.Cluster, broker: int | None = None) -> dict[tuple[str, str], float]:
    """All that a broker has."""
    table = cluster.port.quotas.describe(node=broker)
    return {(row["entity"], row["key"]): row["value"] for row in table.to_pylist()}


USERS, LARGEST = 2_000, 400


@pytest.mark.long
@pytest.mark.parametrize("through", ["the controller", "another broker"])
def test_the_controller_is_killed_in_the_middle_of_a_batch(through, three, wide, unique, monkeypatch):
    """The controller died under the third of five requests, and the table told of rows that were not there."""
    quotas_before, stage, names = quotas_of(wide), wide.new_stage(), [unique("user") for _ in range(USERS)]
    for number, name in enumerate(names, 1):
        stage.set_quota("producer_byte_rate", 1000 + number, user=name)
    wanted = {(f"user={name}", "producer_byte_rate"): 1000.0 + number for number, name in enumerate(names, 1)}
    plan, active = stage.plan(), controller(three, wide)
    whom = active if through == "the controller" else others(three, wide)[0]
    wire, sent = wide.port.wire, []
    real = wire.tell

    def tell(request, **options):
        if not options["doing"].startswith("altering"):
            return real(request, **options)
        sent.append(options["doing"])
        if len(sent) == 3:
            threading.Timer(0.02, active.kill).start()  # an alter of so many takes longer
        return real(request, **{**options, "node": whom.id if len(sent) <= 3 else None})

    monkeypatch.setattr(wire, "tell", tell)
    monkeypatch.setattr(executor, "apply", partial(executor.apply, largest_batch=LARGEST))
    outcomes = wide.apply(plan, verify_timeout=5.0, quiet_period=20.0)
    monkeypatch.undo()
    eventually(lambda: active.pid, None)
    there = quotas_of(wide)
    claimed = {(entity, "producer_byte_rate"): state for entity, state in rows(outcomes, "resource", "state")}
    assert "verified" not in claimed.values()  # one of three is gone
    assert not [row for row, state in claimed.items() if state in ("skipped", "failed") and row in there]
    assert len([row for row in wanted if row in there]) >= 2 * LARGEST

    active.start()
    eventually(lambda: [b.is_fenced for b in wide.port.brokers()], [False] * 3, 60.0)
    resumed = wide.apply(plan.id, verify_timeout=30.0, quiet_period=20.0)
    assert {state for (state,) in rows(resumed, "state")} <= {"verified", "unchanged"}
    for node in three.nodes:
        assert quotas_of(wide, node.id) == quotas_before | wanted
    assert journals().find(plan.id).state.verified == set(range(1, USERS + 1))

    back = wide.rollback(plan.id).apply(verify_timeout=30.0).raise_for_errors()
    assert set(rows(back, "state", "brokers_agreeing")) == {("verified", 3)}
    for node in three.nodes:
        assert quotas_of(wide, node.id) == quotas_before
