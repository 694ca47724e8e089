"""`run`: a runbook through papermill, and `run_each`: on each cluster of a group. A failed run is still a document."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from ..errors import KadminError, PartlyFailed, Unsupported, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Listing, Page
from ..frames.display import Display
from ..frames.schemas import now
from ..hints import short_id
from ..model.findings import OK
from ..profiles import group, settings_for
from .binder import refuse_unknown
from .catalogue import Runbook, find
from .checks import LOOK, NOT_LOOKED
from .recording import PLACE
from .run_record import (
    FAILED,
    FINISHED,
    PLANNED,
    STARTED,
    RunError,
    RunRecord,
    counted_states,
    record_in,
    sent_in_part,
    to_json,
)

if TYPE_CHECKING:
    from papermill import PapermillExecutionError

    from ..frames.blocks import Block


@dataclass(frozen=True, repr=False)
class Run(Display):
    """A run that ended well: the executed document, and the record, as a file and as a value."""

    document: Path
    record: Path
    result: RunRecord

    def _title(self) -> str:
        result = self.result
        changes = counted_states(result.outcomes)
        if result.state == PLANNED:
            changes = f"{len(result.plan)} change{'s' * (len(result.plan) != 1)}, nothing was changed"
        ids = {"plan": result.plan_id, "changes": result.changes_id}
        finding = f"{result.runbook}: {'; '.join(filter(None, (result.state, self._checks(), changes)))}"
        return "\n".join([finding, *(f"{name} {one}" for name, one in ids.items() if one)])

    def _checks(self) -> str:
        """The numbers of checks that want a look, and that were not made."""
        counts = Counter(row["verdict"] for row in self.result.verdicts)
        looks, skipped = counts[LOOK], counts[NOT_LOOKED]
        made = looks + counts[OK]
        ok = f"{made} checks are ok" if made else ""
        finding = f"{looks} of {made} checks need{'s' * (looks == 1)} a look" if looks else ok
        return ", ".join(filter(None, (finding, f"{skipped} skipped" if skipped else "")))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The checks of a report; else the outcome of each row, or the rows that were planned."""
        verdicts = schemas.table(schemas.VERDICTS, self.result.verdicts)
        return [table for table in (verdicts, self.result.rows().to_arrow()) if table.num_rows]

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """How to apply what was planned, where the runbook can, and the files."""
        result = self.result
        if result.state == PLANNED and "apply" in result.parameters:
            reviewed = f" -p changes_id={short_id(result.changes_id)}" if "changes_id" in result.parameters else ""
            yield f"To apply it, run it again with -p apply=true{reviewed}"
        yield Listing([str(self.document), str(self.record)])


def run(
    name_or_path: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    output: str | Path | None = None,
) -> Run:
    """Run a runbook in a kernel of this Python, from the working folder.

    Parameters
    ----------
    name_or_path
        A runbook that comes with kadmin_nb, or a notebook with a cell tagged `parameters`.
    parameters
        Values, or texts as for `runbook run -p`; a list as JSON.
    output
        The executed document, or a folder for it; default: `<name>-<time>.ipynb` in the working folder.

    Returns
    -------
    Run
        The JSON record is `<document>.json`, beside the document, even if the run fails.

    Raises
    ------
    NotFound, UsageError
        No such runbook; a parameter that it does not declare, a value of another type, a secret. Nothing was started.
    PartlyFailed
        The cluster was changed, and the run cannot be saved, as on a full disk, or its kernel died.
    KadminError
        The error that the notebook raised, of the same class if it is one of kadmin_nb.
    """
    runbook = find(name_or_path)
    bound = bound_parameters(runbook, parameters or {})
    document = _document(runbook, output)
    path = document.with_suffix(".json")
    mill = _papermill()
    begun = RunRecord(runbook=runbook.name, state=STARTED, ok=None, parameters=bound)
    begun.write(path)
    try:
        _execute(mill, runbook, document, begun, path)
        result = _ended(path, replace(begun, state=FINISHED))
    except KadminError as exc:
        ended = RunRecord.read(path)
        if exc.document or ended is None or ended.plan_id is None or ended.changed is False:
            raise
        raise sent_in_part(exc, ended.plan_id) from None
    return Run(document, path, result)


def bound_parameters(runbook: Runbook, parameters: Mapping[str, object]) -> dict[str, object]:
    """The given values by their declared types; everything that the binder refuses is refused before it starts."""
    declared = {p.name: p for p in runbook.parameters}
    refuse_unknown(parameters, list(declared))
    return {name: declared[name].bind(value) for name, value in parameters.items()}


def _document(runbook: Runbook, output: str | Path | None) -> Path:
    """The place of the executed document; its folder is made."""
    place = Path(output or Path.cwd())
    if place.is_dir():
        place = place / f"{runbook.name}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.ipynb"
    if place.suffix != ".ipynb":
        raise UsageError(f"output {place} is neither a folder nor a .ipynb file")
    if place.resolve() == runbook.path.resolve():
        raise UsageError(f"output {place} is the runbook itself", hint="The executed notebook is another file.")
    files.make_folder(place.parent)
    return place.resolve()


