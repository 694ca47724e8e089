"""`run`: a runbook through papermill. A failed run is still a document, with the error in it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from ..errors import KadminError, PartlyFailed, Unsupported, UsageError
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from ..frames.schemas import now
from ..hints import short_id
from ..paths import journal_dir
from .binder import BUILT_IN, refuse_unknown
from .catalogue import Runbook, find
from .page import settle, write_page
from .recording import PLACE, unsaved
from .run_record import FAILED, FINISHED, STARTED, RunError, RunProcess, RunRecord

if TYPE_CHECKING:
    from papermill import PapermillExecutionError

    from ..frames.blocks import Block


@dataclass(frozen=True, repr=False)
class Run(Display):
    """A run that ended well: the executed document, its HTML, and the record, as a file and as a value."""

    document: Path
    record: Path
    html: Path | None
    result: RunRecord

    def _title(self) -> str:
        ids = {"plan": self.result.plan_id, "changes": self.result.changes_id}
        return "\n".join([self.result._title(), *(f"{name} {one}" for name, one in ids.items() if one)])

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The checks, planned rows or outcomes of the record."""
        return self.result._content(page)

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The next step, and the files."""
        from ..frames.blocks import Listing

        yield from self.result._footer(page)
        paths = [str(path) for path in (self.document, self.record, self.html) if path]
        yield Listing(paths, len(paths), "files", types=True)


def run(
    name_or_path: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    output: str | Path | None = None,
    html: bool = True,
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
    html
        Write `<document>.html` as well.

    Returns
    -------
    Run
        The JSON record is `<document>.json`, beside the document, even if the run fails. Earlier runs of the folder
        that ended without a word get their page now.

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
    settle(document.parent)
    begun = RunRecord(runbook=runbook.name, state=STARTED, ok=None, processes=[RunProcess.this()], parameters=bound)
    begun.write(path)
    try:
        _execute(mill, runbook, document, begun, path)
        result = _ended(path, replace(begun, state=FINISHED))
    except KadminError as exc:
        raise exc if exc.document else _with_what_stays(exc, path) from None
    finally:
        page = write_page(document, path) if html else None
    return Run(document, path, page, result)


def _with_what_stays(error: KadminError, record: Path) -> KadminError:
    """The error of a run that cannot be saved, or whose kernel died; where its plan was sent, it says what stays."""
    from ..plans.journal.store import Journals  # with Arrow, which a run that ends well does not need

    try:
        run = RunRecord.read(record)
        journal = Journals(journal_dir()).find(run.plan_id) if run and run.plan_id else None
        sent = len(journal.state.sent) if journal else 0
    except KadminError:
        return error
    if not journal or not sent:
        return error
    counts = f"{sent} of {len(journal.plan)} rows sent, {len(journal.state.verified)} verified"
    return unsaved(error, journal.plan.id, f"plan {short_id(journal.plan.id)}: {counts}")


def bound_parameters(runbook: Runbook, parameters: Mapping[str, object]) -> dict[str, object]:
    """The given values by their declared types; everything that the binder refuses is refused before it starts."""
    declared = {p.name: p for p in runbook.parameters}
    refuse_unknown(parameters, list(declared))
    if reserved := next((name for name in parameters if name in BUILT_IN), None):
        raise UsageError(f"{reserved} is papermill's own", hint="Set output= instead.")
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
    if found is None or len(found.processes) < _WITH_KERNEL:
        found = otherwise
    elif found.error or (error is None and found.ok is not None):
        return found
    state = otherwise.state if error else found.state
    RunRecord.write(replace(found, state=state, ok=error is None, error=error, written=now()), path)
    return RunRecord.read(path) or found


_WITH_KERNEL = 2
"""The processes of a record that the notebook keeps: ours, and its kernel."""
