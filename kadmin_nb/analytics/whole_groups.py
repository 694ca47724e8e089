"""Work on Spark's workers that needs all rows of a group at once, such as what goes from window to window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from . import worker_code

Kernel = Callable[..., pa.Table]


def of_whole_groups(
    rows: DataFrame, names: Sequence[str], kernel: Kernel, arguments: tuple[Any, ...], schema: StructType
) -> DataFrame:
    """`kernel(table, *arguments)` of tables that have all rows of each group, and many groups; lazy.

    A partition is worked on at once, not a group at a time: a call for each of many small groups takes far longer.
    """
    together = rows.repartition(*names)
    return together.mapInArrow(worker_code.by_value(_work, (kernel, arguments)), schema)


def _work(job: tuple[Kernel, tuple[Any, ...]], batches: worker_code.Batches) -> Iterator[pa.RecordBatch]:
    kernel, arguments = job
    if batch_list := list(batches):
        yield from kernel(pa.Table.from_batches(batch_list), *arguments).combine_chunks().to_batches()
