"""Undo and redo: what an action changed, cell by cell, so that it can be put back.

A cell that somebody else has changed since, as code that stages does, stays as it is: only what the action itself
left there is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Cell = TypeVar("Cell", bound=Hashable)
State = TypeVar("State")

DEEPEST = 200
"""Actions that can be taken back."""


@dataclass(frozen=True)
class Action(Generic[Cell, State]):
    """The states of some cells before an action and after it."""

    before: Mapping[Cell, State]
    after: Mapping[Cell, State]


@dataclass(frozen=True)
class Moved:
    """The cells that undo or redo has put back, and those that somebody else has changed since."""

    cells: int
    passed_over: int


@dataclass
class EditHistory(Generic[Cell, State]):
    """Actions in their order. `current` gives the states of cells, `put` makes states hold."""

    current: Callable[[Iterable[Cell]], dict[Cell, State]]
    put: Callable[[Mapping[Cell, State]], None]
    _done: list[Action[Cell, State]] = field(default_factory=list)
    _undone: list[Action[Cell, State]] = field(default_factory=list)

    def do(self, states: Mapping[Cell, State]) -> None:
        """Make them hold, and remember what held before."""
        before = self.current(states)
        self.put(states)
        self._done = [*self._done[1 - DEEPEST :], Action(before, self.current(states))]
        self._undone = []

    def undo(self) -> Moved | None:
        """Put back what held before the last action; None where there is none."""
        return self._move(self._done, self._undone)

    def redo(self) -> Moved | None:
        """Make the action hold that was taken back last; None where there is none."""
        return self._move(self._undone, self._done)

    def _move(self, source: list[Action[Cell, State]], target: list[Action[Cell, State]]) -> Moved | None:
        if not source:
            return None
        action = source.pop()
        now = self.current(action.after)
        mine = {cell: state for cell, state in action.before.items() if now[cell] == action.after[cell]}
        self.put(mine)
        target.append(Action({cell: now[cell] for cell in mine}, mine))
        return Moved(len(mine), len(now) - len(mine))
