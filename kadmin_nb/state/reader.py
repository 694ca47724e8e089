"""From a file to what it declares; an error names the file, the line, the column, and the word that was meant."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .. import files
from ..errors import Invalid, KadminError, UsageError
from ..hints import did_you_mean
from ..model.client_configs import ClientEntity, refuse_unknown_key, stored_value
from ..model.config_units import stored_text
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.quota_keys import parse_value, text_of
from ..model.resources import Resource
from ..secrets import SHOWN, Secret, covered
from .declaration import CLIENT_CONFIGS, CONFIGS, QUOTAS, SECTIONS, Declared, Entry, kind_of, kinds, section_of
from .nodes import List, Node, TextNode, Token, compose, expect, json_tokens, yaml_tokens
from .nodes import MappingNode as Map

FORMAT = "1"
MAX_DECLARATION_BYTES = 64 * 2**20
"""Bytes of the largest file that is read: some 500,000 quotas."""

WHAT = "a file of quotas and configs"

_S = TypeVar("_S")
_T = TypeVar("_T")
_R = TypeVar("_R", bound=Configurable)


def load(path: str | os.PathLike[str]) -> Declared:
    """Read a declared file: JSON, by its name or its first character, or else YAML.

    Raises
    ------
    NotFound
        No such file.
    Invalid
        It is not UTF-8; a value that no quota can have.
    UsageError
        It cannot be read, or is larger than 64 MiB; something in it is wrong: the error names the line.
    TimedOut
        It is a pipe that is never closed.
    Unsupported
        It is YAML, and PyYAML is not installed.
    """
    where = os.fspath(path)
    return read(text_of_file(Path(where)), where)


def read(text: str, where: str = "the file") -> Declared:
    """Read a declaration from text; `where` names it in errors."""
    try:
        return _declared(compose(_tokens(text, where)), where)
    except KadminError as exc:
        raise exc.within(where) from None


def text_of_file(place: Path) -> str:
    """The text of a file of a size that can be one of ours."""
    missing = f"no such file: {place}"
    return files.read_text(place, WHAT, MAX_DECLARATION_BYTES, pipe=True, missing=missing)


def _tokens(text: str, where: str) -> Iterator[Token]:
    is_yaml = where.endswith((".yaml", ".yml"))
    is_json = where.endswith(".json") or (not is_yaml and text.lstrip()[:1] == "{")
    return json_tokens(text) if is_json else yaml_tokens(text)


def _declared(root: Node, where: str) -> Declared:
    head = expect(root, Map, "a file of quotas and configs", _BEGIN).items
    _refuse_other_format(root, head)
    for name, (key, _) in head.items():
        if name not in _HEAD and name not in SECTIONS:
            _refuse_word(key, name, [*_HEAD, *SECTIONS])
    header: dict[str, Any] = {name: reader(head[name][1]) for name, reader in _HEAD.items() if name in head}
    entries = [entry for section, readers in _SECTIONS.items() for entry in _section(head, section, *readers)]
    spoken_of = {kind_of(entry.resource) for entry in entries} | ({*SECTIONS} - {CONFIGS}).intersection(head)
    if "kinds" in header:
        _refuse_half_a_file(head, header["kinds"])
        _refuse_outside(entries, header["kinds"])
    return Declared(
        tuple(entries),
        header.get("kinds", kinds(spoken_of)),
        cluster_id=header.get("cluster_id"),
        taken_at=header.get("taken_at"),
        complete=header.get("complete", True),
        where=where,
    )


def _refuse_other_format(root: Node, head: Mapping[str, tuple[TextNode, Node]]) -> None:
    if "kadmin" not in head:
        root.refuse("kadmin: 1 is required", _BEGIN)
    format_node = expect(head["kadmin"][1], TextNode, "kadmin")
    if format_node.text != FORMAT:
        format_node.refuse(f"format {format_node.text} is not known to this version", _BEGIN)


_BEGIN = "The file begins with kadmin: 1."


def _refuse_word(key: TextNode, name: str, allowed: list[str]) -> NoReturn:
    hint = did_you_mean(name, allowed, f"One of {', '.join(allowed)}.")
    key.refuse(f"unknown key {name}", hint)


def _placed(node: Node, reader: Callable[[_S], _T], value: _S) -> _T:
    """The result of the reader; an error gets the place of the node in front."""
    try:
        return reader(value)
    except KadminError as exc:
        raise exc.within(node.place) from None


def _kinds(node: Node) -> tuple[str, ...]:
    words = [expect(word, TextNode, "a kind") for word in expect(node, List, "kinds").items]
    for word in words:
        _placed(word, kinds, [word.text])
    return kinds(word.text for word in words)


def _moment(node: Node) -> datetime:
    time_node = expect(node, TextNode, "taken_at")
    try:
        moment = datetime.fromisoformat(time_node.text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        time_node.refuse(f"{time_node.text} is not a time with a zone", "For example 2026-11-21T12:00:00Z.")
    return moment.astimezone(UTC)


def _flag(node: Node) -> bool:
    flag_node = expect(node, TextNode, "complete")
    if flag_node.text not in ("true", "false"):
        flag_node.refuse(f"complete is true or false, not {flag_node.text}")
    return flag_node.text == "true"


def _word_of(node: Node) -> str:
    return expect(node, TextNode, "this").text


_HEAD: dict[str, Callable[[Node], object]] = {
    "kadmin": _word_of,
    "cluster_id": _word_of,
    "taken_at": _moment,
    "tool": _word_of,
    "kinds": _kinds,
    "complete": _flag,
}
"""The keys above the sections, and how they are read."""


def _section(
    head: Mapping[str, tuple[TextNode, Node]],
    section: str,
    named: Callable[[str], _R],
    entries: Callable[[_R, Map], Iterator[Entry]],
) -> Iterator[Entry]:
    """The entries of `quotas` or `configs`; an entity or a resource that is there twice, in any words, is refused."""
    if section not in head:
        return
    first: dict[_R, TextNode] = {}
    for key, node in expect(head[section][1], Map, section, f"Write {section}: {{}} for none.").items.values():
        resource = _placed(key, named, key.text)
        if (earlier := first.setdefault(resource, key)) is not key:
            key.refuse(f"{key.text} is the same as {earlier.text} in line {earlier.line}")
        yield from entries(resource, expect(node, Map, str(resource), "Write {} for no keys."))


def _resource_of(words: str) -> Resource:
    """The resource of these words, a broker's name read as the number that it is."""
    resource = Resource.parse(words)
    return resource if resource.broker is None else Resource(resource.type, str(resource.broker))


