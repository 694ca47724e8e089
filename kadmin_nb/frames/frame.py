"""Frames and their columns as values: each column is declared once, as a `Field`, and all else is read off it.

`schemas` declares them. A table carries the name of its frame in its schema metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa

TEXT, NUMBER, FLAG, WHOLE, COUNT = pa.string(), pa.float64(), pa.bool_(), pa.int32(), pa.int64()
MOMENT, DAY = pa.timestamp("us", "UTC"), pa.date32()
WORD = pa.dictionary(pa.int32(), pa.string())
"""Strings from a small set, dictionary-encoded in Arrow; plain strings in Spark."""
TYPES = {"text": TEXT, "word": WORD, "number": NUMBER, "flag": FLAG, "whole": WHOLE, "count": COUNT, "moment": MOMENT}
"""The types of columns, as `columns` of a frame names them."""

OF_KEY = "the key's"
"""The unit of the quota or config key in the same row. Of limits, which are numbers, null is unlimited."""

MEASURED = "the key's, measured"
PERCENT, SHARE, BYTES, MS, S = "percent", "fraction", "bytes", "ms", "s"
ISO_TIME, ID = "ISO 8601", "SHA-256"
"""Texts that are times and ids: people see them to the second, and their beginning."""

FRAME = b"kadmin.frame"
"""The schema metadata that has the name of a table's frame."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its Arrow type, the meaning of its values and their unit, its look, and whether it may be null.

    Its name is the one that a frame declares it under. A look is one of `aligning`; none is that of its type.
    """

    type: pa.DataType
    meaning: str = ""
    unit: str = ""
    look: str = ""
    null: bool = False
    name: str = ""

    @property
    def comment(self) -> str:
        """Its meaning and its unit, as the comment of a table's column has them."""
        return "; ".join(filter(None, [self.meaning, self.unit and f"unit: {self.unit}"]))

    def of(self, kind: pa.DataType) -> Field:
        """The same with another Arrow type."""
        return replace(self, type=kind)

    @property
    def is_number(self) -> bool:
        """True of a count or a measured value."""
        return bool(pa.types.is_integer(self.type) or pa.types.is_floating(self.type))


class Frame:
    """A frame. The attributes of the class are its columns, after its bases' columns; its docstring describes a row.

    `key` names the columns by which its rows differ, no two being the same in all of them. An underscore at the end of
    a column keeps it apart from Python's words.

    `columns` are its columns in their order, before those that it does not name: attributes, columns of many frames,
    and others that have a type and no meaning: `host:text`. With a type one of many frames is of that type, and with a
    `?` it may be null.

    `shown` are the parts of a row that people see, in their order; nothing is each of its columns. In a window that is
    too narrow they give way from the right, and those with a `!` only after all others. `nouns` are its row, and rows.
    """

    columns: ClassVar[str] = ""
    shown: ClassVar[str] = ""
    nouns: ClassVar[tuple[str, str]] = ("", "")
    common: ClassVar[Mapping[str, Field]] = {}
    fields: ClassVar[dict[str, Field]] = {}
    key_columns: ClassVar[Sequence[str]] = ()
    schema: ClassVar[pa.Schema]
    names: ClassVar[list[str]]

    def __init_subclass__(cls, key: str = "") -> None:
        declared = {name.removesuffix("_"): field for name, field in vars(cls).items() if isinstance(field, Field)}
        inherited = {name: field for base in cls.__bases__ for name, field in vars(base).get("fields", {}).items()}
        named = dict(cls._named(word, declared) for word in vars(cls).get("columns", "").split())
        fields = inherited | named | declared
        cls.fields = {name: replace(field, name=name) for name, field in fields.items()}
        cls.names, cls.key_columns = [*cls.fields], key.split() or cls.key_columns
        columns = [
            pa.field(f.name, f.type, f.null, {"comment": f.comment} if f.comment else None) for f in cls.fields.values()
        ]
        cls.schema = pa.schema(columns, {FRAME: cls.__name__})
        if not cls.__name__.startswith("_"):
            FRAMES[cls.__name__] = cls

    @classmethod
    def _named(cls, word: str, declared: Mapping[str, Field]) -> tuple[str, Field]:
        """A column as `columns` names it."""
        name, _, kind = word.rstrip("?").partition(":")
        field = declared.get(name) or cls.common.get(name) or Field(TYPES[kind])
        return name, replace(field, type=TYPES[kind] if kind else field.type, null=field.null or word.endswith("?"))

    @classmethod
    def comment(cls) -> str:
        """What its rows are, as the comment of a table has it."""
        return " ".join((cls.__doc__ or "").split())

    @classmethod
    def empty(cls) -> pa.Table:
        """A table of it without rows."""
        return cls.schema.empty_table()

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of its rows, as `--json` writes them."""
        return {
            "description": cls.comment(),
            "type": "object",
            "properties": {field.name: _json_property(field) for field in cls.fields.values()},
            "required": cls.names,
        }


def _json_property(field: Field) -> dict[str, Any]:
    kind = _json_type(field.type)
    nullable = {**kind, "type": [kind["type"], "null"]} if field.null else kind
    return nullable | ({"description": field.comment} if field.comment else {})


def _json_type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        return {"type": "array", "items": _json_type(kind.value_type)}
    if pa.types.is_struct(kind):
        return {"type": "object", "properties": {part.name: _json_type(part.type) for part in kind}}
    return {"type": _JSON.get(kind, "string")}


_JSON = {FLAG: "boolean", WHOLE: "integer", COUNT: "integer", NUMBER: "number"}
"""The types of JSON that are not strings."""


FRAMES: dict[str, type[Frame]] = {}
"""Every frame that is declared, by its name."""
