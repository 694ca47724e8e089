"""`users`: everybody that anything on a cluster knows."""

from __future__ import annotations

from typing import Any

import click

from . import completions, options, spark_inputs
from .click_glue import Verb, words
from .selectors import read_selectors
from .session import Session


@click.command(cls=Verb)
@options.reading
@words(completions.scram_users, "[user=NAME]...")
@click.option("--usage", metavar="NAME", help="A USAGE frame: a variable, or a Parquet or CSV file.")
def users(session: Session, words: tuple[str, ...], usage: str | None) -> Any:
    """Each known user: SCRAM credentials, quotas, ACLs, and with --usage when it was at work; and orphans.

    \b
    {here}
    {here} user~=team-* --usage usage.parquet
    """
    chosen = read_selectors(words, ("user",), session.lookup)
    used = None if usage is None else spark_inputs.usage_frame(session, usage)
    return session.cluster.users(**chosen, usage=used)
