"""From a file to what it declares; an error names the file, the line, the column, and the word that was meant."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

import yaml

from .. import files
from ..errors import Invalid, KadminError, UsageError
from ..hints import Hint, Verb, did_you_mean, sentence
from ..model import quota_keys
from ..model.client_configs import ClientEntity, refuse_unknown_key, stored_value
from ..model.config_units import moment, stored_text
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.resources import Resource
from ..secrets import SHOWN, Secret, covered
from .declaration import CLIENT_CONFIGS, CONFIGS, QUOTAS, SECTIONS, Declared, Entry, kind_of, kinds, section_of

# --- YAML as nodes, with the places that PyYAML marks; JSON is the YAML that it is ---
#
# No word means anything by itself (`on`, `1_000`, `007`, `null`): every scalar stays the text that it is, so that
# nothing is guessed about names and values. Nothing is resolved, constructed or expanded.

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


# --- what a file declares ---

FORMAT = "1"
MAX_DECLARATION_BYTES = 64 * 2**20
"""Bytes of the largest file that is read: some 500,000 quotas."""

WHAT = "a file of quotas and configs"

_P = ParamSpec("_P")
_T = TypeVar("_T")


def load(path: str | os.PathLike[str]) -> Declared:
    """Read a declared file, YAML or JSON.

    Raises
    ------
    NotFound
        No such file.
    Invalid
        It is not UTF-8; a value that no quota can have.
    UsageError
        It cannot be read, or is larger than 64 MiB; something in it is wrong: the error names the line.
    """
    where = os.fspath(path)
    missing = f"no such file: {where}"
    return read(files.read_text(Path(where), WHAT, MAX_DECLARATION_BYTES, missing=missing), where)


def read(text: str, where: str = "the file") -> Declared:
    """Read a declaration from text; `where` names it in errors. JSON is read as the YAML that it is."""
    try:
        return _declared(compose(text), where)
    except KadminError as exc:
        raise exc.within(where) from None


def _declared(root: Node | None, where: str) -> Declared:
    if root is None:
        begin = Verb("export", "kn.state.export(cluster.snapshot())")
        raise UsageError("it is empty", hint=Hint(sentence("{} writes one.", begin)))
    head = mapping_of(root, WHAT, _BEGIN)
    if "kadmin" not in head:
        root.refuse("kadmin: 1 is required", _BEGIN)
    for name, (key, _) in head.items():
        if name not in _HEAD and name not in SECTIONS:
            allowed = [*_HEAD, *SECTIONS]
            key.refuse(f"unknown key {name}", did_you_mean(name, allowed, f"One of {', '.join(allowed)}."))
    header: dict[str, Any] = {name: reader(head[name][1], name) for name, reader in _HEAD.items() if name in head}
    entries = [entry for section in SECTIONS if section in head for entry in _section(section, head[section][1])]
    spoken_of = {kind_of(entry.resource) for entry in entries} | ({*SECTIONS} - {CONFIGS}).intersection(head)
    spoken_of = header.get("kinds", spoken_of)
    return Declared(
        tuple(entries),
        kinds(kind for kind in spoken_of if section_of(kind) in head),
        cluster_id=header.get("cluster_id"),
        taken_at=header.get("taken_at"),
        complete=header.get("complete", True),
        where=where,
    )


_BEGIN = "The file begins with kadmin: 1."


def _placed(node: Node, reader: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """The result of the reader; an error gets the place of the node in front."""
    try:
        return reader(*args, **kwargs)
    except KadminError as exc:
        raise exc.within(node.place) from None


# --- the keys above the sections ---


def _format(node: Node, name: str) -> None:
    if (number := text_of(node, name)) != FORMAT:
        node.refuse(f"format {number} is not known to this version", _BEGIN)


def _kinds(node: Node, name: str) -> tuple[str, ...]:
    named = (_placed(word, kinds, [text_of(word, "a kind")]) for word in list_of(node, name))
    return kinds(chain.from_iterable(named))


def _moment(node: Node, name: str) -> object:
    return _placed(node, moment, text_of(node, name))


def _flag(node: Node, name: str) -> bool:
    text = text_of(node, name)
    if text not in ("true", "false"):
        node.refuse(f"complete is true or false, not {text}")
    return text == "true"


_HEAD: dict[str, Callable[[Node, str], object]] = {
    "kadmin": _format,
    "cluster_id": text_of,
    "taken_at": _moment,
    "tool": text_of,
    "kinds": _kinds,
    "complete": _flag,
}
"""How each of them is read."""


# --- the sections ---


def _section(section: str, node: Node) -> Iterator[Entry]:
    """The entries of a section; an entity or a resource that occurs twice, in any words, is refused."""
    named, known, valued, hint = _SECTIONS[section]
    first: dict[Configurable, Node] = {}
    for words, keys in mapping_of(node, section, f"Write {section}: {{}} for none.").values():
        resource = _placed(words, named, words.value)
        if (earlier := first.setdefault(resource, words)) is not words:
            words.refuse(f"{words.value} is the same as {earlier.value} in line {earlier.line}")
        for key, value_node in mapping_of(keys, str(resource), "Write {} for no keys.").values():
            _placed(key, known, key.value)
            text = text_of(value_node, key.value, hint)
            value, doubt = _placed(value_node, valued, resource, key.value, text)
            yield Entry(resource, key.value, value, key.line, key.place, doubt, section == CONFIGS and value == SHOWN)


def _resource(words: str) -> Resource:
    """The resource of these words, a broker's name read as the number that it is."""
    resource = Resource.parse(words)
    return resource if resource.broker is None else Resource(resource.type, str(resource.broker))


def _refuse_no_name(key: str) -> None:
    if not key:
        raise UsageError("a key without a name")


_Value = tuple[str | Secret, KadminError | None]
"""A value as it is sent, and why no quota can have it where a broker may hold it all the same (kafka-facts 1.4)."""


def _quota(entity: Entity, key: str, text: str) -> _Value:
    try:
        return quota_keys.text_of(quota_keys.parse_value(key, text)), None
    except Invalid as exc:
        try:
            number = float(text)
        except ValueError:  # it has a unit
            raise exc from None
        if not (math.isnan(number) or number > 0):
            raise
        return quota_keys.text_of(number), exc


def _config(resource: Resource, key: str, text: str) -> _Value:
    """The text of a config; a secret that was written out is shown to no one on its way to being refused."""
    value = stored_text(key, text)
    return value if resource.type == "BROKER_LOGGER" else covered(key, value), None


def _client_config(entity: ClientEntity, key: str, text: str) -> _Value:
    return stored_value(key, text), None


_Section = tuple[Callable[[str], Any], Callable[[str], None], Callable[[Any, str, str], _Value], str]

_SECTIONS: dict[str, _Section] = {
    QUOTAS: (Entity.parse, _refuse_no_name, _quota, "To remove a quota, remove its line and use --prune."),
    CONFIGS: (_resource, _refuse_no_name, _config, 'Write "" for an empty text, "null" for that text.'),
    CLIENT_CONFIGS: (
        *(ClientEntity.parse, refuse_unknown_key, _client_config),
        "To remove one, remove its line and use --prune.",
    ),
}
"""How the names, the keys and the values of each section are read, and what to do where none is written."""
