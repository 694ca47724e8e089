"""`local`: real Kafkas on this machine; and `demo`, from one of them to a change that is verified."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import kadmin_nb as kn

from .. import local as kafkas
from ..local import LocalKafka
from ..model.changes import VERIFIED
from . import run
from .chosen_cluster import forget_local
from .click_glue import Text, Verbs
from .session import Session
from .windows import fitted_lines

_name_option = click.option("--name", default="default", show_default=True, help="The name of the local Kafka.")


@click.group(cls=Verbs, invoke_without_command=True)
@click.pass_context
def local(ctx: click.Context) -> Any:
    """Real Kafkas on this machine, for demos, tutorials and tests.

    Alone it lists them: address, state, start time and the path of the log.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from ..frames.answer import Answer
    from ..frames.schemas import LOCAL, table

    rows = [
        {name: getattr(kafka, name) for name in LOCAL.names} | {"nodes": len(kafka.nodes)}
        for kafka in kn.local.status()
    ]
    return Answer(table(LOCAL, rows))


@local.command()
@click.option(
    "--nodes",
    type=click.Choice(["1", "3"]),
    default="1",
    show_default=True,
    help="The number of brokers; each is a controller too.",
)
@click.option("--secure", is_flag=True, help="With SASL/SCRAM logins and the standard authorizer.")
@click.option("--version", help="Kafka's version (4.4.0).")
@_name_option
@click.pass_obj
def start(session: Session, nodes: str, secure: bool, version: str | None, name: str) -> Any:
    """Start it, and print how to connect."""
    running = kn.local.launch(name, int(nodes), secure, version, progress=session.note)
    target = str(running.client_properties) if secure else running.bootstrap
    return Text(f"Kafka {name} is up at {running.bootstrap}\n{session.started_local(name, target)}")


@local.command()
@_name_option
def stop(name: str) -> Any:
    """Stop it and remove its data."""
    kn.local.stop(name)
    forget_local(name)
    return Text(f"Kafka {name} is stopped")


@local.command()
@click.option("--hostile", is_flag=True, help="Also add misleading names: markup, options, scripts.")
@_name_option
@click.pass_obj
def seed(session: Session, name: str, hostile: bool) -> Any:
    """Add the quotas, topics and configs of a typical company.

    There are quotas at all eight levels, and of ips.
    """
    with kn.local.find(name).connect() as cluster:
        made = kn.local.seed(cluster, hostile=hostile, progress=session.note)
    changed = sum(row["state"] == VERIFIED for row in made)
    if not changed:
        return Text(f"nothing to change: all {len(made)} quotas and configs are set already")
    return Text(f"{changed} quotas and configs are set, and verified on every broker")


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
    if keep:
        return Text(f"\nIt keeps running at {kafka.bootstrap}. To stop it: kadmin-nb local stop --name demo")
    stopped = "The local Kafka is stopped; kadmin-nb demo --keep leaves it running."
    return Text(f"\n{stopped}\nIn a notebook: notebooks/tour.ipynb.")


def _walk(kafka: LocalKafka) -> None:
    print(f"== A real Kafka {kafka.version}, one node, at {kafka.bootstrap}, with quotas and configs")
    with kafka.connect() as cluster:
        kafkas.seed(cluster, progress=_print_note)
    session = Session(target=kafka.bootstrap)
    try:
        for step in steps(kafka):
            print(f"\n== {step.heading}\n$ kadmin-nb {shlex.join(step.words)}", flush=True)
            print(*fitted_lines(run(step.words, session).value, sys.stdout), sep="\n", flush=True)
    finally:
        session.close()


def steps(kafka: LocalKafka) -> Iterator[Step]:
    """The thread, line by line."""
    document = Path(tempfile.mkdtemp(prefix="kadmin-demo-")) / "change_quotas.ipynb"
    parameters = {"cluster": kafka.bootstrap, "changes": json.dumps([CHANGE]), "apply": "true", "reason": "demo"}
    runbook = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
    yield Step("Client quotas as stored", ("quota", "describe"))
    yield Step("The hierarchy, and shadowed quotas", ("quota", "tree", "user=team-orders", "--any", "client-id"))
    yield Step(
        "Configs with their sources", ("config", "describe", "topic=orders", "topic=orders.dlq", "--keys", _KEYS)
    )
    yield Step("Which quota limits a client, and why", ("quota", "resolve", *CLIENT, "--overridden"))
    yield Step("A planned change: before, after, and the broker's validation", ("quota", *shlex.split(CHANGE)))
    yield Step("The same as a runbook, run by papermill, applied and verified on every broker", (
        "runbook", "run", "change_quotas", *runbook, "-o", str(document)))  # fmt: skip
    yield Step(
        "Which quota limits it now", ("quota", "resolve", *CLIENT, "--keys", "producer_byte_rate", "--overridden")
    )


_KEYS = "retention.ms,cleanup.policy,min.insync.replicas"


def _print_note(text: str) -> None:
    print(f"   {text}", file=sys.stderr, flush=True)
