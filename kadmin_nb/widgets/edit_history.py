"""Undo and redo: what an action changed, cell by cell, so that it can be put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

State = TypeVar("State")
Apply = Callable[[State], State]

DEEPEST = 200
"""Actions that can be taken back."""


@dataclass
class EditHistory(Generic[State]):
    """Actions in their order. `put` makes a state hold and gives the state that held before."""

    put: Apply[State]
    _done: list[State] = field(default_factory=list)
    _undone: list[State] = field(default_factory=list)

    def do(self, state: State) -> None:
        """Make it hold, and remember what held before."""
        self._done = [*self._done[1 - DEEPEST :], self.put(state)]
        self._undone = []

    def undo(self) -> bool:
        """Put back what held before the last action; False where there is none."""
        return self._move(self._done, self._undone)

    def redo(self) -> bool:
        """Make the action hold that was taken back last; False where there is none."""
        return self._move(self._undone, self._done)

    def _move(self, source: list[State], target: list[State]) -> bool:
        if not source:
            return False
        target.append(self.put(source.pop()))
        return True
