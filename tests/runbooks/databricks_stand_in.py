"""A stand-in for the `dbutils` of a Databricks notebook: what a runbook uses of it, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

RUNBOOKS = Path(__file__).resolve().parents[2] / "notebooks" / "runbooks"


class Widgets:
    """The part of `dbutils.widgets` that a notebook uses: every value is text."""

    def __init__(self, passed: dict[str, str]) -> None:
        self.passed, self.made = passed, dict[str, str]()

    def text(self, name: str, defaultValue: str, label: str | None = None) -> None:
        self.made.setdefault(name, defaultValue)

    def get(self, name: str) -> str:
        return self.getAll()[name]

    def getAll(self) -> dict[str, str]:
        return {**self.made, **self.passed}


class Exit(BaseException):
    """What `dbutils.notebook.exit` does to the notebook."""


class TaskValues:
    """`dbutils.jobs.taskValues`: what a task tells those behind it."""

    def __init__(self) -> None:
        self.told: dict[str, object] = {}

    def set(self, key: str, value: object) -> None:
        self.told[key] = value


class Dbutils:
    def __init__(self, **passed: str) -> None:
        self.widgets = Widgets(passed)
        self.notebook = self.jobs = self
        self.taskValues = TaskValues()

    def exit(self, text: str) -> None:
        raise Exit(text)


def as_task(runbook: str | Path, **passed: object) -> dict[str, Any]:
    """Run the cells as a Databricks job task does, in one namespace with a dbutils; what the job gets.

    Each value goes in as text, a list as JSON.
    """
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in passed.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
        with pytest.raises(Exit) as ended:
            _run_cells(runbook, {"dbutils": Dbutils(**texts), "In": [""]})
    said: dict[str, Any] = json.loads(str(ended.value))
    return said


def _run_cells(runbook: str | Path, space: dict[str, Any]) -> None:
    place = runbook if isinstance(runbook, Path) else RUNBOOKS / f"{runbook}.ipynb"
    for cell in nbformat.read(place, as_version=4).cells:
        if cell.cell_type == "code":
            space["In"].append(cell.source)
            exec(cell.source, space)
