"""The review of a plan in a real kernel, without a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from kadmin_nb.local import LocalKafka

pytestmark = [pytest.mark.broker, pytest.mark.slow]

REVIEW = """
import threading
import kadmin_nb as kn
cluster = kn.connect({bootstrap!r})
alter, arrived, gate = cluster.port.quotas.alter, threading.Event(), threading.Event()
def held_back(*words, **options):
    if not options.get("validate_only") and applying:
        arrived.set()
        gate.wait(60)
    return alter(*words, **options)
cluster.port.quotas.alter = held_back
applying = False
for user, limit in (("raised", "5MB/s"), ("lowered", "5MB/s")):
    cluster.stage.set_quota("producer_byte_rate", limit, user=user)
cluster.stage.plan().apply()
cluster.stage.discard()
cluster.stage.set_quota("producer_byte_rate", "6MB/s", user="raised")
cluster.stage.set_quota("producer_byte_rate", "4MB/s", user="lowered")
review = cluster.stage.plan().review()
applying = True
review
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A kernel's manager and its client."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path), env=dict(os.environ))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def _printed(client: Any, code: str) -> str:
    """What a cell prints; its error fails the test."""
    texts: list[str] = []

    def take(message: dict[str, Any]) -> None:
        if message["msg_type"] in ("stream", "error"):
            texts.append(str(message["content"].get("text") or message["content"].get("evalue")))

    client.execute_interactive(code, timeout=60, allow_stdin=True, output_hook=take, stdin_hook=lambda m: None)
    return "".join(texts).strip()


def test_an_interrupt_of_the_kernel_stops_between_two_requests(kafka: LocalKafka, kernel: tuple[Any, Any]) -> None:
    """I pressed the stop button of the notebook while the widget applied, and it went on."""
    manager, client = kernel
    assert _printed(client, REVIEW.format(bootstrap=kafka.bootstrap)) == ""
    assert _printed(client, "review.apply(); print(arrived.wait(30))") == "True"
    manager.interrupt_kernel()
    while "stopping after the current request" not in str(client.get_iopub_msg(timeout=60)["content"]):
        pass
    assert _printed(client, "gate.set(); review.wait(30); print(review.status)").splitlines()[1:3] == [
        f"Interrupted: plan {_printed(client, 'print(review.plan.id[:8])')} was stopped, between two requests",
        "Hint: Resume continues, Roll back undoes what was done.",
    ]
    assert _printed(client, "review.apply(); review.wait(30); print(review.outcomes.ok)") == "True"
