"""Whole fleets, on Spark: resolve every client and look at every config, by the same rules as for one cluster."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import Unsupported

if TYPE_CHECKING:
    from .resolving import resolve
    from .snapshots import config_findings

__all__ = ["config_findings", "resolve"]


def __getattr__(name: str) -> Any:
    """Each function is imported on first use, as PySpark is not always installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("pyspark") is None:
        raise Unsupported("pyspark is not installed", hint="pip install 'kadmin_nb[spark]'")
    return getattr(import_module(".resolving" if name == "resolve" else ".snapshots", __name__), name)
