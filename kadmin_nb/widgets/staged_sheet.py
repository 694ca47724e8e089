"""The sheet over a stage: cells that hold edits or refused texts, undo and redo; rows filtered, and read again.

Quotas and configs are two tables of rows and columns in it. Undo puts back what an action has left; a cell that
somebody else has changed since, as code that stages does, stays as it is.
"""

from __future__ import annotations

import re
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError
from ..frames.views import counted_nouns
from ..model.changes import Change, Edit, Target
from ..model.configurable import Configurable
from ..plans import planning
from ..plans.advice import dangers
from ..plans.kinds import kind_of
from ..plans.kinds.change_kind import ChangeKind
from ..plans.observed_state import ObservedState
from ..plans.stage import Listener, Listeners, Stage, edits_of, tell
from .sheet import (
    DANGER,
    REFUSED,
    STAGED,
    Arrangement,
    CellEditor,
    CellText,
    Column,
    Mark,
    Page,
    Result,
)

Whose = TypeVar("Whose", bound=Configurable)
CellType = TypeVar("CellType", bound="Cell")

EDITED = "staged"
"""The choice of rows with an edit, refused texts included."""

DEEPEST = 200
"""Actions that can be taken back."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that was typed into a cell and cannot be staged."""

    text: str
    reason: str


class Judgement(NamedTuple):
    """The row of a plan that an edit is, and its danger, as far as what was read tells."""

    change: Change
    danger: str | None = None


CellState = Edit | Refused | None
"""The edit or the refused text of a cell; None where the stored value stands."""

ShownState = Judgement | Refused | None
"""The judgement or the refused text that a cell shows; None where the stored value stands."""

States = Mapping[tuple[Whose, str], CellState]


def verdict(state: Judgement | Refused) -> tuple[str, str]:
    """What a mark says of an edit, and the reason why it is refused or dangerous."""
    if isinstance(state, Refused):
        return REFUSED, state.reason
    if state.change.is_refused:
        return REFUSED, str(state.change.refusal)
    return (STAGED, "") if state.danger is None else (DANGER, state.danger)


class Cell(Protocol):
    """A value that is edited: what it holds, and what it shows of an edit."""

    @property
    def text(self) -> str:
        """The text of the cell."""

    @property
    def is_secret(self) -> bool:
        """True if a text that is typed there may not be kept."""

    def read(self, text: str) -> Edit | None:
        """The edit that a typed text means; None where it says what is stored.

        Raises
        ------
        KadminError
            It does not fit.
        """

    @property
    def mark(self) -> Mark | None:
        """Its mark, where it has one."""

    @property
    def editor(self) -> CellEditor | None:
        """Its editor, where that is not plain text."""


class Table(Protocol):
    """The rows of a sheet as they were read; those that are added stand below them, so that no row moves."""

    @property
    def names(self) -> Any:
        """The name of each row, an array of Arrow."""

    @property
    def is_own(self) -> np.ndarray:
        """A flag for each row of the choice of rows that only this sheet has."""

    @property
    def rank(self) -> np.ndarray:
        """Rows of a lower one stand above others."""

    def name_of(self, target: Any) -> str:
        """The name of the row that a target is in."""

    def rows_of(self, names: Iterable[str]) -> Mapping[str, int]:
        """The rows of those of the names that have one."""


class Action(NamedTuple):
    """The states of some cells before an action and after it."""

    before: Mapping[Any, CellState]
    after: Mapping[Any, CellState]


