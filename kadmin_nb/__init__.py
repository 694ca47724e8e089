"""Kafka quotas and configs in a notebook: describe, resolve, stage, plan, apply, verify.

`import kadmin_nb as kn`, then `kn.connect(…)`; or `%load_ext kadmin_nb` for `%kquota`, `%kconfig`, `%kadmin`.
Nothing heavy is imported, and nothing is contacted, before it is used.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from . import errors as errors
from .errors import Invalid as Invalid
from .errors import KadminError as KadminError
from .errors import NotAuthorized as NotAuthorized
from .errors import NotFound as NotFound
from .errors import PartlyFailed as PartlyFailed
from .errors import PlanRefused as PlanRefused
from .errors import UsageError as UsageError
from .version import VERSION

if TYPE_CHECKING:
    from . import charts as charts
    from . import clients as clients
    from . import fleets as fleets
    from . import local as local
    from . import runbooks as runbooks
    from . import sql as sql
    from . import state as state
    from . import usage as usage
    from . import widgets as widgets
    from .cluster import Cluster as Cluster
    from .cluster import connect as connect
    from .cluster.diff import diff as diff
    from .cluster.doctor import doctor as doctor
    from .cluster.policies import check as check
    from .frames.answer import Answer as Answer
    from .frames.spark import spark_session as spark_session
    from .local.demo import demo as demo
    from .model.grammar import ANY as ANY
    from .model.grammar import DEFAULT as DEFAULT
    from .model.grammar import Pattern as Pattern
    from .plans.apply_options import ApplyOptions as ApplyOptions
    from .plans.plan import Plan as Plan
    from .plans.stage import Stage as Stage
    from .policy import rule as rule
    from .resolution.kernel import resolve as resolve
    from .state import open_history as open_history
    from .state.snapshots import Snapshot as Snapshot


__version__ = VERSION

logging.getLogger(__name__).addHandler(logging.NullHandler())

_ROOMS = ("charts", "clients", "fleets", "local", "runbooks", "sql", "state", "usage", "widgets")
_NAMES = {
    "cluster": "Cluster connect",
    "cluster.diff": "diff",
    "cluster.doctor": "doctor",
    "cluster.policies": "check",
    "frames.answer": "Answer",
    "local.demo": "demo",
    "frames.spark": "spark_session",
    "model.grammar": "ANY DEFAULT Pattern",
    "plans.apply_options": "ApplyOptions",
    "plans.plan": "Plan",
    "plans.stage": "Stage",
    "policy": "rule",
    "resolution.kernel": "resolve",
    "state": "open_history",
    "state.snapshots": "Snapshot",
}
"""What is imported on first use, by the module that it is in; besides them the rooms themselves."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted({*_MODULES, *_ROOMS, *(name for name in globals() if name == "errors" or name in errors.__all__)})


def __getattr__(name: str) -> Any:
    """Each name is imported on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_MODULES.get(name, name)}", __name__)
    globals()[name] = value = module if name in _ROOMS else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Run by `%load_ext kadmin_nb`: registers the magics, contacts nothing, prints nothing."""
    importlib.import_module("kadmin_magics").load(shell)
