"""Quota hierarchies for the tests: as the rules read them, and the same as a QUOTAS frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.resolution.rules import Effective, Stored, entity_at, explain

KEY = "producer_byte_rate"
HOSTILE = (
    "<default>", "<any>", " ", "a b", "a=b", "user=alice", "'", '"', ";", "\\", "DOMAIN\\alice", "*", "%3Cdefault%3E",
    "+", "~", "CN=Zoë, O=日本", "<script>alert(1)</script>", "\u202eevil",
    "null", "None", "nan", "0", "\x00", "🦊", "a" * 300,
)  # fmt: skip
"""Names that somebody will use one day."""


def subset(number: int, user: str = "alice", client_id: str = "app") -> dict[tuple[Entity, str], float]:
    """The hierarchy of this number: bit i says whether level i has a quota (of value i + 1)."""
    present = [level for level in LEVELS if number >> level.number & 1]
    return {(entity_at(level, user, client_id), KEY): level.number + 1.0 for level in present}


def name_of(entity: Entity, kind: str) -> str | None:
    part = entity.get(kind)
    return None if part is None or part is DEFAULT else str(part)


def row_of(entity: Entity, key: str, value: float) -> dict[str, object]:
    names = {column: name_of(entity, kind) for column, kind in COLUMNS.items()}
    return {"entity": str(entity), "level": entity.level, **names, "key": key, "value": value}


COLUMNS = {"user": "user", "client_id": "client-id", "ip": "ip"}


def quotas_of(stored: Stored) -> pa.Table:
    """The hierarchy as QUOTAS."""
    return schemas.table(schemas.QUOTAS, [row_of(e, key, value) for (e, key), value in stored.items()])


def pairs_of(clients: Iterable[tuple[str, str | None]]) -> pa.Table:
    clients = list(clients)
    return pa.table(
        {
            "user": pa.array([u for u, _ in clients], pa.string()),
            "client_id": pa.array([c for _, c in clients], pa.string()),
        }
    )


def explained(
    stored: Stored, clients: Iterable[tuple[str, str | None]], keys: Iterable[str]
) -> list[dict[str, object]]:
    """What the scalar rule says, as rows of the long form with overridden quotas."""
    clients = list(clients)
    return [_row(explain(stored, user, client or "", [key])[0]) for key in keys for user, client in clients]


def _row(one: Effective) -> dict[str, object]:
    user, client_id = one.bucket or (None, None)
    return {
        "user": one.user,
        "client_id": one.client_id,
        "key": one.key,
        "value": one.value,
        "level": one.level,
        "bucket_user": user,
        "bucket_client_id": client_id,
        "overridden": [{"level": o.level, "value": o.value} for o in one.overridden],
    }


def unpacked(wide: pa.Table, keys: Iterable[str]) -> Iterator[Mapping[str, object]]:
    """The wide form as rows of the long one."""
    rows = wide.to_pylist()
    return ({"user": r["user"], "client_id": r["client_id"], "key": key, **r[key]} for key in keys for r in rows)


def without_overridden(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name != "overridden"} for row in rows]
