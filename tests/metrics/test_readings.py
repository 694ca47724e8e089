"""The parts of a scrape: within bounds, one at a time, and their failures one line."""

from __future__ import annotations

import time
from threading import Event

import pytest

from kadmin_nb.cluster.exporter import Reading
from kadmin_nb.errors import ConnectionFailed
from tests.waiting import eventually


@pytest.fixture
def said() -> list[str]:
    return []


def read(reading: Reading, seconds: float = 5.0) -> dict[str, object]:
    """What a scrape has of it."""
    reading.start()
    reading.wait(time.monotonic() + seconds)
    return reading.found


def test_what_hangs_is_given_up(said):
    """Prometheus gave up before we did."""
    go_on = Event()
    reading = Reading("limits", lambda: {"quotas": go_on.wait(30)}, said.append)
    began = time.monotonic()
    assert read(reading, 0.2) == {}
    assert time.monotonic() - began < 20
    assert (reading.found, reading.errors) == ({}, 1)
    go_on.set()
    eventually(lambda: reading.found, {"quotas": True})
    assert said == ["limits: not read in time"]


def test_it_is_read_once_at_a_time(said):
    """Two Prometheis asked the cluster twice."""
    go_on, calls = Event(), []
    reading = Reading("limits", lambda: calls.append(1) or {"quotas": go_on.wait(30)}, said.append)
    reading.start()
    reading.start()
    go_on.set()
    reading.wait(time.monotonic() + 5)
    assert len(calls) == 1


def test_a_failure_is_one_line(said):
    """The log had the same line four times a minute."""
    gone = ConnectionFailed("no\nbroker")
    answers = [gone, ValueError("odd"), gone, {"quotas": 1}]

    def next_answer():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    reading = Reading("limits", next_answer, said.append)
    assert [read(reading) for _ in range(4)] == [{}, {}, {}, {"quotas": 1}]
    assert reading.errors == 3
    gone_again = "limits: ConnectionFailed: no\\nbroker"
    assert said == [gone_again, "limits: ValueError('odd')", gone_again]


def test_a_failure_leaves_nothing_old(said):
    """The limits of yesterday were shown as if they were of now."""
    answers = [{"quotas": 1}, ConnectionFailed("gone")]

    def next_answer():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    reading = Reading("limits", next_answer, said.append)
    assert [read(reading), read(reading)] == [{"quotas": 1}, {}]
