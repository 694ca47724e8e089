"""The part that the sheets over a stage share: cells that hold edits or refused texts, with undo and redo."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from ..errors import UsageError
from ..model.changes import Edit, Target
from ..model.configurable import Configurable
from ..plans.kinds.change_kind import ChangeKind
from ..plans.kinds.registry import kind_of
from ..plans.stage import Stage
from .edit_history import EditHistory
from .sheet import CellText, Result

MOST_CELLS = 10_000
"""Cells that one action may change."""

Whose = TypeVar("Whose", bound=Configurable)


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that was typed into a cell and cannot be staged."""

    text: str
    reason: str


CellState = Edit | Refused | None
"""The edit or the refused text of a cell; None where the stored value stands."""


class StagedSheet(ABC, Generic[Whose]):
    """A sheet whose cells are targets of one kind of change. A subclass has the rows, and reads the texts."""

    def __init__(self, stage: Stage, kind: ChangeKind) -> None:
        self._lock = threading.RLock()
        self._stage, self._kind = stage, kind
        self._refused: dict[tuple[Whose, str], Refused] = {}
        self._is_putting = False
        self._history: EditHistory[Mapping[tuple[Whose, str], CellState]] = EditHistory(self._put)
        self._listeners: list[weakref.WeakMethod[Callable[[], None]]] = []

    @abstractmethod
    def _targets(self, cells: Sequence[CellText]) -> Iterable[tuple[tuple[Whose, str], CellText]]:
        """The target of each cell. Raises UsageError for a row or a column that there is not."""

    @abstractmethod
    def _state_of(self, target: tuple[Whose, str], text: str) -> CellState:
        """The edit that a text means, or its refusal; None where it says what is stored."""

    @abstractmethod
    def _show_targets(self, targets: Collection[tuple[Whose, str]]) -> None:
        """Give those of these targets a row that have none."""

    def edit(self, cells: Sequence[CellText]) -> Result:
        if len(cells) > MOST_CELLS:
            raise UsageError(f"{len(cells):,} cells at once are too many", hint=f"{MOST_CELLS:,} is the most.")
        with self._lock:
            states = {target: self._state_of(target, cell.text) for target, cell in [*self._targets(cells)]}
            self._history.do(states)
        self._changed()
        return _result(states)

    def undo(self) -> Result:
        return self._moved(self._history.undo, "nothing to undo")

    def redo(self) -> Result:
        return self._moved(self._history.redo, "nothing to redo")

    def refused(self) -> dict[tuple[Whose, str], Refused]:
        """The texts that are not staged, as they do not fit."""
        with self._lock:
            return dict(self._refused)

    def watch(self, listener: Callable[[], None]) -> None:
        self._listeners.append(weakref.WeakMethod(listener))

    def _follow_stage(self) -> None:
        """Show what is staged, now and whoever stages more."""
        self._show_targets(self._staged())
        self._stage.watch(self._stage_changed)

    def _staged(self) -> dict[tuple[Whose, str], Edit]:
        staged = self._stage.staged().items()
        return {cast(tuple[Whose, str], target): edit for target, edit in staged if kind_of(edit) is self._kind}

    def _overlay(self) -> dict[tuple[Whose, str], CellState]:
        return {**self._staged(), **self._refused}

    def _put(self, states: Mapping[tuple[Whose, str], CellState]) -> dict[tuple[Whose, str], CellState]:
        """Make these cells hold that, and give what they held before."""
        before: dict[tuple[Whose, str], CellState] = {target: self._refused.pop(target, None) for target in states}
        edits: dict[Target, Edit | None] = {
            t: state if isinstance(state, Edit) else None for t, state in states.items()
        }
        self._refused |= {target: state for target, state in states.items() if isinstance(state, Refused)}
        self._is_putting = True
        staged_before = self._stage.put(edits)
        self._is_putting = False
        return {target: refused or staged_before[target] for target, refused in before.items()}

    def _moved(self, move: Callable[[], bool], otherwise: str) -> Result:
        with self._lock:
            moved = move()
        self._changed()
        return Result() if moved else Result(otherwise, ok=False)

    def _stage_changed(self) -> None:
        with self._lock:
            if self._is_putting:
                return  # by ourselves; whoever edits tells of it, once
            self._show_targets(self._staged())
        self._changed()

    def _changed(self) -> None:
        """Tell those who watch; never under our lock, as they have locks of their own."""
        for reference in [*self._listeners]:
            if (listener := reference()) is not None:
                listener()


def _result(states: Mapping[tuple[Whose, str], CellState]) -> Result:
    refused = [state for state in states.values() if isinstance(state, Refused)]
    if not refused:
        return Result(f"{len(states):,} cell{'s' * (len(states) != 1)} staged")
    first = refused[0].reason
    more = f"; and {len(refused) - 1:,} more" if len(refused) > 1 else ""
    return Result(f"{len(refused):,} of {len(states):,} not staged: {first}{more}", ok=False)
