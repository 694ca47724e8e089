"""Bars of throttled time: the seconds in which clients were active, and in how many limits would have held them up."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from ..frames import schemas
from ..frames.meanings import limit, seconds
from ..frames.relational import checked, largest
from .bins import flag_count
from .labels import SECONDS, count_of, part_of, uses

MOST_BUCKETS = 30
"""Bars that a chart has at most."""

_COLUMNS_OF_BACKTEST = (
    "broker",
    "key",
    "bucket_user",
    "bucket_client_id",
    "limit",
    "windows",
    "throttled_s",
    "delay_s",
)


def backtest(frame: Any) -> Any:
    """The time in which clients wanted something, and how much of it their limits would have throttled.

    Parameters
    ----------
    frame
        BACKTEST, as `kn.backtest` gives it: Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        A bar a bucket, on the broker where it would have been throttled longest; the 30 longest.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.backtest(kn.backtest(cluster.quotas.describe(), usage))  # doctest: +SKIP
    """
    from .drawing import empty, titled

    rows = checked(frame, schemas.BACKTEST.schema, _COLUMNS_OF_BACKTEST, "the rows of a backtest")
    measures = {"throttled": ("max", "throttled_s"), "active": ("max", "windows"), "limit": ("max", "limit"),
                "delay": ("max", "delay_s")}  # fmt: skip
    groups, count = largest(rows, ("key", "bucket_user", "bucket_client_id"), measures, 100_000)
    if not count:
        return empty("Nobody of this usage has a limit")
    throttled = flag_count(pc.greater(groups["throttled"], 0))
    shown = groups.slice(0, MOST_BUCKETS)
    verb = "would have been throttled"
    title = f"{throttled:,} of {count_of(count, 'bucket')} {verb}" if throttled else f"No bucket {verb}"
    remark = part_of(len(shown), count, "longest throttled")
    return titled(_time_bars(_times_of(shown.to_pylist())), title, remark)


def _times_of(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The throttled part of each bar, and the rest of it."""
    labels = uses(groups)
    return [part for label, row in zip(labels, groups, strict=True) for part in _parts_of_bar(label, row)]


def _parts_of_bar(label: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    free = max(row["active"] - row["throttled"], 0.0)
    late = f", up to {seconds(row['delay'])} late" if row["delay"] else ""
    text = f"{seconds(row['throttled']) or '0 s'} at {limit(row['key'], row['limit'])}{late}"
    end = row["throttled"] + free
    return [
        {
            "bucket": label,
            "part": "throttled",
            "from": 0.0,
            "to": row["throttled"],
            "end": max(end, row["throttled"]),
            "text": text,
        },
        {"bucket": label, "part": "active, not throttled", "from": row["throttled"], "to": end, "end": end, "text": ""},
    ]


def _time_bars(rows: list[dict[str, Any]]) -> Any:
    from .drawing import BLUE, INK, VERMILLION, WIDTH, alt, base, layered, names

    parts = alt.Scale(domain=["throttled", "active, not throttled"], range=[VERMILLION, BLUE])
    chart = base(rows).encode(y=names("bucket", rows))
    axis = alt.Axis(labelExpr=SECONDS, grid=False)
    bars = chart.mark_bar(height={"band": 0.7}).encode(
        x=alt.X("from:Q", title="seconds in which the bucket was used", axis=axis),
        x2="to",
        color=alt.Color("part:N", scale=parts, title=None, legend=alt.Legend(orient="top")),
        tooltip=["bucket:N", "part:N", "text:N"],
    )
    texts = chart.mark_text(align="left", dx=4, color=INK).encode(x="end:Q", text="text:N")
    return layered(bars, texts).properties(width=WIDTH)
