"""`run`: a runbook through papermill. A failed run is still a document, with the error in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from ..errors import KadminError, PartlyFailed, Unsupported, UsageError
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from ..paths import journal_dir
from . import run_record
from .catalogue import Runbook, find
from .page import write_page
from .parameters_cell import BUILT_IN, refuse_unknown
from .past_runs import settle
from .run_result import RunResult, error_class

if TYPE_CHECKING:
    from papermill import PapermillExecutionError

    from ..frames.blocks import Block


@dataclass(frozen=True, repr=False)
class Run(Display):
    """A run that ended well: the executed document, its HTML, and the record as a file and as a dictionary."""

    document: Path
    record: Path
    html: Path | None
    result: dict[str, Any]

    def _title(self) -> str:
        plan = [f"{name} {self.result[f'{name}_id']}" for name in ("plan", "changes") if self.result.get(f"{name}_id")]
        return "\n".join([RunResult(self.result)._title(), *plan])

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The checks, planned rows or outcomes of the record."""
        return RunResult(self.result)._content(page)

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The next step, and the files."""
        from ..frames.blocks import Listing

        yield from RunResult(self.result)._footer(page)
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
    bound = _bound(runbook, parameters or {})
    document = _document(runbook, output)
    path = document.with_suffix(".json")
    mill = _papermill()
    settle(document.parent)
    begun = run_record.header(runbook.name, run_record.STARTED, bound, ok=None, processes=[run_record.our_process()])
    run_record.write_record(path, begun)
    try:
        _execute(mill, runbook, document, bound, path)
        result = _result(path, runbook, bound, run_record.FINISHED)
    except KadminError as exc:
        raise exc if exc.document else _with_what_stays(exc, path) from None
    finally:
        page = write_page(document, path) if html else None
    return Run(document, path, page, result)


def _with_what_stays(error: KadminError, record: Path) -> KadminError:
    """The error of a run that cannot be saved, or whose kernel died; where its plan was sent, it says what stays."""
    from ..plans.journal.store import Journals  # with Arrow, which a run that ends well does not need

    try:
        plan_id = run_record.read_record(record).get("plan_id")
        journal = Journals(journal_dir()).find(plan_id) if plan_id else None
        sent = len(journal.state.sent) if journal else 0
    except KadminError:
        return error
    if not journal or not sent:
        return error
    counts = f"{sent} of {len(journal.plan)} rows sent, {len(journal.state.verified)} verified"
    became = f"plan {journal.plan.id[:12]}: {counts}"
    return run_record.unsaved(error, journal.plan.id, became)


def _bound(runbook: Runbook, parameters: Mapping[str, object]) -> dict[str, object]:
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


def _execute(mill: Any, runbook: Runbook, document: Path, bound: dict[str, object], record: Path) -> None:
    """Run it; whatever ends it, the record says so."""
    papermill, papermill_engine = mill
    try:
        papermill.execute_notebook(
            _literal(runbook.path),
            f"{papermill_engine.SCHEME}{_literal(document)}",
            parameters=bound,
            engine_name=papermill_engine.NAME,
            kernel_name="python3",
            language="python",
            progress_bar=sys.stderr.isatty(),
            environment={run_record.PLACE: str(record)},
        )
    except papermill.PapermillExecutionError as exc:
        raise _failure(exc, runbook, bound, document, record) from None
    except _dead_kernel() as exc:
        _result(record, runbook, bound, run_record.FAILED, exc)
        raise KadminError(f"{runbook.name}: the kernel died", hint=f"{document} has the cells that ran.") from None
    except BaseException as exc:
        _result(record, runbook, bound, run_record.FAILED, exc)
        raise


def _papermill() -> Any:
    try:
        import papermill

        from . import papermill_engine
    except ImportError:
        raise Unsupported("papermill is not installed", hint="pip install 'kadmin_nb[runbooks]'") from None
    return papermill, papermill_engine


def _dead_kernel() -> type[Exception]:
    from nbclient.exceptions import DeadKernelError

    return DeadKernelError


def _literal(path: Path) -> str:
    """A path for papermill, which formats every path."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _failure(
    exc: PapermillExecutionError, runbook: Runbook, bound: dict[str, object], document: Path, record: Path
) -> KadminError:
    """The notebook's error, as ours when it is one; the record says so too, whoever wrote it."""
    error = {"type": exc.ename, "message": exc.evalue, "code": None, "hint": None}
    result = _result(record, runbook, bound, run_record.FAILED, error)
    error = result.get("error") or error
    kind = _error_class(exc.ename, changed=result.get("changed") is not False)
    text = exc.evalue if exc.ename == kind.__name__ else f"{exc.ename}: {exc.evalue}"
    hint = " ".join(filter(None, (error.get("hint"), f"See In [{exc.exec_count}] of {document}.")))
    failure = kind(text, code=error.get("code"), hint=hint)
    failure.document, failure.rows = document, RunResult(result).rows() or None
    return failure


def _error_class(name: str, changed: bool) -> type[KadminError]:
    """Our class of that name; what failed in part and changed nothing is not a `PartlyFailed`."""
    kind = error_class(name) or KadminError
    return KadminError if issubclass(kind, PartlyFailed) and not changed else kind


def _result(path: Path, runbook: Runbook, bound: dict[str, object], state: str, error: object = None) -> dict[str, Any]:
    """The record; one that the notebook did not write, or did not end, is ended here."""
    found = run_record.read_record(path)
    if len(found.get("processes", ())) < _WITH_KERNEL:
        found = {}
    if found.get("error") or (found and error is None and found["ok"] is not None):
        return found
    error_body = run_record.described(error) if isinstance(error, BaseException) else error
    state = found["state"] if found and error is None else state
    ours = [run_record.our_process()]
    header = run_record.header(
        runbook.name,
        state,
        found.get("parameters", bound),
        ok=error is None,
        processes=found.get("processes", ours),
    )
    body = {**found, **header, "error": error_body}
    run_record.write_record(path, body)
    return dict(json.loads(run_record.as_json(body)))


_WITH_KERNEL = 2
"""The processes of a record that the notebook keeps: ours, and its kernel."""
