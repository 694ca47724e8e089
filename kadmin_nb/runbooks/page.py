"""The page of a run: a report of the executed document, its verdict first and its code folded, as one HTML file."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from .. import errors, files
from .run_record import RunRecord

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
    notebook.cells = list(_telling(_until_failure(notebook.cells)))
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


def _until_failure(cells: Sequence[Any]) -> Iterator[Any]:
    """The cells that were run."""
    for cell in cells:
        yield cell
        if any(output.output_type == "error" for output in cell.get("outputs", ())):
            return


def _telling(cells: Iterator[Any]) -> Iterator[Any]:
    """The cells without the sections whose code shows nothing: steps that were not taken."""
    number = 0

    def section(cell: Any) -> int:
        nonlocal number
        number += bool(cell.cell_type == "markdown" and cell.source.startswith("#"))
        return number

    for first, group in groupby(cells, section):
        members = [*group]
        code = [cell for cell in members if cell.cell_type == "code"]
        if not first or not code or any(cell.outputs for cell in code):
            yield from members
