"""The rules of a policy, and those of `kadmin_nb.advice`, over the snapshots of a whole fleet, on Spark.

The same evaluators run on the workers, cluster by cluster and time by time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..advice.config_rules import COLUMNS, findings_frame, schema_of
from ..errors import UsageError
from ..frames import schemas
from ..frames.answer import findings_table
from ..frames.frame import MOMENT
from ..frames.snapshot_kinds import CLIENT_CONFIGS, CONFIGS, QUOTAS, SnapshotKind
from ..model import resources
from ..policy import Policy, load
from ..policy.evaluation import of_cluster
from ..policy.facts import CLUSTER_ID, PolicyFacts
from ..resolution.kernel import PAIRS
from .resolving import names_of
from .workers import Batches, of_each_group

_SNAPSHOT, _TAKEN, _COMPLETE = "snapshot_id", "taken_at", "complete"
_OTHERS = ("is_sensitive", "is_read_only", "is_default", "type", "synonyms", "error", "message")
_REQUIRED: Mapping[SnapshotKind, Sequence[str]] = {
    QUOTAS: schemas.QUOTAS.names,
    CONFIGS: ("resource_type", "resource_name", "key", "value", "source"),
    CLIENT_CONFIGS: ("entity", "user", "client_id", "key", "value"),
}
"""The columns that a frame of each kind must have, beside the cluster's."""
SCHEMA = pa.schema(
    [pa.field(CLUSTER_ID, pa.string(), nullable=False), *schemas.POLICY.schema, pa.field(_SNAPSHOT, pa.string()),
     pa.field(_TAKEN, MOMENT)]
)  # fmt: skip
"""POLICY of each cluster and snapshot; the last two are null where the frames do not have them."""


def policy(
    policy: Policy | str | os.PathLike[str],
    quotas: DataFrame | None = None,
    configs: DataFrame | None = None,
    client_configs: DataFrame | None = None,
    *,
    pairs: Any = None,
) -> DataFrame:
    """POLICY of a whole fleet: whether each cluster, at each time, keeps each rule, as `Policy.check` does for one.

    Parameters
    ----------
    policy
        A policy or its file. It is read here, and sent to the workers.
    quotas, configs, client_configs
        SNAPSHOT frames, as in a history, with `cluster_id`; for several times with `snapshot_id`. Rules about a missing
        frame are `unknown`. All rows of one cluster and time go to one worker; a cluster without rows is missing in the
        result.
    pairs
        The known clients, PAIRS or USAGE, with `cluster_id` if clusters have different ones; default: those that the
        policy names. A Spark DataFrame stays in Spark: a worker has the clients of one cluster at a time.

    Returns
    -------
    pyspark.sql.DataFrame
        `cluster_id`, POLICY, `snapshot_id` and `taken_at`. Lazy.

    Raises
    ------
    UsageError
        All three are missing; one is not a Spark DataFrame; a column is missing.
    pyspark.errors.PythonException
        When the result is read: an entity and key, or a resource and key, twice at one time.

    Examples
    --------
    >>> policy("kadmin-nb.policy.toml", quotas, configs).where("not ok").groupBy("rule").count()  # doctest: +SKIP
    """
    rules = policy if isinstance(policy, Policy) else load(policy)
    given = zip(_REQUIRED, (quotas, configs, client_configs), strict=True)
    frames = {kind.name: _required_columns(kind, frame) for kind, frame in given if frame is not None}
    if not frames:
        raise UsageError(
            "quotas=, configs= or client_configs= is required", hint="Pass the SNAPSHOT frames of a fleet."
        )
    by = [CLUSTER_ID, *([_SNAPSHOT] if all(_SNAPSHOT in frame.columns for frame in frames.values()) else [])]
    is_lazy = isinstance(pairs, DataFrame)
    carried = (rules.rules, rules.capacities, None if is_lazy else rules.known_clients(pairs), tuple(frames))
    nested = [frame.select(*by, F.struct("*").alias(name)) for name, frame in frames.items()]
    if is_lazy and rules.asks_for_clients:
        nested.append(_clients(pairs, [frame.select(*by) for frame in frames.values()]))
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), nested)
    return of_each_group(rows.groupBy(*by), _judged, carried, SCHEMA)


