"""The current values of a snapshot: each target with the text that was sent for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import schemas
from ..frames.snapshots import Snapshot
from ..model.changes import Target
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.quota_keys import text_of
from ..model.resources import Resource
from ..model.rows import Row
from ..model.snapshot_kinds import parsed
from ..secrets import SHOWN

TargetWords = tuple[str, str]
"""The words of an entity or a resource, and a key."""


@dataclass(frozen=True)
class CurrentValues:
    """The texts that are set, by the kind of what they are set on; one that is None is a secret."""

    by_kind: Mapping[str, Mapping[TargetWords, str | None]]

    def has(self, target: Target, value: str) -> bool:
        """True where just this is set."""
        return self._like(target).get(words_of(target)) == value

    def is_set(self, target: Target) -> bool:
        """True where anything is set."""
        return words_of(target) in self._like(target)

    def is_secret(self, target: Target) -> bool:
        """True where something is set that nobody is told."""
        return self.is_set(target) and self._like(target)[words_of(target)] is None

    def targets(self, but: Collection[TargetWords]) -> Iterator[Target]:
        """The targets that are set, but for these."""
        for kind, texts in self.by_kind.items():
            yield from ((parsed(kind, words), key) for words, key in texts if (words, key) not in but)

    def _like(self, target: Target) -> Mapping[TargetWords, str | None]:
        """The texts of the target's kind."""
        return self.by_kind[target[0].kind]


def words_of(target: Target) -> TargetWords:
    """The words of a target, by which it is found and sorted."""
    return str(target[0]), target[1]


def held_by(snapshot: Snapshot) -> CurrentValues:
    """The dynamic values of the cluster: no defaults, and nothing from a broker's file."""
    quotas = snapshot.quotas.to_arrow()
    columns = (quotas[name].to_pylist() for name in ("entity", "key", "value"))
    configs = _readable(snapshot.configs.to_arrow()).select(_CONFIG_COLUMNS).to_pylist()
    return CurrentValues(
        {
            Entity.kind: {(entity, key): text_of(value) for entity, key, value in zip(*columns, strict=True)},
            Resource.kind: {(str(c.resource), c.key): c.own for c in map(ConfigValue.of, configs) if c.is_own},
        }
    )


@dataclass(frozen=True, slots=True)
class UnreadResource:
    """A resource that could not be read, and why."""

    resource: Resource
    error: str


def refuse_other_than_snapshot(source: object) -> None:
    """Raise UsageError for what is not a snapshot; a cluster has one."""
    if not isinstance(source, Snapshot):
        raise UsageError(f"a {type(source).__name__} is not a snapshot", hint="Pass cluster.snapshot().")


def unread(snapshot: Snapshot) -> list[UnreadResource]:
    """The resources of a snapshot that could not be read."""
    rows = snapshot.failed.to_arrow().select(["resource_type", "resource_name", "error"]).to_pylist()
    return [UnreadResource(Resource(row["resource_type"], row["resource_name"]), row["error"]) for row in rows]


def told(failed: Sequence[UnreadResource]) -> str:
    """The first of them, and how many more."""
    more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
    return f"{failed[0].resource} cannot be read: {failed[0].error}{more}"


_CONFIG_COLUMNS = ("resource_type", "resource_name", "key", "value", "source", "is_sensitive", "synonyms")


def _readable(configs: pa.Table) -> pa.Table:
    return configs.filter(pc.is_valid(configs["key"]))


def tables_of(entries: Iterable[tuple[Configurable, str, str]]) -> tuple[pa.Table, pa.Table]:
    """QUOTAS and CONFIGS of targets and their texts, each sorted as a cluster's."""
    rows: dict[str, list[Row]] = {kind: [] for kind in _ROW_OF}
    for resource, key, value in entries:
        rows[resource.kind].append(_ROW_OF[resource.kind](resource, key, value))
    quotas = sorted(rows[Entity.kind], key=itemgetter("entity", "key"))
    configs = sorted(rows[Resource.kind], key=itemgetter("resource_type", "resource_name", "key"))
    return schemas.table(schemas.QUOTAS, quotas), schemas.table(schemas.CONFIGS, configs)


def _quota_row(entity: Entity, key: str, value: str) -> Row:
    return {**entity.columns(), "key": key, "value": float(value)}


def _config_row(resource: Resource, key: str, value: str) -> Row:
    is_secret = value == SHOWN
    return {
        "resource_type": resource.type,
        "resource_name": resource.name,
        "key": key,
        "value": None if is_secret else value,
        "source": resource.source,
        "is_sensitive": is_secret,
        "is_read_only": False,
        "is_default": False,
    }


_ROW_OF: dict[str, Callable[[Any, str, str], Row]] = {Entity.kind: _quota_row, Resource.kind: _config_row}
"""A row of the frame of each kind."""
