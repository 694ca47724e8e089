"""kadmin_nb in SQL: functions, and clusters as tables, `kn.sql.register(spark)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .functions import kafka_request, register, usage_of

__all__ = ["kafka_request", "register", "usage_of"]


def __getattr__(name: str) -> Any:
    """Each function is imported on first use, as PySpark is not always installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..frames.spark import session_class

    session_class()  # refuses where PySpark is missing
    return getattr(import_module(".functions", __name__), name)
