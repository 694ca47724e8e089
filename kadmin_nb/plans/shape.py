"""The shape of a plan's file: the published JSON Schema, and what a schema cannot say."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

from ..errors import Invalid
from .kinds.registry import KINDS
from .plan_rows import FORMAT, WHERE_SET

_KINDS = '["client-config", "quota", "config", "scram"]'
"""The kinds in the schema as it is published."""

_ROW = re.compile(r"^body\.changes\[(\d+)\]\.?")


def schema() -> str:
    """The JSON Schema (draft-07) of a new plan's file, as text, with the kinds of changes that are registered."""
    text = files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
    return text.replace(_KINDS, json.dumps([*KINDS]))


def _schema_of(format: int) -> dict[str, Any]:
    """The schema of an earlier format: the newest without the fields that came later."""
    document: dict[str, Any] = json.loads(schema())
    document["properties"]["body"]["properties"]["format"]["const"] = format
    for name in {*WHERE_SET[FORMAT]} - {*WHERE_SET[format]}:
        del document["definitions"]["change"]["properties"][name]
    return document


def refuse_other(document: object, where: str) -> None:
    """Refuse a document that is of another shape, whatever its hash says; `where` names it.

    Raises
    ------
    Invalid
        The first thing that is wrong, with its row.
    """
    import fastjsonschema

    format = _format_of(document)
    if format not in WHERE_SET:
        known = " and ".join(map(str, WHERE_SET))
        raise Invalid(f"{where} is a plan file of format {format}, and this version reads formats {known}")
    try:
        _validator(format, tuple(KINDS))(document)
    except fastjsonschema.JsonSchemaValueException as exc:
        raise Invalid(f"{where} is not a plan file of format {format}: {_told(exc)}") from None
    _refuse_other_numbers(document["body"]["changes"], where)  # type: ignore[index]  # its shape is right


def _format_of(document: Any) -> int:
    """The format that it says; the newest where it says none that we could ever have written."""
    try:
        format = document["body"]["format"]
    except (LookupError, TypeError):
        return FORMAT
    return format if type(format) is int and 0 < format < 1_000 else FORMAT


@functools.cache
def _validator(format: int, kinds: Sequence[str]) -> Callable[[object], object]:
    import fastjsonschema

    return fastjsonschema.compile(_schema_of(format))


def _told(exc: Any) -> str:
    """The problem and its place; for a kind of a later version, that this one does not know it."""
    name = exc.name.removeprefix("data").removeprefix(".")
    row = _ROW.match(name)
    place = f"row {int(row[1]) + 1}: {name[row.end() :]}".rstrip() if row else name
    if exc.rule == "enum" and name.endswith("].kind") and isinstance(exc.value, str):
        return f"{place.removesuffix('kind')}this version does not know changes of kind {exc.value}"
    return f"{place}{exc.message.removeprefix(exc.name)}".strip()


def _refuse_other_numbers(rows: Sequence[dict[str, Any]], where: str) -> None:
    """Rows are named by their numbers, in a journal too, so they count from 1; 1.0 is another text than 1."""
    for number, row in enumerate(rows, 1):
        if row["row"] != number or type(row["row"]) is not int:
            raise Invalid(f"{where} is not a plan file: its row {number} has the number {row['row']}")
        if (value := KINDS[row["kind"]].strange_value(row)) is not None:
            raise Invalid(f"{where} is not a plan file: its row {number} has the value {value}")
