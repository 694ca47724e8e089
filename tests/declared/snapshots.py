"""Snapshots of what tests say that a cluster holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.resources import Resource
from kadmin_nb.state.snapshots import Snapshot, snapshot

NAMES = {"user": "user", "client_id": "client-id", "ip": "ip"}


def held(
    quotas: Mapping[str | Entity, Mapping[str, float]] | None = None,
    configs: Mapping[str | Resource, Mapping[str, str | None]] | None = None,
    *,
    more: tuple[dict[str, Any], ...] = (),
    cluster_id: str = "prod",
    **options: Any,
) -> Snapshot:
    """Quotas by entity and configs by resource; a config of None is a secret, `more` are further rows of CONFIGS."""
    whose = {Entity.parse(who) if isinstance(who, str) else who: keys for who, keys in (quotas or {}).items()}
    what = {Resource.parse(one) if isinstance(one, str) else one: keys for one, keys in (configs or {}).items()}
    rows = [_quota(entity, key, value) for entity, keys in whose.items() for key, value in keys.items()]
    rows.sort(key=lambda row: (row["entity"], row["key"]))
    set_there = [_config(resource, key, value) for resource, keys in what.items() for key, value in keys.items()]
    set_there.sort(key=lambda row: (row["resource_type"], row["resource_name"], row["key"]))
    return snapshot(
        {
            "quotas": schemas.table(schemas.QUOTAS, rows),
            "configs": schemas.table(schemas.CONFIGS, [*set_there, *more]),
        },
        cluster_id=cluster_id,
        taken_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
        **options,
    )


def _quota(entity: Entity, key: str, value: float) -> dict[str, Any]:
    names = {column: None if (name := entity.get(kind)) is DEFAULT else name for column, kind in NAMES.items()}
    return {"entity": str(entity), "level": entity.level, **names, "key": key, "value": value}


def _config(resource: Resource, key: str, value: str | None) -> dict[str, Any]:
    return {
        "resource_type": resource.type,
        "resource_name": resource.name,
        "key": key,
        "value": value,
        "source": resource.source,
        "is_sensitive": value is None,
        "is_read_only": False,
        "is_default": False,
    }
