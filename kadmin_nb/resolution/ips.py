"""The ip quota that binds new connections, for many addresses; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ..errors import Invalid
from ..frames import schemas
from ..frames.given_frames import text_column
from ..model.grammar import format_word
from ..model.levels import DEFAULT_IP, IP
from ..model.quota_keys import IP_KEYS
from . import input_columns
from .input_columns import CLUSTER, QUOTAS_LABEL
from .rules import address, ambiguous

IPS = "the ips"
Place = tuple[str | None, str]
"""A cluster (None where there is one only) and a key."""
Named = dict[tuple[Place, str], list[tuple[str, float]]]


def resolve_ip(quotas: Any, ips: Any) -> pa.Table:
    """The quota that binds new connections from each address, as EFFECTIVE_IP; pure, no broker is asked.

    Parameters
    ----------
    quotas
        QUOTAS, as anything with `__arrow_c_stream__`; read are `level`, `ip`, `key`, `value` and `cluster_id`.
    ips
        A list of addresses, or a frame with the column `ip`. Order and duplicates are kept.

    Returns
    -------
    pyarrow.Table
        `ip`, `key` (connection_creation_rate), `value` in connections a second, per broker, null = unlimited,
        `level`: `IP`, `DEFAULT_IP` or null. Addresses are compared as addresses; a quota stored on a host name
        is found under that very name only, since only brokers know what they resolve it to.

    Raises
    ------
    UsageError
        Not a frame, a missing column or one of another type, `cluster_id` on one side only.
    Invalid
        A null address, or an entity and key twice in the quotas.
    NotKnowable
        An address that is asked for has quotas under two spellings; Kafka keeps whichever came last.
    """
    stored = input_columns.read_columns(quotas, ("level", "ip", "key", "value"), QUOTAS_LABEL)
    addresses = input_columns.read_columns(
        pa.table({"ip": pa.array(ips, pa.string())}) if isinstance(ips, list) else ips, ("ip",), IPS
    )
    input_columns.check_clusters(addresses.column_names, IPS, CLUSTER in stored.column_names)
    by_address, default = _index_quotas(stored)
    rows = [_bound(cluster, ip, key, by_address, default) for key in IP_KEYS for cluster, ip in _asked(addresses)]
    schema = schemas.EFFECTIVE_IP.schema
    if CLUSTER in addresses.column_names:
        schema = schema.insert(0, pa.field(CLUSTER, pa.string(), False))
    return schemas.marked(schemas.table(schema, rows), input_columns.stamp(stored))


def _index_quotas(stored: pa.Table) -> tuple[Named, dict[Place, float]]:
    """Quotas by address, each with its spelling, and the default ip's."""
    by_address: Named = defaultdict(list)
    default: dict[Place, float] = {}
    identities = set()
    for row in stored.to_pylist():
        place = row.get(CLUSTER), row["key"]
        if row["level"] not in (IP, DEFAULT_IP):
            continue
        if (place, row["level"], row["ip"]) in identities:
            raise Invalid(f"{row['key']} of {_entity_text(row)} is twice in {QUOTAS_LABEL}")
        identities.add((place, row["level"], row["ip"]))
        if row["level"] == IP:
            by_address[place, address(row["ip"])].append((row["ip"], row["value"]))
        else:
            default[place] = row["value"]
    return by_address, default


def _entity_text(row: dict[str, Any]) -> str:
    return format_word("ip", row["ip"]) if row["level"] == IP else "ip=<default>"


def _asked(table: pa.Table) -> Iterable[tuple[str | None, str]]:
    ips = input_columns.non_null_column(text_column(table, "ip", IPS), "ip", IPS).to_pylist()
    has = CLUSTER in table.column_names
    clusters = text_column(table, CLUSTER, IPS).to_pylist() if has else [None] * len(ips)
    return list(zip(clusters, ips, strict=True))


def _bound(cluster: str | None, ip: str, key: str, by_address: Named, default: dict[Place, float]) -> dict[str, object]:
    """One row of the answer."""
    place = (cluster, key)
    spellings = by_address.get((place, address(ip)), [])
    if len(spellings) > 1:
        raise ambiguous(ip, (format_word("ip", spelling) for spelling, _ in spellings))
    value = spellings[0][1] if spellings else default.get(place)
    level = IP if spellings else None if value is None else DEFAULT_IP
    return {CLUSTER: cluster, "ip": ip, "key": key, "value": value, "level": level}
