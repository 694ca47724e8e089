"""Charts: one question a picture, out of the frames that everything else answers with.

Each function takes a frame (Arrow, pandas or Spark) and returns an `altair.Chart` that can be changed further.
"""

from __future__ import annotations

__all__: list[str] = []
