"""The runbook as a Databricks job task: values arrive as text through widgets, the result goes back by `exit`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .. import databricks
from .parameters_cell import Parameter, refuse_unknown


def is_here(namespace: Mapping[str, Any]) -> bool:
    """True if this notebook runs on Databricks."""
    return databricks.is_here() and "dbutils" in namespace


def values(dbutils: Any, declared: Iterable[Parameter]) -> dict[str, str]:
    """The text of each parameter's widget, which is made with the default if there is none yet.

    Raises
    ------
    UsageError
        The job passes a name that is not declared, where the runtime can tell (`widgets.getAll`).
    """
    declared = list(declared)
    for parameter in declared:
        dbutils.widgets.text(parameter.name, text(parameter.default))
    if hasattr(dbutils.widgets, "getAll"):
        refuse_unknown(dbutils.widgets.getAll(), [p.name for p in declared])
    return {p.name: dbutils.widgets.get(p.name) for p in declared}


def text(value: object) -> str:
    """A default as a widget's text; binding it gives the same value."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def hand_back(namespace: Mapping[str, Any], result: str) -> None:
    """End the notebook with this text for the job, on Databricks; elsewhere nothing."""
    if is_here(namespace):
        namespace["dbutils"].notebook.exit(result)
