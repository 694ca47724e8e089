"""The grammar of words: how a line is split and what one word says.

A word is `type=value`, `type==name`, `type~=pattern` or `key=value`. Right of `=` the texts `<default>`
and `<any>` are the two special values; right of `==` everything is the name, whatever it says.
Quotes group, the backslash is an ordinary character, so `user=DOMAIN\\alice` survives.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..errors import UsageError


class Special(enum.Enum):
    """Two values that are not names: the default entity, and any entity."""

    DEFAULT = "<default>"
    ANY = "<any>"

    def __repr__(self) -> str:
        return f"kn.{self.name}"

    def __str__(self) -> str:
        return self.value


class _LeftOut(enum.Enum):
    LEFT_OUT = "left out"

    def __repr__(self) -> str:
        return self.name


DEFAULT, ANY = Special.DEFAULT, Special.ANY
LEFT_OUT = _LeftOut.LEFT_OUT
"""The argument for a type of entity or resource that nobody asks about. None is a slip: of a variable that is empty."""
_SPELLED = {special.value: special for special in Special}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A shell-style pattern, matched on our side: `*`, `?` and `[…]`."""

    glob: str

    def __str__(self) -> str:
        return f"~={self.glob}"


Choice = str | Special | Pattern
Value = Choice | tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a line: a name left of the sign, and its right side."""

    name: str
    value: Value

    def __str__(self) -> str:
        return format_word(self.name, self.value)


_SUCH_AS = (
    "For example producer_byte_rate=5MB/s, retention.ms=86400000, user=alice or topic=orders; a value with spaces "
    "needs quotes."
)
_WORD = re.compile(r"(?P<name>[^=~\s]+)(?P<sign>==|~=|=)(?P<rest>.*)", re.DOTALL)

STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
"""A string of Python, within an expression."""


def balanced(depth: int) -> str:
    """The pattern of a text whose strings are closed and whose brackets match, down to this depth.

    What repeats are alternatives that begin with different characters, so nothing is tried twice. It could say so
    (`*+`), but Python before 3.11.5, as Debian 12 has it, then takes the beginning of a part that does not fit.
    """
    text = r"[^()\[\]{}'\"]"
    within = rf"(?:{text}|{STRING})*"
    for _ in range(depth):
        within = rf"(?:{text}|{STRING}|[(\[{{]{within}[)\]}}])*"
    return within


BRACED = rf"\{{{balanced(5)}\}}"
"""`{…}`: a Python expression of a notebook's line. Quotes and spaces in it are Python's and end no word."""

_QUOTE = r"""'[^']*'|"[^"]*\""""
_LITERAL = rf"""[^\s=~'"{{]+==(?:[^ \t\r\n'"]|{_QUOTE})*"""
"""A word whose right side is the name, whatever it says: there braces are characters."""
_SOURCE = re.compile(
    rf"""(?P<comment>\#.*)|(?P<word>{_LITERAL}|(?:[^ \t\r\n'"{{]|\{{\{{|{BRACED}|\{{|{_QUOTE})+)|(?P<open>['"])""",
    re.DOTALL,
)
"""A comment, a word with its quotes, or a quote that nothing closes; a `#` within a word is an ordinary character."""

_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_QUOTED_OR_BRACED = re.compile(rf"""'([^']*)'|"([^"]*)"|(\{{\{{|{BRACED})""", re.DOTALL)
_CLOSED = re.compile(rf"\{{\{{|{BRACED}", re.DOTALL)
_IS_LITERAL = re.compile(_LITERAL, re.DOTALL)


def split(line: str) -> list[str]:
    """The words of a line; quotes group, nothing escapes, a trailing `;` or `# comment` is dropped.

    The quotes within `{…}` stay: they are the expression's.

    Raises
    ------
    UsageError
        A quote that is never closed.
    """
    if (at := open_quote(line)) is not None:
        raise UsageError(f"a quote is never closed, at character {at + 1}: {line[at]}")
    sources = [match["word"] for match in _SOURCE.finditer(line) if match["word"]]
    words = [_without_quotes(source) for source in sources]
    if sources and sources[-1].endswith(";"):
        words[-1:] = [w] if (w := words[-1][:-1]) else []
    return words


def _without_quotes(source: str) -> str:
    if "'" not in source and '"' not in source:
        return source
    if "{" not in source or _IS_LITERAL.fullmatch(source):
        return _QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or "", source)
    word = _QUOTED_OR_BRACED.sub(lambda part: part[1] or part[2] or part[3] or "", source)
    parted = parted_word(word)
    if (parted is None or parted[1] != "==") and any(map(_ends_within_braces, _QUOTED_OR_BRACED.finditer(source))):
        raise UsageError(
            "a quote within {…} ends the quotes around the word",
            hint="Leave out the quotes around the word, or use the other kind: \"user={names['a']}\"",
        )
    return word


def _ends_within_braces(part: re.Match[str]) -> bool:
    """True of quoted text that opens a brace, is followed by more, and does not close it."""
    quoted = part[1] or part[2] or ""
    return part.end() < len(part.string) and "{" in _CLOSED.sub("", quoted)


def open_quote(line: str) -> int | None:
    """The place of a quote that is never closed, comments aside."""
    return next((match.start() for match in _SOURCE.finditer(line) if match["open"]), None)


def parse_word(word: str, *, takes_empty: bool = False) -> Word:
    """Parse one word, whose variables are expanded by now (`model.expansion`).

    Parameters
    ----------
    takes_empty
        Read `key=""`, which a shell hands over as `key=`, as an empty value.

    Raises
    ------
    UsageError
        No sign, or nothing right of it.
    """
    parted = parted_word(word)
    if parted is None:
        raise without_sign(word)
    name, sign, rest = parted
    if not rest and not (takes_empty and sign == "="):
        raise nothing_right_of(word)
    return Word(name, _value(sign, rest))


