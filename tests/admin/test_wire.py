"""The connection answers, or says in bounded time that it does not, whatever becomes of the broker."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin.cluster import DescribeClusterRequest

import kadmin_nb as kn
from kadmin_nb.admin.ports import EXACT, Component
from kadmin_nb.admin.wire import KAFKA_4_4, Wire
from kadmin_nb.admin.wire_kinds import WireQuotas
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import ConnectionFailed, NotFound, TimedOut
from kadmin_nb.local import LocalKafka, Node
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.model.entity import Entity
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def mortal() -> Iterator[LocalKafka]:
    """A Kafka that these tests may freeze, kill and start again."""
    soon = {"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "300"}
    with kn.local.start(extra=soon) as running:
        yield running


@pytest.fixture
def node(mortal: LocalKafka) -> Iterator[Node]:
    only = mortal.nodes[0]
    yield only
    only.resume()


@pytest.fixture
def own(mortal: LocalKafka) -> Iterator[Wire]:
    wire = Wire(Settings(mortal.bootstrap), timeout=60.0)  # a broker that was frozen is fenced for a while
    wire.timeout = 2.0
    yield wire
    wire.close()


def describe(wire: Wire, **options: Any) -> str:
    answer = wire.ask(lambda: DescribeClusterRequest(), doing="describing the cluster", **options)
    return str(answer.cluster_id)


def seconds(action) -> tuple[float, BaseException]:
    started = time.monotonic()
    with pytest.raises(BaseException) as raised:  # noqa: PT011
        action()
    return time.monotonic() - started, raised.value


def test_a_frozen_broker_is_a_time_out_and_then_answers_again(own, node):
    """The kernel hung for ever because a broker did."""
    describe(own, timeout=15.0)
    node.pause()
    took, error = seconds(lambda: describe(own))
    assert (type(error), str(error), error.code) == (
        TimedOut,
        "no answer in time while describing the cluster",
        "REQUEST_TIMED_OUT",
    )
    assert 1.9 < took < 25
    node.resume()
    assert describe(own, timeout=15.0)


def test_an_alter_without_an_answer_may_have_happened(own, node):
    """I was told that it failed, and ten seconds later it was there."""
    alice = Entity.parse("user=alice")
    alteration = {alice: {"producer_byte_rate": 5.0}}
    quotas = WireQuotas(own)
    quotas.describe()
    node.pause()
    own_tell, own.tell = own.tell, lambda *a, **o: own_tell(*a, **o, timeout=1.0)
    took, error = seconds(lambda: quotas.alter(alteration))
    assert type(error) is TimedOut
    assert "may have been made" in str(error)
    assert took < 25
    node.resume()
    eventually(lambda: quotas.describe()["entity"].to_pylist(), ["user=alice"])


def test_a_new_connection_to_a_frozen_broker_ends_in_time(mortal, node):
    """Connecting to a frozen broker hung the notebook."""
    node.pause()
    took, error = seconds(lambda: Wire(Settings(mortal.bootstrap), timeout=1.5))
    assert isinstance(error, TimedOut | ConnectionFailed)
    assert took < 25


def test_a_broker_that_came_back_is_found_again(own, node):
    """After the nightly restart the notebook had to be restarted too."""
    before = describe(own, timeout=15.0)
    node.kill()
    took, error = seconds(lambda: describe(own))
    assert isinstance(error, ConnectionFailed)
    assert took < 25
    node.start()
    assert describe(own, timeout=15.0) == before
    assert describe(own, timeout=15.0, node=1) == before


def test_a_broker_that_is_not_in_the_cluster_is_named(own):
    """`broker=9` said: KeyError."""
    took, error = seconds(lambda: own.ask(lambda: DescribeClusterRequest(), node=9, doing="asking"))
    assert (type(error), str(error)) == (NotFound, "broker 9 is not in the cluster, while asking")
    assert took < 25


@pytest.mark.parametrize("during", ["a call", "connecting"])
def test_the_kernels_interrupt_is_heard_at_once(mortal, node, during):
    """Ctrl-C did nothing, I had to kill the kernel."""
    wire = Wire(Settings(mortal.bootstrap), timeout=60.0)  # a broker that was frozen is fenced for a while
    describe(wire)
    node.pause()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    if during == "a call":
        took, error = seconds(lambda: describe(wire))
    else:
        took, error = seconds(lambda: LiveKafka(Settings(mortal.bootstrap), timeout=20.0))
    assert type(error) is KeyboardInterrupt
    assert took < 5
    node.resume()
    assert describe(wire)
    wire.close()


def test_a_closed_connection_says_so_at_once(mortal):
    """A describe on a cluster that I had closed waited for half a minute."""
    wire = Wire(Settings(mortal.bootstrap))
    wire.close()
    wire.close()
    took, error = seconds(lambda: describe(wire))
    assert (type(error), str(error)) == (ConnectionFailed, "the connection is closed, while describing the cluster")
    assert took < 1


def test_a_connection_leaves_nothing_behind(mortal):
    """After a day of notebooks: too many open files."""
    LiveKafka(Settings(mortal.bootstrap)).close()

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    def no_more_than(files: int, threads: int) -> bool:
        now = held()  # what earlier tests left may go meanwhile
        return now[0] <= files and now[1] <= threads

    before = held()
    for _ in range(5):
        LiveKafka(Settings(mortal.bootstrap)).close()
    eventually(lambda: no_more_than(*before), True)


def test_threads_may_share_a_connection(own):
    """Two widgets asked at once and got each other's answers."""
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(describe(own, timeout=20.0))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 20
    assert len(set(seen)) == 1


