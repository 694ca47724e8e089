"""The current values of a snapshot: each target with the text that was sent for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import schemas
from ..frames.snapshots import Snapshot
from ..model.changes import Target
from ..model.config_values import ConfigValue
from ..model.entity import Entity
from ..model.quota_keys import text_of
from ..model.resources import Resource
from ..secrets import SHOWN

_Named = tuple[str, str]
"""The words of an entity or a resource, and a key."""


@dataclass(frozen=True)
class CurrentValues:
    """Quotas and configs that are set; a config without a value is a secret."""

    quotas: Mapping[_Named, str]
    configs: Mapping[tuple[Resource, str], str | None]

    def has(self, target: Target, value: str) -> bool:
        """Whether just this is set."""
        return self._all(target).get(_sort_key(target)) == value

    def is_set(self, target: Target) -> bool:
        """Whether anything is set."""
        return _sort_key(target) in self._all(target)

    def is_secret(self, target: Target) -> bool:
        """Whether something is set that nobody is told."""
        return self.is_set(target) and self._all(target)[_sort_key(target)] is None

    def targets(self, but: Collection[_Named]) -> Iterator[Target]:
        """The current values, but for these."""
        yield from ((Entity.parse(words), key) for words, key in self.quotas if (words, key) not in but)
        yield from (target for target in self.configs if (str(target[0]), target[1]) not in but)

    def _all(self, target: Target) -> Mapping[Any, str | None]:
        return self.quotas if isinstance(target[0], Entity) else self.configs


def held_by(snapshot: Snapshot) -> CurrentValues:
    """The dynamic values of the cluster: no defaults, and nothing from a broker's file."""
    quotas = snapshot.quotas.to_arrow()
    columns = (quotas[name].to_pylist() for name in ("entity", "key", "value"))
    configs = _readable(snapshot.configs.to_arrow()).select(_CONFIG_COLUMNS).to_pylist()
    return CurrentValues(
        {(entity, key): text_of(value) for entity, key, value in zip(*columns, strict=True)},
        {(config.resource, config.key): config.own for config in map(ConfigValue.of, configs) if config.is_own},
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


def _sort_key(target: Target) -> tuple[Any, str]:
    resource, key = target
    return (str(resource), key) if isinstance(resource, Entity) else (resource, key)


def tables_of(entries: Iterable[tuple[Entity | Resource, str, str]]) -> tuple[pa.Table, pa.Table]:
    """QUOTAS and CONFIGS of targets and their texts, each sorted as a cluster's."""
    quotas: list[dict[str, Any]] = []
    configs: list[dict[str, Any]] = []
    for resource, key, value in entries:
        if isinstance(resource, Entity):
            quotas.append({**resource.columns(), "key": key, "value": float(value)})
        else:
            configs.append(_config_row(resource, key, value))
    quotas.sort(key=lambda row: (row["entity"], row["key"]))
    configs.sort(key=lambda row: (row["resource_type"], row["resource_name"], row["key"]))
    return schemas.table(schemas.QUOTAS, quotas), schemas.table(schemas.CONFIGS, configs)


def _config_row(resource: Resource, key: str, value: str) -> dict[str, Any]:
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
