"""The record of a run while it runs: what a runbook's cells fill, and a file that is true at every moment."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import Interrupted, KadminError, PartlyFailed, PlanRefused, UsageError
from ..frames.schemas import now
from . import binder
from .checks import Verdicts
from .run_record import (
    APPLIED,
    APPLYING,
    FAILED,
    FINISHED,
    NOTHING,
    PLANNED,
    STARTED,
    RunError,
    RunRecord,
    sent_in_part,
    to_json,
)

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..plans.apply_options import ApplyOptions
    from ..plans.outcomes import Outcomes
    from ..plans.plan import Plan


PLACE = "KADMIN_RUNBOOK_RECORD"
"""The variable by which the launcher tells the kernel where the record goes."""


def record(runbook: str, parameters: Any, namespace: Mapping[str, Any] | None = None) -> Record:
    """A record of this run, which the runbook's cells fill.

    Parameters
    ----------
    runbook
        Its name.
    parameters
        The result of `bind`.
    namespace
        The notebook's `globals()`; default: the caller's.
    """
    space = sys._getframe(1).f_globals if namespace is None else namespace
    return Record(runbook, dataclasses.asdict(parameters), space)


class Record:
    """The record of one run. Use `with record:` around each cell, so that failures are recorded, too.

    The file is beside the document of `kn.runbooks.run`, else in the working folder; on Databricks there is none,
    `finish` hands the text to the job.
    """

    def __init__(self, runbook: str, parameters: dict[str, Any], namespace: Mapping[str, Any]) -> None:
        self.runbook, self.parameters, self._namespace = runbook, parameters, namespace
        self.started = now()
        self.cluster: Cluster | None = None
        self.plan: Plan | None = None
        self.outcomes: Outcomes | None = None
        self.error: BaseException | None = None
        self.verdicts = Verdicts()
        self._is_finished = self._is_applying = self._has_ended = False
        self.path = _record_path(runbook, namespace)

    @property
    def state(self) -> str:
        """`started`, `planned`, `applying`, `nothing to do`, `applied` (and verified), `failed`, or `finished` of a
        runbook that plans nothing."""
        if self.error is not None or (self.outcomes is not None and not self.outcomes.ok):
            return FAILED
        if self.outcomes is not None:
            return APPLIED if self.outcomes._anything_changed else NOTHING
        if self.plan is not None:
            return APPLYING if self._is_applying else PLANNED
        if not self._is_finished:
            return STARTED
        return FINISHED if self.verdicts or "apply" not in self.parameters else NOTHING

    @property
    def ok(self) -> bool | None:
        """True if the run has ended well, False if not; None as long as it has not ended."""
        if self.state == FAILED:
            return False
        return True if self._has_ended else None

    @property
    def changed(self) -> bool | None:
        """True if the cluster may differ from before; None while that is not known."""
        if self.outcomes is not None:
            return self.outcomes._anything_changed
        return None if self._is_applying and not isinstance(self.error, PlanRefused | UsageError) else False

    def apply(self, options: ApplyOptions | None = None, **keywords: Any) -> Outcomes:
        """Apply its plan to its cluster; the record says that it is applying, even if the run is killed.

        Options and keyword arguments as of `Cluster.apply`.

        Raises
        ------
        WrongCluster, Conflict, PlanRefused
            Nothing was sent.
        PartlyFailed, Interrupted
            It was stopped while it was applied: the journal could no longer be written, or Ctrl-C.
        """
        if self.cluster is None or self.plan is None:
            raise UsageError("the record has no plan to apply", hint="Set record.cluster and record.plan before.")
        self._is_applying = True
        try:
            self._write()
        except KadminError:
            self._is_applying = False
            raise
        try:
            self.outcomes = self.cluster.apply(self.plan, options, **keywords)
        except (PartlyFailed, Interrupted) as exc:
            self.outcomes = exc.outcomes  # those of a plan that was stopped
            raise
        return self.outcomes

    def written(self) -> RunRecord:
        """All that is known now, as the file has it."""
        plan, outcomes = self.plan, self.outcomes
        return RunRecord(
            runbook=self.runbook,
            state=self.state,
            ok=self.ok,
            parameters=self.parameters,
            changed=self.changed,
            started=self.started,
            cluster_id=self.cluster.id if self.cluster else None,
            plan_id=plan.id if plan else None,
            changes_id=plan.changes_id if plan else None,
            reason=plan.reason if plan else None,
            plan=plan.to_arrow().to_pylist() if plan else [],
            outcomes=outcomes.to_arrow().to_pylist() if outcomes is not None else [],
            journal=outcomes.journal if outcomes is not None else None,
            chain_head=outcomes.chain_head if outcomes is not None else None,
            verdicts=self.verdicts.to_arrow().to_pylist(),
            error=RunError.of(self.error) if self.error else None,
        )

    def finish(self, show: Callable[[str], object] = print, *, fail: bool = False) -> None:
        """End the runbook: show the record and raise for failures; on Databricks, pass the record to the job.

        Parameters
        ----------
        fail
            Count a report with a `look` as a failure.

        Raises
        ------
        PartlyFailed
            Some changes failed, or could not be verified on every broker.
        """
        self._is_finished = True
        show(repr(self))
        with self:
            if self.outcomes is not None:
                self.outcomes.raise_for_errors()
            if fail:
                self.verdicts.raise_for_looks()
            self._has_ended = True
        binder.hand_back_to_databricks(
            self._namespace, to_json(self.written()), self.cluster.id if self.cluster else None
        )

    def __enter__(self) -> Self:
        self._save()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.error = exc
        if exc is None:
            return self._save()
        with contextlib.suppress(KadminError):  # the error says more than why the record lacks it
            self._write()
        return None

    def _save(self) -> None:
        """Write it; where that fails after the cluster was changed, the error says so."""
        try:
            self._write()
        except KadminError as exc:
            if self.plan is None or self.changed is False:
                raise
            raise sent_in_part(exc, self.plan.id) from None

    def _write(self) -> None:
        if self.path:
            self.written().write(self.path)

    def __repr__(self) -> str:
        written = self.written()
        ids = {name: getattr(written, name) for name in ("plan_id", "changes_id", "journal", "chain_head")}
        facts = [f"{name.removesuffix('_id').replace('_', ' ')} {fact}" for name, fact in ids.items() if fact]
        place = self.path.name if self.path else "handed to the job"
        return "\n".join([f"{self.runbook}: {self.state}", *facts, f"record {place}"])


def _record_path(runbook: str, namespace: Mapping[str, Any]) -> Path | None:
    if configured := os.environ.get(PLACE):
        return Path(configured)
    if binder.is_databricks_job(namespace):
        return None
    return Path.cwd() / f"{runbook}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.json"
