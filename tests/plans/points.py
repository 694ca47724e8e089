"""The terminal in processes that get signals at their n-th point; it is started once and forks for each line of words.

A point is any moment at which what is on the disk or at the broker is about to change: before a line of the journal
is written, in the middle of it, before it is synced; before a batch is sent, when it has left, when it is answered;
before the lease is taken, renewed or given back. They are the same on any machine: a plan counts as just made, so that
a slow one does not validate it again.

Each line of stdin is a JSON list: the words, the point (0: none), the names of the signals. The answer is a line: the
points that were passed, the last of which is the end where there was one, the exit code, and what was printed.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Any

from kafka.net.transport import KafkaTCPTransport

from kadmin_nb.admin import transactions
from kadmin_nb.admin.wire import Wire
from kadmin_nb.cluster.changing import Changes  # noqa: F401  # what a forked process need not import again
from kadmin_nb.commands import terminal
from kadmin_nb.plans import sending
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.journal import storage


class Points:
    """Tells of each point that is reached, and sends the signals at the one that was asked for."""

    def __init__(self, told: int, at: int, signals: Sequence[str]) -> None:
        self._told, self._left, self._signals = told, at, signals

    def reach(self, name: str) -> None:
        os.write(self._told, f"{name}\n".encode())
        self._left -= 1
        for name in self._signals if self._left == 0 else ():
            signal.pthread_kill(threading.main_thread().ident, signal.Signals[name])
            time.sleep(0.1)  # the next one comes when this one has been heard

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


def run(words: list[str], points: Points) -> int:
    """The exit code of a command line, with points everywhere."""
    executor.LOOK_AGE = math.inf
    storage.os = Disk(points)
    sending.Batch.send = points.before("before a request", sending.Batch.send)
    transactions.FencedWriter.commit = points.before("before a commit", transactions.FencedWriter.commit)
    Wire.tell = when_sent(points, Wire.tell)
    code = terminal.run_line(words)
    points.reach("afterwards")
    return code


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


def forked(words: list[str], at: int, signals: Sequence[str]) -> list[object]:
    """The points that a process of its own has passed, its exit code, and what it printed."""
    told, tell = os.pipe()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        child = os.fork()
        if not child:
            os.close(told)
            _be(words, Points(tell, at, signals), printed)
        os.close(tell)
        with os.fdopen(told) as lines:
            passed = lines.read().splitlines()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed.seek(0)
        return [passed, code, printed.read()]


def _be(words: list[str], points: Points, printed: IO[str]) -> None:
    code = 99
    try:
        sys.stdout = sys.stderr = printed
        code = run(words, points)
        printed.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        print(json.dumps(forked(*json.loads(line))), flush=True)
