"""Charts of the frames that the other functions return, one question each.

Each function takes a frame (Arrow, pandas, Spark or an answer) and returns a chart of Altair's that can be changed
further. In a notebook it shows as SVG in the host's colours, without scripts and without a network; `interactive`
gives the one with tooltips. Altair is imported when the first chart is made: `pip install 'kadmin_nb[charts]'`.
"""

from __future__ import annotations

from .capacity import capacity, reach
from .hierarchy import hierarchy
from .history import drift, history
from .interactive import interactive
from .plan import backtest, plan, recommend
from .quotas import effective
from .usage import throttling, usage, utilisation

__all__ = [
    "backtest",
    "capacity",
    "drift",
    "effective",
    "hierarchy",
    "history",
    "interactive",
    "plan",
    "reach",
    "recommend",
    "throttling",
    "usage",
    "utilisation",
]
