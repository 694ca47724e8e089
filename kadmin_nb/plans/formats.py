"""Texts about the changes of a stage or a plan: in words, and as a block for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..frames.answer import Tabular
from ..frames.blocks import WHOLE, Text
from ..frames.meanings import in_unit, word
from ..model.changes import Change


def in_words(changes: Sequence[Change]) -> str:
    """The first change in words, and how many more: of a secret the reference."""
    if not changes:
        return "nothing"
    first, more = changes[0], f", and {len(changes) - 1:,} more" if len(changes) > 1 else ""
    value = in_unit(first.key, first.wanted)
    return f"{word(first.op)} {first.key} of {first.resource}{f': {value}' if value else ''}{more}"


class PrintFormats(Tabular):
    """The printable form of a stage and a plan."""

    def to_markdown(self) -> Text:
        """What it shows, as a block for a pull request that colours what is added and removed.

        In a fence longer than any within it, no name can end it, make a link, or be HTML.
        """
        text = self.as_text(WHOLE).rstrip("\n")
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        return Text(f"{fence}diff\n{text}\n{fence}\n")