def _execute(mill: Any, runbook: Runbook, document: Path, begun: RunRecord, record: Path) -> None:
    """Run it; whatever ends it, the record says so."""
    from nbclient.exceptions import DeadKernelError

    papermill, papermill_engine = mill
    failed = replace(begun, state=FAILED)
    try:
        papermill.execute_notebook(
            _literal(runbook.path),
            f"{papermill_engine.SCHEME}{_literal(document)}",
            parameters=begun.parameters,
            engine_name=papermill_engine.NAME,
            kernel_name="python3",
            language="python",
            progress_bar=sys.stderr.isatty(),
            environment={PLACE: str(record)},
        )
    except papermill.PapermillExecutionError as exc:
        result = _ended(record, failed, RunError(exc.ename, exc.evalue))
        raise _failure(exc, result, document) from None
    except DeadKernelError as exc:
        _ended(record, failed, RunError.of(exc))
        raise KadminError(f"{runbook.name}: the kernel died", hint=f"{document} has the cells that ran.") from None
    except BaseException as exc:
        _ended(record, failed, RunError.of(exc))
        raise


def _papermill() -> Any:
    try:
        import papermill

        from . import papermill_engine
    except ImportError:
        raise Unsupported("papermill is not installed", hint="pip install 'kadmin_nb[runbooks]'") from None
    return papermill, papermill_engine


def _literal(path: Path) -> str:
    """A path for papermill, which formats every path."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _failure(exc: PapermillExecutionError, result: RunRecord, document: Path) -> KadminError:
    """The notebook's error, as ours when it is one; what failed in part and changed nothing is not a `PartlyFailed`."""
    error = result.error or RunError(exc.ename, exc.evalue)
    kind = RunError(exc.ename, "").kind or KadminError
    if issubclass(kind, PartlyFailed) and result.changed is False:
        kind = KadminError
    text = exc.evalue if exc.ename == kind.__name__ else f"{exc.ename}: {exc.evalue}"
    hint = " ".join(filter(None, (error.hint, f"See In [{exc.exec_count}] of {document}.")))
    failure = kind(text, code=error.code, hint=hint)
    failure.document, failure.rows = document, result.rows() or None
    return failure


def _ended(path: Path, otherwise: RunRecord, error: RunError | None = None) -> RunRecord:
    """The record; one that the notebook did not write, or did not end, is ended here."""
    found = RunRecord.read(path)
    if found is None or found.started is None:
        found = otherwise
    elif found.error or (error is None and found.ok is not None):
        return found
    state = otherwise.state if error else found.state
    RunRecord.write(replace(found, state=state, ok=error is None, error=error, written=now()), path)
    return RunRecord.read(path) or found


# --- on each cluster of a group: one document per cluster, the canary first, none after one that fails ---

FLEET = "fleet.json"
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
        """The record in this folder; None without one."""
        return record_in(folder / FLEET, cls, "the record of a run on many clusters")

    def record_of(self, cluster: str, folder: Path) -> RunRecord | None:
        """The record of the run on this cluster; None where it was not started."""
        return RunRecord.read((folder / self.documents[cluster]).with_suffix(".json"))

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
        bound_parameters(runbook, {**given, **own[cluster], _CLUSTER: cluster})
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
            run(name_or_path, {**given, **own[cluster], _CLUSTER: cluster}, output=folder / names[cluster])
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
        brokers = {member: settings_for(member).bootstrap for member in members}
        for one, other in combinations(members, 2):
            if brokers[one] == brokers[other]:
                raise UsageError(f"{one} and {other} have the same brokers: {brokers[one]}")
        return {member: {} for member in members}
    if "plan_id" not in {parameter.name for parameter in runbook.parameters}:
        raise UsageError(f"{runbook.name} takes no plan_id", hint="A folder of a run is for rollback_plan.")
    records = {cluster: earlier.record_of(cluster, Path(each)) for cluster in reversed(earlier.documents)}
    plans = {cluster: record.plan_id for cluster, record in records.items() if record and record.changed is not False}
    changed = {cluster: {"plan_id": plan_id} for cluster, plan_id in plans.items() if plan_id}
    if not changed:
        raise UsageError(f"nothing was changed by the run in {each}")
    return changed


def _in_order(clusters: list[str], canary: str | None) -> list[str]:
    if canary is not None and canary not in clusters:
        raise UsageError(f"the canary {canary} is not in the group", hint=f"It has {', '.join(clusters)}.")
    return sorted(clusters, key=lambda cluster: cluster != canary)


def _begun(folder: Path, fleet: Fleet) -> Fleet:
    """The record, written; where the folder has one, it must say the same."""
    found = Fleet.read(folder)
    if found is None:
        files.make_folder(folder)
        files.write(folder / FLEET, to_json(fleet) + "\n")
    elif to_json(found) != to_json(fleet):
        raise UsageError(f"{folder} has another run", hint="Name another folder, or run what was run there.")
    return fleet
