"""The findings of `kadmin_nb.advice` over the configs of a whole fleet, on Spark, cluster by cluster."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..advice.config_rules import COLUMNS, findings_frame, schema_of
from ..errors import UsageError
from ..frames import schemas
from ..model import resources
from ..resolution.input_columns import CLUSTER
from .workers import of_whole_groups

_SNAPSHOT, _TAKEN = "snapshot_id", "taken_at"
_OTHERS = ("is_sensitive", "is_read_only", "is_default", "type", "synonyms", "error", "message")


def config_findings(configs: DataFrame) -> DataFrame:
    """FINDINGS: configs that need a look, with the words of `Configs.audit`.

    A frame does not tell whether a reassignment is running: a throttle is a `throttle`, never a `leftover`.

    Parameters
    ----------
    configs
        CONFIGS as from `describe`, with the synonyms, or SNAPSHOT frames of configs, as in a history; for several
        clusters with `cluster_id`, for several times with `snapshot_id`.

    Returns
    -------
    DataFrame
        FINDINGS, with the `cluster_id`, `taken_at` and `snapshot_id` of the configs. A snapshot has only values that
        are set: the fallback of a broker's value is known only from the synonyms of a peer.

    Raises
    ------
    UsageError
        Not a Spark DataFrame, or a column is missing.
    pyspark.errors.PythonException
        When the result is read: a resource and key twice, in clusters that cannot be distinguished.
    """
    if not isinstance(configs, DataFrame):
        raise UsageError(f"the configs are a {type(configs).__name__}, not a Spark DataFrame")
    schemas.require_columns("the configs", COLUMNS, configs.columns)
    names = [name for name in (CLUSTER, *COLUMNS, *_OTHERS, _TAKEN, _SNAPSHOT) if name in configs.columns]
    by = [name for name in (CLUSTER, _SNAPSHOT) if name in names]
    own_sources = [
        source for kind, source in resources.OWN_SOURCE.items() if kind in ("TOPIC", "GROUP", "CLIENT_METRICS")
    ]
    is_relevant = (F.col("resource_type") == "BROKER") | F.col("source").isin(own_sources)
    if "error" in names:
        is_relevant |= F.col("error").isNotNull()
    rows, schema = configs.select(*names).where(is_relevant), schema_of(names)
    found: DataFrame = of_whole_groups(rows, by or [F.lit(0)], findings_frame, (), schema)
    return found