def test_many_requests_at_a_time_are_answered_in_their_order(own):
    """From the fifth request under way on, the connection was held back, and the request failed."""
    quotas = WireQuotas(own)
    users = [f"in-turn-{number}" for number in range(11)]
    rates = {Entity.of({"user": user}): {"producer_byte_rate": 1000.0 + n} for n, user in enumerate(users)}
    assert not any(quotas.alter(rates).values())
    filters = [([Component("user", EXACT, user)], True) for user in users]
    eventually(
        lambda: [table["value"].to_pylist() for table in quotas.describe_each(filters)],
        [[1000.0 + number] for number in range(11)],
    )


def test_requests_of_which_one_is_refused_are_refused(own):
    """Of two filters the second was wrong, and its answer was taken for an empty one."""
    refused = [Component("ip", EXACT, "10.0.0.1"), Component("user", EXACT, "alice")]
    with pytest.raises(kn.KadminError, match="IP filter") as raised:
        WireQuotas(own).describe_each([([], False), (refused, False)])
    assert raised.value.code == "INVALID_REQUEST"


def test_several_requests_to_a_frozen_broker_end_in_time(own, node):
    """Each of several waited for its whole time, one after the other."""
    node.pause()
    took, error = seconds(lambda: WireQuotas(own).describe_each([([], False)] * 4))
    assert (type(error), error.code) == (TimedOut, "REQUEST_TIMED_OUT")
    assert 1.9 < took < 25


def test_closing_a_frozen_connection_does_not_block(mortal, node):
    """`with connect()` hung on its way out."""
    wire = Wire(Settings(mortal.bootstrap))
    node.pause()
    started = time.monotonic()
    wire.close()
    assert time.monotonic() - started < 25


def test_a_version_that_we_do_not_know_is_at_least_the_newest(own):
    """doctor said Kafka 4.3 of a Kafka 4.4."""
    assert own.version == "4.4"
    versions = own._manager.broker_version_data.api_versions
    offered = dict(versions)
    try:
        versions[18] = (0, 6)
        assert own.version == "4.4 or newer"
        versions.update(offered)
        versions[95] = (0, 0)
        assert own.version == "4.4 or newer"
        for api in KAFKA_4_4:
            versions.pop(api)
        versions.pop(95)
        assert own.version == "4.3"
    finally:
        versions.clear()
        versions.update(offered)
