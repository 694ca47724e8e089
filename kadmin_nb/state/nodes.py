"""A file of YAML as nodes with the places that PyYAML marks; JSON is read as the YAML that it is.

No word means anything by itself (`on`, `1_000`, `007`, `null`): every scalar stays the text that it is, so that nothing
is guessed about names and values. Nothing is resolved, constructed or expanded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import yaml

from ..errors import UsageError

_DEEPEST = 8
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML does not allow, and the three that YAML 1.1 takes for the end of a line and 1.2 does not."""

_INDENT = re.compile(r"^\t+", re.M)
_LONG_KEY = re.compile(r'("(?:[^"\\]|\\.){1000,}")\s*:', re.S)
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)(\\ud[89ab]..\\ud[c-f]..)", re.I)


@dataclass(slots=True)
class Node:
    """Something in a file, and its place: a text, a list of nodes, or a mapping from each key's text to the nodes of
    the key and its value. `is_plain`: a text without quotes.
    """

    line: int
    column: int
    value: Any
    is_plain: bool = False

    @property
    def place(self) -> str:
        """Its place in the file, as errors say it."""
        return f"line {self.line}, column {self.column}"

    def refuse(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise a UsageError that begins with the place."""
        raise UsageError(f"{self.place}: {message}", hint=hint) from None

    @property
    def is_nothing(self) -> bool:
        """True if YAML and JSON mean no value at all by it."""
        return self.is_plain and self.value in ("", "~", "null", "Null", "NULL")


_NAMES: dict[type, str] = {str: "one text", dict: "a mapping", list: "a list"}


def compose(text: str) -> Node | None:
    """The one node of a text; None of one that is empty.

    Raises
    ------
    UsageError
        It is not YAML, or uses what a file of ours has no need of: anchors, aliases, tags, a second document.
    """
    if text.lstrip()[:1] == "{":
        text = _json_as_yaml(text)
    if bad := _FORBIDDEN.search(text):
        raise UsageError(
            f"{_place_in(text, bad.start())}: the character U+{ord(bad[0]):04X} cannot stand in YAML as it is",
            hint=f'Write "\\u{ord(bad[0]):04x}", in double quotes.',
        )
    document = Node(1, 1, [])
    try:
        _fill(document, yaml.parse(text, Loader=_LOADER))
    except (yaml.YAMLError, ValueError) as exc:
        raise _syntax(exc, text) from None
    return next(iter(document.value), None)


def _fill(document: Node, events: Iterable[Any]) -> None:
    """Put the nodes of these events into a document."""
    opened = [document]
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            node = opened.pop()
            node.value = _paired(node.value) if isinstance(event, yaml.MappingEndEvent) else node.value
        elif isinstance(event, yaml.NodeEvent):
            is_text = isinstance(event, yaml.ScalarEvent)
            mark, value = event.start_mark, event.value if is_text else []
            node = Node(mark.line + 1, mark.column + 1, value, is_text and not event.style)
            if event.anchor is not None:
                node.refuse("anchors and aliases (&name, *name) are not read", "Write the value itself.")
            if event.tag is not None:
                node.refuse(f"the tag {event.tag} is not read", "Write the text without a tag: every value is text.")
            if len(opened) + 1 > _DEEPEST and not is_text:
                node.refuse("nested too deeply")
            opened[-1].value.append(node)
            opened += [] if is_text else [node]
        elif isinstance(event, yaml.DocumentStartEvent) and document.value:
            Node(event.start_mark.line + 1, 1, "").refuse("a second document begins", "A file has one document.")


def _paired(nodes: Iterable[Node]) -> dict[str, tuple[Node, Node]]:
    """The keys of a mapping, each with its value, in the order of the file."""
    items: dict[str, tuple[Node, Node]] = {}
    each = iter(nodes)
    for key in each:
        if not isinstance(key.value, str):
            key.refuse("a key is a text, not a mapping or a list")
        if earlier := items.get(key.value):
            key.refuse(f"{key.value} occurs twice, first in line {earlier[0].line}")
        items[key.value] = key, next(each)
    return items


def mapping_of(node: Node, noun: str, hint: str | None = None) -> dict[str, tuple[Node, Node]]:
    """The keys of a mapping, each with its own node and the node of its value."""
    return cast("dict[str, tuple[Node, Node]]", _expect(node, dict, noun, hint))


def list_of(node: Node, noun: str) -> list[Node]:
    """The nodes of a list."""
    return cast("list[Node]", _expect(node, list, noun, None))


def text_of(node: Node, noun: str, hint: str | None = None) -> str:
    """The text of a scalar, whatever it may mean to others."""
    return cast("str", _expect(node, str, noun, hint))


def _expect(node: Node, kind: type, noun: str, hint: str | None) -> object:
    if node.is_nothing:
        node.refuse(f"{noun} has no value", hint)
    if not isinstance(node.value, kind):
        node.refuse(f"{noun} is {_NAMES[kind]}, not {_NAMES[type(node.value)]}", hint)
    return node.value


def _json_as_yaml(text: str) -> str:
    """JSON as YAML reads it: indented with spaces, each character as one, a long key with its mark."""
    text = _INDENT.sub(lambda tabs: " " * len(tabs[0]), text)
    text = _PAIR.sub(lambda pair: pair[1] + json.loads(f'"{pair[2]}"'), text)
    return _LONG_KEY.sub(r"? \1:", text)


def _place_in(text: str, index: int) -> str:
    return f"line {text.count(chr(10), 0, index) + 1}, column {index - text.rfind(chr(10), 0, index)}"


def _syntax(exc: Exception, text: str) -> UsageError:
    """The parser's complaint, without the text of the file: it may be a secret."""
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    if mark is None:
        return UsageError(f"invalid YAML: {getattr(exc, 'reason', None) or exc}")
    problem, context = getattr(exc, "problem", None) or exc, getattr(exc, "context", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}"
    hint = "YAML is indented with spaces, not tabs." if "\t" in text else None
    return UsageError(f"{place}: invalid YAML: {problem}{f', {context}' if context else ''}", hint=hint)
