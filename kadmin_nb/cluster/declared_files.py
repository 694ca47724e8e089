"""`cluster.plan_from()`: a declarative file beside the live cluster, as a plan."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING

from ..declared import Declared, load
from ..plans.plan import Plan, with_note

if TYPE_CHECKING:
    from . import Cluster


def plan_from(
    cluster: Cluster,
    source: Declared | str | os.PathLike[str],
    *,
    prune: bool = False,
    any_cluster: bool = False,
    allow_unknown: Collection[str] = (),
    reason: str | None = None,
    lifetime: timedelta | None = None,
) -> Plan:
    """The plan that makes the cluster what is declared, its counts in a note; see `Cluster.plan_from`."""
    declared = source if isinstance(source, Declared) else load(source)
    declared.refuse_other_cluster(cluster.id, any_cluster=any_cluster)
    difference = declared.difference(
        cluster.snapshot(), prune=prune, any_cluster=any_cluster, allow_unknown=allow_unknown
    )
    stage = cluster.stage()
    stage.add(difference)
    if not difference:
        plan = cluster._changes.nothing(reason, lifetime)
    else:
        with difference.placed():
            plan = stage.plan(reason, allow_unknown=allow_unknown, lifetime=lifetime)
    return with_note(plan, str(difference), author=plan.author, at=plan.created, kind="declared")
