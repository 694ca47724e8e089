"""Requests, usage and utilisation, from log lines and metrics.

Arrow, pandas and Polars are worked on in this process, Spark DataFrames, classic and Connect, where they are. What is
lazy stays lazy: what is made of a Spark DataFrame is one.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import Unsupported

if TYPE_CHECKING:
    from .backtesting import backtest
    from .broker_utilisation import UtilisationDifferences, utilisation_differences
    from .covered import coverage
    from .limits_used import known_clients, over_days, utilisation, utilisation_daily
    from .log_days import LogDay, log_day
    from .metrics import usage_from_metrics
    from .near_and_top import alerts, near, top
    from .prometheus_api import prometheus
    from .request_log import Requests, record_sizes, requests
    from .request_rows import LOWEST_VERSIONS
    from .tables import check_tables, store_usage, store_utilisation
    from .touched_clients import impact
    from .usage_totals import totals
    from .windows import usage

_NAMES = {
    "backtesting": "backtest",
    "broker_utilisation": "UtilisationDifferences utilisation_differences",
    "covered": "coverage",
    "limits_used": "known_clients over_days utilisation utilisation_daily",
    "log_days": "LogDay log_day",
    "metrics": "usage_from_metrics",
    "near_and_top": "alerts near top",
    "prometheus_api": "prometheus",
    "request_log": "Requests record_sizes requests",
    "request_rows": "LOWEST_VERSIONS",
    "tables": "check_tables store_usage store_utilisation",
    "touched_clients": "impact",
    "usage_totals": "totals",
    "windows": "usage",
}
"""The verbs and answers, by the module that each is in."""

_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "LOWEST_VERSIONS", "LogDay", "Requests", "UtilisationDifferences", "alerts", "backtest", "check_tables",
    "coverage", "impact", "known_clients", "log_day", "near", "over_days", "prometheus", "record_sizes", "requests",
    "store_usage", "store_utilisation", "top", "totals", "usage", "usage_from_metrics", "utilisation",
    "utilisation_daily", "utilisation_differences",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Each verb is imported on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _PLACES[name] == "tables" and find_spec("pyspark") is None:
        raise Unsupported("pyspark is not installed", hint="pip install 'kadmin_nb[spark]'")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
