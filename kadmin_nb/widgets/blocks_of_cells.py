"""Blocks of cells: tab-separated text as spreadsheets copy it, and the cells that it is pasted into."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import chain

from ..errors import UsageError
from .messages import Block, Cells, Fill
from .sheet import MOST_CELLS, CellText, Sheet


def pasted(sheet: Sheet, block: Block) -> list[CellText]:
    """The cells that a pasted block goes into: from its first cell on, or, of one text, every selected cell.

    Raises
    ------
    UsageError
        It is empty, larger than the selection, or goes past the last row or column; then nothing is pasted.
    """
    if not block.text:
        raise UsageError("the clipboard has no text; nothing was pasted")
    rows = rows_of(block.text)
    if len(rows) == len(rows[0]) == 1:
        rows = [rows[0] * block.columns] * block.rows
    _refuse_larger(rows, block)
    return _cells(sheet, block, rows)


def filled_down(sheet: Sheet, fill: Fill) -> list[CellText]:
    """The cells of a selection, with the texts of its first row.

    Raises
    ------
    UsageError
        It has one row only, or is not there any more.
    """
    columns = _columns_from(sheet, fill.column, fill.columns)
    if fill.rows < 2:
        raise UsageError("nothing to fill", hint="Select the cell to repeat and those below it.")
    _keys_from(sheet, fill, 1, "Try again.")
    first, page = _column_names(sheet).index(columns[0]), sheet.page(fill.position, 1)
    return _cells(sheet, fill, [[texts[0] for texts in page.cells[first : first + fill.columns]]] * fill.rows)


def selected(sheet: Sheet, selection: Cells) -> list[CellText]:
    """The cells of a selection; their texts do not matter.

    Raises
    ------
    UsageError
        It has too many cells, or is not there any more.
    """
    columns = _columns_from(sheet, selection.column, selection.columns)
    if selection.rows * selection.columns > MOST_CELLS:
        raise _too_many(selection.rows * selection.columns)
    keys = _keys_from(sheet, selection, selection.rows, "Select the cells again.")
    return [CellText(selection.position, key, column, "") for key in keys for column in columns]


def rows_of(text: str) -> list[list[str]]:
    """The rows of tab-separated text, each as long as the longest; a last line end counts for nothing."""
    rows = [*csv.reader(io.StringIO(text, newline=""), dialect="excel-tab")] or [[""]]
    widest = max(map(len, rows)) or 1
    return [row + [""] * (widest - len(row)) for row in rows]


def _refuse_larger(rows: Sequence[Sequence[str]], block: Block) -> None:
    selected = block.rows, block.columns
    size = len(rows), len(rows[0])
    if selected != (1, 1) and (size[0] > selected[0] or size[1] > selected[1]):
        raise UsageError(
            f"the copied block has {_block_size(size)}, the selection {_block_size(selected)}; nothing was pasted",
            hint="Select one cell to paste all of it from there on.",
        )


def _cells(sheet: Sheet, block: Cells, rows: Sequence[Sequence[str]]) -> list[CellText]:
    columns = _columns_from(sheet, block.column, len(rows[0]))
    keys = _keys_from(sheet, block, len(rows), "Try again.")
    if len(keys) < len(rows) or len(columns) < len(rows[0]):
        room = len(keys), len(columns)
        raise UsageError(
            f"the block has {_block_size((len(rows), len(rows[0])))}, and only {_block_size(room)} are left there"
        )
    if len(keys) * len(columns) > MOST_CELLS:
        raise _too_many(len(keys) * len(columns))
    pairs = zip(keys, rows, strict=True)
    return [*chain.from_iterable(_row(block.position + n, key, columns, row) for n, (key, row) in enumerate(pairs))]


def _column_names(sheet: Sheet) -> list[str]:
    return [column.name for column in sheet.columns]


def _columns_from(sheet: Sheet, column: str, count: int) -> list[str]:
    """So many columns from this one on, or as many as there are."""
    names = _column_names(sheet)
    if column not in names:
        raise UsageError("the page names an unknown column; nothing was changed")
    return names[names.index(column) :][:count]


def _keys_from(sheet: Sheet, place: Cells, count: int, hint: str) -> Sequence[str]:
    """The keys of so many rows from a place on, or of as many as there are."""
    keys = sheet.keys(place.position, count)
    if not keys or keys[0] != place.key:
        raise UsageError("the rows have changed since; nothing was changed", hint=hint)
    return keys


def _too_many(cells: int) -> UsageError:
    return UsageError(f"{cells:,} cells at once are too many", hint=f"The limit is {MOST_CELLS:,}.")


def _row(position: int, key: str, columns: Sequence[str], texts: Sequence[str]) -> list[CellText]:
    return [CellText(position, key, column, text) for column, text in zip(columns, texts, strict=True)]


def _block_size(size: tuple[int, int]) -> str:
    return f"{size[0]:,} × {size[1]:,} cells"
