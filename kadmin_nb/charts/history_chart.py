"""The chart of what changed: bars over time."""

from __future__ import annotations

from typing import Any

from ..frames import schemas
from ..frames.relational import added_up, checked, in_arrow
from .labels import Bins, count_of

MOST_TIMES = 60
"""Bars that a chart has at most."""

_SIGNS = {"removed": -1, "added": 1, "changed": 1}


def history(frame: Any) -> Any:
    """The changes of a cluster over time: added and changed above the line, removed below it.

    Parameters
    ----------
    frame
        HISTORY_CHANGES, as `kn.open_history(…).changes(…)` gives it: Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        At most 60 bars, each of a minute, an hour or a day, depending on the time from the first to the last.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.history(kn.open_history("lake/kafka").changes((None, None)))  # doctest: +SKIP
    """
    from .drawing import empty, layered

    rows = checked(frame, schemas.HISTORY_CHANGES.schema, ("taken_at", "state", "resource"), "the changes")
    bins = Bins.of(rows, "taken_at", "taken_at", MOST_TIMES)
    if bins is None:
        return empty("Nothing was changed")
    groups = added_up(bins.added_to(rows, "taken_at"), ("bin", "state"), {"rows": ("count", "resource")})
    counted = sorted(in_arrow(groups, 1000).to_pylist(), key=lambda row: (row["bin"], row["state"]))
    finding = count_of(sum(row["rows"] for row in counted), "change")
    return layered(finding, (), *_signed_bars(counted, bins), height=260)


def _signed_bars(counted: list[dict[str, Any]], bins: Bins) -> list[Any]:
    from .drawing import BLUE, GREEN, INK, VERMILLION, alt, base, legend, over_time

    rows = [row | bins.times(row["bin"]) | {"rows": row["rows"] * _SIGNS.get(row["state"], 1)} for row in counted]
    states = alt.Scale(domain=["added", "changed", "removed"], range=[GREEN, BLUE, VERMILLION])
    ends = [0, *(row["rows"] for row in rows)]
    axis = alt.Axis(format=",d", tickCount=min(6, max(ends) - min(ends)))
    y = alt.Y("sum(rows):Q", title="changes: removed below 0", axis=axis, scale=alt.Scale(nice=False))
    colour = alt.Color("state:N", scale=states, legend=legend())
    bars = base(rows).mark_bar(stroke=None).encode(x=over_time("from", bins), x2="to", y=y, color=colour,
                                                   tooltip=["state:N", "sum(rows):Q"])  # fmt: skip
    return [bars, base([{"zero": 0}]).mark_rule(color=INK, opacity=0.6).encode(y="zero:Q")]
