"""`local`: a real Kafka on this machine."""

from __future__ import annotations

from typing import Any

import click

import kadmin_nb as kn  # whose room of the local Kafka opens when it is first used

from .click_glue import Text, Verbs
from .session import Session

_name_option = click.option("--name", default="default", show_default=True, help="Which local Kafka.")


@click.group(cls=Verbs)
def local() -> None:
    """A real Kafka on loopback, for demos, tutorials and tests; it lives until local stop."""


@local.command()
@click.option(
    "--nodes", type=click.Choice(["1", "3"]), default="1", show_default=True, help="Brokers, each also a controller."
)
@click.option("--secure", is_flag=True, help="SASL/SCRAM and the standard authorizer.")
@click.option("--version", help="Kafka's version (4.3.1).")
@_name_option
@click.pass_obj
def start(session: Session, nodes: str, secure: bool, version: str | None, name: str) -> Any:
    """Start it, and say how to connect."""
    running = kn.local.launch(name, int(nodes), secure, version, progress=session.note)
    target = str(running.client_properties) if secure else running.bootstrap
    return Text(f"Kafka {name} is up at {running.bootstrap}\n{session.next_line(target)}")


@local.command()
@_name_option
def stop(name: str) -> Any:
    """Stop it and remove its data."""
    kn.local.stop(name)
    return Text(f"Kafka {name} is stopped")


@local.command()
def status() -> Any:
    """Every local Kafka: where, since when, how many nodes live."""
    from ..frames.answer import Answer
    from ..frames.schemas import LOCAL, table

    rows = ({name: getattr(s, name) for name in LOCAL.names} for s in kn.local.status())
    return Answer(table(LOCAL, ({**row, "folder": str(row["folder"])} for row in rows)))


@local.command()
@click.option("--node", default=1, show_default=True, help="Whose log.")
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="How many lines of its end.",
)
@_name_option
def logs(node: int, lines: int, name: str) -> Any:
    """The last lines of a node's log."""
    return Text(kn.local.logs(name, node, lines))


@local.command()
@_name_option
@click.pass_obj
def seed(session: Session, name: str) -> Any:
    """Fill it with a believable hierarchy: all eight levels, ip quotas, topics, configs, hostile names."""
    with kn.local.find(name).connect() as cluster:
        return kn.local.seed(cluster, progress=session.note)
