"""The sides of a comparison, read wherever they are: clusters, files, moments of a history, snapshots and frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from ..errors import KadminError, UsageError
from ..hints import short_id
from ..model.figures import utc
from ..model.grammar import quote
from ..model.resources import Resource
from .declaration import Declared
from .history import open_history
from .reader import load
from .snapshot_kinds import CONFIGS, SCOPES, kind_of_scope
from .snapshots import Snapshot, snapshot_of_texts
from .taking import configs_of, snapshot_of

if TYPE_CHECKING:
    from ..plans.plan import Plan

HISTORY = "history:"
DECLARED = (".yaml", ".yml", ".json")
NOW = "now"

Connect = Callable[[str], AbstractContextManager[Any]]
"""How a word becomes a cluster."""


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: a snapshot, and how it is called.

    `port` is that of a cluster as it is now. `is_declared` that it is a file that somebody may have written: it says
    nothing of what stands in server.properties. `only` are the kinds, resources and keys of which alone it says
    anything, as a plan of its rows.
    """

    says: str
    content: Snapshot
    port: Any = None
    is_declared: bool = False
    only: frozenset[tuple[str, str, str]] | None = None

    @property
    def is_live(self) -> bool:
        """True of a cluster as it is now."""
        return self.port is not None

    @property
    def cluster_id(self) -> str | None:
        """The cluster that it is of, None where nothing says so."""
        return self.content.cluster_id or None

    def __str__(self) -> str:
        whose = f"cluster {self.cluster_id}" if self.cluster_id else "no cluster named"
        when = "" if self.is_declared else f" at {utc(self.content.taken_at)}"
        return f"{self.says} ({whose}{when}{self.content.shortfall})"


@dataclass(frozen=True, slots=True)
class Named:
    """What a word names: a cluster, as `connect` finds it, a declarative file, or a moment of a history."""

    what: Literal["cluster", "declared", "history"]
    where: str
    time: str = NOW


