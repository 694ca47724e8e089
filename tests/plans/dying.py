"""Carries out plans in processes that kill themselves at the n-th point; it is started once and forks for each plan.

A point is any moment at which what is on the disk or at the broker is about to change: before a line of the journal
is written, in the middle of it, before it is synced; before a batch is sent, when it has left, when it is
answered; before the lease is taken, renewed or given back.

Each line of stdin is a JSON list: bootstrap, the plan's file, the point (0: none). The answer is a line, the JSON list
of the points that were passed, the last of which was the end where there was one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from kafka.net.transport import KafkaTCPTransport

import kadmin_nb as kn
from kadmin_nb.admin import lease
from kadmin_nb.admin.wire import Wire
from kadmin_nb.cluster.changes import Changes  # noqa: F401  # what a forked process need not import again
from kadmin_nb.plans import records, sending
from kadmin_nb.plans.plan import Plan


class Points:
    """Tells of each point that is reached, and dies at the one that was asked for."""

    def __init__(self, told: int, die_at: int) -> None:
        self._told, self._left = told, die_at

    def reach(self, name: str) -> None:
        os.write(self._told, f"{name}\n".encode())
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: (self.reach(name), real(*args, **options))[1]


class Disk:
    """`os` for the journal, with points between what it does to a file."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def write(self, file: int, text: memoryview) -> int:
        self._points.reach("before a line")
        half = os.write(file, text[: len(text) // 2])
        self._points.reach("in the middle of a line")
        return half + os.write(file, text[half:])

    def fsync(self, file: int) -> None:
        self._points.reach("before a sync")
        os.fsync(file)


def apply(bootstrap: str, plan: str, points: Points) -> None:
    """Carry out a plan with points everywhere."""
    with kn.connect(bootstrap) as cluster:
        records.os = Disk(points)
        sending.Batch.send = points.before("before a request", sending.Batch.send)
        lease._Producer.commit = points.before("before a commit", lease._Producer.commit)
        Wire.tell = when_sent(points, Wire.tell)
        cluster.apply(Plan.load(plan))
        points.reach("afterwards")


def when_sent(points: Points, tell: Callable[..., Any]) -> Callable[..., Any]:
    """`Wire.tell` with a point when an alter has left through the socket."""
    real = KafkaTCPTransport._sock_send

    def sent(transport: KafkaTCPTransport) -> object:
        done = real(transport)
        points.reach("before an answer")
        return done

    def telling(wire: Wire, request: object, **options: Any) -> object:
        KafkaTCPTransport._sock_send = sent if options["doing"].startswith("altering") else real
        try:
            return tell(wire, request, **options)
        finally:
            KafkaTCPTransport._sock_send = real

    return telling


def forked(bootstrap: str, plan: str, die_at: int) -> list[str]:
    """The points that a process of its own has passed."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(told)
        try:
            apply(bootstrap, plan, Points(tell, die_at))
        finally:
            os._exit(0)
    os.close(tell)
    with os.fdopen(told) as lines:
        passed = lines.read().splitlines()
    os.waitpid(child, 0)
    return passed


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(forked(*json.loads(line))), flush=True)
