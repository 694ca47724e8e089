"""`demo`: from a real Kafka to an explained, planned, applied and verified change, each step a typed line."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import local as kafkas
from ..local import LocalKafka
from . import run
from .click_glue import Text
from .session import Session
from .windows import fitted_lines

CLIENT = ("user=team-orders", "client-id=billing")
CHANGE = "set producer_byte_rate=8MB/s user=team-orders client-id=billing"


@dataclass(frozen=True)
class Step:
    """A heading, and a line of words to run under it."""

    heading: str
    words: tuple[str, ...]


def demo(keep: bool = False) -> Text:
    """Walk the whole thread on a local Kafka; `keep` leaves it running as `demo`."""
    start = kafkas.launch if keep else kafkas.start
    kafka = start(name="demo", progress=_print_note)
    try:
        _walk(kafka)
    finally:
        if not keep:
            kafka.stop()
    return Text(_goodbye(kafka, keep))


def _walk(kafka: LocalKafka) -> None:
    print(f"== A real Kafka {kafka.version}, one node, at {kafka.bootstrap}, with quotas and configs")
    with kafka.connect() as cluster:
        local.seed(cluster, progress=_print_note)
    session = Session(target=kafka.bootstrap)
    try:
        for step in steps(kafka):
            _run_step(step, session)
    finally:
        session.close()


def steps(kafka: LocalKafka) -> Iterator[Step]:
    """The thread, line by line."""
    document = Path(tempfile.mkdtemp(prefix="kadmin-demo-")) / "change_quotas.ipynb"
    parameters = {"cluster": kafka.bootstrap, "changes": json.dumps([CHANGE]), "apply": "true", "reason": "demo"}
    runbook = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
    yield Step("Client quotas as stored", ("quota", "describe"))
    yield Step("The hierarchy, and what is shadowed", ("quota", "tree", "user=team-orders", "--any", "client-id"))
    yield Step(
        "Configs with their sources", ("config", "describe", "topic=orders", "topic=orders.dlq", "--keys", _KEYS)
    )
    yield Step("Which limit binds a client, and why", ("quota", "resolve", *CLIENT, "--overridden"))
    yield Step("A change, planned: before, after, the broker's word", ("quota", *shlex.split(CHANGE)))
    yield Step("The same as a runbook, run by papermill, applied and verified on every broker", (
        "runbook", "run", "change_quotas", *runbook, "-o", str(document)))  # fmt: skip
    yield Step(
        "Which limit binds it now", ("quota", "resolve", *CLIENT, "--keys", "producer_byte_rate", "--overridden")
    )


_KEYS = "retention.ms,cleanup.policy,min.insync.replicas"


def _run_step(step: Step, session: Session) -> None:
    print(f"\n== {step.heading}\n$ kadmin-nb {shlex.join(step.words)}", flush=True)
    print(*fitted_lines(run(step.words, session).value, sys.stdout), sep="\n", flush=True)


def _print_note(text: str) -> None:
    print(f"   {text}", file=sys.stderr, flush=True)


def _goodbye(kafka: LocalKafka, keep: bool) -> str:
    if keep:
        return f"\nIt runs on at {kafka.bootstrap} until: kadmin-nb local stop --name demo"
    return (
        "\nThe local Kafka is stopped; kadmin-nb demo --keep leaves it running.\nIn a notebook: notebooks/tour.ipynb."
    )
