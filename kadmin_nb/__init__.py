"""Kafka quotas and configs in a notebook: describe, resolve, stage, plan, apply, verify.

`import kadmin_nb as kn`, then `kn.connect(…)`; or `%load_ext kadmin_nb` for `%kquota`, `%kconfig`, `%kadmin`.
Nothing heavy is imported, and nothing is contacted, before it is used.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from . import errors
from .errors import (
    Conflict,
    Invalid,
    KadminError,
    NotAuthorized,
    NotFound,
    PartlyFailed,
    PlanRefused,
    UsageError,
)
from .version import VERSION

if TYPE_CHECKING:
    from . import charts, clients, fleets, local, runbooks, sql, state, usage, widgets
    from .cluster import Cluster, connect
    from .cluster.diff import diff
    from .cluster.doctor import doctor
    from .cluster.policies import check
    from .frames.answer import Answer
    from .frames.spark import spark_session
    from .model.grammar import ANY, DEFAULT, Pattern
    from .plans.apply_options import ApplyOptions
    from .plans.plan import Plan
    from .plans.stage import Stage
    from .policy import rule
    from .resolution.kernel import resolve
    from .state import open_history
    from .state.snapshots import Snapshot


__version__ = VERSION

logging.getLogger(__name__).addHandler(logging.NullHandler())

_LAZY = {
    "ANY": ("model.grammar", "ANY"),
    "DEFAULT": ("model.grammar", "DEFAULT"),
    "Pattern": ("model.grammar", "Pattern"),
    "Answer": ("frames.answer", "Answer"),
    "ApplyOptions": ("plans.apply_options", "ApplyOptions"),
    "Cluster": ("cluster", "Cluster"),
    "Plan": ("plans.plan", "Plan"),
    "Snapshot": ("state.snapshots", "Snapshot"),
    "Stage": ("plans.stage", "Stage"),
    "check": ("cluster.policies", "check"),
    "connect": ("cluster", "connect"),
    "diff": ("cluster.diff", "diff"),
    "doctor": ("cluster.doctor", "doctor"),
    "open_history": ("state", "open_history"),
    "resolve": ("resolution.kernel", "resolve"),
    "spark_session": ("frames.spark", "spark_session"),
    "charts": ("charts", None),
    "clients": ("clients", None),
    "fleets": ("fleets", None),
    "local": ("local", None),
    "rule": ("policy", "rule"),
    "runbooks": ("runbooks", None),
    "sql": ("sql", None),
    "state": ("state", None),
    "usage": ("usage", None),
    "widgets": ("widgets", None),
}

__all__ = [
    "ANY",
    "DEFAULT",
    "Answer",
    "ApplyOptions",
    "Cluster",
    "Conflict",
    "Invalid",
    "KadminError",
    "NotAuthorized",
    "NotFound",
    "PartlyFailed",
    "Pattern",
    "Plan",
    "PlanRefused",
    "Snapshot",
    "Stage",
    "UsageError",
    "charts",
    "check",
    "clients",
    "connect",
    "diff",
    "doctor",
    "errors",
    "fleets",
    "local",
    "open_history",
    "resolve",
    "rule",
    "runbooks",
    "spark_session",
    "sql",
    "state",
    "usage",
    "widgets",
]


def __getattr__(name: str) -> Any:
    """Each name is imported on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room, noun = _LAZY[name]
    module = importlib.import_module(f".{room}", __name__)
    value = module if noun is None else getattr(module, noun)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Run by `%load_ext kadmin_nb`: registers the magics, contacts nothing, prints nothing."""
    importlib.import_module("kadmin_magics").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Run by `%unload_ext kadmin_nb`."""
    importlib.import_module("kadmin_magics").unload(shell)
