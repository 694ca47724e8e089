"""Completion of the magics' words: click's own, on the one tree of commands.

Names come from the current cluster, as it was half a minute ago at most; a cluster that does not answer is not waited
for. Where a line is ours nobody else offers anything: Python's names are not words of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from kadmin_nb.errors import KadminError
from kadmin_nb.model.grammar import open_quote, split

if TYPE_CHECKING:
    from kadmin_nb.commands.click_glue import Values
    from kadmin_nb.commands.completions import NamesOfThread
    from kadmin_nb.model.connection_settings import Settings

_LINE = re.compile(r"\s*(?:[^=%]+=\s*)?(?P<entry_point>%%?k(?:quota|config|plan|admin))[ \t](?P<line>.*)", re.DOTALL)
_CELL = re.compile(r"\s*%(?P<entry_point>%k(?:quota|config|admin))\b")


class NothingButOurs:
    """No completions: IPython leaves other matchers out only for an answer that has a length."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[SimpleCompletion]:
        return iter(())


def matcher(settings_of: Callable[[str | None], Settings]) -> Any:
    """The matcher that a shell asks; `settings_of` gives the connection to a target, None the current one."""

    @cache
    def values() -> NamesOfThread:
        from kadmin_nb.commands.completions import NamesOfThread

        return NamesOfThread(settings_of)

    @context_matcher(identifier="kadmin_magics")  # type: ignore[untyped-decorator]
    def candidates(context: CompletionContext) -> SimpleMatcherResult:
        """The candidates at the cursor, where that is in a line or a cell of ours; nothing elsewhere."""
        before = context.line_with_cursor[: context.cursor_position]
        try:
            offers = offered(before, context.full_text if context.cursor_line else "", values())
        except KadminError:
            offers = Offers("", [], True)
        completions: Any = [SimpleCompletion(text=text, type="kadmin") for text in offers.matches]
        if offers.is_ours and not completions:
            completions = NothingButOurs()
        return {"completions": completions, "matched_fragment": offers.fragment, "suppress": offers.is_ours}

    return candidates


@dataclass(frozen=True)
class Offers:
    """The word that was begun on a line, and its candidates; whether the line is ours to complete."""

    fragment: str
    matches: list[str]
    is_ours: bool


_PYTHON = Offers("", [], False)


def offered(before: str, cell: str = "", values: Values | None = None) -> Offers:
    """The candidates at the end of `before`, a line up to the cursor.

    Parameters
    ----------
    cell
        The text of a cell whose first line is not the cursor's.
    values
        Knows the values behind a word.
    """
    if cell and (head := _CELL.match(cell)):
        return _offered(head["entry_point"], before, values)
    line = _LINE.fullmatch(before)
    return _offered(line["entry_point"], line["line"], values) if line else _PYTHON


def _offered(magic: str, line: str, values: Values | None) -> Offers:
    begun = re.split(r"[ \t]", line)[-1]
    earlier = line[: len(line) - len(begun)]
    if "{" in begun:
        return _PYTHON
    if open_quote(line) is not None or "#" in earlier.split():
        return Offers(begun, [], True)
    from kadmin_nb.commands import complete

    from .notebook import entry_point

    matches = complete(split(earlier), begun, magic, entry_point(magic), values)
    # JupyterLab compares what candidates have in common with texts that are escaped for its page: where that ended with
    # `user=<` it showed none of them, and took no further Tab. With the word itself they have less in common.
    is_lost = begun and "<" not in begun and all(match.startswith(f"{begun}<") for match in matches)
    return Offers(begun, [begun, *matches] if is_lost and matches else matches, True)
