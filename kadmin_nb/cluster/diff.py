"""`kn.diff(a, b)`: the sides of a comparison, read wherever they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..comparing import Diff, Side, compare
from ..comparing.differences import table_of
from ..declared import Declared, load
from ..declared.declaration import read_by
from ..errors import KadminError, UsageError
from ..frames.snapshot_kinds import CONFIGS
from ..frames.snapshots import Snapshot
from ..history import open_history
from ..model.grammar import quote
from ..model.resources import WORDS, Resource
from . import Cluster, connect
from .snapshots import configs_of

HISTORY = "history:"
SAVED = (".parquet",)
DECLARED = (".yaml", ".yml", ".json")
NOW = "now"


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
        where, at, time = text.removeprefix(HISTORY).rpartition("@")
        if not at:
            where, time = time, NOW
        if not where or not time.strip():
            raise UsageError(f"{quote(text)} is not a time of a history", hint="Write history:lake/kafka@'2h ago'.")
        return HistorySide(where, time)
    if not text:
        raise UsageError("an empty name cannot be compared", hint="A profile, host:port, or a file.")
    suffix = Path(text).suffix
    return SnapshotSide(text) if suffix in SAVED else DeclaredSide(text) if suffix in DECLARED else LiveSide(text)


def diff(
    a: object,
    b: object,
    *,
    everything: bool = False,
    cluster_id: str | None = None,
) -> Diff:
    """DIFF: the differences from `a` to `b`, a row for each resource and key; rows can be staged on either side.

    Each side is a Cluster or what `connect` takes as target, both as they are now; a snapshot, or the `.parquet` file
    that one was saved to; a declarative file (`.yaml`, `.yml`, `.json`), or what was read from one;
    `history:WHERE@TIME`, what a history has of a moment (`history:lake/kafka@2h ago`; without a time its newest); or a
    frame of quotas or of configs. What one side could not read is `unknown`, what it says nothing of is not compared.
    Brokers of two clusters are compared by their role.

    Parameters
    ----------
    everything
        Also show rows that differ only by a default, or by nature, as ids of brokers do; they are always counted.
    cluster_id
        The cluster, if a history has several; default: that of the other side.

    Raises
    ------
    UsageError
        The same side twice; quotas with configs; something that is not a side.
    NotFound, Invalid, ConnectionFailed, NotAuthorized
        A side does not exist, or cannot be read.
    """
    sources = [_source(one) for one in (a, b)]
    _refuse_the_same(sources)
    with ExitStack() as connections:
        sides: dict[int, Side] = {}
        clusters: dict[int, Cluster] = {}
        for place in sorted((0, 1), key=lambda place: _when(sources[place])):
            if isinstance(one := sources[place], LiveSide | Cluster):
                clusters[place] = _reached(one, connections)
                sides[place] = _live(one, clusters[place], sides.get(1 - place))
            else:
                sides[place] = _kept(one, cluster_id, [side.cluster_id for side in sides.values()])
        _refuse_one_cluster(sides[0], sides[1])
        for place, cluster in clusters.items():
            sides[1 - place] = _with_synonyms(sides[1 - place], cluster, sides[place])
    return compare(sides[0], sides[1], everything=everything)


def _source(side: object) -> object:
    return source_of(os.fspath(side)) if isinstance(side, str | os.PathLike) else side


def _when(source: object) -> int:
    """Files first: a wrong name is said at once. Histories last: whose moment it is, the other side may tell."""
    return 2 if isinstance(source, HistorySide) else 1 if isinstance(source, LiveSide | Cluster) else 0


def _refuse_the_same(sources: Sequence[object]) -> None:
    a, b = sources
    if a is b or (isinstance(a, Source) and a == b):
        raise UsageError("both sides are the same", hint="Name two: clusters, files, or moments of a history.")


def _refuse_one_cluster(a: Side, b: Side) -> None:
    if a.is_live and b.is_live and a.cluster_id == b.cluster_id:
        raise UsageError(
            f"both sides, {a.says} and {b.says}, are the cluster {a.cluster_id} as it is now",
            hint="history:WHERE@TIME names an earlier state.",
        )


def _reached(source: LiveSide | Cluster, connections: ExitStack) -> Cluster:
    if isinstance(source, Cluster):
        return source
    try:
        return connections.enter_context(connect(source.target))
    except UsageError as exc:
        if os.path.isfile(source.target) and not source.target.endswith(".properties"):
            exc.hint = f"A declarative file ends in {', '.join(DECLARED)}, a snapshot in {', '.join(SAVED)}."
        raise


def _live(source: LiveSide | Cluster, cluster: Cluster, other: Side | None) -> Side:
    """A cluster as it is now, beside a declarative file of its kinds; one that was passed can be staged on."""
    handed_in = isinstance(source, Cluster)
    says = cluster.settings.bootstrap if isinstance(source, Cluster) else source.target
    kinds = _kinds_of(other) if other is not None and other.is_declared else None
    try:
        snapshot, topics = cluster.snapshot(kinds), frozenset(cluster.port.topics())
    except KadminError as exc:
        raise exc.within(says) from None
    return Side(says, snapshot, is_live=True, topics=topics, cluster=cluster if handed_in else None)


def _kinds_of(file: Side) -> list[str]:
    """The kinds to read of a cluster beside a declarative file: with configs the brokers', which have the defaults."""
    kinds = read_by(file.content.scopes)
    return [*kinds, *["broker"] * (not {*kinds}.isdisjoint(WORDS))]


