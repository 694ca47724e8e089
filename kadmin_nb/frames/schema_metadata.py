"""The cluster and the time of an answer, in its schema metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pyarrow as pa

from ..errors import printable
from .schemas import marked

CLUSTER_ID, TAKEN_AT = "kadmin.cluster_id", "kadmin.taken_at"
ENGINE = "kadmin.engine"
"""The engine that answered, and the reason for it, in a sentence."""

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


def noted(table: pa.Table, notes: Iterable[str]) -> pa.Table:
    """`table` with these sentences below its notes, each on a line of its own whatever names it repeats."""
    lines = [*notes_of(table), *map(printable, notes)]
    marks = table.schema.metadata or {}
    return table.replace_schema_metadata({**marks, NOTES: "\n".join(lines)}) if lines else table


def notes_of(table: pa.Table) -> tuple[str, ...]:
    """The sentences on what could not be read."""
    return tuple((mark(table, NOTES) or "").splitlines())


def mark(table: pa.Table, name: str) -> str | None:
    """One of a table's marks; None where it has none of that name."""
    text = (table.schema.metadata or {}).get(name.encode())
    return None if text is None else text.decode()
