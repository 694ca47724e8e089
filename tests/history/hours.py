"""Snapshots of a cluster that is not there, hour by hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.state.snapshots import Snapshot, snapshot

MIDNIGHT = datetime(2026, 11, 1, tzinfo=UTC)
KEY = "producer_byte_rate"


def at(hour: float) -> datetime:
    return MIDNIGHT + timedelta(hours=hour)


def quotas_of(limits: Mapping[str, float]) -> pa.Table:
    """QUOTAS of users."""
    rows = [
        {"entity": str(Entity.of({"user": user})), "level": "USER", "user": user, "key": KEY, "value": float(value)}
        for user, value in limits.items()
    ]
    return schemas.table(schemas.QUOTAS, sorted(rows, key=lambda row: row["entity"]))


def topic(name: str, key: str, value: str | None, default: str = "604800000", **more: Any) -> dict[str, object]:
    """A row of CONFIGS: a topic that overrides a default."""
    source = "DYNAMIC_TOPIC_CONFIG"
    synonyms = [(source, key, value), ("DEFAULT_CONFIG", f"log.{key}", default)]
    return {
        "resource_type": "TOPIC",
        "resource_name": name,
        "key": key,
        "value": value,
        "source": source,
        "is_sensitive": False,
        "is_read_only": False,
        "is_default": False,
        "type": "LONG",
        "synonyms": [dict(zip(("source", "key", "value"), synonym, strict=True)) for synonym in synonyms],
        **more,
    }


def failed(name: str) -> dict[str, object]:
    """A row of CONFIGS: a topic that we may not see."""
    told = {"error": "TOPIC_AUTHORIZATION_FAILED", "message": "Topic authorization failed."}
    return {"resource_type": "TOPIC", "resource_name": name, **told}


def configs_of(*rows: dict[str, object]) -> pa.Table:
    return schemas.table(schemas.CONFIGS, rows)


def taken(
    hour: float,
    limits: Mapping[str, float],
    configs: Iterable[dict[str, object]] = (),
    cluster_id: str = "here",
    scopes: Iterable[str] | None = None,
) -> Snapshot:
    """A snapshot at that hour."""
    return snapshot(
        {"quotas": quotas_of(limits), "configs": configs_of(*configs)},
        cluster_id=cluster_id,
        taken_at=at(hour),
        scopes=scopes and list(scopes),
    )


def limits_of(snapshot: Snapshot) -> dict[str, float]:
    """The quotas of users in it."""
    rows = snapshot.quotas.to_arrow().to_pylist()
    return {row["user"]: row["value"] for row in rows}
