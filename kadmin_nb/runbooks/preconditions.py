"""The checks of a runbook before it changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Conflict, ConnectionFailed, PlanRefused, UsageError, WrongCluster, printable
from ..hints import Hint, Verb, sentence, short_id

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..frames.answer import Answer
    from ..plans.plan import Plan

_ENOUGH = 8
"""Characters of a plan's id that are enough to know it by."""


def preflight(cluster: Cluster, cluster_id: str = "") -> Answer:
    """The brokers, if all of them are up and it is the right cluster.

    Parameters
    ----------
    cluster_id
        The id of the cluster; empty: any.

    Raises
    ------
    WrongCluster
        It is another cluster.
    ConnectionFailed
        A broker is fenced: registered, but not serving. A change could not be verified on it.
    """
    if cluster_id and cluster_id != cluster.id:
        raise WrongCluster(
            f"the runbook is meant for cluster {cluster_id}, this is {cluster.id}", code="INCONSISTENT_CLUSTER_ID"
        )
    brokers = cluster.brokers
    if fenced := [row["id"] for row in brokers.to_arrow().to_pylist() if row["is_fenced"]]:
        raise ConnectionFailed(
            f"brokers {', '.join(map(str, fenced))} of {len(brokers)} are fenced: a change could not be verified there",
            hint="Run again when they are back.",
        )
    return brokers


def reviewed(path: str, plan_id: str) -> Plan:
    """The plan in this file, if it is the one that was reviewed.

    Parameters
    ----------
    plan_id
        Its id, or at least the first 8 characters of it.

    Raises
    ------
    UsageError
        The file or the id is missing, or the id is too short.
    NotFound, Invalid
        The file does not exist, is not a plan, or was changed.
    PlanRefused
        The file has another plan.
    """
    from ..plans.plan import Plan

    if not path or len(plan_id) < _ENOUGH:
        raise UsageError(
            "plan is required: the file of a plan"
            if not path
            else f"plan_id needs the id that was reviewed: {_ENOUGH} characters, or all",
            hint=Hint(sentence("{} shows it.", Verb("plan show FILE", "kn.Plan.load(FILE).id"))),
        )
    plan = Plan.load(path)
    if not plan.id.startswith(plan_id):
        raise PlanRefused(
            printable(f"{path} holds plan {short_id(plan.id)}, but {short_id(plan_id)} was reviewed"),
            code="ANOTHER_PLAN",
            hint="Nothing was sent. Pass the plan that was reviewed, or review this one.",
        )
    return plan


def gate(plan: Plan, *, limit: int, changes_id: str = "", require_approval: bool = False) -> None:
    """Refuse a plan that must not be applied.

    Parameters
    ----------
    limit
        The maximum number of rows.
    changes_id
        The id of the reviewed changes; empty: any.
    require_approval
        Another person than its author must have approved it; see `cluster.plans.approve`.

    Raises
    ------
    PlanRefused
        The broker's validation refuses a row; it has more rows than the limit, or is not approved.
    Conflict
        Its changes are not the reviewed ones.
    """
    from ..plans.execution.executor import refuse_invalid

    refuse_invalid(plan._refused, len(plan))
    if len(plan) > limit:
        raise PlanRefused(
            f"the plan has {len(plan)} changes, the limit is {limit}", hint="Raise limit if that is intended."
        )
    if changes_id and not plan.changes_id.startswith(changes_id):
        raise Conflict(
            f"the changes are {short_id(plan.changes_id)}, but {short_id(changes_id)} were reviewed",
            hint="Nothing was sent. Review again, or pass the lines that were reviewed.",
        )

    if require_approval:
        from ..plans.approval import approval_of

        approval_of(plan)
