"""Configs of groups beside the type of each group and what its brokers apply: `describe`, and what slows a group."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..admin.ports import serving
from ..advice.config_rules import group_finding
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.schema_metadata import noted, stamped
from ..model.config_values import BOUND_KEYS, BrokerConfigs, ConfigValue, applied
from .resolving import broker_rows, values_of


def described(kafka: LiveKafka, configs: pa.Table) -> Answer:
    """GROUP_CONFIGS of CONFIGS that are of groups alone; its notes are the values that brokers clamp, or that have no
    effect on a group of that type."""
    types, bounds = group_types(kafka), bounds_of(kafka)
    rows: list[dict[str, Any]] = configs.to_pylist()
    of_group = [types.get(row["resource_name"]) for row in rows]
    values = [
        None if row["key"] is None else applied(row["key"], row["value"], group_type, bounds)
        for row, group_type in zip(rows, of_group, strict=True)
    ]
    fields = schemas.GROUP_CONFIGS.schema
    table = configs.append_column(fields.field("group_type"), pa.array(of_group, fields.field("group_type").type))
    table = table.append_column(fields.field("applied"), pa.array(values, pa.string()))
    own = [value for value in map(ConfigValue.of, (row for row in rows if row["key"])) if value.is_own]
    found = [group_finding(value, types.get(value.resource.name), bounds) for value in own]
    notes = [f"{one.message}." for one in found if one]
    return Answer(noted(stamped(table.replace_schema_metadata(), kafka.id), notes))


def group_types(kafka: LiveKafka) -> dict[str, str | None]:
    """The types of the groups that we may describe; none where groups cannot be listed."""
    try:
        return kafka.group_types()
    except KadminError:
        return {}


def bounds_of(kafka: LiveKafka) -> BrokerConfigs:
    """The brokers' bounds of group configs, as far as they may be read."""
    rows = broker_rows(kafka, serving(kafka), BOUND_KEYS)
    return BrokerConfigs(values_of(rows), (row["resource_name"] for row in rows if row["error"] is not None))
