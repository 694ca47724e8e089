"""Nodes: a file as texts, mappings and lists, each with its place; every scalar stays the text that it is.

No word means anything by itself (`on`, `1_000`, `007`, `null`), so that nothing is guessed about names and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeVar

from ..errors import UsageError
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
            node.refuse(f"{node.text} is there twice, first in line {earlier[0].line}")
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
            hint=Hint(sentence("{} writes one.", Verb("export", "kn.declared.export(cluster.snapshot())"))),
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
        node.refuse(f"{noun} is {_NAMES[kind]}, and here is {_NAMES[type(node)]}", hint)
    return node


_NAMES: dict[type[Node], str] = {TextNode: "one text", MappingNode: "a mapping", List: "a list"}
