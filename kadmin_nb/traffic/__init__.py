"""Requests, usage and utilisation in this process: the rules of `analytics`, without Spark."""

from .metrics import usage_from_metrics
from .near import near
from .prometheus_api import prometheus
from .request_log import Requests, requests
from .top import top
from .usage_windows import usage
from .utilisation import known_clients, utilisation

__all__ = [
    "Requests",
    "known_clients",
    "near",
    "prometheus",
    "requests",
    "top",
    "usage",
    "usage_from_metrics",
    "utilisation",
]
