"""Notebooks made for one test, and the shipped ones as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

BIND = "import kadmin_nb as kn\nparams = kn.runbooks.bind(globals())"


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Makes a runbook: a parameters cell, the binder, and these cells."""

    def write(declared: str, *cells: str, name: str = "mine") -> Path:
        first = nbformat.v4.new_code_cell(declared, metadata={"tags": ["parameters"]})
        prose = nbformat.v4.new_markdown_cell("# Mine\n\nDoes what\nI want.\n\nMore.")
        rest = [nbformat.v4.new_code_cell(cell) for cell in (BIND, *cells)]
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[prose, first, *rest]), path)
        return path

    return write


@pytest.fixture
def outputs() -> Callable[[Path], str]:
    """All that the cells of an executed document printed, showed or raised, as text."""
    return lambda path: "\n".join(_texts(json.loads(path.read_text())))


def _texts(document: dict[str, Any]) -> list[str]:
    shown = [out for cell in document["cells"] for out in cell.get("outputs", [])]
    plain = [out.get("text") or out.get("data", {}).get("text/plain") or out.get("evalue", "") for out in shown]
    return ["".join(text) for text in plain]
