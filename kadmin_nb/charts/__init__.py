"""Charts of the frames that the other functions return, one question each.

Each function takes a frame (Arrow, pandas, Spark or an answer) and returns a chart of Altair's that its own methods
change. In a notebook it shows without a network: `showing` has the picture. Altair is imported when the first chart
is made: `pip install 'kadmin_nb[charts]'`.
"""

from __future__ import annotations

from .effective_chart import effective
from .hierarchy_chart import hierarchy
from .history_chart import history
from .plan_chart import plan
from .usage_chart import usage

__all__ = ["effective", "hierarchy", "history", "plan", "usage"]
