"""From a file to what it declares; an error names the file, the line, the column, and the word that was meant."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from .. import files
from ..errors import Invalid, KadminError, UsageError
from ..hints import Hint, Verb, did_you_mean, sentence
from ..model import quota_keys
from ..model.client_configs import ClientEntity, refuse_unknown_key, stored_value
from ..model.config_units import stored_text
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.resources import Resource
from ..secrets import SHOWN, Secret, covered
from .declaration import CLIENT_CONFIGS, CONFIGS, QUOTAS, SECTIONS, Declared, Entry, kind_of, kinds, section_of
from .nodes import Node, compose, list_of, mapping_of, text_of

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
    words = [(word, text_of(word, "a kind")) for word in list_of(node, name)]
    for word, text in words:
        _placed(word, kinds, [text])
    return kinds(text for _, text in words)


def _moment(node: Node, name: str) -> datetime:
    text = text_of(node, name)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        node.refuse(f"{text} is not a time with a zone", "For example 2026-11-21T12:00:00Z.")
    return moment.astimezone(UTC)


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
            yield Entry(resource, key.value, value, key, doubt, section == CONFIGS and value == SHOWN)


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
