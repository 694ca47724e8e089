"""The mean size of a record of each topic, by which the bytes of share consumers are estimated."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..frames import schemas
from ..frames.schema_metadata import stamped
from ..model.findings import Row
from .groups import group_types


def record_sizes(kafka: LiveKafka, names: Iterable[str]) -> pa.Table:
    """RECORD_SIZES of these topics; see `Cluster.record_sizes`."""
    stored = kafka.stored([*names])
    ids = kafka.topic_ids(stored)
    rows: list[Row] = [
        {
            "topic": topic,
            "topic_id": ids[topic],
            "records": records,
            "bytes": size,
            "mean_bytes": size / records if records > 0 else None,
        }
        for topic, (records, size) in sorted(stored.items())
        if topic in ids
    ]
    return stamped(schemas.table(schemas.RECORD_SIZES, rows), kafka.id)


def for_share_groups(kafka: LiveKafka) -> pa.Table | None:
    """RECORD_SIZES of all topics; None where there is no share group, or the sizes may not be read."""
    if "share" not in group_types(kafka).values():
        return None
    try:
        return record_sizes(kafka, kafka.topics())
    except KadminError:
        return None
