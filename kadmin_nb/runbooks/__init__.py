"""Runbooks: notebooks with declared parameters; one file for papermill, Jupyter, and a Databricks job task.

Inside a runbook, `bind` reads its parameters strictly, `preflight` and `gate` refuse, `record` keeps the result.
Outside, `list`, `show`, `find`, `new` and `run` (papermill). Nothing here is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit import callbacks, coverage, shadowed, throttled, unlimited, unlimited_unnamed, utilisation
    from .binder import bind
    from .catalogue import Runbook, find, new, show
    from .catalogue import listed as list
    from .cells import (
        LIMITS,
        Client,
        bars,
        chart,
        clients,
        configs_now,
        effective,
        frame,
        leaders,
        limited,
        pandas,
        since,
        use_profiles,
    )
    from .each import run_each
    from .launcher import Run, run
    from .preconditions import gate, preflight, reviewed
    from .recording import Record, record

_NAMES = {
    "audit": "callbacks coverage shadowed throttled unlimited unlimited_unnamed utilisation",
    "binder": "bind",
    "catalogue": "Runbook find new show",
    "cells": "LIMITS Client bars chart clients configs_now effective frame leaders limited pandas since use_profiles",
    "each": "run_each",
    "launcher": "Run run",
    "preconditions": "gate preflight reviewed",
    "recording": "Record record",
}
_LAZY = {name: (module, name) for module, names in _NAMES.items() for name in names.split()}
_LAZY["list"] = ("catalogue", "listed")

__all__ = [
    "LIMITS", "Client", "Record", "Run", "Runbook", "bars", "bind", "callbacks", "chart", "clients", "configs_now",
    "coverage", "effective", "find", "frame", "gate", "leaders", "limited", "list", "new", "pandas", "preflight",
    "record", "reviewed", "run", "run_each", "shadowed", "show", "since", "throttled", "unlimited", "unlimited_unnamed",
    "use_profiles", "utilisation",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, noun = _LAZY[name]
    return getattr(importlib.import_module(f".{module}", __name__), noun)


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