class StagedSheet(ABC, Generic[Whose, CellType]):
    """A sheet whose cells are targets of one kind of change. A subclass has the columns, and reads the texts.

    Its methods may be called from several threads.
    """

    columns: Sequence[Column]
    label: str
    """The name of the table, for people who cannot see it."""

    arrangement = Arrangement()
    legend: ClassVar[str] = ""
    """The meaning of signs and colours, in a line below the table."""

    kind: ClassVar[ChangeKind]
    what_rows_are: ClassVar[str]
    """Words behind their number, in a title."""

    filter_words: ClassVar[str]
    """What a filter takes, as examples."""

    own_choice: ClassVar[str]
    """The rows that only this sheet can show alone, besides those with an edit."""

    def __init__(self, table: Table, stage: Stage) -> None:
        self._lock = threading.RLock()
        self._stage = edits_of(stage)
        self._refused: dict[tuple[Whose, str], Refused] = {}
        self._is_putting = False
        self._done: list[Action] = []
        self._undone: list[Action] = []
        self._listeners: Listeners = []
        self._take(table)
        self._stage.watch(self._stage_changed)

    # -- what a subclass has

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The rows as they were read last, without what is staged."""

    @abstractmethod
    def _cells(self, rows: np.ndarray, names: Sequence[str]) -> Iterable[Sequence[str | CellType]]:
        """These rows column by column, as texts and cells."""

    @abstractmethod
    def _stored_cells(self, targets: Sequence[tuple[Whose, str]]) -> Iterable[CellType]:
        """The cells of these targets, for what they hold alone."""

    @abstractmethod
    def _targets(self, cells: Sequence[CellText]) -> Sequence[tuple[Whose, str]]:
        """The target of each cell of rows that there are."""

    @abstractmethod
    def _observed_state(self, targets: Collection[tuple[Whose, str]]) -> ObservedState:
        """What was read of these cells, and what their dangers go by."""

    @abstractmethod
    def _add_rows(self, targets: Sequence[tuple[Whose, str]]) -> None:
        """Add a row for each of these targets below the others."""

    def _indented(self, rows: np.ndarray, columns: Sequence[Sequence[str | CellType]]) -> Sequence[str]:
        """For each row that belongs to the one above it, what its first cell shows of its name."""
        return ()

    # -- rows

    def __len__(self) -> int:
        return len(self._order)

    def keys(self, first: int, count: int) -> list[str]:
        """The keys of some rows."""
        with self._lock:
            return self._names(self._order[max(first, 0) : max(first, 0) + count])

    def page(self, first: int, count: int) -> Page:
        """Some of the rows."""
        with self._lock:
            rows = self._order[max(first, 0) : max(first, 0) + count]
            names = self._names(rows)
            columns = [*self._cells(rows, names)]
            texts = [[one if isinstance(one, str) else one.text for one in column] for column in columns]
            places = [(n, at, one) for at, column in enumerate(columns) for n, one in enumerate(column)]
            cells = [(n, at, one) for n, at, one in places if not isinstance(one, str)]
            marks = [(n, at, mark) for n, at, cell in cells if (mark := cell.mark) is not None]
            editors = [(n, at, editor) for n, at, cell in cells if (editor := cell.editor) is not None]
            return Page(first, names, texts, marks, editors, self._indented(rows, columns))

    def cell(self, name: str, column: str) -> CellType | None:
        """The cell of the row of that name; None where there is none."""
        with self._lock:
            if (row := self._table.rows_of([name]).get(name)) is None:
                return None
            columns = zip((known.name for known in self.columns), self._cells(np.array([row]), [name]), strict=True)
            found = dict(columns).get(column, [""])[0]
            return None if isinstance(found, str) else found

    def arrange(self, arrangement: Arrangement) -> None:
        """Choose rows."""
        with self._lock:
            self._order = self._arranged(arrangement)
            self.arrangement = arrangement
        self._changed()

    def counts(self) -> dict[str, int]:
        """The rows of each choice of rows, `all` of them first."""
        with self._lock:
            edited = len(self._rows_of(self._overlay()))
            return {"all": len(self._table.names), EDITED: edited, self.own_choice: int(self._table.is_own.sum())}

    def read(self, table: Table) -> Result:
        """Take rows that were read anew; what is staged or refused stays."""
        with self._lock:
            self._take(table)
        self._changed()
        return Result(f"reloaded: {len(self):,} rows")

    def _take(self, table: Table) -> None:
        self._table = table
        self._on_top: list[int] = []
        self._judged: tuple[int, dict[tuple[Whose, str], Judgement]] | None = None
        self._order = np.array([], dtype=np.int64)
        self._show_targets(self._overlay())
        self._order = self._arranged(self.arrangement)

    def _show_targets(self, targets: Iterable[tuple[Whose, str]]) -> None:
        """Show a row for each of these targets; those that were not there stand on top."""
        names = {self._table.name_of(target): target for target in targets}
        known = self._table.rows_of(names)
        if new := {name: target for name, target in names.items() if name not in known}:
            self._add_rows([*new.values()])
            added = [*self._table.rows_of(new).values()]
            self._on_top = [*added, *self._on_top]
            self._order = np.concatenate([np.array(added, dtype=np.int64), self._order])

    def _arranged(self, arrangement: Arrangement) -> np.ndarray:
        """The numbers of the rows that it shows, in its order."""
        fits = fitting(self._table.names, arrangement.words)
        rows = np.flatnonzero(fits & self._flags(arrangement.show))
        rank = self._table.rank
        rank[self._on_top] = np.arange(-len(self._on_top), 0)
        arranged: np.ndarray = rows[np.argsort(rank[rows], kind="stable")]
        return arranged

    def _flags(self, show: str) -> np.ndarray:
        """A flag for each row that is of the chosen kind."""
        if show == self.own_choice:
            return self._table.is_own
        flags = np.full(len(self._table.names), show != EDITED)
        if show == EDITED:
            flags[self._rows_of(self._overlay())] = True
        return flags

    def _names(self, rows: np.ndarray) -> list[str]:
        return list(self._table.names.take(pa.array(rows)).to_pylist())

    def _rows_of(self, targets: Iterable[tuple[Whose, str]]) -> list[int]:
        return [*self._table.rows_of({*map(self._table.name_of, targets)}).values()]

    # -- edits

    def dangers(self) -> dict[tuple[Whose, str], str]:
        """The messages of a plan on the dangerous ones among the cells."""
        return {target: judged.danger for target, judged in self._judge().items() if judged.danger is not None}

    def edit(self, cells: Sequence[CellText]) -> Result:
        """Take texts into cells, all of them; a text that does not fit is refused in its cell.

        Raises
        ------
        UsageError
            A row or a column that there is not; then nothing is taken.
        """
        with self._lock:
            texts = {target: cell.text for target, cell in self._known(cells)}
            stored = self._stored_cells([*texts])
            states = {t: _read(cell, text) for (t, text), cell in zip(texts.items(), stored, strict=True)}
            self._do(states)
        self._changed()
        return _result(states)

    def discard(self) -> Result:
        """Take back all that is staged or refused; `undo` brings it back."""
        with self._lock:
            if targets := self._overlay():
                self._do(dict.fromkeys(targets))
        self._changed()
        if not targets:
            return Result("nothing is staged")
        back = "it" if len(targets) == 1 else "them"
        return Result(f"Discarded {counted_nouns(len(targets), 'edit', 'edits')}. Undo brings {back} back.")

    def undo(self) -> Result:
        """Take back the last action."""
        return self._moved(self._done, self._undone, "undo")

    def redo(self) -> Result:
        """Do it again."""
        return self._moved(self._undone, self._done, "redo")

    def _known(self, cells: Sequence[CellText]) -> list[tuple[tuple[Whose, str], CellText]]:
        """Cells with their targets; all of them are checked before the first is changed."""
        editable = {column.name for column in self.columns if column.is_editable}
        if strange := next((cell.column for cell in cells if cell.column not in editable), None):
            raise UsageError(f"the column {strange} cannot be edited")
        names = {cell.key for cell in cells}
        if strange := next(iter(names - self._table.rows_of(names).keys()), None):
            raise UsageError(f"there is no row {strange}", hint="It may have been removed: read again.")
        return [*zip(self._targets(cells), cells, strict=True)]

    def refused(self) -> dict[tuple[Whose, str], Refused]:
        """The texts that are not staged, as they do not fit."""
        with self._lock:
            return dict(self._refused)

    def watch(self, listener: Listener) -> None:
        """Call a method after each change of what the sheet shows, while its object is alive."""
        self._listeners.append(weakref.WeakMethod(listener, self._listeners.remove))

    # -- states

    def _judge(self) -> dict[tuple[Whose, str], Judgement]:
        """The plan's judgement of the staged edits; made again when the stage or the rows have changed."""
        with self._lock:
            version = self._stage.version
            if self._judged is None or self._judged[0] != version:
                edits = self._staged()
                state = self._observed_state(edits)
                changes = planning.judged([*edits.values()], state)
                judged_dangers = dangers.judged([c for c in changes if c.target not in state.unread], state)
                by_row = {danger.row: danger.message for danger in judged_dangers}
                judgements = [Judgement(change, by_row.get(change.row)) for change in changes]
                self._judged = version, dict(zip(edits, judgements, strict=True))
            return self._judged[1]

    def _shown_states(self) -> dict[tuple[Whose, str], Judgement | Refused]:
        return {**self._judge(), **self._refused}

    def _staged(self) -> dict[tuple[Whose, str], Edit]:
        staged = self._stage.staged().items()
        return {cast(tuple[Whose, str], target): edit for target, edit in staged if kind_of(edit) is self.kind}

    def _overlay(self) -> dict[tuple[Whose, str], CellState]:
        return {**self._staged(), **self._refused}

    def _states(self, targets: Iterable[tuple[Whose, str]]) -> dict[tuple[Whose, str], CellState]:
        """The states of these cells now."""
        overlay = self._overlay()
        return {target: overlay.get(target) for target in targets}

    def _put(self, states: States[Whose]) -> Mapping[tuple[Whose, str], CellState]:
        """Make these cells hold that; what they held before."""
        before = self._states(states)
        for target in states:
            self._refused.pop(target, None)
        self._refused |= {target: state for target, state in states.items() if isinstance(state, Refused)}
        edits: dict[Target, Edit | None] = {t: s if isinstance(s, Edit) else None for t, s in states.items()}
        self._is_putting = True
        self._stage.put(edits)
        self._is_putting = False
        self._show_targets(target for target, state in states.items() if state is not None)
        return before

    def _do(self, states: States[Whose]) -> None:
        """Make these cells hold that, and remember what held before."""
        self._done = [*self._done[1 - DEEPEST :], Action(self._put(states), self._states(states))]
        self._undone = []

    def _moved(self, source: list[Action], target: list[Action], name: str) -> Result:
        """Put back what held before an action, where it is as the action left it."""
        if not source:
            return Result(f"nothing to {name}", ok=False)
        with self._lock:
            action = source.pop()
            now = self._states(action.after)
            mine = {cell: state for cell, state in action.before.items() if now[cell] == action.after[cell]}
            target.append(Action(self._put(mine), mine))
        self._changed()
        if passed_over := len(now) - len(mine):
            return Result(f"{name}: {_count(passed_over)} changed elsewhere since, and stay", ok=False)
        return Result(f"{name}: {_count(len(mine))}")

    def _stage_changed(self) -> None:
        with self._lock:
            if self._is_putting:
                return  # by ourselves; whoever edits tells of it, once
            self._show_targets(self._staged())
        self._changed()

    def _changed(self) -> None:
        """Tell those who watch; never under our lock, as they have locks of their own."""
        tell(self._listeners)


AnySheet = StagedSheet[Any, Any]


def _read(cell: Cell, text: str) -> CellState:
    """The edit that a typed text means, or its refusal."""
    try:
        return cell.read(text)
    except KadminError as exc:
        return Refused("" if cell.is_secret else text, exc.in_one_line())


def _result(states: States[Whose]) -> Result:
    refused = [state for state in states.values() if isinstance(state, Refused)]
    if not refused:
        return Result(f"{_count(len(states))} staged")
    first = refused[0].reason
    more = f"; and {len(refused) - 1:,} more" if len(refused) > 1 else ""
    return Result(f"{len(refused):,} of {len(states):,} not staged: {first}{more}", ok=False)


def _count(cells: int) -> str:
    return f"{cells:,} cell{'s' * (cells != 1)}"


def fitting(names: Any, words: str) -> np.ndarray:
    """A flag for each name that has each of these words in it, in which `*` stands for any letters."""
    flags = np.ones(len(names), dtype=bool)
    for word in words.split():
        pattern = re.escape(word).replace(r"\*", ".*")
        flags &= np.asarray(pc.match_substring_regex(names, pattern, ignore_case=True))
    return flags
