"""Snapshots to judge."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.resources import Resource
from kadmin_nb.state.snapshots import Snapshot, snapshot

MB = 1e6
CLUSTER = "fleet-1"


def quotas(*rows: tuple[str, str, float]) -> pa.Table:
    """QUOTAS of (entity, key, value)."""
    return schemas.table(schemas.QUOTAS, sorted((_quota(*row) for row in rows), key=lambda r: (r["entity"], r["key"])))


def _quota(words: str, key: str, value: float) -> dict[str, object]:
    entity = Entity.parse(words)
    names = {kind: None if (part := entity.get(kind)) is DEFAULT else part for kind in ("user", "client-id", "ip")}
    said = {"user": names["user"], "client_id": names["client-id"], "ip": names["ip"]}
    return {"entity": words, "level": entity.level, "key": key, "value": value, **said}


def configs(*rows: tuple[str, str, str]) -> pa.Table:
    """CONFIGS of (resource, key, value), each set there."""
    return schemas.table(schemas.CONFIGS, (_config(*row) for row in rows))


def _config(words: str, key: str, value: str) -> dict[str, object]:
    one = Resource.parse(words)
    return {"resource_type": one.type, "resource_name": one.name, "key": key, "value": value, "source": one.source}


def held(of_quotas: pa.Table | None = None, of_configs: pa.Table | None = None, cluster_id: str = CLUSTER) -> Snapshot:
    """A snapshot of these."""
    parts = {
        "quotas": of_quotas if of_quotas is not None else quotas(),
        "configs": of_configs if of_configs is not None else configs(),
    }
    return snapshot(parts, cluster_id=cluster_id, taken_at=datetime(2026, 11, 21, tzinfo=UTC))


def pairs(*rows: tuple[str, str | None]) -> pa.Table:
    """PAIRS."""
    return schemas.table(schemas.PAIRS, ({"user": user, "client_id": client} for user, client in rows))


def breaches(answer: kn.Answer) -> list[tuple[str | None, str | None, str | None]]:
    """What is broken: resource, key, value."""
    rows = answer.to_arrow().to_pylist()
    return [(row["resource"], row["key"], row["value"]) for row in rows if row["state"] == "broken"]


def states(answer: kn.Answer) -> list[str]:
    """The states of all rows."""
    return answer.to_arrow()["state"].to_pylist()
