"""Whole fleets, on Spark: resolve every client, by the same rules as for one cluster."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import Unsupported

if TYPE_CHECKING:
    from .fleet_resolving import resolve

__all__ = ["resolve"]


def __getattr__(name: str) -> Any:
    """It is imported on first use, as PySpark is not always installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("pyspark") is None:
        raise Unsupported("pyspark is not installed", hint="pip install 'kadmin_nb[spark]'")
    return getattr(import_module(".fleet_resolving", __name__), name)
