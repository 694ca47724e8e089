"""`scram`: describe, set, delete; and `scram-credentials` with the flags of KIP-248."""

from __future__ import annotations

from typing import Any

import click

from ..plans import change_words
from . import completions, options, tray
from .change_options import changing
from .click_glue import Verbs, words
from .selectors import read_selectors
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
    """The mechanisms and iterations of all users, or of user=… (also user~=team-*)."""
    answer = session.cluster.scram.describe(**read_selectors(words, ("user",), session.lookup))
    return answer.raise_for_errors() if len(answer.failed) == len(answer) else answer


@scram.command("set")
@changing
@words(completions.scram_settings, "MECHANISM[=REFERENCE]... [iterations=N] user=NAME")
def set_(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Set a password: SCRAM-SHA-512=env:NAME user=…; without a reference it is asked for when it is sent."""
    return session.change(change_words.scram_edits("set", words, session.lookup), plan_options)


@scram.command()
@changing
@words(completions.scram_deletions, "MECHANISM... user=NAME")
def delete(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Delete SCRAM-SHA-256 … of user=…; nobody can bring a credential back."""
    return session.change(change_words.scram_edits("delete", words, session.lookup), plan_options)


tray.add_to(scram)
