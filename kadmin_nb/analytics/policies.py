"""The rules of a policy over the snapshots of a whole fleet, on Spark: the same evaluator, cluster by cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from ..errors import UsageError
from ..frames import schemas
from ..frames.findings import findings_table
from ..frames.frame import MOMENT
from ..frames.snapshot_kinds import CONFIGS, QUOTAS
from ..policy import Policy, load
from ..policy.evaluation import of_cluster
from ..policy.facts import CLUSTER_ID, PolicyFacts
from . import worker_code
from .input_columns import of_types
from .output_columns import spark_schema

_SNAPSHOT, _TAKEN, _COMPLETE = "snapshot_id", "taken_at", "complete"
_OTHERS = ("is_sensitive", "is_read_only", "is_default", "type", "synonyms", "error", "message")
_CONFIG = ("resource_type", "resource_name", "key", "value", "source")
SCHEMA = pa.schema(
    [pa.field(CLUSTER_ID, pa.string(), nullable=False), *schemas.POLICY.schema, pa.field(_SNAPSHOT, pa.string()),
     pa.field(_TAKEN, MOMENT)]
)  # fmt: skip
"""POLICY of each cluster and snapshot; the last two are null where the frames do not have them."""


def policy(
    policy: Policy | str | os.PathLike[str],
    quotas: DataFrame | None = None,
    configs: DataFrame | None = None,
    *,
    pairs: Any = None,
) -> DataFrame:
    """POLICY of a whole fleet: how each cluster, at each time, keeps each rule; what `Policy.check` says of one.

    Parameters
    ----------
    policy
        A policy or its file. It is read here, and sent to the workers with what judges it.
    quotas, configs
        SNAPSHOT frames, such as a history has, with their `cluster_id`; of several times with their `snapshot_id`.
        Rules about a frame that is not given are `unknown`. All rows of one cluster and time go to one worker; a
        cluster without any is not there.
    pairs
        The known clients, with their `cluster_id` where they differ: PAIRS or USAGE, also a Spark DataFrame, which is
        collected; those that the policy names unless said.

    Returns
    -------
    pyspark.sql.DataFrame
        `cluster_id`, POLICY, `snapshot_id` and `taken_at`. Lazy.

    Raises
    ------
    UsageError
        Neither quotas nor configs, not a Spark DataFrame, or a column is missing.
    pyspark.errors.PythonException
        When the result is read: an entity and key, or a resource and key, twice at one time.

    Examples
    --------
    >>> policy("kadmin-nb.policy.toml", quotas, configs).where("not ok").groupBy("rule").count()  # doctest: +SKIP
    """
    rules = policy if isinstance(policy, Policy) else load(policy)
    sides = {
        QUOTAS.name: _required_columns(quotas, schemas.QUOTAS.names, (), "the quotas"),
        CONFIGS.name: _required_columns(configs, _CONFIG, _OTHERS, "the configs"),
    }
    frames = [side for side in sides.values() if side is not None]
    if not frames:
        raise UsageError("quotas= or configs= is required", hint="Pass the SNAPSHOT frames of a fleet, one or both.")
    by = [CLUSTER_ID, *([_SNAPSHOT] if all(_SNAPSHOT in side.columns for side in frames) else [])]
    judge = _on_workers(rules, _clients(rules, pairs), tuple(name for name, side in sides.items() if side is not None))
    kinds = spark_schema(SCHEMA)
    if len(frames) == 1:
        return frames[0].groupBy(*by).applyInArrow(lambda group: judge(group), kinds)
    group, other = (side.groupBy(*by) for side in frames)
    return group.cogroup(other).applyInArrow(lambda group, other: judge(group, other), kinds)


def _required_columns(frame: Any, names: Sequence[str], others: Sequence[str], frame_name: str) -> DataFrame | None:
    if frame is None:
        return None
    if not isinstance(frame, DataFrame):
        raise UsageError(f"{frame_name} are a {type(frame).__name__}, not a Spark DataFrame")
    of_types(frame, (CLUSTER_ID, *names), frame_name)
    more = [name for name in (*others, _SNAPSHOT, _TAKEN, _COMPLETE) if name in frame.columns]
    return frame.select(CLUSTER_ID, *names, *more)


def _clients(rules: Policy, pairs: Any) -> pa.Table | None:
    if isinstance(pairs, DataFrame):
        names = [name for name in (CLUSTER_ID, "user", "client_id") if name in pairs.columns]
        pairs = pairs.select(*names).distinct().toArrow()
    return rules.known_clients(pairs)


def _on_workers(rules: Policy, pairs: pa.Table | None, names: tuple[str, ...]) -> Callable[..., pa.Table]:
    """The evaluator as a function of one cluster's frames, by value: workers may have no kadmin_nb."""
    carried = (rules.rules, rules.lines, pairs, names)
    run: Any = worker_code.by_value(_work, carried)

    def judged(*sides: pa.Table) -> pa.Table:
        import pyarrow

        return pyarrow.Table.from_batches([*run(sides)])

    return judged


def _work(carried: Any, sides: Any) -> Iterator[pa.RecordBatch]:
    rules, lines, pairs, names = carried
    cluster_id, snapshot_id, taken_at, complete = (
        _one(name, sides) for name in (CLUSTER_ID, _SNAPSHOT, _TAKEN, _COMPLETE)
    )
    cluster_pairs = of_cluster(pairs, cluster_id)
    tables = dict(zip(names, sides, strict=True))
    facts = PolicyFacts(cluster_id, tables, cluster_pairs, complete=complete is not False)
    place = {CLUSTER_ID: cluster_id, _SNAPSHOT: snapshot_id, _TAKEN: taken_at}
    table = findings_table(SCHEMA, (f.with_(**place) for rule in rules for f in rule.judged(facts, lines)))
    yield from table.to_batches() or [pa.RecordBatch.from_pylist([], schema=SCHEMA)]


def _one(name: str, sides: Sequence[pa.Table]) -> Any:
    """The value that all rows of one cluster and time share in this column."""
    return next((side[name][0].as_py() for side in sides if name in side.column_names and len(side)), None)