def _quotas(entity: Entity, keys: Map) -> Iterator[Entry]:
    for key, node in keys.items.values():
        value, doubt = _quota(
            _key_text(key), expect(node, TextNode, key.text, "To remove a quota, remove its line and use --prune.")
        )
        yield Entry(entity, key.text, value, key, doubt)


def _configs(resource: Resource, keys: Map) -> Iterator[Entry]:
    for key, node in keys.items.values():
        text = expect(node, TextNode, key.text, 'Write "" for an empty text, "null" for that text.').text
        value = _placed(node, partial(stored_text, key.text), text)
        shown = _covered(resource, key.text, value)
        yield Entry(resource, _key_text(key), shown, key, is_placeholder=shown == SHOWN)


def _client_configs(entity: ClientEntity, keys: Map) -> Iterator[Entry]:
    for key, node in keys.items.values():
        _placed(key, refuse_unknown_key, key.text)
        text = expect(node, TextNode, key.text, "To remove one, remove its line and use --prune.").text
        yield Entry(entity, key.text, _placed(node, partial(stored_value, key.text), text), key)


_SECTIONS: dict[str, tuple[Callable[[str], Any], Callable[[Any, Map], Iterator[Entry]]]] = {
    QUOTAS: (Entity.parse, _quotas),
    CONFIGS: (_resource_of, _configs),
    CLIENT_CONFIGS: (ClientEntity.parse, _client_configs),
}
"""How the names and the entries of each section are read."""


def _key_text(key: TextNode) -> str:
    if not key.text:
        key.refuse("a key without a name")
    return key.text


def _quota(key: str, node: TextNode) -> tuple[str, KadminError | None]:
    """The value as text, and why no quota can have it where a broker may hold it all the same (kafka-facts 1.4)."""
    try:
        return text_of(parse_value(key, node.text)), None
    except Invalid as exc:
        number = _bare_number(node.text)
        if not (math.isnan(number) or number > 0):
            raise exc.within(node.place) from None
        return text_of(number), exc
    except UsageError as exc:
        raise exc.within(node.place) from None


def _bare_number(text: str) -> float:
    """The number, 0 of what has a unit."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def _covered(resource: Resource, key: str, value: str) -> str | Secret:
    """A secret that was written out is not shown to anybody on its way to being refused."""
    return value if resource.type == "BROKER_LOGGER" else covered(key, value)


def _refuse_half_a_file(head: Mapping[str, tuple[TextNode, Node]], sections: Collection[str]) -> None:
    """A section that somebody cut out does not mean that nothing is to be there: `--prune` would remove all of it."""
    for kind in sections:
        if (section := section_of(kind)) not in head:
            head["kinds"][0].refuse(
                f"kinds names {kind} without {section}:",
                f"Remove {kind} from kinds, or write {section}: {{}} for none.",
            )


def _refuse_outside(entries: Iterable[Entry], sections: Collection[str]) -> None:
    for entry in entries:
        if kind_of(entry.resource) not in sections:
            entry.node.refuse(f"{entry.resource} is not of the kinds that the file names: {', '.join(sections)}")
