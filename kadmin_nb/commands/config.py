"""`config`: describe, set, reset, append, subtract, why, audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ..advice import FINDINGS
from ..errors import UsageError
from ..model.changes import Edit
from ..model.resources import WORDS
from ..plans import change_words
from . import completions, options
from .change_options import again, changing, every
from .click_glue import Verbs, words
from .options import read_selectors
from .session import PlanOptions, Session

RESOURCES = tuple(WORDS)
_CLIENT_WORDS = ("user", "client-id")
_OF_USERS = tuple(f"{word}{sign}" for word in _CLIENT_WORDS for sign in ("=", "~="))


class _DescribingVerbs(Verbs):
    """A group that describes users who are named without a verb: `%kconfig user=alice client-id=app`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names_users = args[0].startswith(_OF_USERS)
        return super().resolve_command(ctx, ["describe", *args] if names_users else args)


@click.group(cls=_DescribingVerbs)
def config() -> None:
    """Configs of topics, brokers, broker loggers, groups, client-metrics and clients, with their sources.

    \b
    {here} describe topic=orders --keys retention.ms
    {here} set acks=1 user=alice client-id=app
    {here} set retention.ms=86400000 topic=orders
    {here} describe broker=<default>
    """


@config.command()
@options.reading
@words(completions.resources, "TYPE=NAME...")
@options.types(*RESOURCES)
@options.keys(completions.config_keys)
@click.option("--set", "only_set", is_flag=True, help="Only what is set on the resource itself, not what it inherits.")
@click.option("--documentation", is_flag=True, help="Also Kafka's description of each key.")
def describe(
    session: Session,
    words: tuple[str, ...],
    keys: tuple[str, ...],
    only_set: bool,
    documentation: bool,
) -> Any:
    """Show configs with their sources.

    They are those of topic=…, broker=…, broker=<default>, broker-logger=…, group=… or client-metrics=….

    For user=… [client-id=…]: its quotas, dynamic client configs, the keys that its clients support, SCRAM credentials.
    """
    if words and all(word.startswith(_OF_USERS) for word in words):
        return _user_configs(words, session, options.keys_of(keys), only_set)
    chosen = read_selectors(words, RESOURCES)
    answer = session.cluster.configs.describe(
        **chosen, keys=options.keys_of(keys), only_set=only_set, documentation=documentation
    )
    answer.hint = session.cluster.configs.near_miss(answer)
    return answer.raise_for_errors() if len(answer.failed) == len(answer) else answer


@config.command()
@changing
@click.option("--only", multiple=True, type=click.Choice(FINDINGS), help="Only these findings.")
@click.option("--stage", is_flag=True, help="Stage their fixes; in the terminal: plan them.")
def audit(session: Session, only: tuple[str, ...], stage: bool, plan_options: PlanOptions) -> Any:
    """Find configs that look wrong.

    For example throttles left behind, brokers that differ from their peers, settings that change nothing.

    \b
    {here} --only leftover
    {here} --only repeats --stage
    {here} --only leftover --apply
    """
    findings = session.cluster.configs.audit().only(*only)
    edits = findings.edits() if stage or plan_options.apply or plan_options.save else []
    return session.change(edits, plan_options) if edits else findings


@config.command()
@options.reading
@words(completions.resources, "topic=NAME | broker=ID")
@options.types("topic", "broker")
@click.option("--stage", "number", type=int, metavar="N", help="Stage the change that lifts brake N.")
def why(session: Session, words: tuple[str, ...], number: int | None) -> Any:
    """Show the limits that slow a topic or a broker now.

    Each brake has its culprit, and the smallest change that lifts it.

    \b
    {here} topic=orders
    {here} broker=2
    {here} topic=orders --stage 1
    """
    answer = session.cluster.configs.why(**read_selectors(words, ("topic", "broker")))
    return answer if number is None else session.change([answer.edit(number)], PlanOptions())


@config.command("set")
@changing
@again
@every
@words(completions.config_settings, "KEY=VALUE... TYPE=NAME...")
@options.types(*RESOURCES)
def set_(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Set configs of a resource.

    Or of several of one type, such as topic=orders topic=payments."""
    return session.change(_edits("set", session, words, plan_options), plan_options)


@config.command()
@changing
@every
@words(completions.config_resets, "KEY... TYPE=NAME...")
@options.types(*RESOURCES)
def reset(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Remove configs, so that their fallbacks apply again."""
    return session.change(_edits("reset", session, words, plan_options), plan_options)


@config.command()
@changing
@every
@words(completions.config_settings, "KEY=VALUE... TYPE=NAME...")
@options.types(*RESOURCES)
def append(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Add items to a list: cleanup.policy=compact."""
    return session.change(_edits("append", session, words, plan_options), plan_options)


@config.command()
@changing
@every
@words(completions.config_settings, "KEY=VALUE... TYPE=NAME...")
@options.types(*RESOURCES)
def subtract(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Remove items from a list."""
    return session.change(_edits("subtract", session, words, plan_options), plan_options)


def _edits(verb: str, session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> list[Edit]:
    return session.matches(plan_options.every).edits(words, lambda line: change_words.config_edits(verb, line))


def _user_configs(words: tuple[str, ...], session: Session, keys: Sequence[str] | None, only_set: bool) -> Any:
    chosen = read_selectors(words, _CLIENT_WORDS)
    if "user" not in chosen:
        raise UsageError(
            "user=… is required: client configs belong to users", hint="For quotas: quota describe client-id=…"
        )
    return session.cluster.configs.of_users(chosen["user"], chosen.get("client_id"), keys=keys, only_set=only_set)
