"""Runbooks: notebooks with declared parameters; one file for papermill, Jupyter, and a Databricks job task.

Inside a runbook, `bind` reads its parameters strictly, `preflight` and `gate` refuse, `record` keeps the result.
Outside, `list`, `show`, `find`, `new` and `run` (papermill). Nothing here is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .binder import bind
    from .catalogue import Runbook, find, new, show
    from .catalogue import listed as list
    from .cells import (
        LIMITS,
        callbacks,
        chart,
        clients,
        coverage,
        effective,
        frame,
        leaders,
        limited,
        pandas,
        since,
        use_profiles,
    )
    from .checks import gate, preflight, reviewed
    from .launcher import Run, run, run_each
    from .recording import Record, record

_NAMES = {
    "binder": "bind",
    "catalogue": "Runbook find new show",
    "cells": "LIMITS callbacks chart clients coverage effective frame leaders limited pandas since use_profiles",
    "launcher": "Run run run_each",
    "checks": "gate preflight reviewed",
    "recording": "Record record",
}
_LAZY = {name: (module, name) for module, names in _NAMES.items() for name in names.split()}
_LAZY["list"] = ("catalogue", "listed")

__all__ = [
    "LIMITS", "Record", "Run", "Runbook", "bind", "callbacks", "chart", "clients", "coverage",
    "effective", "find", "frame", "gate", "leaders", "limited", "list", "new", "pandas", "preflight", "record",
    "reviewed", "run", "run_each", "show", "since", "use_profiles",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, noun = _LAZY[name]
    return getattr(importlib.import_module(f".{module}", __name__), noun)


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