def named(text: str) -> Named:
    """What a word names: `history:WHERE@TIME`, a file by the end of its name, else a cluster.

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
        return Named("history", where, time)
    if not text:
        raise UsageError("an empty name cannot be compared", hint="A profile, host:port, or a file.")
    return Named("declared" if Path(text).suffix in DECLARED else "cluster", text)


def read_sides(a: object, b: object, connect: Connect, cluster_id: str | None) -> list[Side]:
    """Both sides. Files are read first: a wrong name is said at once. Histories last: whose moment it is, the other
    side may tell."""
    sources: list[Any] = [named(os.fspath(one)) if isinstance(one, str | os.PathLike) else one for one in (a, b)]
    if a is b or (isinstance(sources[0], Named) and sources[0] == sources[1]):
        raise UsageError("both sides are the same", hint="Name two: clusters, files, or moments of a history.")
    with ExitStack() as connections:
        sides: dict[int, Side] = {}
        for place in sorted((0, 1), key=lambda place: _when(sources[place])):
            source, other = sources[place], sides.get(1 - place)
            if not _is_cluster(source):
                sides[place] = kept(source, cluster_id, other)
            elif isinstance(source, Named):
                sides[place] = _live(connections.enter_context(connect(source.where)), source.where, other)
            else:
                sides[place] = _live(source, source.settings.bootstrap, other)
        both = [_with_synonyms(sides[place], sides[1 - place]) for place in (0, 1)]
        if all(side.is_live for side in both) and sides[0].cluster_id == sides[1].cluster_id:
            says = f"{sides[0].says} and {sides[1].says}, are the cluster {sides[0].cluster_id} as it is now"
            raise UsageError(f"both sides, {says}", hint="history:WHERE@TIME names an earlier state.")
    return both


def _is_cluster(source: Any) -> bool:
    return source.what == "cluster" if isinstance(source, Named) else hasattr(source, "port")


def _when(source: Any) -> int:
    return 1 if _is_cluster(source) else 2 if isinstance(source, Named) and source.what == "history" else 0


def _live(cluster: Any, says: str, other: Side | None) -> Side:
    """A cluster as it is now; beside a declarative file, or a plan, of its kinds."""
    scopes = {*(other.content.scopes if other is not None and other.is_declared else SCOPES)}
    if not scopes.isdisjoint(CONFIGS.scopes):
        scopes.add("BROKER")  # brokers have the defaults
    try:
        return Side(says, snapshot_of(cluster.port, scopes), cluster.port)
    except KadminError as exc:
        raise exc.within(says) from None


def kept(source: Any, cluster_id: str | None, other: Side | None = None) -> Side:
    """A file, a moment of a history, a snapshot or a plan.

    Raises
    ------
    UsageError
        It is something else.
    """
    match source:
        case Named("declared", path):
            return kept(load(path), cluster_id, other)
        case Named("history", where, time):
            return _past(where, time, cluster_id, other)
        case Declared(where=where):
            return Side(where, source.snapshot(), is_declared=True)
        case Snapshot():
            return Side("a snapshot", source)
    if hasattr(source, "changes"):
        return _left_by(source)
    raise UsageError(
        f"a {type(source).__name__} is neither a cluster, a snapshot nor a plan", hint="Pass cluster.snapshot()."
    )


def _left_by(plan: Plan) -> Side:
    """What a plan leaves, of its own rows alone."""
    left = [(change, kind) for change in plan.changes if (kind := kind_of_scope(change.resource.scope))]
    texts = [(c.resource, c.key, text) for c, kind in left if (text := kind.text_after(c)) is not None]
    scopes = {change.resource.scope for change, _ in left}
    content = snapshot_of_texts(texts, cluster_id=plan.cluster_id, taken_at=datetime.now(UTC), scopes=scopes)
    only = frozenset((change.resource.kind, str(change.resource), change.key) for change, _ in left)
    return Side(f"plan {short_id(plan.id)}", content, is_declared=True, only=only)


def _past(where: str, time: str, cluster_id: str | None, other: Side | None) -> Side:
    """The snapshot at that time: of that cluster, or where the history has several and none is named, of the other
    side's."""
    recorded = open_history(where)
    if cluster_id is None and other and len(recorded.clusters) > 1 and other.cluster_id in recorded.clusters:
        cluster_id = other.cluster_id
    return Side(f"{HISTORY}{where}", recorded.as_of(time, cluster_id))


def _with_synonyms(file: Side, live: Side) -> Side:
    """A declarative file's configs with the synonyms of a cluster beside it: a file cannot say what applies without a
    value."""
    if not file.is_declared or live.port is None:
        return file
    configs, live_configs = file.content.configs.to_arrow(), live.content.configs.to_arrow()
    missing = set(_common_places(configs)) - set(_common_places(live_configs))
    chains = _chains(live.port, [place for place in missing if place[0] in _ANYWHERE])
    synonyms = pa.array([chains.get(place) for place in _common_places(configs)], configs.schema.field("synonyms").type)
    with_them = configs.set_column(configs.schema.get_field_index("synonyms"), "synonyms", synonyms)
    return replace(file, content=file.content.with_frame(CONFIGS, with_them))


_Place = tuple[str, str, str | None]
_ANYWHERE = ("TOPIC", "GROUP", "CLIENT_METRICS")
"""The resources that any broker answers for."""


def _common_places(configs: pa.Table) -> list[_Place]:
    columns = (configs[name].to_pylist() for name in ("resource_type", "resource_name", "key"))
    return list(zip(*columns, strict=True))


def _chains(port: Any, places: Sequence[_Place]) -> dict[_Place, Any]:
    """The synonyms of these keys on a cluster; none of resources that do not exist, or may not be seen."""
    resources = sorted({(kind, name) for kind, name, _ in places})
    keys = sorted({key for _, _, key in places if key is not None})
    table = configs_of(port, starmap(Resource, resources), keys=keys)
    return dict(zip(_common_places(table), table["synonyms"].to_pylist(), strict=True))
