"""The current quotas of entities, read through the port."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import DEFAULT_MATCH, EXACT, Component, Kafka
from ..model.changes import Target
from ..model.entity import Entity
from ..model.quota_keys import text_of
from .observed_state import LookOptions, ObservedState, ObservedValue

FEW = 8
"""Entities up to which exact filters are cheaper than describing everything."""

FILTERED = 400
"""Rows from which Arrow's filter is cheaper than a look at each."""


def add_quotas(picture: ObservedState, kafka: Kafka, entities: Collection[Entity], look: LookOptions) -> None:
    """Add the current quotas of these entities to a picture."""
    if look.whole or len(entities) > FEW:
        table = kafka.quotas.describe(node=look.node, timeout=look.time_left())
        picture.quotas = table
    else:
        table = pa.concat_tables(
            kafka.quotas.describe(exactly(e), strict=True, node=look.node, timeout=look.time_left()) for e in entities
        )
    picture.values.update(quota_values(table, entities))


def exactly(entity: Entity) -> list[Component]:
    """The filter that matches this entity and, used strictly, no other."""
    return [Component(kind, DEFAULT_MATCH if name is None else EXACT, name) for kind, name in entity.wire()]


def quota_values(table: pa.Table, entities: Collection[Entity]) -> dict[Target, ObservedValue]:
    """The rows of a QUOTAS table for these entities."""
    by_text = {str(entity): entity for entity in entities}
    if table.num_rows > FILTERED:
        table = table.filter(pc.is_in(table["entity"], pa.array(by_text, pa.string())))
    keys = table["key"].cast(pa.string())  # read as the dictionary that it is, it takes forty times as long
    columns = (column.to_pylist() for column in (table["entity"], keys, table["value"]))
    rows = zip(*columns, strict=True)
    return {(by_text[entity], key): ObservedValue(text_of(value)) for entity, key, value in rows if entity in by_text}


def of_place(quotas: pa.Table, level: str, key: str) -> pa.Table:
    """The rows of a QUOTAS table at this level and of this key."""
    columns = (("level", level), ("key", key))
    is_there = (pc.is_in(quotas[name].cast(pa.string()), pa.array([word], pa.string())) for name, word in columns)
    return quotas.filter(pc.and_(*is_there))
