"""Bars of changes over time: how much was added, changed and removed, and when."""

from __future__ import annotations

from typing import Any

from ..frames import schemas
from ..frames.relational import added_up, checked, in_arrow
from .bins import Bins
from .labels import count_of

MOST_TIMES = 60
"""Bars that a chart has at most."""

_MOST_GROUPS = 1000
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
        At most 60 bars; each is of the snapshots of a minute, an hour or a day, by how long it is from the first to
        the last.

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
    from .drawing import empty, titled

    rows = checked(frame, schemas.HISTORY_CHANGES.schema, ("taken_at", "state", "resource"), "the changes")
    bins = Bins.of(rows, "taken_at", "taken_at", MOST_TIMES)
    if bins is None:
        return empty("Nothing was changed")
    groups = added_up(bins.added_to(rows, "taken_at"), ("bin", "state"), {"rows": ("count", "resource")})
    counted = in_arrow(groups, _MOST_GROUPS).to_pylist()
    bars = [
        {**bins.times(row["bin"]), "state": row["state"], "rows": row["rows"] * _SIGNS.get(row["state"], 1)}
        for row in sorted(counted, key=lambda row: (row["bin"], row["state"]))
    ]
    return titled(_signed_bars(bars, bins), _busiest(counted, bins))


def _busiest(counted: list[dict[str, Any]], bins: Bins) -> str:
    """The number of changes, and when most of them were."""
    from datetime import UTC, datetime

    sums: dict[int, int] = {}
    for row in counted:
        sums[row["bin"]] = sums.get(row["bin"], 0) + row["rows"]
    most = max(sums, key=lambda number: (sums[number], -number))
    at = datetime.fromtimestamp(bins.times(most)["from"] / 1000, UTC)
    day = f"{at:%Y-%m-%d}" if bins.is_of_days else f"{at:%Y-%m-%d %H:%M}"
    total = count_of(sum(sums.values()), "change")
    return total if len(sums) == 1 else f"{total}, most of them on {day} ({sums[most]:,})"


def _signed_bars(rows: list[dict[str, Any]], bins: Bins) -> Any:
    from .drawing import BLUE, GREEN, INK, VERMILLION, WIDTH, alt, base, layered, over_time

    states = alt.Scale(domain=["added", "changed", "removed"], range=[GREEN, BLUE, VERMILLION])
    bars = base(rows).mark_bar(stroke=None).encode(
        x=over_time("from", bins),
        x2="to",
        y=alt.Y("sum(rows):Q", title="changes: removed below 0", axis=alt.Axis(tickMinStep=1, format="~s")),
        color=alt.Color("state:N", scale=states, title=None, legend=alt.Legend(orient="top")),
        tooltip=["state:N", "sum(rows):Q"],
    )  # fmt: skip
    line = base([{"zero": 0}]).mark_rule(color=INK, opacity=0.6).encode(y="zero:Q")
    return layered(bars, line).properties(width=WIDTH + 140, height=220)
