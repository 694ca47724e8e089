"""YAML as tokens, through PyYAML's parser alone: nothing is resolved, constructed or expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from ..errors import Unsupported, UsageError
from .nodes import Token

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML does not allow, and the three that YAML 1.1 takes for the end of a line and 1.2 does not."""

_LINE_END = re.compile("\r\n|\r|\n")

_BRACES: dict[str, Literal["{", "}", "[", "]"]] = {
    "MappingStartEvent": "{",
    "MappingEndEvent": "}",
    "SequenceStartEvent": "[",
    "SequenceEndEvent": "]",
}


def tokens(text: str) -> Iterator[Token]:
    """The tokens of one YAML document.

    Raises
    ------
    UsageError
        It is not YAML, or uses what a file of ours has no need of: anchors, aliases, tags, a second document.
    Unsupported
        PyYAML is not installed.
    """
    yaml = _library()
    if bad := _FORBIDDEN.search(text):
        _refuse_character(text, bad)
    documents = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
            documents += isinstance(event, yaml.DocumentStartEvent)
            _refuse_what_is_not_needed(event, documents)
            yield from _token(event)
    except (yaml.YAMLError, ValueError) as exc:
        raise _syntax(exc, text) from None


def _library() -> Any:
    try:
        import yaml
    except ImportError:
        raise Unsupported(
            "reading YAML needs PyYAML, which is not installed",
            hint="pip install 'kadmin_nb[runbooks]', or use JSON: it needs nothing.",
        ) from None
    return yaml


def _token(event: Any) -> Iterator[Token]:
    name, mark = type(event).__name__, event.start_mark
    if name in _BRACES:
        yield Token(_BRACES[name], mark.line + 1, mark.column + 1)
    elif name == "ScalarEvent":
        yield Token("text", mark.line + 1, mark.column + 1, event.value, not event.style)


def _refuse_what_is_not_needed(event: Any, documents: int) -> None:
    if type(event).__name__ == "AliasEvent" or getattr(event, "anchor", None):
        _raise_at(event, "anchors and aliases (&name, *name) are not read", "Write out what it stands for.")
    if tag := getattr(event, "tag", None):
        _raise_at(event, f"the tag {tag} is not read", "Write the text alone: every value is a text here.")
    if documents > 1:
        _raise_at(event, "a second document begins", "One file is one document.")


def _raise_at(event: Any, message: str, hint: str) -> None:
    raise UsageError(
        f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}: {message}", hint=hint
    ) from None


def _refuse_character(text: str, bad: re.Match[str]) -> None:
    before = text[: bad.start()]
    line, column = before.count("\n") + 1, bad.start() - (before.rfind("\n") + 1) + 1
    raise UsageError(
        f"line {line}, column {column}: the character U+{ord(bad[0]):04X} cannot stand in YAML as it is",
        hint=f'Write "\\u{ord(bad[0]):04x}", in double quotes.',
    )


def _syntax(exc: Exception, text: str) -> UsageError:
    """The parser's complaint, without what stands there: it may be a secret."""
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    if mark is None:
        return UsageError(f"invalid YAML: {getattr(exc, 'reason', None) or exc}")
    place = f"line {mark.line + 1}, column {mark.column + 1}"
    if _is_at_a_tab(text, mark):
        return UsageError(f"{place}: a tab", hint="YAML is indented with spaces.")
    problem, context = getattr(exc, "problem", None) or exc, getattr(exc, "context", None)
    return UsageError(f"{place}: invalid YAML: {problem}{f', {context}' if context else ''}")


def _is_at_a_tab(text: str, mark: Any) -> bool:
    lines = _LINE_END.split(text)
    line = lines[mark.line] if mark.line < len(lines) else ""
    return line[mark.column : mark.column + 1] == "\t" or "\t" in line[: len(line) - len(line.lstrip())]
