"""Rows of QUOTAS and CONFIGS frames as edits. A row that cannot be staged is refused by its number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import KadminError, UsageError
from ..frames import schemas
from ..model.changes import DELETE, SET, Edit
from ..model.entity import ARGUMENTS, Entity
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS, OTHER
from ..model.quota_keys import parse_value, text_of
from ..model.resources import RESOURCE_TYPES, WORDS, Resource
from ..resolution.input_columns import arrow_table
from ..resolution.rules import entity_of
from ..secrets import is_called_so

FrameRow = Mapping[str, Any]

_OF_QUOTAS = ("key", "value")
_OF_CONFIGS = ("resource_type", "resource_name", "key", "value")
_BESIDE_QUOTAS = ("entity", "level", "user", "client_id", "ip")
_BESIDE_CONFIGS = ("is_sensitive", "error", "message")
_WORD_OF = {kind: word for word, kind in WORDS.items()}


def quota_edits(frame: object) -> list[Edit]:
    """The edits of a frame with QUOTAS' columns; a null value removes.

    Raises
    ------
    UsageError, Invalid
        No frame, or one without these columns; the first row that names no entity or no possible value.
    """
    return _edits(frame, _OF_QUOTAS, _BESIDE_QUOTAS, _quota_edit)


def config_edits(frame: object) -> list[Edit]:
    """The edits of a frame with CONFIGS' columns; a null value resets.

    Raises
    ------
    UsageError
        No frame, or one without these columns; the first row that could not be read, names no resource, or is a
        secret without its value: brokers never show one, so its null does not ask to remove it.
    """
    return _edits(frame, _OF_CONFIGS, _BESIDE_CONFIGS, _config_edit)


def value_text(key: str, value: object) -> str:
    """The value of a config as the text that the broker takes.

    Raises
    ------
    UsageError
        None.
    """
    if value is None:
        raise UsageError(f"{key} has no value", hint="To fall back to what is below, reset it.")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return text_of(value) if isinstance(value, float) else str(value)


def _edits(
    frame: object, needed: Sequence[str], others: Sequence[str], edit_of: Callable[[FrameRow], Edit]
) -> list[Edit]:
    table = arrow_table(frame, (*needed, *others), "the changes")
    schemas.require_columns("the changes", needed, table.column_names)
    rows = table.select([name for name in (*needed, *others) if name in table.column_names]).to_pylist()
    return [_placed(number, row, edit_of) for number, row in enumerate(rows, 1)]


def _placed(number: int, row: FrameRow, edit_of: Callable[[FrameRow], Edit]) -> Edit:
    """The edit of a row; an error begins with the row's number."""
    try:
        return edit_of(row)
    except KadminError as exc:
        raise exc.within(f"row {number} of the frame") from None


def _key(row: FrameRow) -> str:
    if not isinstance(row["key"], str) or not row["key"]:
        raise UsageError("it has no key")
    return row["key"]


def _is_null(value: object) -> bool:
    """True if nothing is there: None, or the NaN that stands for it in pandas."""
    return value is None or value != value


# -- quotas


def _quota_edit(row: FrameRow) -> Edit:
    entity, key, value = _entity(row), _key(row), row["value"]
    if _is_null(value):
        return Edit(DELETE, entity, key)
    return Edit(SET, entity, key, text_of(parse_value(key, value)))


def _entity(row: FrameRow) -> Entity:
    """The entity of a QUOTAS row: its text when it has one, else its level and names."""
    if row.get("entity"):
        return Entity.parse(str(row["entity"]))
    level = row.get("level") or ""
    if level == OTHER or not level:
        raise UsageError("it has neither an entity nor a level")
    entity = entity_of(row)
    if entity is None:
        raise UsageError(f"{level} is not a level", hint=f"It is one of {', '.join(known.name for known in LEVELS)}.")
    return entity


# -- configs


def _config_edit(row: FrameRow) -> Edit:
    resource = _resource(row)
    if row.get("error"):
        raise UsageError(
            f"{resource} was not read: {row['error']}{': ' * bool(row.get('message'))}{row.get('message') or ''}",
            hint="Nothing was staged. Leave out the rows that have an error.",
        )
    key = _key(row)
    if not _is_null(row["value"]):
        return Edit(SET, resource, key, value_text(key, row["value"]))
    if _is_secret(row, key):
        raise UsageError(
            f"{resource} {key} is a secret, whose value brokers do not show: its null does not remove it",
            hint="Nothing was staged. Leave out the rows that are sensitive; reset_config removes a secret.",
        )
    return Edit(DELETE, resource, key)


def _resource(row: FrameRow) -> Resource:
    kind, name = row["resource_type"], row["resource_name"]
    if kind not in _WORD_OF:
        raise UsageError(f"{kind} is not a type of config resource", hint=f"It is one of {', '.join(RESOURCE_TYPES)}.")
    resource = Resource.of(_WORD_OF[kind], DEFAULT if (kind, name) == ("BROKER", "") else name)
    _ = resource.broker  # refuses a broker that is not a number
    return resource


def _is_secret(row: FrameRow, key: str) -> bool:
    """True if the value is hidden rather than absent; without the broker's word, whether the key is called so."""
    is_sensitive = row.get("is_sensitive")
    return is_called_so(key) if is_sensitive is None else bool(is_sensitive)


def on_each_pair(edits: Sequence[Edit], pairs: Any) -> list[Edit]:
    """The same edits on each client of PAIRS, each once; a null or blank part is not part of its entity.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, or a row without any name, by its number from 1.
    """
    return [replace(edit, resource=entity) for entity in dict.fromkeys(_pair_entities(pairs)) for edit in edits]


_PAIR_NAMES = ("user", "client_id")


def _pair_entities(pairs: Any) -> Iterator[Entity]:
    """The entity of each row."""
    table = arrow_table(pairs, _PAIR_NAMES, "the pairs")
    schemas.require_columns("the pairs", _PAIR_NAMES, table.column_names)
    for number, row in enumerate(table.select(_PAIR_NAMES).to_pylist(), 1):
        parts = {ARGUMENTS[name]: str(value) for name, value in row.items() if value and not _is_null(value)}
        if not parts:
            raise UsageError(f"row {number} of the pairs names nobody")
        yield Entity.of(parts)
