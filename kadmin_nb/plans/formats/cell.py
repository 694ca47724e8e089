"""The lines of a `%%kquota` cell, which `plan -f` reads as well."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import printable
from ...model.changes import APPEND, CONFIG, DELETE, QUOTA, SET, SUBTRACT, Change
from ...model.entity import TYPES, Entity
from ...model.grammar import format_word
from ...model.quota_keys import find
from ...model.resources import WORDS
from .subject import Subject, is_bare_secret, what
from .text import PlanText, comment, lines, note

_QUOTA_VERBS = {SET: "set", DELETE: "remove"}
_CONFIG_VERBS = {SET: "set", DELETE: "reset", APPEND: "append", SUBTRACT: "subtract"}
_KEY = re.compile(r"[^\s=~'\"#;{}]+")
_MAGICS = {frozenset([QUOTA]): "%%kquota", frozenset([CONFIG]): "%%kconfig"}


def as_cell(subject: Subject) -> PlanText:
    """Its changes, one a line, in their order.

    The grammar has no escapes. A line with characters that do not print is written as it is, and shown as a comment:
    what is copied from a screen must not name somebody else.
    """
    head = [comment(line) for line in (*subject.title, _where(subject.changes))]
    cell_lines = [_cell_line(change) for change in subject.changes]
    return PlanText(lines([*head, *cell_lines]), lines([*head, *map(_printable_line, cell_lines)]))


def _where(changes: Sequence[Change]) -> str:
    magic = _MAGICS.get(frozenset(change.kind for change in changes), "%%kadmin")
    strange = dict.fromkeys(c.key for c in changes if c.kind == QUOTA and not find(c.key) and _KEY.fullmatch(c.key))
    options = "".join(f" --allow-unknown {key}" for key in strange)
    return f"below {magic}{options}, or for kadmin-nb plan -f FILE{options}"


def _cell_line(change: Change) -> str:
    problem = _problem(change)
    if problem:
        return note(f"{what(change)}: {problem}")
    verb = (_QUOTA_VERBS if change.kind == QUOTA else _CONFIG_VERBS)[change.op]
    assignment = format_word(change.key, change.wanted) if change.wanted is not None else change.key
    return f"{verb} {assignment} {change.resource}"


def _problem(change: Change) -> str | None:
    """Why the grammar cannot say it."""
    if is_bare_secret(change):
        return "a secret is not written down"
    if isinstance(change.resource, Entity) and not {kind for kind, _ in change.resource.parts} <= {*TYPES}:
        return "no line names entities of this type"
    if not _KEY.fullmatch(change.key) or change.key in (*TYPES, *WORDS):
        return "no line can name this key"
    if change.wanted == "":
        return "no line can say an empty value"
    return None


def _printable_line(line: str) -> str:
    return line if line.isprintable() else comment(f"take this one from str() or a file: {printable(line)}")
