"""`scram`: describe, set, delete; and `scram-credentials` with the flags of KIP-248."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import click

from ..errors import UsageError
from ..model.grammar import format_word
from ..plans import change_words
from . import completions, options
from .change_options import changing, planning
from .click_glue import Verb, Verbs, words
from .kafka_tool import kafka_connection
from .options import read_selectors
from .session import PlanOptions, Session


@click.group(cls=Verbs)
def scram() -> None:
    """SCRAM credentials of users: who has one, new passwords, deletions.

    \b
    {here} describe user=alice
    {here} set SCRAM-SHA-512 user=alice --apply
    {here} set SCRAM-SHA-256=env:NEW SCRAM-SHA-512=env:NEW iterations=8192 user=alice
    """


@scram.command()
@options.reading
@words(completions.scram_users, "[user=NAME]...")
@options.types("user")
def describe(session: Session, words: tuple[str, ...]) -> Any:
    """Show the mechanisms and iterations of users.

    All of them, or those of user=…; also user~=team-*.
    """
    answer = session.cluster.scram.describe(**read_selectors(words, ("user",)))
    return answer.raise_for_errors() if len(answer.failed) == len(answer) else answer


@scram.command("set")
@changing
@words(completions.scram_settings, "MECHANISM[=REFERENCE]... [iterations=N] user=NAME")
def set_(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
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
@kafka_connection
@planning
@click.option(
    "--describe", "--list", "is_described", is_flag=True, help="The mechanisms and iterations of all users, or of one."
)
@click.option("--add", metavar="CREDENTIALS", help="SCRAM-SHA-256=[iterations=8192,password=env:NAME],SCRAM-SHA-512=…")
@click.option("--delete", "deleted", metavar="MECHANISMS", help="SCRAM-SHA-256,SCRAM-SHA-512")
@click.option("--username", metavar="NAME", help="Users with these credentials.")
@click.option("--dry-run", is_flag=True, help="Plan, and change nothing.")
def scram_credentials(
    session: Session,
    is_described: bool,
    add: str | None,
    deleted: str | None,
    username: str | None,
    dry_run: bool,
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
    if "print" in click.get_current_context().meta and not dry_run:
        raise UsageError("--print needs --dry-run: without it the change is made")
    verb, named = ("set", _credentials(add)) if add is not None else ("delete", (deleted or "").split(","))
    edits = change_words.scram_edits(verb, [*named, format_word("user", username)])
    return session.change(edits, replace(plan_options, apply=not dry_run))


_CREDENTIAL = re.compile(r"([^,=\s]+=(?:\[[^\]]*\]|[^,\[\]]+))(?:,|$)")


def _credentials(text: str) -> list[str]:
    """The words of `MECHANISM=[…],MECHANISM=[…]`; an error repeats none of it."""
    if _CREDENTIAL.sub("", text) or not text:
        raise UsageError(
            "--add does not list credentials",
            hint="For example --add 'SCRAM-SHA-512=[iterations=8192,password=env:NAME]'.",
        )
    return _CREDENTIAL.findall(text)
