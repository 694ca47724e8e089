"""The rows of an answer as a table to sort and search, with what the answer says about them around it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames.answer import Tabular
from ..frames.blocks import BADGE, BAR, BRANCH, NOTEBOOK, NUMBER, RUNG, STANDING, Block, Folded, Listing, Page, Title
from ..frames.meanings import Part
from ..frames.render import columns, engine_line
from ..frames.views import across, counted_nouns, view_of
from ..plans.stage import Listener, Stage
from . import sheet
from .panel import Panel
from .sheet import Arrangement, CellText, Column, Result, Sheet

SCREEN = 20
"""Rows up to which a table is read as it stands."""

HEIGHT = 420
"""Pixels of the table."""

SHORT = 40
"""Characters of a cell that is not repeated below the table while it has the focus."""

_LOOKS = {STANDING: NUMBER, RUNG: BADGE, BAR: NUMBER}
"""The looks of a grid's columns, where they are not those of an answer's."""

_NUMBER = r"^-?\d{1,18}(\.\d+)?$"
_BETWEEN = "\x1f"
"""Stands between the texts of a row that is searched: no text that is shown has it."""


class TableSheet(Sheet):
    """The rows of a table under their titles, in any order; each column shows and sorts what its view says."""

    def __init__(self, table: pa.Table, title: str = "") -> None:
        table = across(table)
        view = view_of(table)
        self._table, self._lock = view.ordered(table), threading.RLock()
        # a page scrolls below the names: levels stand behind all else
        parts = sorted(view.parts(table), key=lambda part: part.look == RUNG)
        self._parts = {str(number): part for number, part in enumerate(parts)}
        self._texts: dict[str, pa.Array] = {}
        self._order = np.arange(table.num_rows)
        self.label = title.partition("\n")[0] or "Rows"
        heads = ("level" if part.look == RUNG else part.heading for part in parts)
        looks = (_LOOKS.get(part.look, part.look) for part in parts)
        self.columns = [Column(*of) for of in zip(self._parts, heads, looks, strict=True)]

    def __len__(self) -> int:
        return len(self._order)

    def keys(self, first: int, count: int) -> Sequence[str]:
        return [f"row {row + 1}" for row in self._order[first : first + count].tolist()]

    def page(self, first: int, count: int) -> sheet.Page:
        with self._lock:
            rows = self._table.take(pa.array(self._order[first : first + count]))
            return sheet.Page(first, self.keys(first, count), [c.cells for c in columns(rows, [*self._parts.values()])])

    def arrange(self, arrangement: Arrangement) -> None:
        with self._lock:
            rows, is_shown = np.arange(self._table.num_rows), self._matching(arrangement.words)
            if arrangement.column is not None:
                rows = self._sorted(arrangement.column, arrangement.descending)
            self._order, self.arrangement = rows[is_shown[rows]], arrangement

    def edit(self, cells: Sequence[CellText] | None = None) -> Result:
        raise UsageError("the rows of an answer cannot be edited", hint="kquota edit and kconfig edit can.")

    discard = undo = redo = edit

    def watch(self, listener: Listener) -> None:
        """Nothing: an answer stays as it is."""

    def whole(self, key: str, column: str) -> str:
        """A cell with the name of its column, where it may be too long for its place; else nothing."""
        row, part = key.removeprefix("row "), self._parts.get(column)
        if part is None or not row.isdecimal() or not 0 < int(row[:9]) <= self._table.num_rows:
            return ""
        [text] = columns(self._table.slice(int(row) - 1, 1), [part])[0].cells
        return f"{part.heading}: {text}" if len(text) > SHORT else ""

    def _matching(self, words: str) -> np.ndarray:
        """A flag for each row: each of the words is a part of what it shows."""
        flags = np.ones(self._table.num_rows, dtype=bool)
        if words.strip():
            shown = pc.binary_join_element_wise(*map(self._shown, self._parts), pa.scalar(_BETWEEN, pa.large_string()))
            for word in words.split():
                flags &= np.asarray(pc.match_substring(shown, word, ignore_case=True))
        return flags

    def _shown(self, name: str) -> pa.Array:
        """The texts of a column, made when they are first searched or sorted."""
        if name not in self._texts:
            self._texts[name] = pa.array(columns(self._table, [self._parts[name]])[0].cells, pa.large_string())
        return self._texts[name]

    def _sorted(self, name: str, descending: bool) -> np.ndarray:
        keys = pa.table({str(number): key for number, key in enumerate(self._sort_keys(name))})
        order = [(key, "descending" if descending else "ascending") for key in keys.column_names]
        return np.asarray(pc.sort_indices(keys, sort_keys=order))  # nulls last, in either order

    def _sort_keys(self, name: str) -> list[pa.Array]:
        """The values of a column: numbers, times and flags; of texts, those that are numbers first, by their value."""
        values = _values(self._parts[name], self._table)
        if values is not None and not pa.types.is_string(values.type):
            return [values]
        shown = self._shown(name)
        texts = pc.if_else(pc.equal(shown, ""), None, shown)
        if values is None:
            return [texts]
        numbers = _numbers(values)
        return [pc.if_else(pc.is_valid(texts), pc.is_null(numbers), None), numbers, texts]


def _values(part: Part, table: pa.Table) -> pa.ChunkedArray | None:
    """The values behind a column's texts; None where they have no order."""
    name = next((name for name in part.sources if name in table.column_names), None)
    if name is not None and part.look == STANDING:
        return pc.struct_field(table[name], "value")
    if name is None or pa.types.is_nested(table[name].type):
        return None
    column = table[name]
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.match_substring_regex(texts, _NUMBER), texts, None).cast(pa.float64())


