"""Completion of the magics' words: click's own, on the one tree of commands. It contacts nothing."""

from __future__ import annotations

import re

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from kadmin_nb.errors import KadminError
from kadmin_nb.model.grammar import open_quote

from .destination import destination

_LINE = re.compile(r"\s*(?:[^=%]+=\s*)?(?P<door>%%?k(?:quota|config|plan|admin))[ \t](?P<line>.*)", re.DOTALL)
_CELL = re.compile(r"\s*(?P<door>%%k(?:quota|config|admin))\b")


class Completion:
    """The matcher that a shell asks."""

    @context_matcher(identifier="kadmin_magics")  # type: ignore[untyped-decorator]
    def matcher(self, context: CompletionContext) -> SimpleMatcherResult:
        """The candidates at the cursor, where that is in a line or a cell of ours; nothing elsewhere."""
        before = context.line_with_cursor[: context.cursor_position]
        try:
            fragment, matches = offered(before, context.full_text if context.cursor_line else "")
        except KadminError:
            fragment, matches = "", []
        completions = [SimpleCompletion(text=text, type="kadmin") for text in matches]
        return {"completions": completions, "matched_fragment": fragment, "suppress": bool(completions)}


def offered(before: str, cell: str = "") -> tuple[str, list[str]]:
    """The word that was begun on the line up to the cursor, and what may stand for it.

    `cell` is the text of a cell whose first line is not the cursor's.
    """
    if cell and (head := _CELL.match(cell)):
        return _offered(f"{head['door']} line", before)
    line = _LINE.fullmatch(before)
    return _offered(line["door"], line["line"]) if line else ("", [])


def _offered(door: str, line: str) -> tuple[str, list[str]]:
    if open_quote(line) is not None:
        return "", []
    begun = re.split(r"[ \t]", line)[-1]
    _, words = destination(line[: len(line) - len(begun)])
    if "{" in begun or "#" in line[: len(line) - len(begun)].split():
        return "", []
    from kadmin_nb.commands import complete

    return begun, complete(words, begun, door)
