"""The part that the sheets over a stage share: cells that hold edits or refused texts, with undo and redo."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar, cast

from ..errors import UsageError
from ..model.changes import Change, Edit, Target
from ..model.configurable import Configurable
from ..plans import planning
from ..plans.advice import dangers
from ..plans.kinds import kind_of
from ..plans.kinds.change_kind import ChangeKind
from ..plans.observed_state import ObservedState
from ..plans.stage import Listener, Listeners, Stage, edits_of
from .edit_history import EditHistory, Moved
from .sheet import MOST_CELLS, CellText, Result, Sheet

Whose = TypeVar("Whose", bound=Configurable)


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that was typed into a cell and cannot be staged."""

    text: str
    reason: str


class Judgement(NamedTuple):
    """The row of a plan that an edit is, and its danger, as far as what was read tells."""

    change: Change
    danger: str | None = None


class AddedRow(Enum):
    """The state of a row that was added by hand."""

    ADDED = "added"


CellState = Edit | Refused | AddedRow | None
"""The edit or the refused text of a cell; None where the stored value stands."""


class StagedSheet(Sheet, ABC, Generic[Whose]):
    """A sheet whose cells are targets of one kind of change. A subclass has the rows, and reads the texts."""

    def __init__(self, stage: Stage, kind: ChangeKind) -> None:
        self._lock = threading.RLock()
        self._stage, self._kind = edits_of(stage), kind
        self._refused: dict[tuple[Whose, str], Refused] = {}
        self._is_putting = False
        self._judged: tuple[int, dict[tuple[Whose, str], Judgement]] | None = None
        self._history: EditHistory[tuple[Whose, str], CellState] = EditHistory(self._states, self._put)
        self._listeners = Listeners()

    @abstractmethod
    def _targets(self, cells: Sequence[CellText]) -> Iterable[tuple[tuple[Whose, str], CellText]]:
        """The target of each cell. Raises UsageError for a row or a column that there is not."""

    @abstractmethod
    def _states_of(self, texts: Mapping[tuple[Whose, str], str]) -> dict[tuple[Whose, str], CellState]:
        """The edit that each text means, or its refusal; None where it says what is stored."""

    @abstractmethod
    def _show_targets(self, targets: Collection[tuple[Whose, str]]) -> None:
        """Give those of these targets a row that have none."""

    @abstractmethod
    def _observed_state(self, targets: Collection[tuple[Whose, str]]) -> ObservedState:
        """What was read of these cells, and what their dangers go by."""

    def changes(self) -> list[Change]:
        """The rows of a plan that the staged edits are, on the values as they were read."""
        return [judged.change for judged in self._judge().values()]

    def dangers(self) -> dict[tuple[Whose, str], str]:
        """The messages of a plan on the dangerous ones among the cells."""
        return {target: judged.danger for target, judged in self._judge().items() if judged.danger is not None}

    def changed_since_read(self, changes: Iterable[Change]) -> list[Change]:
        """The changes of a plan whose old value is not the one that is shown here: somebody else was faster."""
        shown = {change.target: change.old for change in self.changes() if change.old_known}
        return [change for change in changes if change.target in shown and shown[change.target] != change.old]

    def edit(self, cells: Sequence[CellText]) -> Result:
        if len(cells) > MOST_CELLS:
            raise UsageError(f"{len(cells):,} cells at once are too many", hint=f"The limit is {MOST_CELLS:,}.")
        with self._lock:
            states = self._states_of({target: cell.text for target, cell in self._targets(cells)})
            self._history.do(states)
        self._changed()
        return _result(states)

    def discard(self, cells: Sequence[CellText] | None = None) -> Result:
        """Take back what is staged or refused in these cells, or in all; `undo` brings it back."""
        with self._lock:
            edited = {*self._overlay()}
            targets = edited if cells is None else edited & {target for target, _ in self._targets(cells)}
            if targets:
                self._history.do(dict.fromkeys(targets))
        self._changed()
        if not targets:
            return Result("nothing is staged there")
        one = len(targets) == 1
        return Result(f"Discarded {len(targets):,} edit{'s' * (not one)}. Undo brings {'it' if one else 'them'} back.")

    def undo(self) -> Result:
        return self._moved(self._history.undo, "undo")

    def redo(self) -> Result:
        return self._moved(self._history.redo, "redo")

    def refused(self) -> dict[tuple[Whose, str], Refused]:
        """The texts that are not staged, as they do not fit."""
        with self._lock:
            return dict(self._refused)

    def watch(self, listener: Listener) -> None:
        self._listeners.add(listener)

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

    def _follow_stage(self) -> None:
        """Show what is staged, now and whoever stages more."""
        self._show_targets(self._staged())
        self._stage.watch(self._stage_changed)

    def _staged(self) -> dict[tuple[Whose, str], Edit]:
        staged = self._stage.staged().items()
        return {cast(tuple[Whose, str], target): edit for target, edit in staged if kind_of(edit) is self._kind}

    def _overlay(self) -> dict[tuple[Whose, str], CellState]:
        return {**self._staged(), **self._refused}

    def _targets_to_show(self, show: str) -> Collection[tuple[Whose, str]] | None:
        """The cells of one of the choices of rows that all these sheets have; None for another choice."""
        kinds: dict[str, Callable[[], Collection[tuple[Whose, str]]]]
        kinds = {"staged": self._staged, "refused": self.refused, "dangerous": self.dangers}
        return kinds[show]() if show in kinds else None

    def _states(self, targets: Iterable[tuple[Whose, str]]) -> dict[tuple[Whose, str], CellState]:
        """The states of these cells now."""
        overlay = self._overlay()
        return {target: overlay.get(target) for target in targets}

    def _put(self, states: Mapping[tuple[Whose, str], CellState]) -> None:
        """Make these cells hold that."""
        for target in states:
            self._refused.pop(target, None)
        self._refused |= {target: state for target, state in states.items() if isinstance(state, Refused)}
        edits: dict[Target, Edit | None] = {
            t: state if isinstance(state, Edit) else None for t, state in states.items()
        }
        self._is_putting = True
        self._stage.put(edits)
        self._is_putting = False

    def _moved(self, move: Callable[[], Moved | None], name: str) -> Result:
        with self._lock:
            moved = move()
        self._changed()
        if moved is None:
            return Result(f"nothing to {name}", ok=False)
        if moved.passed_over:
            return Result(f"{name}: {_count(moved.passed_over)} changed elsewhere since, and stay", ok=False)
        return Result(f"{name}: {_count(moved.cells)}")

    def _stage_changed(self) -> None:
        with self._lock:
            if self._is_putting:
                return  # by ourselves; whoever edits tells of it, once
            self._show_targets(self._staged())
        self._changed()

    def _changed(self) -> None:
        """Tell those who watch; never under our lock, as they have locks of their own."""
        self._listeners.tell()


def _result(states: Mapping[tuple[Whose, str], CellState]) -> Result:
    refused = [state for state in states.values() if isinstance(state, Refused)]
    if not refused:
        return Result(f"{_count(len(states))} staged")
    first = refused[0].reason
    more = f"; and {len(refused) - 1:,} more" if len(refused) > 1 else ""
    return Result(f"{len(refused):,} of {len(states):,} not staged: {first}{more}", ok=False)


def _count(cells: int) -> str:
    return f"{cells:,} cell{'s' * (cells != 1)}"
