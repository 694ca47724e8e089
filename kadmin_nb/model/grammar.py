"""The grammar of words: how a line is split and what one word says.

A word is `type=value`, `type==name`, `type~=pattern` or `key=value`. Right of `=` the texts `<default>`
and `<any>` are the two special values; right of `==` everything is the name, whatever it says.
Quotes group, the backslash is an ordinary character, so `user=DOMAIN\\alice` survives.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
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
    """One word of a line: a name left of the sign, and what stands right of it."""

    name: str
    value: Value

    def __str__(self) -> str:
        return format_word(self.name, self.value)


_SUCH_AS = (
    "For example producer_byte_rate=5MB/s, retention.ms=86400000, user=alice or topic=orders; a value with spaces "
    "needs quotes."
)
_WORD = re.compile(r"(?P<name>[^=~\s]+)(?P<sign>==|~=|=)(?P<rest>.*)", re.DOTALL)
_SUBSTITUTED = re.compile(r"\{(?P<expr>[^{}]+)\}")

Lookup = Callable[[str], object]


_SOURCE = re.compile(r"""(?P<comment>\#.*)|(?P<word>(?:[^ \t\r\n'"]+|'[^']*'|"[^"]*")+)|(?P<open>['"])""")
"""A comment, a word with its quotes, or a quote that nothing closes; a `#` within a word is an ordinary character."""

_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def split(line: str) -> list[str]:
    """The words of a line; quotes group, nothing escapes, a trailing `;` or `# comment` is dropped.

    Raises
    ------
    UsageError
        A quote that is never closed.
    """
    if (at := open_quote(line)) is not None:
        raise UsageError(f"a quote is never closed, at character {at + 1}: {line[at]}")
    sources = [match["word"] for match in _SOURCE.finditer(line) if match["word"]]
    words = [_QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or "", source) for source in sources]
    if sources and sources[-1].endswith(";"):
        words[-1:] = [w] if (w := words[-1][:-1]) else []
    return words


def open_quote(line: str) -> int | None:
    """The place of a quote that is never closed, comments aside."""
    return next((match.start() for match in _SOURCE.finditer(line) if match["open"]), None)


def parse_word(word: str, lookup: Lookup | None = None, *, takes_empty: bool = False) -> Word:
    """Parse one word. `{expr}` right of `=` is looked up, always as a literal name or value.

    A word that is one `{expr}` and nothing else may be `kn.DEFAULT`, `kn.ANY` or a list of names.

    Parameters
    ----------
    takes_empty
        Read `key=""`, which a shell hands over as `key=`, as an empty value.

    Raises
    ------
    UsageError
        No sign, nothing right of it, or an expression that is None.
    """
    match = _WORD.fullmatch(word)
    if match is None:
        raise without_sign(word)
    name, sign, rest = match["name"], match["sign"], match["rest"]
    if not rest and not (takes_empty and sign == "="):
        raise nothing_right_of(word)
    return Word(name, _value(sign, rest, lookup))


def without_sign(word: str, instead: str = "") -> UsageError:
    """The error of a word that has no sign, with the word that was meant."""
    hint = f"Did you mean {instead}?" if instead else _SUCH_AS
    return UsageError(f"{quote(word)} is neither type=value nor key=value", hint=hint)


def nothing_right_of(word: str) -> UsageError:
    """The error of a word that names nobody."""
    return UsageError(f"{word} has no value", hint="Kafka has no empty names.")


def _value(sign: str, right_side: str, lookup: Lookup | None) -> Value:
    if sign == "==":
        return right_side
    if sign == "~=":
        return Pattern(_substitute(right_side, lookup))
    if lookup is not None and (whole := _SUBSTITUTED.fullmatch(right_side)):
        return as_value(_looked_up(whole["expr"], lookup))
    if lookup is not None and _SUBSTITUTED.search(right_side):
        return _substitute(right_side, lookup)
    return special(right_side) or right_side


def as_value(value: object) -> Value:
    """A Python value as the right side of a word, or a list of such; text is always a literal name.

    Raises
    ------
    UsageError
        Bytes, half a surrogate pair, or nothing at all: None, NaN and pandas' NA, also in a list.
    """
    if type(value) is str:
        return _unicode(value)
    if isinstance(value, Special | Pattern):
        return value
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(item if isinstance(item, Special | Pattern) else _literal_text(item) for item in value)
    return _literal_text(value)


_NOTHING = {"float": ("nan",), "float64": ("nan",), "NAType": ("<NA>",), "NaTType": ("NaT",)}
"""The marker of a missing value in a frame, by the name of its type; its text would name a client."""


_KINDS_OF_NOTHING = {"NoneType": "nothing", "bytes": "a sequence of bytes"}


def _literal_text(value: object) -> str:
    text = str(value)
    if isinstance(value, bytes) or value is None or text in _NOTHING.get(type(value).__name__, ()):
        raise UsageError(
            f"{_KINDS_OF_NOTHING.get(type(value).__name__, 'a missing value')} cannot be a name or a value",
            hint="Pass a text, or kn.DEFAULT for the default entity.",
        )
    return _unicode(text)


def _unicode(text: str) -> str:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise UsageError(f"{text} is not Unicode text")
    return text


def _substitute(text: str, lookup: Lookup | None) -> str:
    if lookup is None:
        return text
    return _SUBSTITUTED.sub(lambda expression: _literal_text(_looked_up(expression["expr"], lookup)), text)


def _looked_up(expression: str, lookup: Lookup) -> object:
    value = lookup(expression.strip())
    if value is None or (isinstance(value, str) and not value):
        raise UsageError(
            f"{{{expression}}} is empty", hint="For the default entity write <default> or pass kn.DEFAULT."
        )
    return value


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
    if not isinstance(value, str):
        return format_word(name, value)
    return f"{name}{'==' if _misread(value) else '='}{value}"


_AS_IT_STANDS = re.compile(r"[^\s'\";{=<][^\s'\";{]*")
"""Most names: nothing in them is misread, so that nothing more need be asked."""


def _misread(name: str) -> bool:
    return name.startswith("=") or "{" in name or special(name) is not None


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
