"""Variables in the words of a line: `{expression}` is expanded after splitting, and always to a literal text.

A notebook's lines are expanded here and nowhere else, by the names that their caller sees. A terminal expands nothing,
and a file or a text of many lines has no variables: there a `{…}` is refused, as a client of that name would be meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ..errors import UsageError
from .grammar import BRACED, Pattern, Special, argument, as_value, parted_word, text_of_value


class Variables(Protocol):
    """The names that the caller of a line sees."""

    def __contains__(self, name: object) -> bool: ...

    def value(self, expression: str) -> object:
        """The value of an expression."""


Expand = Callable[[Sequence[str]], list[str]]
"""From the words of a line as they were typed to those that are meant."""

_CHARACTERS = "For the characters themselves write {{ and }}, or type==name, which is the name whatever it says."
_PART = re.compile(rf"(?P<twice>\{{\{{|\}}\}})|(?P<dollar>\$)?(?P<braced>{BRACED})|(?P<brace>[{{}}])", re.DOTALL)
_DOLLAR = re.compile(r"\$([^\W\d]\w*)")


def expanded_words(words: Iterable[str], variables: Variables) -> list[str]:
    """The words of the grammar with their variables expanded; a list of names becomes a word for each.

    Raises
    ------
    UsageError
        A variable left of a sign or without one, a `$name`, or a value that cannot be a name.
    """
    return [expanded for word in words for expanded in _expanded_word(word, variables)]


def _expanded_word(word: str, variables: Variables) -> list[str]:
    name, sign, right_side = parted_word(word) or (word, "", "")
    if sign == "==":
        return [word]
    _refuse_dollar(right_side if sign else word, variables, f"{name}==$NAME" if sign else "{'$NAME'}")
    if "{" in name or "}" in name:
        raise UsageError("a {variable} stands right of =, never for a key, a type or a whole word", hint=_CHARACTERS)
    if "{" not in right_side and "}" not in right_side:
        return [word]
    value = expanded_value(right_side, variables)
    if sign == "~=" and not isinstance(value, Pattern):
        return [argument(name, Pattern(as_text(value, right_side)))]
    try:
        meant = as_value(value)
    except UsageError as exc:
        raise exc.within(right_side) from None
    parts = meant if isinstance(meant, tuple) else (meant,)
    if not parts:
        raise UsageError(f"{right_side} is an empty list")
    return [argument(name, part) for part in parts]


def expanded_value(text: str, variables: Variables) -> object:
    """What one word or the value of an option means: the object of a `{variable}` that is all of it, else a text.

    Raises
    ------
    UsageError
        An expression that fails or is empty, a value without a text beside other characters, a lone brace, a `$name`.
    """
    _refuse_dollar(text, variables, "{'$NAME'}")
    if re.fullmatch(BRACED, text, re.DOTALL) and not text.startswith("{{"):
        return _value_of(text, variables)
    return _PART.sub(lambda part: _expanded_part(part, variables), text)


def _expanded_part(part: re.Match[str], variables: Variables) -> str:
    if part["twice"]:
        return part["twice"][0]
    if part["brace"]:
        raise UsageError(f"a {part['brace']} without its other brace", hint=_CHARACTERS)
    if part["dollar"]:
        raise UsageError(f"{part[0]} is not expanded; write {part['braced']}", hint=_CHARACTERS)
    return as_text(_value_of(part["braced"], variables), part["braced"])


def _value_of(braced: str, variables: Variables) -> object:
    """What `{expression}` is. A format is the expression's own: `{f"{x:.2f}"}`."""
    expression = braced[1:-1].strip()
    if not expression:
        raise UsageError(f"{braced} is not an expression", hint=_CHARACTERS)
    value = variables.value(expression)
    if value is None or (isinstance(value, str) and not value):
        raise UsageError(f"{braced} is empty", hint="For the default entity write <default> or pass kn.DEFAULT.")
    return value


def as_text(value: object, typed: str) -> str:
    """The value as a text, where nothing else can be meant; `typed` is named where it has none.

    Raises
    ------
    UsageError
        A special value, a list or a frame, or a value without a text of its own.
    """
    if isinstance(value, Special | Pattern) or (isinstance(value, Iterable) and not isinstance(value, str | bytes)):
        raise UsageError(f"{typed} is a {type(value).__name__}, where a text is needed", hint=_CHARACTERS)
    try:
        return text_of_value(value)
    except UsageError as exc:
        raise exc.within(typed) from None


def _refuse_dollar(text: str, variables: Variables, literally: str) -> None:
    """Refuse `$name` where there is such a variable; `literally` is how these characters are written."""
    for match in _DOLLAR.finditer(text):
        if match[1] in variables:
            raise UsageError(
                f"{match[0]} is the name itself; write {{{match[1]}}}",
                hint=f"If these characters are meant: {literally.replace('$NAME', match[0])}",
            )


def literal_words(words: Sequence[str]) -> list[str]:
    """The words as they are, of a text without variables.

    Raises
    ------
    UsageError
        A `{…}`: a variable that nobody expands.
    """
    for word in words:
        parted = parted_word(word)
        right_side = parted[2] if parted and parted[1] != "==" else ""
        if parted and re.search(BRACED, right_side, re.DOTALL):
            raise UsageError(
                f"{parted[0]}={{…}} is not expanded here: only the lines of a notebook have variables",
                hint=f"Write {parted[0]}==… if the braces are part of the text.",
            )
    return [*words]
