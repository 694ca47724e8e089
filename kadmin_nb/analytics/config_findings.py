"""The rules of `kadmin_nb.advice` over the configs of many clusters at many times, on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..advice.config_rules import COLUMNS, findings_frame, schema_of
from ..errors import UsageError
from ..model import resources
from . import worker_code
from .input_columns import of_types
from .output_columns import spark_schema

_OTHERS = ("is_sensitive", "is_read_only", "type", "synonyms", "error", "message", "taken_at", "snapshot_id")


def config_findings(configs: DataFrame) -> DataFrame:
    """FINDINGS: what in these configs somebody should look at; the words are `Configs.advise`'s.

    A frame does not tell whether a reassignment is running: a throttle is a `throttle`, never a `leftover`.

    Parameters
    ----------
    configs
        CONFIGS as `describe` answers them, with the synonyms, or SNAPSHOT frames of configs, such as a history has:
        of several clusters with their `cluster_id`, of several times with their `snapshot_id`.

    Returns
    -------
    DataFrame
        FINDINGS, with those of `cluster_id`, `taken_at` and `snapshot_id` that the configs have. A snapshot has only
        what is set: what a broker's value falls back to is known there as far as a peer's synonyms say it.

    Raises
    ------
    UsageError
        Not a Spark DataFrame, or a column is missing.
    pyspark.errors.PythonException
        When the result is read: a resource and key twice, in several clusters that nothing tells apart.
    """
    if not isinstance(configs, DataFrame):
        raise UsageError(f"the configs are a {type(configs).__name__}, not a Spark DataFrame")
    of_types(configs, COLUMNS, "the configs")
    names = [name for name in ("cluster_id", *COLUMNS, *_OTHERS) if name in configs.columns]
    by = [name for name in ("cluster_id", "snapshot_id") if name in names]
    own_sources = [
        source for kind, source in resources.OWN_SOURCE.items() if kind in ("TOPIC", "GROUP", "CLIENT_METRICS")
    ]
    is_relevant = (F.col("resource_type") == "BROKER") | F.col("source").isin(own_sources)
    if "error" in names:
        is_relevant |= F.col("error").isNotNull()
    rows = configs.select(*names).where(is_relevant)
    return rows.groupBy(*by).applyInArrow(_on_workers(), spark_schema(schema_of(names)))


def _on_workers() -> Callable[[pa.Table], pa.Table]:
    """The rules as a function of one cluster's rows, by value: workers may have no kadmin_nb."""
    run = worker_code.by_value(_work, None)

    def found(configs: pa.Table) -> pa.Table:
        import pyarrow

        return pyarrow.Table.from_batches([*run(configs.to_batches())])

    return found


def _work(_nothing: None, batches: worker_code.Batches) -> Iterator[pa.RecordBatch]:
    table = findings_frame(pa.Table.from_batches([*batches]))
    yield from table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