def is_long(block: Block) -> TypeGuard[pa.Table]:
    """True of a table with more rows than one reads at a glance; a tree is read from its top."""
    if not isinstance(block, pa.Table) or block.num_rows <= SCREEN:
        return False
    return all(part.look != BRANCH for part in view_of(block).parts(block))


class AnswerPanel(Panel):
    """An answer whose long tables are sorted, searched and scrolled; the rest of it stands around them as ever."""

    def __init__(self, shown: Tabular, page: Page = NOTEBOOK) -> None:
        self._shown, self.page = shown, page
        stage = getattr(shown, "stage", None)
        self._stage = stage if isinstance(stage, Stage) else None

    def to_arrow(self) -> pa.Table:
        return self._shown.to_arrow()

    def _blocks(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return self._shown._blocks(page)

    @property
    def is_used(self) -> bool:
        """True if it has a long table, or a change to stage."""
        return self._stage is not None or any(map(is_long, self._blocks(self.page)))

    def build(self) -> Any:
        from . import controls

        return controls.column(*parts_of(self._blocks(self.page), self._stage))


def parts_of(blocks: Iterable[Block], stage: Stage | None = None) -> list[Any]:
    """The widgets that show these blocks: long tables are sorted, searched and scrolled, lines that make a change have
    a button that stages it, the rest is text."""
    from . import controls

    parts: list[Any] = []
    around: list[Block] = []
    title = ""
    for block in blocks:
        title = block if isinstance(block, Title) else title
        if is_long(block):
            parts += [controls.paragraphs(*around), *_searched(block, title)]
            around = [engine_line(block)]
        elif stage is not None and (buttons := _staging(block, stage)) is not None:
            parts += [controls.paragraphs(*around), buttons]
            around = []
        else:
            around.append(block)
    return [*parts, controls.paragraphs(*around)]


def _staging(block: Block, stage: Stage) -> Any:
    """Lines that make changes, each beside a button that stages it; None of other blocks."""
    from . import controls

    if isinstance(block, Folded):
        each = [_staging(one, stage) or controls.paragraphs(one) for one in block.blocks]
        return controls.folded(block.title, controls.column(*each))
    if not isinstance(block, Listing) or block.edit is None:
        return None
    edit, said = block.edit, controls.StatusLine()

    def add() -> None:
        stage.add([edit])
        said.show(f"staged, {counted_nouns(len(stage), 'change', 'changes')} in all: %kquota plan shows them")

    return controls.column(controls.paragraphs(block), controls.row(controls.button("Stage", add), said))


def _searched(table: pa.Table, title: str) -> Iterable[Any]:
    """A box of words, the table, and the cell in focus where it is long."""
    from . import controls
    from .grid import Grid

    rows = TableSheet(table, title)
    grid, focus, total = Grid(rows, height=HEIGHT), controls.StatusLine(), len(rows)

    def search(words: str) -> None:
        grid.arrange(words=words)
        grid.notify(Result(f"{len(rows):,} of {total:,} rows"))

    box = controls.text("any part of what a row shows", width="24em", label="search", act=search, live=True)
    grid.focused = lambda key, column: focus.show(rows.whole(key, column))
    return box, grid, focus
