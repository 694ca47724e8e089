"""`name << …`: the variable that an answer goes into."""

from __future__ import annotations

from keyword import iskeyword

from kadmin_nb.errors import UsageError
from kadmin_nb.model.grammar import split


def destination(line: str) -> tuple[str | None, list[str]]:
    """The variable named by `name <<` and the words after it; None and all words where there is none.

    Raises
    ------
    UsageError
        The name cannot be a variable's.
    """
    words = split(line)
    if words[1:2] != ["<<"]:
        return None, words
    if not words[0].isidentifier() or iskeyword(words[0]):
        raise UsageError(f"{words[0]} is not a variable name")
    return words[0], words[2:]
