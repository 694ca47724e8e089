"""What a runbook asks before it changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Conflict, ConnectionFailed, NotAuthorized, PlanRefused, WrongCluster

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..frames.answer import Answer
    from ..plans.plan import Plan


def preflight(cluster: Cluster, cluster_id: str = "") -> Answer:
    """The brokers, when all of them are there and it is the right cluster.

    Parameters
    ----------
    cluster_id
        The cluster that is meant; empty: this one.

    Raises
    ------
    WrongCluster
        It is another.
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


def gate(plan: Plan, *, limit: int, changes_id: str = "") -> None:
    """Refuse a plan that must not be applied.

    Parameters
    ----------
    limit
        The most rows it may have.
    changes_id
        The changes that were reviewed; empty: these.

    Raises
    ------
    NotAuthorized, PlanRefused
        The broker, asked with validate-only, refuses a row: for want of a right, or for its value.
    PlanRefused
        It has more rows than the limit.
    Conflict
        It changes something else than what was reviewed.
    """
    _refuse_refused(plan)
    if len(plan) > limit:
        raise PlanRefused(
            f"the plan has {len(plan)} changes, the limit is {limit}", hint="Raise limit if they are meant."
        )
    if changes_id and not plan.changes_id.startswith(changes_id):
        raise Conflict(
            f"the changes are {plan.changes_id[:12]}, reviewed were {changes_id[:12]}",
            hint="Nothing was sent. Review again, or give the lines that were reviewed.",
        )


def _refuse_refused(plan: Plan) -> None:
    if not plan.refused:
        return
    first = plan.refused[0]
    code = first.validated.split(":")[0]
    raise (NotAuthorized if "AUTHORIZATION" in code else PlanRefused)(
        f"the broker refuses {len(plan.refused)} of {len(plan)} changes; "
        f"the first, {first.resource} {first.key}: {first.validated}",
        code=code,
        hint="Nothing was sent.",
    )