def parted_word(word: str) -> tuple[str, str, str] | None:
    """The name, the sign and the right side of a word; None without a sign."""
    match = _WORD.fullmatch(word)
    return None if match is None else (match["name"], match["sign"], match["rest"])


def without_sign(word: str, instead: str = "") -> UsageError:
    """The error of a word that has no sign, with the word that was meant."""
    hint = f"Did you mean {instead}?" if instead else _SUCH_AS
    return UsageError(f"{quote(word)} is neither type=value nor key=value", hint=hint)


def nothing_right_of(word: str) -> UsageError:
    """The error of a word without a value."""
    return UsageError(f"{word} has no value", hint="Kafka has no empty names.")


def _value(sign: str, right_side: str) -> Value:
    if sign == "==":
        return right_side
    if sign == "~=":
        return Pattern(right_side)
    return special(right_side) or right_side


def as_value(value: object) -> Value:
    """A Python value as the right side of a word, or a list of such; text is always a literal name.

    Raises
    ------
    UsageError
        Bytes, half a surrogate pair, a frame or a mapping, or nothing at all: None, NaN and pandas' NA, also in a list.
    """
    if type(value) is str:
        return _unicode(value)
    if isinstance(value, Special | Pattern):
        return value
    if isinstance(value, Mapping) or hasattr(value, "column_names") or hasattr(value, "columns"):
        raise UsageError(f"a {type(value).__name__} is not a list of names", hint="Pass one column of it, or a list.")
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(item if isinstance(item, Special | Pattern) else text_of_value(item) for item in value)
    return text_of_value(value)


_NOTHING = {"float": ("nan",), "float64": ("nan",), "NAType": ("<NA>",), "NaTType": ("NaT",)}
"""The marker of a missing value in a frame, by the name of its type; its text would name a client."""


def text_of_value(value: object) -> str:
    """A Python value as the text of a name or a value.

    Raises
    ------
    UsageError
        Nothing, bytes, half a surrogate pair, or a value without a text of its own, such as a function.
    """
    kind, text = type(value), str(value)
    has_no_text = callable(value) or (kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__)
    if has_no_text or isinstance(value, bytes) or value is None or text in _NOTHING.get(kind.__name__, ()):
        raise UsageError(
            f"a {kind.__name__} cannot be a name or a value",
            hint="Pass a text or a number, or kn.DEFAULT for the default entity.",
        )
    return _unicode(text)


def _unicode(text: str) -> str:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise UsageError(f"{text} is not Unicode text")
    return text


def special(text: str) -> Special | None:
    """The special value that this text spells, if it does."""
    return _SPELLED.get(text)


def format_word(name: str, value: Value) -> str:
    """The word that says this, so that `read(split(…))` gives it back."""
    if isinstance(value, Special):
        return f"{name}={value.value}"
    if isinstance(value, Pattern):
        return f"{name}~={quote(value.glob)}"
    if isinstance(value, tuple):
        return " ".join(format_word(name, part) for part in value)
    if _AS_IT_STANDS.fullmatch(value):
        return f"{name}={value}"
    return f"{name}{'==' if _misread(value) else '='}{quote(value)}"


def argument(name: str, value: Value) -> str:
    """The same as a shell hands it over to a program: without quotes, which are the shell's own."""
    if isinstance(value, Pattern):
        return f"{name}~={value.glob}"
    if not isinstance(value, str):
        return format_word(name, value)
    return f"{name}{'==' if _misread(value) else '='}{value}"


_AS_IT_STANDS = re.compile(r"[^\s'\";{}=<][^\s'\";{}]*")
"""Most names: nothing in them is misread, so that nothing more need be asked."""


def _misread(name: str) -> bool:
    return name.startswith("=") or "{" in name or "}" in name or special(name) is not None


_UNQUOTED = re.compile(r"[^\s'\";]+")


def quote(text: str) -> str:
    """`text` as a part of one word: quoted where it is empty, or a space, a quote or a `;` would be misread."""
    if not text:
        return '""'
    if _UNQUOTED.fullmatch(text):
        return text
    if "'" not in text:
        return f"'{text}'"
    return "".join(f'"{part}"' if part == "'" else f"'{part}'" for part in re.split("(')", text) if part)


Selector = tuple[Choice, ...]


def selector(kind: str, value: object) -> Selector:
    """The names, special values and patterns that `value` lists, each once.

    Raises
    ------
    UsageError
        None, or an empty name.
    """
    chosen = parts(kind, value)
    if "" in chosen:
        raise UsageError(f"{kind} has an empty name")
    return chosen


def parts(kind: str, value: object) -> Selector:
    """The same, where an empty name means something: a blank client-id.

    Raises
    ------
    UsageError
        None.
    """
    if value is None:
        raise UsageError(f"{kind} has no value", hint=f"Leave {kind} out, or pass kn.DEFAULT or kn.ANY.")
    listed = as_value(value)
    return tuple(dict.fromkeys(listed if isinstance(listed, tuple) else (listed,)))


def matcher(chosen: Selector) -> Callable[[str | None], bool]:
    """Tells whether a name is one of those; None is the default."""
    if ANY in chosen:
        return lambda name: True
    names = {None if part is DEFAULT else part for part in chosen}
    globs = [part.glob for part in chosen if isinstance(part, Pattern)]
    return lambda name: name in names or (name is not None and any(fnmatchcase(name, glob) for glob in globs))
