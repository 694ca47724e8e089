"""A notebook as the task of a Databricks job: its cells in one namespace with a `dbutils`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.runbooks.databricks_stand_in import Dbutils, Exit

TESTS = Path(__file__).parents[1]


def as_task(notebook: Path, **parameters: str) -> dict[str, Any]:
    """Run it; what the job gets."""
    said, _ = with_values(notebook, parameters)
    return said


def with_values(notebook: Path, parameters: Mapping[str, str]) -> tuple[dict[str, Any], Mapping[str, object]]:
    """Run it; what the job gets, and what it tells the tasks behind it."""
    dbutils = Dbutils(**parameters)
    with pytest.raises(Exit) as ended:
        _run_cells(notebook, {"dbutils": dbutils, "In": [""]})
    said: dict[str, Any] = json.loads(str(ended.value))
    return said, dbutils.taskValues.told


def _run_cells(notebook: Path, space: dict[str, Any]) -> None:
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            space["In"].append(cell.source)
            exec(cell.source, space)
