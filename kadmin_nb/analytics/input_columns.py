"""The columns of a caller's Spark DataFrame that the rules read, checked before anything runs."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, NullType, StringType

from ..errors import UsageError
from ..frames import schemas
from ..resolution.input_columns import CLUSTER

_CLUSTER_HINT = "Give it to both, or drop it."


def of_types(frame: DataFrame, names: Sequence[str], frame_name: str) -> dict[str, DataType]:
    """The types of these columns, and of `cluster_id` where the frame has it.

    Raises
    ------
    UsageError
        A column is missing; the message says which, and what there is.
    """
    types = {field.name: field.dataType for field in frame.schema}
    schemas.require_columns(frame_name, names, types)
    return {name: types[name] for name in (CLUSTER, *names) if name in types}


def names_of(pairs: Any, frame_name: str, by_cluster: bool) -> DataFrame:
    """`user`, `client_id` and perhaps `cluster_id` of the pairs, as strings; a null client-id is the empty one.

    A null user stops the query that reads it; the message has the row.

    Raises
    ------
    UsageError
        Not a Spark DataFrame, a column is missing or is not text, `cluster_id` on one side only.
    """
    if not isinstance(pairs, DataFrame):
        raise UsageError(
            f"{frame_name} are a {type(pairs).__name__}, not a Spark DataFrame", hint="kn.resolve takes others."
        )
    types = of_types(pairs, ("user", "client_id"), frame_name)
    check_clusters(types, frame_name, by_cluster)
    for name, kind in types.items():
        check_text(name, kind, frame_name)
    row = row_as_json(types)
    texts = {name: F.col(name).cast("string") for name in types}
    return pairs.select(*(_name_column(name, text, row, frame_name).alias(name) for name, text in texts.items()))


def _name_column(name: str, text: Column, row: Column, frame_name: str) -> Column:
    return F.coalesce(text, F.lit("")) if name == "client_id" else given(text, name, row, frame_name)


def given(column: Column, name: str, row: Column, frame_name: str) -> Column:
    """`column`; a null stops the query that reads it, and the message has the `row`."""
    null = F.raise_error(F.concat(F.lit(f"{name} is null in a row of {frame_name}: "), row))
    return F.when(column.isNotNull(), column).otherwise(null)


def check_clusters(names: Container[str], frame_name: str, by_cluster: bool) -> None:
    """`cluster_id` is part of the match: on both sides, or on none.

    Raises
    ------
    UsageError
        It is on one side only; the message names the side.
    """
    if by_cluster != (CLUSTER in names):
        with_it, without_it = ("the quotas", frame_name) if by_cluster else (frame_name, "the quotas")
        raise UsageError(f"{with_it} have a cluster_id and {without_it} have none", hint=_CLUSTER_HINT)


def row_as_json(names: Sequence[str] | dict[str, DataType]) -> Column:
    """A row as JSON for a message, with what a terminal would obey taken out."""
    row = F.to_json(F.struct(*names), {"ignoreNullFields": "false"})
    return F.regexp_replace(row, r"\p{C}", "\ufffd")


def check_text(name: str, kind: DataType, frame_name: str) -> None:
    if not isinstance(kind, StringType | NullType):
        raise UsageError(f"{name} of {frame_name} is {kind.simpleString()}, not text")
