"""JSON, TOML and Java's properties that others wrote, as data: in bounded time and memory, with one meaning."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, TypeVar

MOST_DOTS = 16
"""In a line of TOML, outside of texts. The time and memory of a dotted key grow with the square of its parts."""

_QUOTED = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|$)|\'[^\']*(?:\'|$)|#.*')
_LONG_QUOTES = ('"""', "'''")

_TOO_DEEP, _TOO_LONG = "Nested too deeply", "A number with too many digits"


def from_json(text: str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    ValueError
        It is not JSON (RFC 8259: NaN and Infinity are none), a name is twice in one object, a text has half a
        surrogate pair, a number has more than 4,300 digits, or it is nested more than some 1,000 times.
    """
    try:
        value = _READER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} (at line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except UnicodeEncodeError:
        raise ValueError("Half a surrogate pair is not text") from None
    except _Ambiguous:
        raise
    except ValueError:
        raise ValueError(_TOO_LONG) from None
    return value


def from_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text.

    Raises
    ------
    ValueError
        It is not TOML, a key has more than 16 dots, a number has more than 4,300 digits, or it is nested too deeply.
    """
    for number, line in enumerate(text.split("\n"), 1):
        has_long_text = any(quotes in line for quotes in _LONG_QUOTES)  # it may begin or end here: all of it counts
        if line.count(".") > MOST_DOTS and (line if has_long_text else _QUOTED.sub("", line)).count(".") > MOST_DOTS:
            raise ValueError(f"More than {MOST_DOTS} dots in a key (at line {number}, column 1)")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:
        raise ValueError(_TOO_LONG) from None


T = TypeVar("T")


def as_type(value: object, kind: type[T], place: str = "", *, strict: bool = True) -> T:
    """The value of a document as a dataclass, or another type, strictly: no text is a number, no number a text.

    Where it is not `strict`, a text that stands for a number or a truth is one.

    Raises
    ------
    ValueError
        The first part that is of another type, by its path below `place`: `processes[0].pid: expected int, got str`.
    """
    import msgspec  # 7 ms, which most commands need not wait for

    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).replace("`", "").partition(" - at $")
        where = f"{place}{path}".removeprefix(".")
        raise ValueError(f"{where}{': ' if where else ''}{problem[0].lower()}{problem[1:]}") from None


BLANKS = "".join(map(chr, range(0x21)))
"""The characters that Java's `String.trim` takes away: blanks, and all controls."""


def trimmed(text: str) -> str:
    """`text` without the blanks and controls at its ends: Java's `String.trim`."""
    return text.strip(BLANKS)


def from_properties(text: str) -> dict[str, str]:
    """The keys and values of a text of Java's properties; the last of equal keys wins.

    Raises
    ------
    ValueError
        `\\u` without four hexadecimal digits.
    """
    import javaproperties  # with it comes an XML parser, which a connection to host:port need not wait for

    try:
        elements = [*javaproperties.parse(text)]
    except javaproperties.InvalidUEscapeError:
        raise ValueError("\\u needs four hexadecimal digits") from None
    return {one.key: one.value for one in elements if isinstance(one, javaproperties.KeyValue)}


def as_properties(properties: Mapping[str, str]) -> str:
    """The text of a Java properties file with these keys and values."""
    import javaproperties

    return javaproperties.dumps(properties, timestamp=None)


class _Ambiguous(ValueError):
    """Readers differ in what the text means."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that is twice, readers take the first, the last, or both."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Ambiguous("A name occurs twice in one object")
    return value


def _no_number(word: str) -> float:
    raise _Ambiguous(f"{word} is not a JSON number")


_READER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)
_WRITER = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def to_json(value: object) -> str:
    """`value` as JSON with sorted names, ASCII only, without blanks."""
    return _WRITER.encode(value)


def texts_to_json(value: object) -> str:
    """The same of a value without fractions, in a tenth of the time."""
    import msgspec

    try:
        written = msgspec.json.encode(value, order="sorted")
    except (ValueError, OverflowError):  # half a surrogate pair, a number with many digits
        return to_json(value)
    is_same = written.isascii() and b"\x7f" not in written
    return written.decode() if is_same else to_json(value)


def digest(*parts: str) -> str:
    """The SHA-256 of these texts, one after the other, in hexadecimal."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part.encode())
    return sha.hexdigest()
