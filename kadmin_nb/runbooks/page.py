"""The page of a run: a report of the executed document, its verdict first and its code folded, as one HTML file.

A run whose processes are gone without a word has none yet: it is told so when somebody looks, and gets its page.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from .. import errors, files
from ..errors import KadminError, NotFound
from ..hints import plan_verb, terminal
from .run_record import APPLYING, WITHOUT_A_WORD, RunError, RunRecord

_TEMPLATE = Path(__file__).with_name("page.html.j2")
_STYLE = Path(__file__).with_name("page.css")
_UNSEEN = {"remove-cell", "parameters", "injected-parameters", "papermill-error-cell-tag"}
"""Tags of cells that a page does not have: instructions, values that `bind` prints anyway, papermill's red marks."""

_MAGICS = {rf"%%k{word}": "text" for word in ("quota", "config", "admin", "plan")}
"""Cells in which a language of ours stands, not Python."""


def write_page(document: Path, record: Path) -> Path | None:
    """The page beside a document and its record. One that cannot be made is not a reason to fail."""
    page = document.with_suffix(".html")
    try:
        run = RunRecord.read(record)
        if run is None or not document.exists():
            return None
        files.write(page, _html(document, run))
    except Exception as exc:
        logging.getLogger(__name__).warning("no page was made of %s: %s", document.name, type(exc).__name__)
        return None
    return page


def _html(document: Path, run: RunRecord) -> str:
    import nbformat
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    notebook: Any = nbformat.read(document, as_version=4)  # type: ignore[no-untyped-call]
    title = _take_title(notebook.cells) or run.runbook
    failed = [any(one.output_type == "error" for one in cell.get("outputs", ())) for cell in notebook.cells]
    ran = failed.index(True) + 1 if any(failed) else len(failed)
    notebook.cells = list(_telling(notebook.cells[:ran]))
    config = {
        "HighlightMagicsPreprocessor": {"enabled": True, "languages": _MAGICS},
        "TagRemovePreprocessor": {"enabled": True, "remove_cell_tags": _UNSEEN},
    }
    exporter: Any = HTMLExporter(  # type: ignore[no-untyped-call]
        config=Config(config), template_file=str(_TEMPLATE), exclude_output_prompt=True
    )
    page = {
        "title": title,
        "tone": run.tone,
        "verdict": run.verdict_html(),
        "style": _STYLE.read_text(encoding="utf-8"),
        "refusals": errors.__all__,
    }
    return str(exporter.from_notebook_node(notebook, resources={"page": page})[0])


def _take_title(cells: Sequence[Any]) -> str:
    """The heading of the first prose, which stands above the verdict and no more in its cell."""
    for cell in cells:
        if cell.cell_type == "markdown" and (heading := re.match(r"# +(.*)\n*", cell.source)):
            cell.source = cell.source[heading.end() :]
            return heading[1].strip()
    return ""


def _telling(cells: Sequence[Any]) -> Iterator[Any]:
    """The cells without the sections whose code shows nothing: steps that were not taken."""
    headings = (cell.cell_type == "markdown" and cell.source.startswith("#") for cell in cells)
    sections = zip(accumulate(headings), cells, strict=True)
    for first, group in groupby(sections, itemgetter(0)):
        members = [cell for _, cell in group]
        code = [cell for cell in members if cell.cell_type == "code"]
        if not first or not code or any(cell.outputs for cell in code):
            yield from members


_MOST = 100
"""Documents of a folder, the newest, that are looked at before a run."""


def look_at(path: Path) -> RunRecord:
    """The record in this file, which is settled.

    Raises
    ------
    NotFound, Invalid
        There is no such file; it is something else.
    """
    if (record := RunRecord.read(path)) is None:
        raise NotFound(f"no such record: {path}")
    is_abandoned = record.ok is None and record.processes and all(one.is_gone for one in record.processes)
    return _settled(path, record) if is_abandoned else record


def settle(folder: Path) -> None:
    """Settle the runs in this folder that ended without a word: a run that ended in any other way has a page."""
    documents = [path for path in folder.glob("*.ipynb") if not path.with_suffix(".html").exists()]
    for document in sorted(documents, key=_written, reverse=True)[:_MOST]:
        with contextlib.suppress(KadminError):  # a file of somebody else's is no reason not to run
            look_at(document.with_suffix(".json"))


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _settled(path: Path, record: RunRecord) -> RunRecord:
    """The record of a run that ended without a word: it says so from now on, and the page is made of what there is."""
    hint = "Nothing was sent. Run it again."
    if record.state == APPLYING:
        hint = f"{terminal(plan_verb('apply', str(record.plan_id)))} continues it, and says what was sent."
    elif record.changed:
        hint = "The rows were sent: run it again, which changes nothing that is there already."
    last = record.processes[-1]
    error = RunError(WITHOUT_A_WORD, f"its process {last.pid} on {last.host} is gone", hint=hint)
    settled = replace(record, ok=False, error=error)
    settled.write(path)
    write_page(path.with_suffix(".ipynb"), path)
    return settled
