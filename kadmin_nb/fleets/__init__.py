"""Whole fleets, on Spark: resolve every client, by the same rules as for one cluster."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fleet_resolving import resolve

__all__ = ["resolve"]


def __getattr__(name: str) -> Any:
    """It is imported on first use, as PySpark is not always installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..frames.spark import session_class

    session_class()  # refuses where PySpark is missing
    return getattr(import_module(".fleet_resolving", __name__), name)
