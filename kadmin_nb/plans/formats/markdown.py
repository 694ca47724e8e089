"""A table for a pull request.

Every name is hostile. A plain one stands in a code span, in which neither HTML nor a link is read; any other in
`<code>`, with all but letters, digits and spaces as numeric references, which Markdown never takes for its own signs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ...errors import printable
from ...model.changes import Change
from ...model.grammar import quote
from .subject import Subject, is_bare_secret
from .text import PlanText, lines

_SEEN = ("row", "op", "resource", "key", "old", "after", "level", "validated", "note")
_WISHED = ("row", "op", "resource", "key", "wanted", "note")
_SPECIAL = re.compile(r"[`|\\$]")
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 ,;%'()-]*")


def as_markdown(subject: Subject) -> PlanText:
    """Its changes as a table; of a plan, what was there before and what will be."""
    ends = ("until",) if any(change.until for change in subject.changes) else ()
    columns = (*(_SEEN if subject.is_seen else _WISHED), *ends)
    head = [f"{name}: {said(value)}  " for name, value in subject.head.items()]
    rows = [_table_row(columns), _table_row(["---"] * len(columns))]
    rows += [_table_row([_CELLS[column](change) for column in columns]) for change in subject.changes]
    remarks = [f"- {said(line)}" for line in subject.told]
    below = [*[""] * bool(remarks), *remarks]
    return PlanText(lines([f"**{_title(subject)}**", "", *head, *[""] * bool(head), *rows, *below]))


def _title(subject: Subject) -> str:
    count = len(subject.changes)
    return f"{'Plan' if subject.is_seen else 'Stage'} of {count:,} change{'s' * (count != 1)}"


def _table_row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """A name or a value, exactly as it is, controls as escapes."""
    safe_text = printable(text) or quote("")
    if safe_text and safe_text == safe_text.strip() and not _SPECIAL.search(safe_text):
        return f"`{safe_text}`"
    return f"<code>{''.join(c if c.isalnum() or c == ' ' else f'&#{ord(c)};' for c in safe_text)}</code>"


def said(text: str) -> str:
    """Prose; as code when anything in it could be more than words."""
    return text if _PLAIN_TEXT.fullmatch(text) else code(text)


def _old(change: Change) -> str:
    if not change.old_known:
        return "sensitive"
    return "not set" if change.old is None else code(change.old)


def _new(value: str | None, change: Change, nothing: str) -> str:
    if value is None:
        return nothing
    return "secret" if is_bare_secret(change) else code(value)


_CELLS: Mapping[str, Callable[[Change], str]] = {
    "row": lambda change: str(change.row),
    "op": lambda change: said(change.op),
    "resource": lambda change: code(str(change.resource)),
    "key": lambda change: code(change.key),
    "old": _old,
    "after": lambda change: _new(change.after, change, "not set"),
    "wanted": lambda change: _new(change.wanted, change, ""),
    "level": lambda change: code(change.level) if change.level else "",
    "validated": lambda change: said(str(change.validated)),
    "note": lambda change: said(change.note or ""),
    "until": lambda change: said(change.until or ""),
}
