"""Completion in bash, which cuts a word at each `=` and `:`, and replaces the last piece alone.

zsh and fish hand over whole words, as click expects them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

_BREAKS = "=:"
"""The characters of `$COMP_WORDBREAKS` that our words contain."""


class Bash(BashComplete):
    """click's completion of bash, on the words as they were typed."""

    def get_completion_args(self) -> tuple[list[str], str]:
        pieces = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        _, *args, incomplete = glued(pieces)
        self._replaced = re.sub(rf"[^{_BREAKS}]*$", "", incomplete)
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """The candidate, less what bash does not replace, as the shell reads it."""
        name, sign, value = item.value.removeprefix(self._replaced).rpartition("=")
        text = f"{name}{sign}{shlex.quote(value) if value else ''}"
        return f"{item.type},{text}"


def glued(pieces: Iterable[str]) -> list[str]:
    """Words out of the pieces that bash makes of them.

    Examples
    --------
    >>> glued(["quota", "describe", "user", "=", "al"])
    ['quota', 'describe', 'user=al']
    """
    words: list[str] = []
    for piece in pieces:
        if words and (_is_break(piece) or _is_break(words[-1][-1:])):
            words[-1] += piece
        else:
            words.append(piece)
    return words


def _is_break(text: str) -> bool:
    return bool(text) and set(text) <= {*_BREAKS}


def register() -> None:
    """Let click complete bash by it."""
    add_completion_class(Bash)
