"""Whatever happens to a request or to its answer on the way, the call ends in time and says the truth."""

from __future__ import annotations

import contextlib
import random
import time
import tracemalloc

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.connections import LARGEST_ANSWER
from kadmin_nb.errors import KadminError, TimedOut, Unsupported, UsageError
from tests.faults.proxy import (
    ALTER_QUOTAS,
    CUT_AFTER,
    CUT_BEFORE,
    DESCRIBE_QUOTAS,
    DROPPED,
    FOREIGN,
    HALF_THEN_CUT,
    HALF_THEN_SILENCE,
    TWICE,
    UNANSWERED,
    Fault,
    garbled,
    of_length,
    replaced,
    shortened,
)
from tests.faults.sides import ALTER_TIMEOUT, CONFIGS, QUOTAS, shows_up

pytestmark = pytest.mark.broker

BOTH = pytest.mark.parametrize(
    "side", [pytest.param(QUOTAS, id="quotas"), pytest.param(CONFIGS, id="configs", marks=pytest.mark.long)]
)
SLACK = 18.0
"""Seconds that a busy machine may add to a bound."""


def test_every_connection_goes_through_the_proxy(reached, proxy):
    """Metadata named the broker itself, and what was to be spoilt went past the proxy."""
    assert [broker.port for broker in reached.brokers()] == proxy.ports
    with pytest.raises(UsageError, match="a local Kafka of 1 needs as many proxies, not 2"):
        kn.local.start(proxied=[1, 2])


SILENT = {
    "dropped": (DROPPED, False),
    "held until after the time-out": (Fault(hold=ALTER_TIMEOUT * 2), True),
    "done, the answer dropped": (UNANSWERED, True),
    "done, the answer too late": (Fault(late=ALTER_TIMEOUT * 2), True),
    "half an answer": (HALF_THEN_SILENCE, True),
    "an answer that says it is a gigabyte": (of_length(LARGEST_ANSWER), True),
}
"""Nothing (more) comes, so that only the time-out ends the call; and whether the change is made."""

AT_ONCE = {
    "cut before it arrives": (CUT_BEFORE, False),
    "done and cut": (CUT_AFTER, True),
    "half an answer, then cut": (HALF_THEN_CUT, True),
    "an answer that says it is two gigabytes": (of_length(2**31 - 1), True),
    "an answer of a negative length": (of_length(-2), True),
    "an answer to nobody": (FOREIGN, True),
    "a frame of the correlation id alone": (shortened(4), True),
    "a frame of not even that": (shortened(2), True),
    "a frame of half the answer": (shortened(14), True),
    "no rows, as null": (replaced(b"\0\0\0\0\0\0\0"), True),
    "no rows at all": (replaced(b"\0\0\0\0\0\1\0"), True),
    "a number that never ends": (replaced(b"\0\0\0\0\0" + b"\xff" * 200_000), True),
    "a billion rows": (replaced(b"\0\0\0\0\0\xff\xff\xff\xff\x0f"), True),
    "held back for a month": (replaced(b"\x7f\xff\xff\xff\0\1\0"), True),
}
"""The client can know at once that there will be no answer."""


def timed(call) -> tuple[float, object]:
    started = time.monotonic()
    said = call()
    return time.monotonic() - started, said


def assert_unknown(reached, proxy, side, name: str, is_made: bool) -> None:
    """The call was `unknown`, was sent once, the connection goes on, and the broker shows what really happened."""
    assert isinstance(side.describe(reached, name), list)
    assert shows_up(lambda: side.holds(reached, name)) if is_made else not side.holds(reached, name)
    assert proxy.counts[side.altering] == 1
    assert side.alter(reached, f"{name}-next") is None
    assert proxy.counts[side.altering] == 2


@BOTH
@pytest.mark.parametrize(("fault", "is_made"), SILENT.values(), ids=SILENT)
def test_an_alter_without_an_answer_is_unknown_after_its_time(reached, proxy, unique, side, fault, is_made):
    """It was reported as failed, and then it was there."""
    name = unique("silent")
    proxy.spoil(side.altering, fault)
    took, code = timed(lambda: side.alter(reached, name))
    assert code == "REQUEST_TIMED_OUT"
    assert ALTER_TIMEOUT * 0.9 < took < ALTER_TIMEOUT + SLACK
    assert_unknown(reached, proxy, side, name, is_made)


@BOTH
@pytest.mark.parametrize(("fault", "is_made"), AT_ONCE.values(), ids=AT_ONCE)
def test_an_alter_whose_answer_is_broken_is_unknown_at_once(reached, proxy, unique, side, fault, is_made):
    """A garbled answer held up the notebook for a minute and a half, and then called the change a failure."""
    name = unique("broken")
    reached.wire.alter_timeout = 60.0
    proxy.spoil(side.altering, fault)
    took, code = timed(lambda: side.alter(reached, name))
    assert code == "REQUEST_TIMED_OUT"
    assert took < SLACK
    assert_unknown(reached, proxy, side, name, is_made)


@BOTH
def test_an_alter_that_the_network_doubles_is_one_change(reached, proxy, unique, side):
    """The second copy's answer was taken for the next call's."""
    name = unique("twice")
    proxy.spoil(side.altering, TWICE)
    assert side.alter(reached, name) is None
    assert shows_up(lambda: side.holds(reached, name))
    assert proxy.counts[side.altering] == 1


