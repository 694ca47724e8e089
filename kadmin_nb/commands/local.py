"""`local`: real Kafkas on this machine; and `demo`, from one of them to a change that is verified."""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import kadmin_nb as kn

from ..frames.blocks import BOLD, Text, inked
from ..local.demo import BEGINNING, CLIENTS, lasting_demo
from ..model.changes import VERIFIED
from . import run
from .answer_formats import can_colour, fitted_lines
from .click_glue import Verbs
from .session import Session, choose_local, forget_local

_name_option = click.option("--name", help="The name of the local Kafka; default: the only one, or default.")


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
def start(session: Session, nodes: str, secure: bool, version: str | None, name: str | None) -> Any:
    """Start it, and print how to connect."""
    name = "default" if name is None else name
    running = kn.local.launch(name, int(nodes), secure, version, progress=session.note)
    target = str(running.client_properties) if secure else running.bootstrap
    return Text(f"Kafka {name} is up at {running.bootstrap}\n{session.started_local(name, target)}")


@local.command()
@_name_option
def stop(name: str | None) -> Any:
    """Stop it and remove its data."""
    running = kn.local.find(name)
    running.stop()
    forget_local(running.name)
    return Text(f"Kafka {running.name} is stopped")


@local.command()
@_name_option
@click.pass_obj
def seed(session: Session, name: str | None) -> Any:
    """Add the quotas, topics and configs of a typical company.

    There are quotas at all eight levels, and of ips.
    """
    with kn.local.find(name).connect() as cluster:
        made = kn.local.seed(cluster)
    changed = sum(row["state"] == VERIFIED for row in made)
    if not changed:
        return Text(f"nothing to change: all {len(made)} quotas and configs are set already")
    return Text(f"{changed} quotas and configs are set, and verified on every broker")


STEPS = {
    "Which limits are there?": "quota describe user=team-orders --any client-id",
    "Which of them holds a client?": "quota why user=team-orders client-id=billing --for 5s",
    "A slip of the finger is caught": "quota set producer_byte_rate=5 user=alice",
    "Raise the limit, and verify it": "quota set producer_byte_rate=8MB/s user=team-orders client-id=billing --apply",
}
"""The lines of the demo, by what each is for."""

_TOUR = Path(__file__).parents[2] / "notebooks" / "tour.ipynb"


def demo(session: Session) -> Text:
    """Four answers of a local Kafka with live traffic, which stays."""
    kafka = lasting_demo(session.note)
    clients = ", ".join(f"{client.user}/{client.client_id}" for client in CLIENTS)
    print(f"Kafka {kafka.version} is running at {kafka.bootstrap}, with the quotas of a company and")
    print(f"{len(CLIENTS)} clients under load: {clients}.")
    time.sleep(BEGINNING)
    typed = Session(target=kafka.bootstrap)
    try:
        for number, (question, line) in enumerate(STEPS.items(), 1):
            heading = f"{number}  {question}"
            print(f"\n{inked(heading, BOLD if can_colour(sys.stdout) else '')}\n   kadmin-nb {line}\n", flush=True)
            print(*fitted_lines(run(line.split(), typed).value, sys.stdout), sep="\n", flush=True)
    finally:
        typed.close()
    chosen = choose_local(kafka.name, kafka.bootstrap)
    use = [] if chosen.local == kafka.name else ["kadmin-nb use local"]
    tour = [f"jupyter lab {os.path.relpath(_TOUR)}"] * (find_spec("jupyterlab") is not None and _TOUR.exists())
    lines = [*use, "kadmin-nb quota tree", "kadmin-nb quota describe user=team-orders", "kadmin-nb doctor", *tour]
    stays = f"It stays until `kadmin-nb local stop --name {kafka.name}`. Next:"
    return Text("\n".join(["", stays, *(f"  {line}" for line in lines)]))
