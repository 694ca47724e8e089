"""Contents of clusters that are not there come from `hours`, of the tests of histories."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "history"))
