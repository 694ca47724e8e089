"""Requests, usage and utilisation, from log lines and metrics.

Arrow, pandas and Polars are worked on in this process, Spark DataFrames, classic and Connect, where they are. What is
lazy stays lazy: what is made of a Spark DataFrame is one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backtesting import backtest as backtest
    from .backtesting import impact as impact
    from .broker_metrics import prometheus as prometheus
    from .broker_metrics import usage_from_metrics as usage_from_metrics
    from .covered import LogDay as LogDay
    from .covered import coverage as coverage
    from .covered import log_day as log_day
    from .limits_used import known_clients as known_clients
    from .limits_used import utilisation as utilisation
    from .limits_used import utilisation_daily as utilisation_daily
    from .near_and_top import alerts as alerts
    from .near_and_top import near as near
    from .near_and_top import top as top
    from .request_log import Requests as Requests
    from .request_log import requests as requests
    from .request_rows import LOWEST_VERSIONS as LOWEST_VERSIONS
    from .tables import store_usage as store_usage
    from .tables import store_utilisation as store_utilisation
    from .usage_windows import totals as totals
    from .usage_windows import usage as usage

_NAMES = {
    "backtesting": "backtest impact",
    "broker_metrics": "prometheus usage_from_metrics",
    "covered": "LogDay coverage log_day",
    "limits_used": "known_clients utilisation utilisation_daily",
    "near_and_top": "alerts near top",
    "request_log": "Requests requests",
    "request_rows": "LOWEST_VERSIONS",
    "tables": "store_usage store_utilisation",
    "usage_windows": "totals usage",
}
"""The verbs and answers, by the module that each is in."""

_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    """Each verb is imported on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _PLACES[name] == "tables":
        from ..frames.spark import session_class

        session_class()  # refuses where PySpark is missing
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
