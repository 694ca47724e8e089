"""The cluster and the time of an answer, in its schema metadata."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pyarrow as pa

from .schemas import marked

CLUSTER_ID, TAKEN_AT = "kadmin.cluster_id", "kadmin.taken_at"
ENGINE = "kadmin.engine"
"""The engine that answered, and the reason for it, in a sentence."""

KNOWN_SINCE = "kadmin.known_since"
"""Of METADATA_CHANGES: the time, ISO 8601, since which they tell all that was set; without it nobody knows."""

NOTES = "kadmin.notes"
"""Sentences on what of an answer could not be had, a line each."""


def now() -> str:
    """The time, UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def stamped(
    table: pa.Table, cluster_id: str, marks: Mapping[str, str] | None = None, *, at: str | None = None
) -> pa.Table:
    """`table` with the cluster's id, the time (now unless given) and further marks in its metadata."""
    return marked(table, {CLUSTER_ID: cluster_id, TAKEN_AT: at or now(), **(marks or {})})


def mark(table: pa.Table, name: str) -> str | None:
    """One of a table's marks; None where it has none of that name."""
    text = (table.schema.metadata or {}).get(name.encode())
    return None if text is None else text.decode()
