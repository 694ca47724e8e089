"""Histories of clusters, `kn.open_history(where)`; and `kn.history.drift(a, b)` for any two frames.

It takes frames and snapshots, not clusters.
"""

from __future__ import annotations

from ..comparing import drift
from .snapshot_history import History, open_history

__all__ = ["History", "drift", "open_history"]
