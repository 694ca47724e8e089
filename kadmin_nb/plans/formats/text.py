"""Print formats as texts, and the pieces that several of them share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from ...errors import printable


class PlanText(str):
    """A text that shows itself plainly.

    `str()` and files have it as it is. Where names hold characters that a terminal would obey, what is shown
    differs from it: `shown`.
    """

    shown: str

    def __new__(cls, text: str, shown: str | None = None) -> Self:
        made = super().__new__(cls, text)
        made.shown = text if shown is None else shown
        return made

    def __repr__(self) -> str:
        return self.shown


def lines(several: Iterable[str]) -> str:
    """Lines as one text."""
    return "".join(f"{line}\n" for line in several)


def comment(text: str) -> str:
    """A comment of one line, whatever is in it."""
    return f"# {printable(text)}"


def note(text: str) -> str:
    """A comment about a change."""
    return comment(f"note: {text}")
