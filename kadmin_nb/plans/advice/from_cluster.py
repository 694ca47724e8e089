"""The advice on rows, from what the cluster says now."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ...admin.ports import Kafka
from ...model.changes import Change
from ..secret_resolver import Resolver
from . import Advice, dangers, warnings


def advice_on(kafka: Kafka, changes: Sequence[Change], quotas: pa.Table | None, resolver: Resolver) -> Advice:
    """Dangers, judged now, and warnings, worked out when they are asked for; of rows that are not refused.

    Parameters
    ----------
    quotas
        All QUOTAS, where they were just read.
    """
    changes = [change for change in changes if not change.is_refused]
    scene = warnings.cluster_facts(kafka, changes, quotas)
    dangers_found = dangers.found(kafka, changes, resolver)
    return Advice(
        dangers_found, lambda: [*(warnings.warnings(changes, scene) if scene else ()), *warnings.in_parts(changes)]
    )
