"""The time from a typed line to its shown answer in a warm notebook, for each verb that reads.

The broker's own time is that of the bare requests, from being sent until they are answered, each moment once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import kadmin_nb as kn
from benchmarks.journals import own_journals
from benchmarks.timing import Row, row
from kadmin_nb.admin import wire
from kadmin_nb.local import start

USERS, APPS, TOPICS = 1_000, 5, 100
PLANS, CHANGES = 40, 5
BOUND = 0.15
"""Seconds over the broker's own time."""

LINES = {
    "quota describe": "%kquota describe",
    "quota describe of a user": "%kquota describe user=user-17",
    "quota resolve": "%kquota resolve user=user-17 client-id=app-1",
    "quota resolve of pairs": "%kquota resolve --pairs clients",
    "quota why": "%kquota why user=user-17 client-id=app-1",
    "quota tree": "%kquota tree",
    "quota audit": "%kquota audit --clients clients",
    "quota near": "%kquota near usage",
    "quota top": "%kquota top usage",
    "config describe of a topic": "%kconfig describe topic=topic-17",
    "config describe of all topics": "%kconfig describe topic=<any>",
    "config describe of a broker": "%kconfig describe broker=1",
    "config audit": "%kconfig audit",
    "may-i": "%kadmin may-i",
    "history snapshots": "%kadmin history snapshots HISTORY",
    "history changes": "%kadmin history changes HISTORY",
    "history as-of": "%kadmin history as-of HISTORY now",
    "plan log": "%kplan log",
}


def run(full: bool = False) -> list[Row]:
    """A figure a verb: seconds over the broker's own time, the median of some lines in a row."""
    rounds = 9 if full else 5
    with own_journals() as folder, start() as kafka, kafka.connect() as cluster, _shell() as shell:
        _fill(cluster)
        _apply_plans(cluster)
        history = Path(folder, "history")
        kn.open_history(history).record(cluster.snapshot())
        shell.user_ns |= {"clients": _clients(), "usage": _usage()}
        _show(shell, f"%kadmin use {kafka.bootstrap}")
        return [_figure(shell, verb, line.replace("HISTORY", str(history)), rounds) for verb, line in LINES.items()]


def _figure(shell: InteractiveShell, verb: str, line: str, rounds: int) -> Row:
    _show(shell, line)
    spent = [_timed(lambda: _show(shell, line)) for _ in range(rounds)]
    ours, brokers = (statistics.median(times) for times in zip(*spent, strict=True))
    return row(f"first row: {verb}", ours, brokers, ours - brokers, BOUND, "seconds, the broker's, those beyond it")


def _show(shell: InteractiveShell, line: str) -> None:
    """Run a cell, and format its value as text and as HTML, as a notebook does."""
    shell.display_pub = CapturingDisplayPublisher()
    with redirect_stdout(StringIO()):
        shell.run_cell(line, store_history=False).raise_error()


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the work, and those of them in which a broker was waited for."""
    with _waiting() as waited:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started, waited[0]


@contextmanager
def _waiting() -> Iterator[list[float]]:
    """The seconds in which some request was under way, the first of the list."""
    wait, lock, seconds, open_since = wire._waited, Lock(), [0.0], []

    def timed(*request: Any) -> Any:
        with lock:
            open_since.append(open_since[-1] if open_since else time.perf_counter())
        try:
            return wait(*request)
        finally:
            with lock:
                begun = open_since.pop()
                seconds[0] += 0.0 if open_since else time.perf_counter() - begun

    wire._waited = timed
    try:
        yield seconds
    finally:
        wire._waited = wait


@contextmanager
def _shell() -> Iterator[InteractiveShell]:
    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "kadmin_nb")
    yield shell
    InteractiveShell.clear_instance()


def _fill(cluster: kn.Cluster) -> None:
    """A cluster of a company: a user and an app in ten have a limit of their own, and there are topics."""
    stage = cluster.new_stage()
    for number in range(USERS):
        stage.set_quota("producer_byte_rate", 1_000_000 + number, user=f"user-{number}")
        if number % 10 == 0:
            stage.set_quota("consumer_byte_rate", 2_000_000, user=f"user-{number}", client_id="app-1")
    stage.plan("bench").apply().raise_for_errors()
    _create_topics(cluster)


def _apply_plans(cluster: kn.Cluster) -> None:
    """Plans of some months, a few changes each."""
    for number in range(PLANS):
        stage = cluster.new_stage()
        for user in range(CHANGES):
            stage.set_quota("request_percentage", 50 + number, user=f"user-{user}")
        stage.plan("bench").apply().raise_for_errors()


def _create_topics(cluster: kn.Cluster) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    client = AdminClient({"bootstrap.servers": cluster.port.wire.settings.bootstrap})
    for future in client.create_topics([NewTopic(f"topic-{n}", 1) for n in range(TOPICS)]).values():
        future.result()


def _clients() -> pd.DataFrame:
    """PAIRS of each user with each of its apps."""
    names = [(f"user-{user}", f"app-{app}") for user in range(USERS) for app in range(APPS)]
    return pd.DataFrame(names, columns=["user", "client_id"])


def _usage() -> pd.DataFrame:
    """USAGE of an hour of a hundred clients."""
    clients = _clients().iloc[:: USERS * APPS // 100]
    windows = pd.date_range("2026-07-01", periods=60, freq="min", tz="UTC", unit="us")
    frame = clients.merge(pd.DataFrame({"window_start": windows}), how="cross")
    chance = np.random.default_rng(7)
    return frame.assign(
        broker=1,
        key="producer_byte_rate",
        value=chance.random(len(frame)) * 1_200_000,
        window_end=frame["window_start"] + pd.Timedelta(minutes=1),
        throttle_ms=0.0,
        source="bench",
    )
