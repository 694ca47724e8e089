"""Notebooks made for one test, and the shipped ones as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from tests.runbooks.notebook_output import shown_by

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
    return shown_by