@BOTH
def test_only_the_request_that_is_named_goes_wrong(reached, proxy, unique, side):
    """One alter of three was lost, and all three were called unknown."""
    names = [unique("third") for _ in range(3)]
    proxy.spoil(side.altering, UNANSWERED, nth=2)
    assert [side.alter(reached, name) for name in names] == [None, "REQUEST_TIMED_OUT", None]
    assert proxy.counts[side.altering] == 3


RETRIED = {"cut before": CUT_BEFORE, "cut after": CUT_AFTER, "half, then cut": HALF_THEN_CUT}


@BOTH
@pytest.mark.parametrize("fault", RETRIED.values(), ids=RETRIED)
def test_a_question_whose_connection_breaks_is_asked_again(reached, proxy, side, fault):
    """One lost connection failed a job of two hours."""
    proxy.spoil(side.describing, fault)
    assert isinstance(side.describe(reached, "any"), list)
    assert proxy.counts[side.describing] == 2


@BOTH
def test_a_broker_that_restarts_meanwhile_is_waited_for(reached, proxy, side):
    """A restart of a second failed a job of two hours."""
    proxy.leave(1.0)
    took, said = timed(lambda: side.describe(reached, "any"))
    assert (isinstance(said, list), took > 0.9) == (True, True)


LATE = {"dropped": DROPPED, "unanswered": UNANSWERED, "half": HALF_THEN_SILENCE, "a gigabyte": of_length(1 << 30)}


@BOTH
@pytest.mark.parametrize("fault", LATE.values(), ids=LATE)
def test_a_question_without_an_answer_is_a_time_out(reached, proxy, side, fault):
    """The describe hung, and so did every later one."""
    reached.wire.timeout = 1.0
    proxy.spoil(side.describing, fault)
    started = time.monotonic()
    with pytest.raises(TimedOut, match="no answer in time while describing") as late:
        side.describe(reached, "any")
    assert (late.value.code, time.monotonic() - started < 1.0 + SLACK) == ("REQUEST_TIMED_OUT", True)
    reached.wire.timeout = 20.0
    assert isinstance(side.describe(reached, "any"), list)


UNREADABLE = {name: fault for name, (fault, _) in AT_ONCE.items() if "cut" not in name and "no rows" not in name}


@BOTH
@pytest.mark.parametrize("fault", UNREADABLE.values(), ids=UNREADABLE)
def test_a_question_with_a_broken_answer_is_an_error_at_once(reached, proxy, unique, side, fault):
    """Half an answer was half of the quotas, or nothing until the time-out."""
    assert side.alter(reached, name := unique("there")) is None  # half of an answer without rows is a whole one
    assert shows_up(lambda: side.holds(reached, name))
    reached.wire.timeout = 60.0
    proxy.spoil(side.describing, fault)
    before, started = proxy.connections, time.monotonic()
    with pytest.raises(Unsupported) as unreadable:
        side.describe(reached, "any")
    assert (unreadable.value.code, time.monotonic() - started < SLACK) == ("CORRUPT_MESSAGE", True)
    assert "\n" not in str(unreadable.value)
    assert isinstance(side.describe(reached, "any"), list)
    assert proxy.connections <= before + 1


def test_an_answer_takes_no_memory_before_it_is_there(reached, proxy, unique):
    """Four garbled bytes took a gigabyte of the driver's memory."""
    proxy.spoil(ALTER_QUOTAS, of_length(LARGEST_ANSWER))
    proxy.spoil(DESCRIBE_QUOTAS, of_length(LARGEST_ANSWER - 1))
    reached.wire.timeout = 1.0
    tracemalloc.start()
    try:
        assert QUOTAS.alter(reached, unique("big")) == "REQUEST_TIMED_OUT"
        with pytest.raises(TimedOut):
            reached.quotas.describe()
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


SEEDS = range(100)


@BOTH
def test_a_hundred_garbled_answers_to_questions(reached, proxy, side):
    """After a garbled answer the connection was dead, and the kernel with it."""
    reached.wire.timeout = 20.0
    for seed in SEEDS:
        draw = random.Random(seed)
        noise = replaced(draw.randbytes(draw.randrange(2000)))
        proxy.spoil(side.describing, draw.choice([garbled(seed), noise, shortened(draw.randrange(60))]))
        started = time.monotonic()
        with contextlib.suppress(KadminError):
            assert isinstance(side.describe(reached, "any"), list)
        assert time.monotonic() - started < SLACK
    assert isinstance(side.describe(reached, "any"), list)


@BOTH
def test_a_hundred_broken_answers_to_alters(reached, proxy, unique, side):
    """An alter was sent again because its answer could not be read."""
    reached.wire.alter_timeout = 20.0
    names = [unique("garbled") for _ in SEEDS]
    for seed, name in zip(SEEDS, names, strict=True):
        draw = random.Random(seed)
        proxy.spoil(side.altering, shortened(draw.randrange(12)) if seed % 2 else replaced(draw.randbytes(60)))
        took, code = timed(lambda name=name: side.alter(reached, name))
        assert (code, took < SLACK) == ("REQUEST_TIMED_OUT", True)
    assert proxy.counts[side.altering] == len(names)
    assert all(shows_up(lambda name=name: side.holds(reached, name)) for name in names[-3:])
