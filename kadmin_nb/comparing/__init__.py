"""The differences between two clusters, files, snapshots or moments: `kn.diff(a, b)`, `kadmin-nb diff A B`.

It takes contents, not connections; `cluster.comparing` reads the clusters.
"""

from __future__ import annotations

from .compare import compare
from .diff_answer import Diff
from .sides import Side

__all__ = ["Diff", "Side", "compare"]
