"""Histories of what clusters held: `kn.history(where)`, and `kn.history.drift(a, b)` for any two frames.

It takes frames and snapshots, not clusters.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from ..comparing import drift
from .snapshot_history import History, history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["History", "drift", "history"]


class _CallableModule(ModuleType):
    """This module can be called: `kn.history(where)` is `kn.history.history(where)`."""

    def __call__(self, where: object, spark: SparkSession | None = None) -> History:
        return history(where, spark)


sys.modules[__name__].__class__ = _CallableModule
