"""kadmin_nb in SQL: functions, and clusters as tables, `kn.sql.register(spark)`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import Unsupported

if TYPE_CHECKING:
    from .functions import kafka_request, register, usage_of

__all__ = ["kafka_request", "register", "usage_of"]


def __getattr__(name: str) -> Any:
    """Each function is imported on first use, as PySpark is not always installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("pyspark") is None:
        raise Unsupported("pyspark is not installed", hint="pip install 'kadmin_nb[spark]'")
    return getattr(import_module(".functions", __name__), name)
