"""Runbooks: notebooks with declared parameters; one file for papermill, Jupyter, and a Databricks job task.

Inside a runbook, `bind` reads its parameters strictly, `preflight` and `gate` refuse, `record` keeps the result.
Outside, `list`, `show`, `find` and `run` (papermill). Nothing here is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .binder import bind
    from .checks import gate, preflight
    from .launcher import Run, run
    from .records import Record, record
    from .shelf import Runbook, find, show
    from .shelf import listed as list

_LAZY = {
    "bind": ("binder", "bind"),
    "preflight": ("checks", "preflight"),
    "gate": ("checks", "gate"),
    "Record": ("records", "Record"),
    "record": ("records", "record"),
    "Runbook": ("shelf", "Runbook"),
    "find": ("shelf", "find"),
    "list": ("shelf", "listed"),
    "show": ("shelf", "show"),
    "Run": ("launcher", "Run"),
    "run": ("launcher", "run"),
}

__all__ = ["Record", "Run", "Runbook", "bind", "find", "gate", "list", "preflight", "record", "run", "show"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, noun = _LAZY[name]
    return getattr(importlib.import_module(f".{module}", __name__), noun)


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
