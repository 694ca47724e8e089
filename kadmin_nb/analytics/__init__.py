"""The same rules over whole populations, on Spark."""

import importlib.util

from ..errors import Unsupported

if importlib.util.find_spec("pyspark") is None:
    raise Unsupported("pyspark is not installed", hint="pip install 'kadmin_nb[spark]'")

from ..traffic.prometheus_api import prometheus
from .backtesting import backtest
from .config_findings import config_findings
from .delta_tables import check_tables
from .impact import impact
from .metrics import usage_from_metrics
from .policies import policy
from .request_log import Requests, requests
from .resolving import resolve
from .usage_tables import store_usage, store_utilisation
from .usage_windows import usage
from .utilisation import known_clients, utilisation

__all__ = [
    "Requests",
    "backtest",
    "check_tables",
    "config_findings",
    "impact",
    "known_clients",
    "policy",
    "prometheus",
    "requests",
    "resolve",
    "store_usage",
    "store_utilisation",
    "usage",
    "usage_from_metrics",
    "utilisation",
]
