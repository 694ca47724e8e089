"""`bind`: a runbook's parameters, strictly, before anything runs.

papermill only warns of a misspelt parameter, hands `-p apply false` over as a text that is true, and makes a number
of a user called `007`. Databricks hands everything over as text. So nothing after `bind` reads a raw value.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import make_dataclass
from itertools import chain, takewhile
from typing import Any

from .. import databricks
from ..errors import UsageError, printable
from .parameters_cell import Parameter, injected, is_declaring, parameters, refuse_unknown

_WIDEST = 200


def bind(namespace: MutableMapping[str, Any] | None = None, *, show: Callable[[str], object] = print) -> Any:
    """The runbook's parameters as a frozen record; the bound values are printed.

    The first code cell, tagged `parameters`, declares them: `apply: bool = False  # change the cluster`. Types are
    bool, int, float, str, lists of one, each perhaps `| None`. What papermill or a person puts into a cell right
    behind it overrides; on Databricks, the task's widgets do. The names in the notebook then hold the bound values
    as well.

    Parameters
    ----------
    namespace
        The notebook's `globals()`; default: the caller's.
    show
        The function that prints the bound values.

    Raises
    ------
    UsageError
        A name that is not declared, a value of another type, a name or value that looks like a secret.
    """
    space = sys._getframe(1).f_globals if namespace is None else namespace
    declared, injected_values = _cells(space)
    refuse_unknown(injected_values, [p.name for p in declared])
    raw = databricks_values(space["dbutils"], declared) if is_databricks_job(space) else space
    bound = {p.name: p.bind(raw.get(p.name, p.default)) for p in declared}
    space.update(bound)
    show(_table(declared, bound))
    return make_dataclass("Parameters", [(name, Any) for name in bound], frozen=True)(**bound)


def _cells(space: MutableMapping[str, Any]) -> tuple[list[Parameter], list[str]]:
    """The declared parameters, and the names set by the cells right behind.

    IPython keeps the source of every executed cell in `In`. Where it does not, the namespace's annotations declare.
    """
    history = [str(cell) for cell in space.get("In", ())]
    start = next((n for n in reversed(range(len(history))) if is_declaring(history[n])), None)
    if start is not None:
        behind = takewhile(bool, map(injected, history[start + 1 :]))
        return parameters(history[start]), [*chain.from_iterable(behind)]
    if annotations := space.get("__annotations__"):
        return [
            Parameter.of(name, kind if isinstance(kind, str) else inspect.formatannotation(kind), space.get(name))
            for name, kind in annotations.items()
        ], []
    if any("dagstermill" in cell for cell in history):
        raise UsageError(
            "dagstermill has put a cell of its own in the place of the one that declares the parameters",
            hint="In an op of Dagster's run it with kn.runbooks.run(name, parameters, output=…).",
        )
    raise UsageError(
        "no cell above declares parameters",
        hint="The first code cell, tagged parameters, has lines such as: apply: bool = False  # change the cluster",
    )


def _table(declared: Sequence[Parameter], bound: dict[str, object]) -> str:
    """A line for each parameter, with its value, and whether that is the default."""
    width = max((len(p.name) for p in declared), default=0)
    lines = []
    for one in declared:
        text = printable(repr(bound[one.name]))
        shown = text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
        lines.append(f"{one.name:<{width}}  {shown}{'  (default)' if bound[one.name] == one.default else ''}")
    return "\n".join(lines)


def is_databricks_job(namespace: Mapping[str, Any]) -> bool:
    """True if this notebook runs on Databricks."""
    return databricks.is_here() and "dbutils" in namespace


def databricks_values(dbutils: Any, declared: Iterable[Parameter]) -> dict[str, str]:
    """The text of each parameter's widget, which is made with the default if there is none yet.

    Raises
    ------
    UsageError
        The job passes a name that is not declared, where the runtime can tell (`widgets.getAll`).
    """
    declared = list(declared)
    for each in declared:
        dbutils.widgets.text(each.name, widget_text(each.default))
    if hasattr(dbutils.widgets, "getAll"):
        refuse_unknown(dbutils.widgets.getAll(), [p.name for p in declared])
    return {p.name: dbutils.widgets.get(p.name) for p in declared}


def widget_text(value: object) -> str:
    """A default as a widget's text; binding it gives the same value."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def hand_back_to_databricks(namespace: Mapping[str, Any], result: str, cluster_id: str | None = None) -> None:
    """End the notebook with this text for the job, on Databricks; elsewhere nothing. Later tasks of the job have the
    cluster's id as `{{tasks.NAME.values.cluster_id}}`."""
    if is_databricks_job(namespace):
        if cluster_id is not None:
            namespace["dbutils"].jobs.taskValues.set(key="cluster_id", value=cluster_id)
        namespace["dbutils"].notebook.exit(result)
