"""Quotas of a frame in the editor: a snapshot's, a file's, another cluster's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import schemas
from ..plans.stage import Stage
from ..resolution.input_columns import QUOTAS_LABEL, read_columns
from .quota_editor import QuotaEditor
from .quota_table import StoredQuotas


def edit_quotas(quotas: object, stage: Stage | None = None) -> QuotaEditor:
    """Quotas of a frame as a spreadsheet, such as those of a snapshot; what is typed into it is staged.

    `Cluster.edit_quotas` edits those of a cluster.

    Parameters
    ----------
    quotas
        QUOTAS of one cluster, as anything with `__arrow_c_stream__`.
    stage
        Takes the edits: that of the cluster that they are planned on. A new one, which plans nothing, unless given;
        its `to_cell()` is what is staged, as lines for elsewhere.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, it is of several clusters, or an entity has a key twice.
    """
    table = read_columns(quotas, schemas.QUOTAS.names, QUOTAS_LABEL)
    if "cluster_id" in table.column_names and len(pc.unique(table["cluster_id"])) > 1:
        raise UsageError("the quotas are of several clusters", hint="Filter them by cluster_id first.")
    stored = table.select(schemas.QUOTAS.names).cast(schemas.QUOTAS)
    _refuse_doubles(stored)
    return QuotaEditor(lambda: StoredQuotas.of(stored), Stage(_no_plan) if stage is None else stage)


def _refuse_doubles(quotas: pa.Table) -> None:
    plain = pa.table({name: quotas[name].cast(pa.string()) for name in ("entity", "key")})
    counts = plain.group_by(["entity", "key"]).aggregate([([], "count_all")])
    doubles = counts.filter(pc.greater(counts["count_all"], 1)).to_pylist()
    if doubles:
        raise UsageError(f"{doubles[0]['entity']} has {doubles[0]['key']} twice", hint="Keep one of the rows.")


def _no_plan(*_: Any) -> Any:
    raise UsageError(
        "these quotas are of a frame, and bound to no cluster",
        hint="kn.widgets.edit_quotas(frame, stage=cluster.stage()) plans on a cluster.",
    )
