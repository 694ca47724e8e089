"""The root of the one tree of commands."""

from __future__ import annotations

from typing import Any

import click

from ..model.resources import WORDS, Resource
from . import completions, options
from .click_glue import Text, Verbs, Words, words
from .config import config
from .declared import export
from .diff import diff
from .history import history
from .local import local
from .observe import observe
from .plan import plan
from .policy import policy
from .quota import quota
from .runbook import runbook
from .selectors import read_selectors
from .session import Session


@click.group(cls=Verbs)
def root() -> None:
    """Kafka quotas and configs: describe, resolve, stage, plan, apply, verify.

    \b
    {here} quota describe --cluster localhost:9092
    {here} quota resolve user=alice client-id=app
    {here} quota set producer_byte_rate=5MB/s user=alice --apply
    """


for group in (quota, config, plan, history, local, observe, policy, runbook):
    root.add_command(group)
root.add_command(diff)
root.add_command(export)


@root.command()
@click.argument("target", type=Words(lambda before: completions.profiles()))
@click.option("--property", multiple=True, metavar="KEY=VALUE", help="A Java client property on top.")
@click.pass_obj
def use(session: Session, target: str, property: tuple[str, ...]) -> Any:
    """Make TARGET the current cluster: a .properties file, a profile, or host:port; in a notebook also {cluster}."""
    return session.chosen(target, dict(options.pair(p) for p in property))


@root.command()
@options.reading
def cluster(session: Session) -> Any:
    """The current cluster's brokers."""
    return session.cluster.brokers


@root.command("may-i")
@options.reading
@words(completions.change_lines, "[CHANGE]... | TYPE=NAME...")
def may_i(session: Session, words: tuple[str, ...]) -> Any:
    """Check your rights: each that a change needs, whether it is there, and the line that grants it.

    \b
    {here}
    {here} set producer_byte_rate=5MB/s user=alice
    {here} set retention.ms=7d topic=orders
    {here} topic=orders group=billing
    """
    from ..plans import change_lines

    if words and words[0].partition("=")[0] not in WORDS:
        return session.cluster.may_i(change_lines.line(words, session.lookup))
    whose = read_selectors(words, tuple(WORDS), session.lookup)
    return session.cluster.may_i(on=[Resource.of(word, name) for word, names in whose.items() for name in names])


@root.command()
@options.reading
@click.argument("file", metavar="FILE.parquet")
def snapshot(session: Session, file: str) -> Any:
    """Save what the current cluster holds now, its quotas and all configs that are set, for diff."""
    current = session.cluster.snapshot()
    current.save(file)
    return current


@root.command()
def version() -> Any:
    """The versions of kadmin_nb and of what it stands on."""
    from importlib.metadata import version as of

    return Text("\n".join(f"{name} {of(name)}" for name in ("kadmin_nb", "kafka-python", "confluent-kafka", "pyarrow")))


@root.command()
@click.option("--keep", is_flag=True, help="Leave the local Kafka running.")
def demo(keep: bool) -> Any:
    """From a real Kafka to a verified change in a minute."""
    from .demo import demo as run

    return run(keep)