def _kept(source: Any, cluster_id: str | None, others: Sequence[str | None]) -> Side:
    """A file, a moment of a history, a snapshot or a frame."""
    match source:
        case SnapshotSide():
            return Side(source.path, Snapshot.load(source.path))
        case DeclaredSide():
            return _declared(load(source.path))
        case Declared():
            return _declared(source)
        case HistorySide():
            return _past(source, cluster_id, others)
        case Snapshot():
            return Side("a snapshot", source)
    return Side("a frame", table_of(source))


def _declared(declaration: Declared) -> Side:
    return Side(declaration.where, declaration.snapshot(), is_declared=True)


def _past(source: HistorySide, cluster_id: str | None, others: Sequence[str | None]) -> Side:
    """The snapshot at that time: of that cluster, or where the history has several and none is named, of the other
    side's."""
    recorded = open_history(source.where)
    if cluster_id is None and len(clusters := recorded.clusters) > 1:
        cluster_id = next((candidate for candidate in others if candidate in clusters), None)
    return Side(f"{HISTORY}{source.where}", recorded.as_of(source.time, cluster_id))


def _with_synonyms(file: Side, cluster: Cluster, live: Side) -> Side:
    """A declarative file's configs with the cluster's synonyms: a file cannot say what applies without a value."""
    if not file.is_declared:
        return file
    configs, live_configs = file.content.configs.to_arrow(), live.content.configs.to_arrow()
    missing = set(_common_places(configs)) - set(_common_places(live_configs))
    chains = _chains(cluster, [place for place in missing if place[0] in _ANYWHERE])
    synonyms = pa.array([chains.get(place) for place in _common_places(configs)], configs.schema.field("synonyms").type)
    with_them = configs.set_column(configs.schema.get_field_index("synonyms"), "synonyms", synonyms)
    return replace(file, content=file.content.with_frame(CONFIGS, with_them))


_Place = tuple[str, str, str | None]
_ANYWHERE = ("TOPIC", "GROUP", "CLIENT_METRICS")
"""The resources that any broker answers for."""


def _common_places(configs: pa.Table) -> list[_Place]:
    columns = (configs[name].to_pylist() for name in ("resource_type", "resource_name", "key"))
    return list(zip(*columns, strict=True))


def _chains(cluster: Cluster, places: Sequence[_Place]) -> dict[_Place, Any]:
    """The synonyms of these keys there; none of what is not there, or may not be seen."""
    resources = sorted({(kind, name) for kind, name, _ in places})
    keys = sorted({key for _, _, key in places if key is not None})
    table = configs_of(cluster.port, starmap(Resource, resources), keys=keys)
    return dict(zip(_common_places(table), table["synonyms"].to_pylist(), strict=True))
