"""A runbook on each cluster of a group: one document per cluster, the canary first, none after one that fails."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import documents, files
from ..errors import Invalid, KadminError, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..profiles import group, settings_for
from . import launcher
from .catalogue import Runbook, find
from .page import look_at
from .run_record import RunRecord, counted_states, without_home

FLEET = "fleet.json"
LARGEST = 1 << 24
NOT_STARTED = "not started"
_CLUSTER = "cluster"


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The record of a run on many clusters: what is run, and each cluster's document with its own parameters."""

    format: int = 1
    runbook: str
    parameters: dict[str, Any]
    documents: dict[str, str]
    own: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Fleet | None:
        """The record in this folder; None without one.

        Raises
        ------
        Invalid
            It is something else.
        """
        place = folder / FLEET
        if not place.exists():
            return None
        try:
            return documents.as_type(documents.from_json(files.read_text(place, "a fleet's record", LARGEST)), cls)
        except ValueError as error:
            raise Invalid(f"{place} is not the record of a run on many clusters: {error}") from None

    def record_of(self, cluster: str, folder: Path) -> RunRecord | None:
        """The record of the run on this cluster, settled if it was killed; None where it was not started."""
        place = (folder / self.documents[cluster]).with_suffix(".json")
        return look_at(place) if place.exists() else None

    def table(self, folder: Path) -> Answer:
        """RUNS: one row per cluster."""
        rows = (self._row(cluster, folder) for cluster in self.documents)
        return Answer(schemas.table(schemas.RUNS, rows))

    def _row(self, cluster: str, folder: Path) -> dict[str, Any]:
        record = self.record_of(cluster, folder)
        if record is None:
            return {"cluster": cluster, "state": NOT_STARTED, "rows": 0, "message": ""}
        reason = f"{record.error.type}: {record.error.message}" if record.error else counted_states(record.outcomes)
        return {
            "cluster": cluster,
            "cluster_id": record.cluster_id,
            "state": record.state,
            "rows": len(record.plan),
            "plan_id": record.plan_id,
            "message": reason,
            "document": self.documents[cluster],
        }


def run_each(
    name_or_path: str | Path,
    each: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    canary: str | None = None,
    pause: float = 0.0,
    output: str | Path | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> Answer:
    """Run a runbook on each cluster of a group, one after the other, and stop at the first where it fails.

    Run again with the same `output`, it continues where it stopped: clusters where it ended well are left alone.

    Parameters
    ----------
    each
        A group of profiles in `kadmin-nb.toml`; or the folder of an earlier run, for `rollback_plan`: then its clusters
        that were changed, the last first, each with the plan that was applied there.
    parameters
        As of `run`; `cluster` is set for each.
    canary
        The cluster that comes first.
    pause
        Seconds to wait after the canary.
    output
        The folder of the documents and of `fleet.json`, which says whose each of them is; by default a new one.
    tell
        Is told what is begun, line by line.

    Returns
    -------
    Answer
        RUNS, in the order in which they were run.

    Raises
    ------
    NotFound, UsageError
        No such group, member or runbook; two members have the same brokers; the canary is not in the group; the folder
        has another run. Nothing was started.
    KadminError
        The error of the cluster where it failed, as of `run`; its `rows` are RUNS.
    """
    runbook, given = find(name_or_path), dict(parameters or {})
    own = _own_parameters(each, runbook)
    order = _in_order([*own], canary)
    if _CLUSTER in given:
        raise UsageError("cluster is set for each cluster of the group", hint="Leave it out.")
    for cluster in order:
        launcher.bound_parameters(runbook, {**given, **own[cluster], _CLUSTER: cluster})
    stem = f"{runbook.name}-{Path(each).name}"
    folder = Path(output or f"{stem}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}").resolve()
    names = {cluster: f"{runbook.name}-{cluster}.ipynb" for cluster in order}
    fleet = _begun(folder, Fleet(runbook=runbook.name, parameters=given, documents=names, own=own))
    for number, cluster in enumerate(order, 1):
        record = fleet.record_of(cluster, folder)
        if record is not None and record.ok:
            continue
        tell(f"{cluster} ({number} of {len(order)}): {runbook.name}")
        try:
            launcher.run(name_or_path, {**given, **own[cluster], _CLUSTER: cluster}, output=folder / names[cluster])
        except KadminError as error:
            failed = error.within(cluster)
            failed.rows = fleet.table(folder)
            failed.hint = f"{error.hint or ''} The same run with the folder {folder} continues here.".strip()
            raise failed from None
        if cluster == canary and pause and cluster != order[-1]:
            tell(f"waiting {pause:,.0f} s after the canary {cluster}")
            time.sleep(pause)
    return fleet.table(folder)


def _own_parameters(each: str | Path, runbook: Runbook) -> dict[str, dict[str, Any]]:
    """The clusters, each with the parameters that are its own alone."""
    earlier = Fleet.read(Path(each)) if Path(each).is_dir() else None
    if earlier is None:
        members = group(str(each))
        _refuse_same_brokers(members)
        return {member: {} for member in members}
    if "plan_id" not in {parameter.name for parameter in runbook.parameters}:
        raise UsageError(f"{runbook.name} takes no plan_id", hint="A folder of a run is for rollback_plan.")
    changed = dict(_changed(earlier, Path(each)))
    if not changed:
        raise UsageError(f"nothing was changed by the run in {each}")
    return {cluster: {"plan_id": plan_id} for cluster, plan_id in reversed(changed.items())}


def _changed(fleet: Fleet, folder: Path) -> Iterator[tuple[str, str]]:
    """The clusters that may have been changed, and the plan that did it."""
    for cluster in fleet.documents:
        record = fleet.record_of(cluster, folder)
        if record is not None and record.plan_id and record.changed is not False:
            yield cluster, record.plan_id


def _refuse_same_brokers(members: tuple[str, ...]) -> None:
    seen: dict[str, str] = {}
    for member in members:
        brokers = settings_for(member).bootstrap
        if brokers in seen:
            raise UsageError(f"{seen[brokers]} and {member} have the same brokers: {brokers}")
        seen[brokers] = member


def _in_order(clusters: list[str], canary: str | None) -> list[str]:
    if canary is not None and canary not in clusters:
        raise UsageError(f"the canary {canary} is not in the group", hint=f"It has {', '.join(clusters)}.")
    return sorted(clusters, key=lambda cluster: cluster != canary)


def _begun(folder: Path, fleet: Fleet) -> Fleet:
    """The record, written; where the folder has one, it must say the same."""
    text = without_home(json.dumps(dataclasses.asdict(fleet), indent=1, default=str))
    written = json.loads(text)
    found = Fleet.read(folder)
    if found is None:
        files.make_folder(folder)
        files.write(folder / FLEET, text + "\n")
    elif dataclasses.asdict(found) != written or [*found.documents] != [*fleet.documents]:
        raise UsageError(f"{folder} has another run", hint="Name another folder, or run what was run there.")
    return fleet
