"""`client-configs`: the clients that follow dynamic client configs (KIP-649), and the topics that these stand in."""

from __future__ import annotations

from typing import Any

import click

from ..frames.views import counted_nouns
from ..model.client_configs import CLIENT_KEYS
from . import completions, options
from .click_glue import Text, Verbs, words
from .options import read_selectors
from .session import Session

_SELECTORS = ("user", "client-id")


@click.group("client-configs", cls=Verbs)
def client_configs() -> None:
    """Clients that follow dynamic configs: which ones, their values, and which would follow a new value.

    \b
    {here} init
    {here} clients user~=team-* --key acks
    {here} status user=alice client-id=app
    """


_client_words = words(completions.client_entities, "[user=NAME] [client-id=NAME]...")


@client_configs.command()
@options.reading
@_client_words
def status(session: Session, words: tuple[str, ...]) -> Any:
    """Show the values that each client reports.

    Each with the time since when it has it, or the reason why it refuses another.
    """
    return session.cluster.client_configs.status(**read_selectors(words, _SELECTORS))


@client_configs.command()
@options.reading
@_client_words
@click.option("--key", type=click.Choice(CLIENT_KEYS), help="Only the clients that have this key.")
def clients(session: Session, words: tuple[str, ...], key: str | None) -> Any:
    """List registered clients, and whether they follow a new value.

    Each with its software, version, supported keys and group, and with the reason where it would not follow.

    \b
    {here} user=alice
    {here} user~=team-* --key acks
    """
    return session.cluster.client_configs.clients(key, **read_selectors(words, _SELECTORS))


@client_configs.command()
@options.reading
@_client_words
def forget(session: Session, words: tuple[str, ...]) -> Any:
    """Remove registrations.

    They are those of a user, or of one of its client-ids. Clients that are alive register again.
    """
    chosen = read_selectors(words, _SELECTORS)
    one = {name: values[0] if len(values) == 1 else values for name, values in chosen.items()}
    count = session.cluster.client_configs.forget(**{"user": None, **one})
    removed = counted_nouns(count, "registration", "registrations")
    return Text(f"{removed} removed; live clients register again within their interval.")


@client_configs.command()
@options.reading
@click.option("--apply", is_flag=True, help="Create the topics that are missing.")
@click.option(
    "--clients", multiple=True, metavar="PRINCIPAL", help="Also check the rights of these applications: User:app."
)
def init(session: Session, apply: bool, clients: tuple[str, ...]) -> Any:
    """Check the topics of dynamic client configs, or create them.

    The three topics and the rights to them are checked; --apply creates the topics that are missing. A missing right
    has the line of kafka-acls.sh that grants it. Existing topics are never changed: if one has other settings, the
    command fails and creates nothing.
    """
    cluster = session.cluster_to_change if apply else session.cluster
    setup = cluster.client_configs.setup(clients=clients)
    return setup.apply() if apply else setup
