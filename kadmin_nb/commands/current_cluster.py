"""`use`, `doctor`, `may-i`, `users`, `observe`: the cluster that the other verbs work with."""

from __future__ import annotations

from typing import Any

import click

from . import completions, options
from .click_glue import Objects, Verb, words
from .options import Length, read_selectors
from .session import Session


@click.command(cls=Verb)
@click.argument("target", type=Objects(lambda before: completions.profiles()))
@click.option("--property", multiple=True, metavar="KEY=VALUE", help="A Java client property, in addition.")
@click.pass_obj
def use(session: Session, target: Any, property: tuple[str, ...]) -> Any:
    """Make TARGET the current cluster: a .properties file, a profile, or host:port; in a notebook also {cluster}."""
    return session.chosen(target, dict(options.pair(p) for p in property))


@click.command(cls=Verb)
@options.reading
def doctor(session: Session) -> Any:
    """Check the connection step by step, from the settings to your rights: what failed, and how to fix it.

    --timeout limits each step (default: 5 seconds). Nothing is changed and no secret is shown, so the output can go
    into a ticket.

    \b
    {here} --cluster prod
    {here} --cluster client.properties --timeout 20
    """
    from ..cluster.doctor import examine

    return examine(lambda: session.settings_of(None))


@click.command("may-i", cls=Verb)
@options.reading
@words(completions.settings, "[CHANGE]...")
def may_i(session: Session, words: tuple[str, ...]) -> Any:
    """Show which rights a change needs, which of them you have, and the command that grants the others.

    \b
    {here}
    {here} set producer_byte_rate=5MB/s user=alice
    {here} set retention.ms=7d topic=orders
    """
    from ..plans import change_lines

    return session.cluster.permissions(change_lines.line(words) if words else ())


@click.command(cls=Verb)
@options.reading
@click.option(
    "--for", "seconds", default="60s", show_default=True, type=Length(), metavar="TIME", help="How long; at most 1h."
)
def observe(session: Session, seconds: float) -> Any:
    """Switch on the request log of every broker for a while.

    It sets kafka.request.logger to DEBUG, and always restores it; Ctrl-C ends it early.

    \b
    {here} --for 60s
    """
    answer = session.cluster.observe(seconds, progress=session.progress)
    if click.get_current_context().meta.get("out"):
        session.warn(*answer.warnings, *(f"request log: {log}" for log in answer.logs))
    return answer


@click.command(cls=Verb)
@options.reading
@words(completions.scram_users, "[user=NAME]...")
def users(session: Session, words: tuple[str, ...]) -> Any:
    """List each known user: SCRAM credentials, quotas, ACLs, and orphans.

    \b
    {here}
    {here} user~=team-*
    """
    return session.cluster.users(**read_selectors(words, ("user",)))
