"""The two sides of a comparison, and what a word names: a cluster, a file, or a moment of a history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..frames.schema_metadata import CLUSTER_ID
from ..frames.snapshots import Snapshot
from ..model.configurable import Configurable
from ..model.grammar import quote

if TYPE_CHECKING:
    from ..declared import Declared
    from ..history import History

HISTORY = "history:"
SAVED = (".parquet",)
DECLARED = (".yaml", ".yml", ".json")
NOW = "now"


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: a snapshot, or a frame of quotas or of configs; and how it is called.

    `cluster` is the connection, where it was handed in; `is_live` that it is a cluster as it is now; `topics` are all
    that it has, None where nobody knows. `is_declared` that it is a file that somebody may have written: it says
    nothing of what stands in server.properties.
    """

    says: str
    content: Any
    is_live: bool = False
    topics: frozenset[str] | None = None
    is_declared: bool = False
    cluster: Any = None

    @property
    def cluster_id(self) -> str | None:
        """The cluster that it is of, None where nothing says so."""
        if isinstance(self.content, Snapshot):
            return self.content.cluster_id or None
        mark = (self.content.schema.metadata or {}).get(CLUSTER_ID.encode())
        return mark.decode() if mark else None

    def lacks(self, resource: Configurable) -> bool:
        """True if it is a topic that is certainly not there."""
        return self.topics is not None and resource.topic is not None and resource.topic not in self.topics

    def __str__(self) -> str:
        if not isinstance(self.content, Snapshot):
            return f"{self.says}: {len(self.content):,} rows"
        half = "" if self.content.complete else f", NOT COMPLETE: {len(self.content.failed):,} could not be read"
        whose = f"cluster {self.cluster_id}" if self.cluster_id else "no cluster named"
        when = "" if self.is_declared else f" at {self.content.taken_at:%Y-%m-%d %H:%M:%SZ}"
        return f"{self.says} ({whose}{when}{half})"


@dataclass(frozen=True, slots=True)
class LiveSide:
    """A cluster, as `connect` finds it."""

    target: str


@dataclass(frozen=True, slots=True)
class SnapshotSide:
    """A snapshot in a file."""

    path: str


@dataclass(frozen=True, slots=True)
class DeclaredSide:
    """A declarative file."""

    path: str


@dataclass(frozen=True, slots=True)
class HistorySide:
    """A moment in a history."""

    where: str
    time: str = NOW


Source = LiveSide | SnapshotSide | DeclaredSide | HistorySide


def source_of(text: str) -> Source:
    """The side that a word names: `history:WHERE@TIME`, a file by the end of its name, else a cluster.

    What begins with `history:` is one; a file that is called so is `./history:…`. The last `@` begins the time.

    Raises
    ------
    UsageError
        An empty word, or a history without a place.
    """
    if text.startswith(HISTORY):
        return _past(text.removeprefix(HISTORY))
    if not text:
        raise UsageError("an empty word names nothing to compare", hint="A profile, host:port, or a file.")
    suffix = Path(text).suffix
    return SnapshotSide(text) if suffix in SAVED else DeclaredSide(text) if suffix in DECLARED else LiveSide(text)


def _past(text: str) -> HistorySide:
    where, _, time = text.rpartition("@") if "@" in text else (text, "", NOW)
    if not where or not time.strip():
        raise UsageError(
            f"{quote(HISTORY + text)} is not a time of a history", hint="Write history:lake/kafka@'2h ago'."
        )
    return HistorySide(where, time)


def saved(source: SnapshotSide) -> Side:
    """The side that a file holds.

    Raises
    ------
    NotFound, Invalid
        No such file; none that holds a snapshot.
    """
    return Side(source.path, Snapshot.load(source.path))


def written(source: DeclaredSide) -> Side:
    """The side that a declarative file is.

    Raises
    ------
    NotFound, Invalid
        No such file; one that does not declare a cluster, with its line.
    """
    from ..declared import load

    return declared(load(source.path))


def declared(declaration: Declared) -> Side:
    """The side that was read from a declarative file."""
    return Side(declaration.where, declaration.snapshot(), is_declared=True)


def past(source: HistorySide, cluster_id: str | None = None, others: Iterable[str | None] = ()) -> Side:
    """The snapshot of a cluster at that time.

    Parameters
    ----------
    cluster_id
        Whose. Where the history has several clusters and this is None, that of `others`.
    """
    from ..history import history

    recorded = history(source.where)
    snapshot = recorded.as_of(source.time, cluster_id or _whose(recorded, others))
    return Side(f"{HISTORY}{source.where}", snapshot)


def _whose(recorded: History, others: Iterable[str | None]) -> str | None:
    clusters = recorded.clusters
    return next((candidate for candidate in others if candidate in clusters), None) if len(clusters) > 1 else None


def framed(frame: object) -> Side:
    """A frame of quotas or of configs as a side.

    Raises
    ------
    UsageError
        It is neither.
    """
    from ..history.drift_frames import table_of

    return Side("a frame", table_of(frame))
