"""What a runbook's cells ask before it changes anything, and what a report looked at, check by check."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import (
    Conflict,
    ConnectionFailed,
    NeedsLook,
    PlanRefused,
    UsageError,
    WrongCluster,
    printable,
)
from ..frames import schemas
from ..frames.answer import Answer, Tabular, findings_table
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from ..hints import Hint, Verb, sentence, short_id
from ..model.findings import OK, SKIPPED, WARNING, Coverage, Finding

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..frames.blocks import Block
    from ..plans.plan import Plan

# --- verdicts ---

LOOK, NOT_LOOKED = "look", "not looked"
_WORDS = {OK: OK, WARNING: LOOK, SKIPPED: NOT_LOOKED}
"""The verdict of each severity."""


@dataclass(frozen=True, repr=False)
class Check(Display):
    """One check of a report, for its cell to show: its finding, and the rows."""

    finding: Finding
    found: Any = ()

    def _title(self) -> str:
        return f"{_WORDS[self.finding.severity]}: {self.finding.message}"

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The rows that somebody should look at."""
        found = self.found
        if isinstance(found, list | tuple):
            return map(printable, map(str, found))
        if not len(found):
            return ()
        is_ours = isinstance(found, Display)
        return found._blocks(page) if is_ours else [pa.Table.from_pandas(found, preserve_index=False)]


class Verdicts(Tabular):
    """VERDICTS, as they come in."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def look(self, check: str, found: Sized, *, look: str, ok: str, coverage: Coverage | None = None) -> Check:
        """A check that should have found nothing; it shows its verdict and what it found.

        Parameters
        ----------
        check
            What was looked for.
        found
            The rows that somebody should look at.
        look
            What they mean.
        ok
            What it means that there are none.
        coverage
            How much of the whole was looked at; the verdict says what is not known.
        """
        severity, message = (WARNING, look) if len(found) else (OK, ok)
        if coverage is not None and coverage.not_known:
            message = f"{message.removesuffix('.')}{coverage.not_known}."
        self.findings.append(Finding(check, severity, message, evidence={"found": len(found)}, coverage=coverage))
        return Check(self.findings[-1], found)

    def pass_over(self, check: str, why: object) -> Check:
        """A check that was not made, and why."""
        self.findings.append(Finding(check, SKIPPED, printable(str(why))))
        return Check(self.findings[-1])

    def raise_for_looks(self) -> None:
        """Nothing where all is well.

        Raises
        ------
        NeedsLook
            Somebody should look: which checks say so.
        """
        bad = [finding.code for finding in self.findings if finding.severity == WARNING]
        if bad:
            raise NeedsLook(f"{len(bad)} of {len(self)} checks need{'s' * (len(bad) == 1)} a look: {', '.join(bad)}")

    def to_arrow(self) -> pa.Table:
        """VERDICTS."""
        verdicts = (finding.with_(verdict=_WORDS[finding.severity]) for finding in self.findings)
        return findings_table(schemas.VERDICTS, verdicts)

    def __len__(self) -> int:
        return len(self.findings)

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self.to_arrow()]


# --- before anything is changed ---

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
            f"plan and plan_id are required: its file, and {_ENOUGH} characters of the id that was reviewed, or all",
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
