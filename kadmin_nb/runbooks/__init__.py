"""Runbooks: notebooks with declared parameters; one file for papermill, Jupyter, and a Databricks job task.

Inside a runbook, `bind` reads its parameters strictly, `preflight` and `gate` refuse, `record` keeps the result.
Outside, `list`, `show`, `find`, `new` and `run` (papermill). Nothing here is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auditing import callbacks, shadowed, throttled, unlimited, unlimited_unnamed, utilisation
    from .binder import bind
    from .checks import gate, preflight, reviewed
    from .client import LIMITS, Client
    from .configs import configs_now
    from .inputs import clients, frame
    from .launcher import Run, run
    from .records import Record, record
    from .shelf import Runbook, find, show
    from .shelf import listed as list
    from .skeleton import new

_AUDITS = ("callbacks", "shadowed", "throttled", "unlimited", "unlimited_unnamed", "utilisation")
_LAZY = {
    "bind": ("binder", "bind"),
    "preflight": ("checks", "preflight"),
    "gate": ("checks", "gate"),
    "reviewed": ("checks", "reviewed"),
    "frame": ("inputs", "frame"),
    "clients": ("inputs", "clients"),
    "configs_now": ("configs", "configs_now"),
    "LIMITS": ("client", "LIMITS"),
    "Client": ("client", "Client"),
    **{name: ("auditing", name) for name in _AUDITS},
    "Record": ("records", "Record"),
    "record": ("records", "record"),
    "Runbook": ("shelf", "Runbook"),
    "find": ("shelf", "find"),
    "list": ("shelf", "listed"),
    "show": ("shelf", "show"),
    "new": ("skeleton", "new"),
    "Run": ("launcher", "Run"),
    "run": ("launcher", "run"),
}

__all__ = [
    "LIMITS",
    "Client",
    "Record",
    "Run",
    "Runbook",
    "bind",
    "callbacks",
    "clients",
    "configs_now",
    "find",
    "frame",
    "gate",
    "list",
    "new",
    "preflight",
    "record",
    "reviewed",
    "run",
    "shadowed",
    "show",
    "throttled",
    "unlimited",
    "unlimited_unnamed",
    "utilisation",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, noun = _LAZY[name]
    return getattr(importlib.import_module(f".{module}", __name__), noun)


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
