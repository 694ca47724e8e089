"""QUOTAS for the tests of widgets, from a line per entity."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.quota_keys import parse_value
from kadmin_nb.widgets.quota_sheet import StoredQuotas

RATE = "producer_byte_rate"


def quotas(stored: Mapping[str, str | Mapping[str, str]]) -> pa.Table:
    """QUOTAS of these entities: a limit of `RATE`, or the limit of each key."""
    rows = [
        {**Entity.parse(words).columns(), "key": key, "value": parse_value(key, limit)}
        for words, limits in stored.items()
        for key, limit in ({RATE: limits} if isinstance(limits, str) else limits).items()
    ]
    return schemas.table(schemas.QUOTAS, sorted(rows, key=lambda row: (str(row["entity"]), str(row["key"]))))


def all_shown(quotas: pa.Table) -> StoredQuotas:
    """All of them, shown."""
    return StoredQuotas(quotas)


def many_users(count: int) -> pa.Table:
    """QUOTAS of so many users, `user=u000000` and so on, with 1 MB/s each."""
    names = [f"u{number:06}" for number in range(count)]
    columns = {"entity": [f"user={name}" for name in names], "level": ["USER"] * count, "user": names}
    columns |= {"client_id": [None] * count, "ip": [None] * count, "key": [RATE] * count}
    return pa.table({**columns, "value": [1e6] * count}).cast(schemas.QUOTAS.schema)
