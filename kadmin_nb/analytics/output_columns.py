"""The columns that Python's work on Spark's workers hands out."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns as Spark declares them; words of a small set are strings."""
    return StructType([StructField(field.name, from_arrow_type(plain_type(field)), field.nullable) for field in schema])


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as workers hand them out: Spark takes no dictionaries."""
    return pa.schema([field.with_type(plain_type(field)) for field in schema])


def plain_type(field: pa.Field) -> pa.DataType:
    """The type of the values of a dictionary; of anything else its own."""
    return field.type.value_type if pa.types.is_dictionary(field.type) else field.type
