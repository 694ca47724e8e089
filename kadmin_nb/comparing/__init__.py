"""The differences between two clusters, files, snapshots or moments: `kn.diff(a, b)`, `kadmin-nb diff A B`.

It takes contents, not connections; `cluster.diff` reads the sides.
"""

from __future__ import annotations

from .compare import compare
from .diff_answer import Diff, Side
from .differences import drift

__all__ = ["Diff", "Side", "compare", "drift"]
