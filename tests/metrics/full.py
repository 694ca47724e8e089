"""Metrics of everything, so that each has a series."""

from __future__ import annotations

import pyarrow as pa
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from kadmin_nb.cluster.exporter import BUCKET, families, of_limits, of_use
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
            "utilisation": [row[4] * 100 for row in rows],
            "peak": [row[3] * row[4] for row in rows],
            "throttle_ms": [500.0] * len(rows),
            "share_throttled": [0.1] * len(rows),
        }
    )


class Fixed(Collector):
    """Metrics that were made."""

    def __init__(self, made: list[Metric]) -> None:
        self.made = made

    def collect(self) -> list[Metric]:
        return self.made


def metrics_of(quotas: pa.Table, used: pa.Table | None = None, most: int = 50, **others: list) -> Fixed:
    """The metrics of these limits, and what else was found."""
    of_used = {} if used is None else of_use(used, most)
    return Fixed(families({"up": [([], 1)], **of_limits(quotas, used, most), **of_used, **others}))


def full_metrics(users: int = 3, brokers: int = 2, most: int = 50) -> Fixed:
    """So many users, each with a limit of each key and use of it on so many brokers; as many addresses."""
    names = [f"user-{number}" for number in range(users)]
    addresses = [{"entity": f"ip={n}", "level": "IP", "ip": f"10.0.{n // 256}.{n % 256}",
                  "key": "connection_creation_rate", "value": n + 1.0} for n in range(users)]  # fmt: skip
    stored = quotas_of(*(("USER", name, None, key, 100.0 + at) for at, name in enumerate(names) for key in KEYS))
    used = [(name, str(broker), key, 100.0 + at, at / users)
            for at, name in enumerate(names) for broker in range(brokers) for key in KEYS[:3]]  # fmt: skip
    quotas = pa.concat_tables([stored, schemas.table(schemas.QUOTAS, addresses)], promote_options="default")
    return metrics_of(
        quotas,
        used_of(*used),
        most,
        cluster_info=[(["c", "4.3", str(brokers)], 1)],
        usage_timestamp_seconds=[([], 1.0)],
        part_success=[(["limits"], 1.0)],
        scrape_errors=[(["limits"], 0)],
    )
