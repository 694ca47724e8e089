"""Brokers of two clusters: number 1 here is not number 1 there, so they are compared by their role.

`broker=<default>` is compared with its like. What is set on single brokers, in their files or dynamically, is compared
key by key as what each broker of a cluster goes by, written `broker=<any>`: one value where all agree, else all values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..advice.config_rules import BY_NATURE
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.snapshots import Snapshot, without_secrets
from ..frames.to_pandas import plain
from ..model.config_fallback import behind_listener
from ..model.configurable import Configurable
from ..model.rows import Row
from ..secrets import SHOWN

EACH = "<any>"
"""The name under which what brokers have in common goes; no broker has it, they are numbers."""

ANY_BROKER = f"broker={EACH}"
"""The resource of rows of what brokers have in common, in words."""

_OF_A_CLUSTER = BY_NATURE | {
    *("controller.quorum.voters", "controller.quorum.bootstrap.servers", "zookeeper.connect"),
    *("advertised.host.name", "host.name"),
}
"""Keys that differ from cluster to cluster without anything being wrong."""


def differs_by_nature(resource: Configurable, key: str) -> bool:
    """True if two clusters have other values because they are two: what tells brokers apart, and Kafka's own topics."""
    return resource.is_internal or (resource.scope == "BROKER" and (behind_listener(key) or key) in _OF_A_CLUSTER)


def by_role(content: Any) -> Any:
    """A snapshot, or a frame of configs, with what single brokers have under one name; quotas as they are."""
    if isinstance(content, Snapshot):
        return replace(content, configs=Answer(_folded(content.configs.to_arrow())))
    return _folded(content) if "resource_type" in content.column_names else content


def _folded(configs: pa.Table) -> pa.Table:
    columns = [name for name in schemas.CONFIGS.names if name in configs.column_names]
    configs = plain(without_secrets(configs.select(columns)))
    schema = pa.schema([field.with_nullable(True) for field in configs.schema], configs.schema.metadata)
    single = pc.and_(pc.equal(configs["resource_type"], "BROKER"), pc.not_equal(configs["resource_name"], ""))
    rows = configs.filter(single).to_pylist()
    if not rows:
        return configs
    folded = pa.Table.from_pylist(_of_each(rows), schema=schema)
    return pa.concat_tables([configs.filter(pc.invert(single)).cast(schema), folded])


def _of_each(rows: Iterable[Row]) -> list[Row]:
    """One row a key; where a broker could not be read one row says so, and nothing is known of any."""
    rows = list(rows)
    if unread := next((row for row in rows if row.get("error") is not None), None):
        message = f"broker {unread['resource_name']}: {unread.get('message') or ''}"
        return [{**unread, "resource_name": EACH, "key": None, "message": message}]
    brokers = {row["resource_name"] for row in rows}
    keys: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        keys[row["key"]][row["resource_name"]] = row
    return [_one(by_broker, brokers) for _, by_broker in sorted(keys.items())]


def _one(by_broker: dict[str, Row], brokers: set[str]) -> Row:
    first = next(iter(by_broker.values()))
    values = sorted(set(_values(by_broker, brokers)))
    agreed = {
        name: distinct.pop() if len(distinct := {row.get(name) for row in by_broker.values()}) == 1 else None
        for name in ("source", "is_default")
    }
    single = len(values) == 1
    return {
        **{name: first.get(name) for name in schemas.CONFIGS.names},
        **agreed,
        "resource_name": EACH,
        "value": first["value"] if single else " | ".join(values),
        "synonyms": first.get("synonyms") if single and agreed["source"] else None,
        "is_sensitive": any(row.get("is_sensitive") for row in by_broker.values()),
    }


def _values(by_broker: dict[str, Row], brokers: set[str]) -> Iterator[str]:
    for broker in brokers:
        row = by_broker.get(broker)
        yield "(not set)" if row is None else SHOWN if row.get("is_sensitive") else str(row["value"])
