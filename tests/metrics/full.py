"""Facts in which everything is there, so that every metric has a series."""

from __future__ import annotations

import pyarrow as pa

from kadmin_nb.cluster.exposition import BUCKET, Facts, Part
from kadmin_nb.frames import schemas

KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")


def quotas_of(*rows: tuple[str, str | None, str | None, str, float]) -> pa.Table:
    """QUOTAS of level, user, client-id, key and value."""
    names = ("level", "user", "client_id", "key", "value")
    whole = ({**dict(zip(names, row, strict=True)), "entity": f"user=={row[1]} client-id=={row[2]}"} for row in rows)
    return schemas.table(schemas.QUOTAS, whole)


def used_of(*rows: tuple[str, str, str, float, float]) -> pa.Table:
    """What is used of the limits of users: user, broker, key, limit and ratio."""
    return pa.table(
        {
            **{name: [""] * len(rows) for name in BUCKET},
            "key": [row[2] for row in rows],
            "level": ["USER"] * len(rows),
            "user": [row[0] for row in rows],
            "broker": pa.array([int(row[1]) for row in rows], pa.int32()),
            "limit": [row[3] for row in rows],
            "ratio": [row[4] for row in rows],
            "measured": [row[4] for row in rows],
            "used": [row[3] * row[4] for row in rows],
            "throttle": [0.5] * len(rows),
            "throttled": [0.1] * len(rows),
        }
    )


def full_facts(users: int = 3, brokers: int = 2) -> Facts:
    """So many users, each with a limit of each key and use of it on so many brokers; as many addresses."""
    names = [f"user-{number}" for number in range(users)]
    addresses = [{"entity": f"ip={n}", "level": "IP", "ip": f"10.0.{n // 256}.{n % 256}",
                  "key": "connection_creation_rate", "value": n + 1.0} for n in range(users)]  # fmt: skip
    stored = quotas_of(*(("USER", name, None, key, 100.0 + at) for at, name in enumerate(names) for key in KEYS))
    used = [(name, str(broker), key, 100.0 + at, at / users)
            for at, name in enumerate(names) for broker in range(brokers) for key in KEYS[:3]]  # fmt: skip
    return Facts(
        cluster={"cluster_id": "c", "version": "4.3", "brokers": str(brokers)},
        quotas=pa.concat_tables([stored, schemas.table(schemas.QUOTAS, addresses)], promote_options="default"),
        used=used_of(*used),
        used_until=1.0,
        findings={},
        differing=0,
        drift={("quotas", "changed"): 1},
        plans={"unfinished": 1},
        unfinished_since=1.0,
        lease={"holder": "a", "host": "b", "plan": "c", "taken": 1.0},
        parts={"limits": Part(True, 0.1, 1.0, 0)},
    )
