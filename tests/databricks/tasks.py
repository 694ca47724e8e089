"""A notebook as the task of a Databricks job: its cells in one namespace with a `dbutils`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.runbooks.databricks_stand_in import Dbutils, Exit

TESTS = Path(__file__).parents[1]


def as_task(notebook: Path, **parameters: str) -> dict[str, Any]:
    """Run it; what the job gets."""
    space: dict[str, Any] = {"dbutils": Dbutils(**parameters), "In": [""]}
    with pytest.raises(Exit) as ended:
        _run_cells(notebook, space)
    said: dict[str, Any] = json.loads(str(ended.value))
    return said


def _run_cells(notebook: Path, space: dict[str, Any]) -> None:
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            space["In"].append(cell.source)
            exec(cell.source, space)
