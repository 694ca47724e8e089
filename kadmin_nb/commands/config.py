"""`config`, `client-configs` and `scram`: what is set on topics, brokers, groups, clients and users."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import click

from ..advice import FINDINGS
from ..errors import UsageError
from ..frames.blocks import Text
from ..model.changes import Edit
from ..model.client_configs import CLIENT_KEYS
from ..model.grammar import format_word
from ..model.resources import WORDS
from ..plans import change_words
from . import completions, kafka_tool, options
from .click_glue import Verb, Verbs, words
from .options import again, changing, every, read_selectors
from .session import PlanOptions, Session

RESOURCES = tuple(WORDS)
_CLIENT_WORDS = ("user", "client-id")
_OF_USERS = tuple(f"{word}{sign}" for word in _CLIENT_WORDS for sign in ("=", "~="))


@click.group(cls=Verbs)
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

    For user=… [client-id=…]: its dynamic client configs.
    """
    if words and all(word.startswith(_OF_USERS) for word in words):
        if keys or only_set or documentation:
            raise UsageError("--keys, --set and --documentation are not for client configs", hint="Leave them out.")
        return _client_configs(words, session)
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
@words(completions.config_words, "KEY=VALUE... TYPE=NAME...")
@options.types(*RESOURCES)
def set_(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Set configs of a resource.

    Or of several of one type, such as topic=orders topic=payments."""
    return session.change(_edits("set", session, words, plan_options), plan_options)


@config.command()
@changing
@every
@words(partial(completions.config_words, sign=""), "KEY... TYPE=NAME...")
@options.types(*RESOURCES)
def reset(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Remove configs, so that their fallbacks apply again."""
    return session.change(_edits("reset", session, words, plan_options), plan_options)


@config.command()
@changing
@every
@words(completions.config_words, "KEY=VALUE... TYPE=NAME...")
@options.types(*RESOURCES)
def append(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Add items to a list: cleanup.policy=compact."""
    return session.change(_edits("append", session, words, plan_options), plan_options)


@config.command()
@changing
@every
@words(completions.config_words, "KEY=VALUE... TYPE=NAME...")
@options.types(*RESOURCES)
def subtract(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Remove items from a list."""
    return session.change(_edits("subtract", session, words, plan_options), plan_options)


def _edits(verb: str, session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> list[Edit]:
    return session.matches(plan_options.every).edits(words, lambda line: change_words.config_edits(verb, line))


def _client_configs(words: tuple[str, ...], session: Session) -> Any:
    chosen = read_selectors(words, _CLIENT_WORDS)
    if "user" not in chosen:
        raise UsageError(
            "user=… is required: client configs belong to users", hint="For quotas: quota describe client-id=…"
        )
    return session.cluster.client_configs.describe(**chosen)


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
    return session.cluster.client_configs.status(**read_selectors(words, _CLIENT_WORDS))


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
    return session.cluster.client_configs.clients(key, **read_selectors(words, _CLIENT_WORDS))


@client_configs.command()
@options.reading
@_client_words
def forget(session: Session, words: tuple[str, ...]) -> Any:
    """Remove registrations.

    They are those of a user, or of one of its client-ids. Clients that are alive register again.
    """
    from ..frames.views import counted_nouns

    chosen = read_selectors(words, _CLIENT_WORDS)
    one = {name: values[0] if len(values) == 1 else values for name, values in chosen.items()}
    count = session.cluster.client_configs.forget(**{"user": None, **one})
    removed = counted_nouns(count, "registration", "registrations")
    return Text(f"{removed} removed; live clients register again within their interval.")


@client_configs.command()
@options.reading
@click.option("--apply", is_flag=True, help="Create the topics that are missing.")
def init(session: Session, apply: bool) -> Any:
    """Check the topics of dynamic client configs, or create them.

    The three topics and the rights to them are checked; --apply creates the topics that are missing. A missing right
    has the line of kafka-acls.sh that grants it, and nothing is created before it is. Existing topics are never
    changed: if one has other settings, the command fails and creates nothing.
    """
    cluster = session.cluster_to_change if apply else session.cluster
    setup = cluster.client_configs.setup()
    return setup.apply() if apply else setup


@click.group(cls=Verbs)
def scram() -> None:
    """SCRAM credentials of users: who has one, new passwords, deletions.

    \b
    {here} describe user=alice
    {here} set SCRAM-SHA-512 user=alice --apply
    {here} set SCRAM-SHA-256=env:NEW SCRAM-SHA-512=env:NEW iterations=8192 user=alice
    """


@scram.command("describe")
@options.reading
@words(completions.scram_users, "[user=NAME]...")
@options.types("user")
def describe_credentials(session: Session, words: tuple[str, ...]) -> Any:
    """Show the mechanisms and iterations of users.

    All of them, or those of user=…; also user~=team-*.
    """
    answer = session.cluster.scram.describe(**read_selectors(words, ("user",)))
    return answer.raise_for_errors() if len(answer.failed) == len(answer) else answer


@scram.command("set")
@changing
@words(completions.scram_settings, "MECHANISM[=REFERENCE]... [iterations=N] user=NAME")
def set_credentials(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Set the password of a user.

    It is given by reference, SCRAM-SHA-512=env:NAME. Without one, it is asked for when it is sent.
    """
    return session.change(change_words.scram_edits("set", words), plan_options)


@scram.command()
@changing
@words(completions.scram_deletions, "MECHANISM... user=NAME")
def delete(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Delete credentials of a user.

    A deleted credential cannot be restored.
    """
    return session.change(change_words.scram_edits("delete", words), plan_options)


@click.command("scram-credentials", cls=Verb)
@click.option(
    "--describe", "--list", "is_described", is_flag=True, help="The mechanisms and iterations of all users, or of one."
)
@click.option("--add", metavar="CREDENTIALS", help="SCRAM-SHA-256=[iterations=8192,password=env:NAME],SCRAM-SHA-512=…")
@click.option("--delete", "deleted", metavar="MECHANISMS", help="SCRAM-SHA-256,SCRAM-SHA-512")
@click.option("--username", metavar="NAME", help="Users with these credentials.")
@kafka_tool.kafka_tool
def scram_credentials(
    session: Session,
    is_described: bool,
    add: str | None,
    deleted: str | None,
    username: str | None,
    plan_options: PlanOptions,
) -> Any:
    """The scram-credentials tool of KIP-248: changes are made at once, through a plan with a journal.

    \b
    {here} --bootstrap-server localhost:9092 --list
    {here} --bootstrap-server localhost:9092 --username alice --add 'SCRAM-SHA-256=[iterations=8192,password=env:NEW]'
    {here} --describe --username alice
    {here} --bootstrap-server localhost:9092 --delete SCRAM-SHA-512 --username alice
    """
    typed = {"--describe": is_described, "--add": add is not None, "--delete": deleted is not None}
    options.refuse_together(typed)
    if not any(typed.values()):
        raise UsageError(f"one of {', '.join(typed)} is required")
    if is_described:
        return session.cluster.scram.describe(**({"user": username} if username else {})).raise_for_errors()
    if username is None:
        raise UsageError("--username is required")
    verb, named = ("set", _credentials(add)) if add is not None else ("delete", (deleted or "").split(","))
    edits = change_words.scram_edits(verb, [*named, format_word("user", username)])
    return kafka_tool.carry_out(session, session.plan_of(edits, plan_options), plan_options)


_CREDENTIAL = re.compile(r"([^,=\s]+=(?:\[[^\]]*\]|[^,\[\]]+))(?:,|$)")


def _credentials(text: str) -> list[str]:
    """The words of `MECHANISM=[…],MECHANISM=[…]`; an error repeats none of it."""
    if _CREDENTIAL.sub("", text) or not text:
        raise UsageError(
            "--add does not list credentials",
            hint="For example --add 'SCRAM-SHA-512=[iterations=8192,password=env:NAME]'.",
        )
    return _CREDENTIAL.findall(text)
