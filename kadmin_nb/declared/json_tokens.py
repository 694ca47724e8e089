"""JSON as tokens: the standard reader says whether it is JSON, and the tokens say where everything stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal, cast

from ..errors import UsageError
from .nodes import Token

_TOKEN = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<brace>[{}\[\]])|(?P<word>[^\s"{}\[\]:,]+)|(?P<end>\n)')


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a JSON text.

    Raises
    ------
    UsageError
        It is not JSON.
    """
    _refuse_other_than_json(text)
    line, start = 1, 0
    for match in _TOKEN.finditer(text):
        if match["end"]:
            line, start = line + 1, match.end()
        else:
            yield _token(match, line, match.start() - start + 1)


def _token(match: re.Match[str], line: int, column: int) -> Token:
    if match["brace"]:
        return Token(cast(Literal["{", "}", "[", "]"], match["brace"]), line, column)
    if match["word"]:
        return Token("text", line, column, match["word"], is_plain=True)
    return Token("text", line, column, json.loads(match["string"]))


def _refuse_other_than_json(text: str) -> None:
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as exc:
        raise UsageError(f"line {exc.lineno}, column {exc.colno}: invalid JSON: {exc.msg}") from None
    except RecursionError:
        raise UsageError("it is nested too deeply") from None
