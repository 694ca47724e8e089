"""Kafka quotas and configs in a notebook: describe, resolve, stage, plan, apply, verify.

`import kadmin_nb as kn`, then `kn.connect(…)`; or `%load_ext kadmin_nb` for `%kquota`, `%kconfig`, `%kadmin`.
Nothing heavy is imported, and nothing is contacted, before it is used.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from .errors import (
    AuthenticationFailed,
    Conflict,
    ConnectionFailed,
    Dangerous,
    Expired,
    Interrupted,
    Invalid,
    KadminError,
    Locked,
    NeedsLook,
    NotAuthorized,
    NotFound,
    NotKnowable,
    PartlyFailed,
    PlanRefused,
    TimedOut,
    Unsupported,
    UsageError,
    WrongCluster,
)
from .version import VERSION

if TYPE_CHECKING:
    from . import charts, clients, fleets, local, runbooks, sql, state, usage, widgets
    from .advice.config_rules import config_findings
    from .cluster import Cluster, connect
    from .cluster.diff import diff
    from .cluster.doctor import doctor
    from .cluster.policies import check
    from .frames.answer import Answer
    from .frames.spark import spark_session
    from .model.grammar import ANY, DEFAULT, Pattern
    from .model.levels import LEVELS
    from .plans.apply_options import ApplyOptions
    from .plans.outcomes import Outcomes
    from .plans.plan import Plan
    from .plans.stage import Stage
    from .policy import rule
    from .resolution.kernel import resolve, resolve_ip
    from .resolution.rules import metric_tags
    from .state import open_history
    from .state.snapshots import Snapshot
    from .usage.backtesting import backtest
    from .usage.touched_clients import impact


__version__ = VERSION

logging.getLogger(__name__).addHandler(logging.NullHandler())

_LAZY = {
    "ANY": ("model.grammar", "ANY"),
    "DEFAULT": ("model.grammar", "DEFAULT"),
    "Pattern": ("model.grammar", "Pattern"),
    "LEVELS": ("model.levels", "LEVELS"),
    "Answer": ("frames.answer", "Answer"),
    "ApplyOptions": ("plans.apply_options", "ApplyOptions"),
    "Cluster": ("cluster", "Cluster"),
    "Outcomes": ("plans.outcomes", "Outcomes"),
    "Plan": ("plans.plan", "Plan"),
    "Snapshot": ("state.snapshots", "Snapshot"),
    "Stage": ("plans.stage", "Stage"),
    "config_findings": ("advice.config_rules", "config_findings"),
    "backtest": ("usage.backtesting", "backtest"),
    "check": ("cluster.policies", "check"),
    "connect": ("cluster", "connect"),
    "diff": ("cluster.diff", "diff"),
    "doctor": ("cluster.doctor", "doctor"),
    "impact": ("usage.touched_clients", "impact"),
    "open_history": ("state", "open_history"),
    "metric_tags": ("resolution.rules", "metric_tags"),
    "resolve": ("resolution.kernel", "resolve"),
    "resolve_ip": ("resolution.kernel", "resolve_ip"),
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
    "LEVELS",
    "Answer",
    "ApplyOptions",
    "AuthenticationFailed",
    "Cluster",
    "Conflict",
    "ConnectionFailed",
    "Dangerous",
    "Expired",
    "Interrupted",
    "Invalid",
    "KadminError",
    "Locked",
    "NeedsLook",
    "NotAuthorized",
    "NotFound",
    "NotKnowable",
    "Outcomes",
    "PartlyFailed",
    "Pattern",
    "Plan",
    "PlanRefused",
    "Snapshot",
    "Stage",
    "TimedOut",
    "Unsupported",
    "UsageError",
    "WrongCluster",
    "backtest",
    "charts",
    "check",
    "clients",
    "config_findings",
    "connect",
    "diff",
    "doctor",
    "fleets",
    "impact",
    "local",
    "metric_tags",
    "open_history",
    "resolve",
    "resolve_ip",
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
