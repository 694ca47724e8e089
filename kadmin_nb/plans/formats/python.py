"""Python that stages the same on `stage`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...model.changes import APPEND, CONFIG, DELETE, QUOTA, SET, SUBTRACT, Change
from ...model.entity import ARGUMENTS, Entity
from ...model.grammar import DEFAULT
from ...model.levels import Part
from ...model.quota_keys import text_of
from ...model.resources import WORDS, Resource
from .subject import Subject, is_bare_secret, what
from .text import PlanText, comment, lines, note

_METHODS = {
    (QUOTA, SET): "set_quota",
    (QUOTA, DELETE): "remove_quota",
    (CONFIG, SET): "set_config",
    (CONFIG, DELETE): "reset_config",
    (CONFIG, APPEND): "append_config",
    (CONFIG, SUBTRACT): "subtract_config",
}
_ARGUMENTS = {kind: argument for argument, kind in ARGUMENTS.items()}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_RESOURCES = {kind: word.replace("-", "_") for word, kind in WORDS.items()}


def as_python(subject: Subject) -> PlanText:
    """Its changes, one a line, in their order."""
    head = [comment(line) for line in (*subject.title, "stage = cluster.stage()")]
    return PlanText(lines(["import kadmin_nb as kn", "", *head, *map(_stage_line, subject.changes)]))


def _stage_line(change: Change) -> str:
    if is_bare_secret(change):
        return note(f"{what(change)}: a secret is not written down")
    value = [] if change.op == DELETE else [_value(change)]
    arguments = [repr(change.key), *value, _whom(change.resource)]
    return f"stage.{_METHODS[change.kind, change.op]}({', '.join(arguments)})"


def _value(change: Change) -> str:
    """A quota as a number, where that is the very same text; a config as its text."""
    text = change.wanted or ""
    return text if change.kind == QUOTA and _NUMBER.fullmatch(text) and text_of(float(text)) == text else repr(text)


def _whom(resource: Entity | Resource) -> str:
    if isinstance(resource, Resource):
        name = "kn.DEFAULT" if resource.is_default_broker else repr(resource.name)
        return f"{_RESOURCES[resource.type]}={name}"
    parts = dict(resource.parts)
    if set(parts) <= set(_ARGUMENTS):
        return ", ".join(f"{_ARGUMENTS[kind]}={_part(name)}" for kind, name in parts.items())
    return f"entity={_mapping(parts)}"


def _mapping(parts: Mapping[str, Part]) -> str:
    return f"{{{', '.join(f'{kind!r}: {_part(name)}' for kind, name in parts.items())}}}"


def _part(name: Part) -> str:
    return "kn.DEFAULT" if name is DEFAULT else repr(name)
