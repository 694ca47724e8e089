"""The lines of a `%%kquota` cell, which `plan -f` reads as well."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import UsageError, printable
from ...model.changes import Change
from ...model.entity import entity_type
from ...model.grammar import format_word
from ...model.resources import WORDS
from ..kinds.change_kind import ChangeKind
from ..kinds.registry import by_kind, kind_of
from .subject import Subject, is_bare_secret, what
from .text import PlanText, comment, lines, note

_KEY = re.compile(r"[^\s=~'\"#;{}]+")


def as_cell(subject: Subject) -> PlanText:
    """Its changes, one a line, in their order.

    The grammar has no escapes. A line with characters that do not print is written as it is, and shown as a comment:
    what is copied from a screen must not name somebody else.
    """
    head = [comment(line) for line in (*subject.title, _where(subject.changes))]
    cell_lines = [_cell_line(change) for change in subject.changes]
    return PlanText(lines([*head, *cell_lines]), lines([*head, *map(_printable_line, cell_lines)]))


def change_lines(changes: Sequence[Change]) -> list[str]:
    """The lines alone, one a change.

    Raises
    ------
    UsageError
        A change that no line can say.
    """
    if problem := next((f"{what(change)}: {why}" for change in changes if (why := _problem(change))), None):
        raise UsageError(problem, hint="A saved plan has it: plan apply FILE.")
    return [_cell_line(change) for change in changes]


def _where(changes: Sequence[Change]) -> str:
    groups = by_kind(changes)
    magic = next(iter(groups)).magic if len(groups) == 1 else ChangeKind.magic
    strange = (key for kind, mine in groups.items() for key in kind.unknown_keys(mine) if _KEY.fullmatch(key))
    options = "".join(f" --allow-unknown {key}" for key in strange)
    return f"below {magic}{options}, or for kadmin-nb plan -f FILE{options}"


def _cell_line(change: Change) -> str:
    problem = _problem(change)
    if problem:
        return note(f"{what(change)}: {problem}")
    verb = kind_of(change).verbs[change.op]
    assignment = format_word(change.key, change.wanted) if change.wanted is not None else change.key
    return f"{verb} {assignment} {kind_of(change).line_words(change.resource)}"


def _problem(change: Change) -> str | None:
    """The reason why the grammar cannot say it."""
    if is_bare_secret(change):
        return "a secret is not written down"
    if not _KEY.fullmatch(change.key) or change.key in WORDS or entity_type(change.key):
        return "no line can name this key"
    return None


def _printable_line(line: str) -> str:
    return line if line.isprintable() else comment(f"take this one from str() or a file: {printable(line)}")
