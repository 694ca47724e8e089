"""Editors of one cluster, each with a connection of its own, and a lease that no other test takes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.admin import lease
from kadmin_nb.admin.ports import Lease
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.connection_settings import Settings

HOLDER = Path(__file__).with_name("holder.py")


class Editor:
    """Someone who applies plans; `take` is `Kafka.lease` with the topic and the time of the test."""

    def __init__(self, name: str, kafka: LiveKafka, topic: str) -> None:
        self.name, self.kafka, self.topic = name, kafka, topic

    def take(self, *, steal: bool = False, seconds: float = 60.0, plan: str = "") -> Lease:
        plan = plan or f"plan-of-{self.name}"
        return lease.take(self.kafka.wire, plan, self.name, steal=steal, seconds=seconds, topic=self.topic)


@pytest.fixture
def topic(unique) -> str:
    """The lease's topic, which is not there yet."""
    return unique("lease")


@pytest.fixture
def editor(kafka: LocalKafka, topic: str) -> Iterator[Callable[[str], Editor]]:
    """`editor("alice")`, connected; all editors of a test want the same lease."""
    with contextlib.ExitStack() as stack:
        yield lambda name: Editor(
            name, stack.enter_context(contextlib.closing(LiveKafka(Settings(kafka.bootstrap)))), topic
        )


@pytest.fixture
def alice(editor) -> Editor:
    return editor("alice")


@pytest.fixture
def bob(editor) -> Editor:
    return editor("bob")


class Carol:
    """The editor in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def heard(self) -> str:
        return self.process.stdout.readline().strip()

    def alter(self, user: str) -> None:
        self.process.stdin.write(f"{user}\n")
        self.process.stdin.flush()


@pytest.fixture
def carol(kafka: LocalKafka, topic: str) -> Iterator[Callable[..., Carol]]:
    """`carol(seconds=1)` holds the lease in a process of its own, which may be frozen and killed."""
    with contextlib.ExitStack() as stack:

        def start(plan: str = "plan-of-carol", seconds: float = 60.0) -> Carol:
            words = [sys.executable, str(HOLDER), kafka.bootstrap, topic, plan, str(seconds)]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return Carol(process)

        yield start


@pytest.fixture(scope="module")
def own_kafka() -> Iterator[LocalKafka]:
    """A Kafka that a test may freeze."""
    with kn.local.start() as running:
        yield running
