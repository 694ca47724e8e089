"""Runbooks: notebooks with declared parameters; one file for papermill, Jupyter, and a Databricks job task.

Inside a runbook, `bind` reads its parameters strictly, `preflight` and `gate` refuse, `record` keeps the result.
Outside, `list`, `show`, `find`, `new` and `run` (papermill). Nothing here is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit import (
        callbacks,
        coverage,
        shadowed,
        throttled,
        unlimited,
        unlimited_unnamed,
        utilisation,
    )
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
        pandas,
        use_profiles,
    )
    from .launcher import Run, run
    from .preconditions import gate, preflight, reviewed
    from .run_record import Record, record

_AUDITS = (
    *("callbacks", "coverage", "shadowed"),
    *("throttled", "unlimited", "unlimited_unnamed", "utilisation"),
)
_LAZY = {
    "bind": ("binder", "bind"),
    "preflight": ("preconditions", "preflight"),
    "gate": ("preconditions", "gate"),
    "reviewed": ("preconditions", "reviewed"),
    "frame": ("cells", "frame"),
    "pandas": ("cells", "pandas"),
    "effective": ("cells", "effective"),
    "leaders": ("cells", "leaders"),
    "bars": ("cells", "bars"),
    "clients": ("cells", "clients"),
    "chart": ("cells", "chart"),
    "configs_now": ("cells", "configs_now"),
    "LIMITS": ("cells", "LIMITS"),
    "use_profiles": ("cells", "use_profiles"),
    "Client": ("cells", "Client"),
    **{name: ("audit", name) for name in _AUDITS},
    "Record": ("run_record", "Record"),
    "record": ("run_record", "record"),
    "Runbook": ("catalogue", "Runbook"),
    "find": ("catalogue", "find"),
    "list": ("catalogue", "listed"),
    "show": ("catalogue", "show"),
    "new": ("catalogue", "new"),
    "Run": ("launcher", "Run"),
    "run": ("launcher", "run"),
}

__all__ = [
    "LIMITS",
    "Client",
    "Record",
    "Run",
    "Runbook",
    "bars",
    "bind",
    "callbacks",
    "chart",
    "clients",
    "configs_now",
    "coverage",
    "effective",
    "find",
    "frame",
    "gate",
    "leaders",
    "list",
    "new",
    "pandas",
    "preflight",
    "record",
    "reviewed",
    "run",
    "shadowed",
    "show",
    "throttled",
    "unlimited",
    "unlimited_unnamed",
    "use_profiles",
    "utilisation",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, noun = _LAZY[name]
    return getattr(importlib.import_module(f".{module}", __name__), noun)


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
