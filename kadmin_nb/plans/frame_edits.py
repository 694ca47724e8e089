"""Rows of a frame as edits of one kind. A row that cannot be staged is refused by its number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import KadminError, UsageError
from ..frames import schemas
from ..frames.given_frames import TEXT_COLUMNS, arrow_table, refuse_other_than_text
from ..model.changes import Edit
from ..model.entity import ARGUMENTS, Entity

if TYPE_CHECKING:
    from .kinds.change_kind import ChangeKind

FrameRow = Mapping[str, Any]

_FRAME = "the frame"
_MIXED = ("value", "resource_name")
"""Columns that may hold numbers beside texts: brokers have numbers for names."""


def edits(frame: object, kind: ChangeKind) -> list[Edit]:
    """The edits of a frame with the columns of a kind; a null value removes.

    Raises
    ------
    UsageError, Invalid
        No frame, or one without these columns; the first row that cannot be staged.
    """
    columns = (*kind.columns, *kind.columns_beside)
    table = arrow_table(frame, columns, "the changes", mixed=_MIXED, place=_FRAME)
    schemas.require_columns("the changes", kind.columns, table.column_names)
    table = table.select([name for name in columns if name in table.column_names])
    refuse_other_than_text(table, TEXT_COLUMNS, _FRAME)
    return [_placed(number, row, kind) for number, row in enumerate(table.to_pylist(), 1)]


def _placed(number: int, row: FrameRow, kind: ChangeKind) -> Edit:
    """The edit of a row; an error begins with the row's number."""
    try:
        return kind.row_edit(row)
    except KadminError as exc:
        raise exc.within(f"row {number} of {_FRAME}") from None


def is_null(value: object) -> bool:
    """True if nothing is there: None, or the NaN that stands for it in pandas."""
    return value is None or value != value


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
    refuse_other_than_text(table, _PAIR_NAMES, "the pairs")
    for number, row in enumerate(table.select(_PAIR_NAMES).to_pylist(), 1):
        parts = {ARGUMENTS[name]: str(value) for name, value in row.items() if value and not is_null(value)}
        if not parts:
            raise UsageError(f"row {number} of the pairs names nobody")
        yield Entity.of(parts)
