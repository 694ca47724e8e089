"""The columns that the rules need of a caller's frame, as Arrow strings and doubles, checked."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError
from ..frames import schemas
from ..frames.given_frames import arrow_table

CLUSTER = "cluster_id"
QUOTAS_LABEL = "the quotas"
QUOTA_COLUMNS = ("level", "user", "client_id", "key", "value")
"""The columns of QUOTAS that bind clients."""
STAMPS = (b"kadmin.cluster_id", b"kadmin.taken_at")


def read_columns(frame: Any, names: Sequence[str], what: str) -> pa.Table:
    """These columns of anything with `__arrow_c_stream__`, and `cluster_id` where it has one.

    Raises
    ------
    UsageError
        No such thing, or a column is missing; `what` is how the message calls the frame.
    """
    table = arrow_table(frame, (*names, CLUSTER), what)
    schemas.require_columns(what, names, table.column_names)
    return table.select([name for name in (CLUSTER, *names) if name in table.column_names])


def number_column(table: pa.Table, name: str, what: str) -> pa.ChunkedArray:
    """A column of values as doubles, without nulls."""
    column = table.column(name)
    if not any(is_it(column.type) for is_it in (pa.types.is_floating, pa.types.is_integer, pa.types.is_null)):
        raise UsageError(f"{name} of {what} is {column.type}, not a number")
    return non_null_column(column.cast(pa.float64(), safe=False), name, what)


def non_null_column(column: pa.ChunkedArray, name: str, what: str) -> pa.ChunkedArray:
    """`column`, which may not have nulls.

    Raises
    ------
    Invalid
        It has one; the message says in which row, counting from 0.
    """
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise Invalid(f"{name} is null in row {row} of {what}", hint="Rows are counted from 0.")
    return column


def check_clusters(names: Container[str], what: str, others_have_it: bool, others: str = QUOTAS_LABEL) -> None:
    """`cluster_id` is part of the match: on both sides, or on none.

    Raises
    ------
    UsageError
        It is on one side only; the message names the side.
    """
    if (CLUSTER in names) != others_have_it:
        has, lacks = (others, what) if others_have_it else (what, others)
        raise UsageError(f"{has} have a cluster_id and {lacks} have none", hint="Give it to both, or drop it.")


def led(schema: pa.Schema, names: Container[str]) -> pa.Schema:
    """The schema, with `cluster_id` first where these names have it."""
    return schema.insert(0, pa.field(CLUSTER, pa.string(), False)) if CLUSTER in names else schema


def stamp(table: pa.Table) -> dict[bytes, bytes] | None:
    """The place and time of which the frame is, to hand on."""
    return {name: value for name, value in (table.schema.metadata or {}).items() if name in STAMPS} or None
