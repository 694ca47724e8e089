"""Quotas and configs in an editor: those of a cluster, or of a frame, such as a snapshot's or a file's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import schemas
from ..frames.given_frames import arrow_table, fitted
from ..model.grammar import LEFT_OUT
from ..model.resources import Resource
from ..plans.stage import Stage
from ..resolution.input_columns import CLUSTER, QUOTAS_LABEL, non_null_column, read_columns
from .config_editor import ConfigEditor
from .config_table import ConfigReader, ConfigTable, plain_text
from .quota_editor import QuotaEditor
from .quota_table import StoredQuotas

CONFIGS_LABEL = "the configs"

_MAY_LACK = ("is_default", "synonyms", "documentation", "error", "message")
"""The columns of CONFIGS without which its table only says less."""


def edit_quotas(quotas: object, stage: Stage | None = None, **entity: object) -> QuotaEditor:
    """A spreadsheet of the quotas of a cluster, or of a frame such as a snapshot's; edits are staged.

    Parameters
    ----------
    quotas
        A `Cluster`; or QUOTAS of one cluster, as anything with `__arrow_c_stream__`.
    stage
        The stage for the edits, of the cluster that plans them. Default: the session's of a cluster; of a frame a new
        one without a cluster, whose `to_cell()` has the edits as lines.
    entity
        `user`, `client_id`, `ip` or `entity`, as of `quotas.describe`: only these entities of a cluster.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, it is of several clusters, or an entity has a key twice.
    """
    if (cluster := _cluster_of(quotas)) is not None:
        return QuotaEditor(lambda: _stored(cluster, entity), stage or cluster.stage)
    table = fitted(read_columns(quotas, schemas.QUOTAS.names, QUOTAS_LABEL), schemas.QUOTAS.schema, QUOTAS_LABEL)
    _refuse_several_clusters(table, QUOTAS_LABEL)
    for name in (field.name for field in schemas.QUOTAS.schema if not field.nullable):
        non_null_column(table[name], name, QUOTAS_LABEL)
    stored = table.select(schemas.QUOTAS.names).cast(schemas.QUOTAS.schema)
    _refuse_doubles(stored, ("entity", "key"))
    return QuotaEditor(lambda: StoredQuotas.of(stored), _stage_for(stage, "edit_quotas", QUOTAS_LABEL))


def edit_configs(configs: object, stage: Stage | None = None, **resources: object) -> ConfigEditor:
    """A spreadsheet of configs of a cluster, or of a frame such as a snapshot's; edits are staged.

    Fallbacks and Kafka's descriptions are shown as far as a frame has them, in `synonyms` and `documentation`.

    Parameters
    ----------
    configs
        A `Cluster`; or CONFIGS of one cluster, as anything with `__arrow_c_stream__`.
    stage
        The stage for the edits, of the cluster that plans them. Default: the session's of a cluster; of a frame a new
        one without a cluster, whose `to_cell()` has the edits as lines.
    resources
        `topic`, `broker`, `broker_logger`, `client_metrics` or `group`, as of `configs.describe`: of a cluster, the
        resources whose configs are shown.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, it is of several clusters, or a resource has a key twice.
    """
    if (cluster := _cluster_of(configs)) is not None:
        words = ("topic", "broker", "broker_logger", "client_metrics", "group")
        chosen = cluster.configs.select(*(resources.get(word, LEFT_OUT) for word in words))
        return ConfigEditor(ConfigReader(cluster.port, chosen), stage or cluster.stage)
    names = [name for name in schemas.CONFIGS.names if name not in _MAY_LACK]
    given = arrow_table(configs, (CLUSTER, *schemas.CONFIGS.names), CONFIGS_LABEL)
    schemas.require_columns(CONFIGS_LABEL, names, given.column_names)
    table = fitted(given, schemas.CONFIGS.schema, CONFIGS_LABEL)
    _refuse_several_clusters(table, CONFIGS_LABEL)
    stored = schemas.table(schemas.CONFIGS, table.to_pylist())
    _refuse_doubles(stored, ("resource_type", "resource_name", "key"))
    return ConfigEditor(_FrameReader(stored), _stage_for(stage, "edit_configs", CONFIGS_LABEL))


def _cluster_of(given: Any) -> Any:
    """The cluster that is given in place of a frame; None of a frame."""
    return given if hasattr(given, "port") else None


def _stored(cluster: Any, entity: Mapping[str, object]) -> StoredQuotas:
    """The quotas of a cluster, and those of the entities that are shown."""
    quotas = cluster.quotas.describe().to_arrow()
    shown = cluster.quotas.describe(**entity).to_arrow() if entity else quotas
    return StoredQuotas(quotas, shown, len(cluster.brokers))


class _FrameReader:
    """Reads the configs of a frame, which stay as they are, and the descriptions that it has."""

    def __init__(self, configs: pa.Table) -> None:
        self._configs = configs

    def read(self) -> ConfigTable:
        return ConfigTable(self._configs)

    def documentation(self, resource: Resource, key: str) -> str | None:
        is_of_type = pc.equal(self._configs["resource_type"].cast(pa.string()), resource.type)
        is_of_key = pc.and_(is_of_type, pc.equal(self._configs["key"], key))
        texts = self._configs["documentation"].filter(is_of_key).drop_null()
        return plain_text(texts[0].as_py()) if len(texts) else None


def _refuse_several_clusters(table: pa.Table, label: str) -> None:
    if CLUSTER in table.column_names and len(pc.unique(table[CLUSTER])) > 1:
        raise UsageError(f"{label} are of several clusters", hint=f"Filter them by {CLUSTER} first.")


def _refuse_doubles(table: pa.Table, names: Sequence[str]) -> None:
    """Refuse a frame in which rows have all these in common; the last of them is a key."""
    plain = pa.table({name: table[name].cast(pa.string()) for name in names})
    counts = plain.group_by([*names]).aggregate([([], "count_all")])
    doubles = counts.filter(pc.greater(counts["count_all"], 1)).to_pylist()
    if doubles:
        *whose, key = (doubles[0][name] for name in names)
        raise UsageError(f"{' '.join(whose)} has {key} twice", hint="Keep one of the rows.")


def _stage_for(stage: Stage | None, editor: str, label: str) -> Stage:
    """The stage of whoever edits, or one that plans nothing."""

    def refuse(*_: Any) -> Any:
        hint = f"kn.widgets.{editor}(frame, stage=cluster.new_stage()) plans on a cluster."
        raise UsageError(f"{label.removeprefix('the ')} of a frame are bound to no cluster", hint=hint)

    return Stage(refuse) if stage is None else stage