def _required_columns(kind: SnapshotKind, frame: Any) -> DataFrame:
    columns = _columns_of(frame, f"the {kind.title}")
    schemas.require_columns(f"the {kind.title}", (CLUSTER_ID, *_REQUIRED[kind]), columns)
    others = (*kind.frame.names, _SNAPSHOT, _TAKEN, _COMPLETE)
    more = [name for name in others if name in columns and name not in (*_REQUIRED[kind], "documentation")]
    rows: DataFrame = frame.select(CLUSTER_ID, *_REQUIRED[kind], *more)
    return rows


def _columns_of(frame: Any, frame_name: str) -> list[str]:
    if not isinstance(frame, DataFrame):
        raise UsageError(f"{frame_name} are a {type(frame).__name__}, not a Spark DataFrame")
    columns: list[str] = frame.columns
    return columns


def _clients(pairs: DataFrame, states: Sequence[DataFrame]) -> DataFrame:
    """The known clients of each cluster beside each of its states, each once, as PAIRS."""
    clients = names_of(pairs, PAIRS, CLUSTER_ID in pairs.columns).distinct()
    each = reduce(DataFrame.unionAll, states).distinct()
    beside = each.join(clients, CLUSTER_ID) if CLUSTER_ID in clients.columns else each.crossJoin(clients)
    return beside.select(*each.columns, F.struct("user", "client_id").alias(PAIRS))


def _judged(carried: Any, groups: Batches) -> Iterator[pa.RecordBatch]:
    rules, capacities, pairs, names = carried
    (group,) = groups
    tables = {name: pa.Table.from_struct_array(group[name].drop_null()) for name in names}
    cluster_id, snapshot_id, taken_at, complete = (
        _one(name, tables.values()) for name in (CLUSTER_ID, _SNAPSHOT, _TAKEN, _COMPLETE)
    )
    cluster_pairs = of_cluster(pairs, cluster_id)
    if PAIRS in group.column_names:
        cluster_pairs = pa.Table.from_struct_array(group[PAIRS].drop_null())
    facts = PolicyFacts(cluster_id, tables, cluster_pairs, complete=complete is not False)
    place = {CLUSTER_ID: cluster_id, _SNAPSHOT: snapshot_id, _TAKEN: taken_at}
    table = findings_table(SCHEMA, (f.with_(**place) for rule in rules for f in rule.judged(facts, capacities)))
    yield from table.to_batches() or [pa.RecordBatch.from_pylist([], schema=SCHEMA)]


def _one(name: str, tables: Iterable[pa.Table]) -> Any:
    """The value that all rows of one cluster and time share in this column."""
    return next((table[name][0].as_py() for table in tables if name in table.column_names and len(table)), None)


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
    columns = _columns_of(configs, "the configs")
    schemas.require_columns("the configs", COLUMNS, columns)
    names = [name for name in (CLUSTER_ID, *COLUMNS, *_OTHERS, _TAKEN, _SNAPSHOT) if name in columns]
    by = [name for name in (CLUSTER_ID, _SNAPSHOT) if name in names]
    own_sources = [
        source for kind, source in resources.OWN_SOURCE.items() if kind in ("TOPIC", "GROUP", "CLIENT_METRICS")
    ]
    is_relevant = (F.col("resource_type") == "BROKER") | F.col("source").isin(own_sources)
    if "error" in names:
        is_relevant |= F.col("error").isNotNull()
    rows = configs.select(*names).where(is_relevant)
    return of_each_group(rows.groupBy(*by), _found, None, schema_of(names))


def _found(_nothing: None, sides: Batches) -> Iterator[pa.RecordBatch]:
    (configs,) = sides
    table = findings_frame(configs)
    yield from table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
