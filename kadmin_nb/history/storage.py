"""The port of a history's storage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from .stored_rows import State


class Place(Protocol):
    """A table that is only ever added to."""

    @property
    def where(self) -> str:
        """Its path, or its name."""

    def clusters(self) -> set[str]:
        """The clusters that have snapshots here."""

    def newest(self, cluster_id: str, until: datetime | None) -> list[State]:
        """The newest state of each frame, at or before a time; more may come with it, oldest first."""

    def states(self, cluster_id: str | None = None, until: datetime | None = None) -> list[State]:
        """All states, oldest first."""

    def rows(self, kind: str, parts: Sequence[str]) -> pa.Table:
        """The rows of that kind under these parts."""

    def append(self, states: Sequence[State], contents: Sequence[pa.Table]) -> None:
        """Add rows; a state is there only when all contents are."""
