"""Frames as pandas, which is loaded when the first one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """A plain DataFrame with the same columns; dictionary-encoded strings become strings.

    `attrs` has `kadmin.cluster_id` and `kadmin.taken_at` where the frame came from a cluster.
    """
    frame = plain(table).to_pandas()
    frame.attrs.update({key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()})
    return frame


def plain(table: pa.Table) -> pa.Table:
    """`table` with dictionary-encoded strings, also inside structs, as plain strings."""
    schema = pa.schema([field.with_type(_plain_type(field.type)) for field in table.schema], table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    return kind
