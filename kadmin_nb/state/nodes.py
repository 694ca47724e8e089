"""Nodes: a file as texts, mappings and lists, each with its place; every scalar stays the text that it is.

No word means anything by itself (`on`, `1_000`, `007`, `null`), so that nothing is guessed about names and values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeVar, cast

from ..errors import Unsupported, UsageError
from ..hints import Hint, Verb, sentence

DEEPEST = 8
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Token:
    """A token of YAML or JSON; lines and columns count from 1.

    `kind` is text, or what opens or closes a mapping or a list. `is_plain`: a YAML text without quotes, a word of JSON.
    """

    kind: Literal["text", "{", "}", "[", "]"]
    line: int
    column: int
    text: str = ""
    is_plain: bool = False


@dataclass(slots=True)
class Node:
    """Something at a place of a file."""

    line: int
    column: int

    def refuse(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise a UsageError that begins with the place."""
        raise UsageError(f"{self.place}: {message}", hint=hint)

    @property
    def place(self) -> str:
        """Its place in the file, as errors say it."""
        return f"line {self.line}, column {self.column}"


@dataclass(slots=True)
class TextNode(Node):
    """A scalar, whatever it may mean to others."""

    text: str
    is_plain: bool = False

    @property
    def is_nothing(self) -> bool:
        """True if YAML and JSON mean no value at all by it."""
        return self.is_plain and self.text in ("", "~", "null", "Null", "NULL")


@dataclass(slots=True)
class MappingNode(Node):
    """Keys with what they stand for, in the order of the file."""

    items: dict[str, tuple[TextNode, Node]] = field(default_factory=dict)
    _key: TextNode | None = None

    def take(self, node: Node) -> None:
        """A key, or what the last one stands for."""
        if self._key is not None:
            self.items[self._key.text], self._key = (self._key, node), None
            return
        if not isinstance(node, TextNode):
            node.refuse("a key is a text, not a mapping or a list")
        if earlier := self.items.get(node.text):
            node.refuse(f"{node.text} occurs twice, first in line {earlier[0].line}")
        self._key = node


@dataclass(slots=True)
class List(Node):
    """Several nodes."""

    items: list[Node] = field(default_factory=list)

    def take(self, node: Node) -> None:
        """One more."""
        self.items.append(node)


def compose(tokens: Iterable[Token]) -> Node:
    """The one node that these tokens make.

    Raises
    ------
    UsageError
        Nothing at all, a key twice, a key that is not a text, half a surrogate pair, or nested too deeply.
    """
    everything = List(1, 1)
    stack: list[MappingNode | List] = [everything]
    for token in tokens:
        if token.kind in "}]":
            stack.pop()
            continue
        node = _made(token)
        stack[-1].take(node)
        if not isinstance(node, TextNode):
            stack.append(node)
        if len(stack) > DEEPEST:
            node.refuse("nested too deeply")
    if not everything.items:
        raise UsageError(
            "it is empty",
            hint=Hint(sentence("{} writes one.", Verb("export", "kn.state.export(cluster.snapshot())"))),
        )
    return everything.items[0]


def _made(token: Token) -> TextNode | MappingNode | List:
    if token.kind == "text":
        text = TextNode(token.line, token.column, token.text, token.is_plain)
        if not token.text.isascii() and _HALF_A_PAIR.search(token.text):
            text.refuse("half a surrogate pair is not Unicode text")
        return text
    return MappingNode(token.line, token.column) if token.kind == "{" else List(token.line, token.column)


_Kind = TypeVar("_Kind", bound=Node)


def expect(node: Node, kind: type[_Kind], noun: str, hint: str | None = None) -> _Kind:
    """The node, which has to be of that kind.

    Raises
    ------
    UsageError
        It is of another.
    """
    if isinstance(node, TextNode) and node.is_nothing:
        node.refuse(f"{noun} has no value", hint)
    if not isinstance(node, kind):
        node.refuse(f"{noun} is {_NAMES[kind]}, not {_NAMES[type(node)]}", hint)
    return node


_NAMES: dict[type[Node], str] = {TextNode: "one text", MappingNode: "a mapping", List: "a list"}


# --- JSON: the standard reader says whether it is JSON, and the tokens say where everything stands ---

_TOKEN = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<brace>[{}\[\]])|(?P<word>[^\s"{}\[\]:,]+)|(?P<end>\n)')


def json_tokens(text: str) -> Iterator[Token]:
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
            yield _json_token(match, line, match.start() - start + 1)


def _json_token(match: re.Match[str], line: int, column: int) -> Token:
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


# --- YAML, through PyYAML's parser alone: nothing is resolved, constructed or expanded ---

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML does not allow, and the three that YAML 1.1 takes for the end of a line and 1.2 does not."""

_LINE_END = re.compile("\r\n|\r|\n")

_BRACES: dict[str, Literal["{", "}", "[", "]"]] = {
    "MappingStartEvent": "{",
    "MappingEndEvent": "}",
    "SequenceStartEvent": "[",
    "SequenceEndEvent": "]",
}


def yaml_tokens(text: str) -> Iterator[Token]:
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
            yield from _yaml_token(event)
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


def _yaml_token(event: Any) -> Iterator[Token]:
    name, mark = type(event).__name__, event.start_mark
    if name in _BRACES:
        yield Token(_BRACES[name], mark.line + 1, mark.column + 1)
    elif name == "ScalarEvent":
        yield Token("text", mark.line + 1, mark.column + 1, event.value, not event.style)


def _refuse_what_is_not_needed(event: Any, documents: int) -> None:
    if type(event).__name__ == "AliasEvent" or getattr(event, "anchor", None):
        _raise_at(event, "anchors and aliases (&name, *name) are not read", "Write the value itself.")
    if tag := getattr(event, "tag", None):
        _raise_at(event, f"the tag {tag} is not read", "Write the text without a tag: every value is text.")
    if documents > 1:
        _raise_at(event, "a second document begins", "A file has one document.")


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
