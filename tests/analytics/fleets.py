"""Small fleets with names that hurt, from a seed: quotas at all eight levels, and pairs that meet them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa

from kadmin_nb.frames import schemas
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from kadmin_nb.resolution.rules import entity_at
from tests.hostile_names import HOSTILE

USERS = ("alice", "bob", "Alice", *HOSTILE)
CLIENTS = ("app", "app ", "APP", *HOSTILE)


def quotas_of_a_fleet(seed: int, entities: int = 400) -> pa.Table:
    """QUOTAS: all eight levels, half of the keys set on each entity."""
    rng = random.Random(seed)
    found = {}
    for _ in range(entities):
        level = rng.choice(LEVELS)
        entity = entity_at(level, rng.choice(USERS), rng.choice(CLIENTS))
        for key in rng.sample(USER_CLIENT_KEYS, 2):
            found[entity, key] = float(rng.randrange(1, 10**9))
    return schemas.table(schemas.QUOTAS, (_row(entity, key, value) for (entity, key), value in found.items()))


def _row(entity, key: str, value: float) -> dict[str, object]:
    names = {column: entity.get(kind) for column, kind in (("user", "user"), ("client_id", "client-id"))}
    names = {column: None if part is DEFAULT else part for column, part in names.items()}
    return {"entity": str(entity), "level": entity.level, **names, "key": key, "value": value}


def pairs_of_a_fleet(seed: int, count: int = 2_000, *, empty_users: bool = True) -> pa.Table:
    """PAIRS: names with quotas and without, duplicates, no client-id and, unless told, empty users."""
    rng = random.Random(seed)
    users = [*USERS, "nobody", *([""] if empty_users else [])]
    clients = [*CLIENTS, "nothing", "", None]
    return pa.table(
        {
            "note": pa.array(range(count)),
            "client_id": pa.array(rng.choices(clients, k=count), pa.string()),
            "user": pa.array(rng.choices(users, k=count), pa.string()),
        }
    )


def in_clusters(tables: list[pa.Table]) -> pa.Table:
    """Tables of several clusters as one, with their `cluster_id`."""
    return pa.concat_tables(
        table.append_column("cluster_id", pa.array([f"cluster-{n}"] * table.num_rows, pa.string()))
        for n, table in enumerate(tables)
    )


def rows(table: pa.Table) -> list[str]:
    """The rows in one order, whatever order they came in."""
    return sorted(map(repr, _plain(table)))


def _plain(table: pa.Table) -> Iterator[dict[str, object]]:
    return ({name: row[name] for name in sorted(row)} for row in table.to_pylist())
