"""Bars of use: the peak of each bucket in percent of its limit."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from ..frames import schemas
from ..frames.meanings import limit, percent, used
from ..frames.relational import checked, largest
from .bins import flag_count
from .labels import PERCENT, count_of, is_are, part_of, uses

MOST_BARS = 40
"""Bars that a chart has at most."""

_BAR_COLUMNS = ("key", "bucket_user", "bucket_client_id", "limit", "peak", "utilisation")
_ZONES = ("below 80 %", "80 to 100 %", "over the limit")


def utilisation(frame: Any) -> Any:
    """The clients near a limit: a bar a bucket, its highest peak on any broker in percent of its limit.

    Parameters
    ----------
    frame
        UTILISATION or NEAR, as Arrow, pandas, Spark or an answer. Buckets without a limit are counted below the title.

    Returns
    -------
    altair.LayerChart
        The 40 highest, the highest first.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.utilisation(cluster.quotas.utilisation(usage))  # doctest: +SKIP
    """
    from .drawing import empty, titled

    rows, counts = _bars(checked(frame, schemas.UTILISATION.schema, _BAR_COLUMNS, "the rows of utilisation"))
    if not rows:
        return empty("The use of all limits is unknown" if counts["unknown"] else "Nobody of this usage has a limit")
    return titled(_bar_chart(rows), _near_finding(counts), _bar_remarks(counts, len(rows)))


def _bars(frame: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """A row a bar, and the numbers of buckets."""
    measures = {"share": ("max", "utilisation"), "peak": ("max", "peak"), "limit": ("max", "limit")}
    groups, count = largest(frame, ("key", "bucket_user", "bucket_client_id"), measures, 100_000)
    limited = groups.filter(groups["limit"].is_valid())
    counts = {
        "limits": len(limited) - limited["peak"].null_count,
        "unknown": limited["peak"].null_count,
        "near": flag_count(pc.greater_equal(limited["share"], 80)),
        "over": flag_count(pc.greater(limited["share"], 100)),
        "unlimited": count - len(limited),
    }
    return _bar_rows(limited.slice(0, MOST_BARS).to_pylist()), counts


def _bar_rows(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    labels = uses(groups)
    return [
        {
            "bucket": label,
            "share": row["share"],
            "zone": _ZONES[(row["share"] >= 80) + (row["share"] > 100)],
            "text": f"{percent(row['share'])}: {used(row['key'], row['peak'])} of {limit(row['key'], row['limit'])}",
        }
        for label, row in zip(labels, groups, strict=True)
        if row["share"] is not None
    ]


def _near_finding(counts: dict[str, int]) -> str:
    if counts["near"]:
        over = f", {counts['over']} over it" if counts["over"] else ""
        return f"{count_of(counts['near'], 'bucket')} {is_are(counts['near'])} above 80 % of their limit{over}"
    return f"None of {count_of(counts['limits'], 'limit')} was used to 80 %"


def _bar_remarks(counts: dict[str, int], bars: int) -> str:
    unlimited = f"{counts['unlimited']:,} without a limit" if counts["unlimited"] else ""
    unknown = f"{counts['unknown']:,} of unknown use" if counts["unknown"] else ""
    return "; ".join(filter(None, [part_of(bars, counts["limits"], "highest"), unlimited, unknown]))


def _bar_chart(rows: list[dict[str, Any]]) -> Any:
    from .drawing import BLUE, INK, ORANGE, VERMILLION, WIDTH, alt, base, layered, names

    zones = alt.Scale(domain=[*_ZONES], range=[BLUE, ORANGE, VERMILLION])
    share = alt.X("share:Q", title="peak, % of the limit", axis=alt.Axis(labelExpr=PERCENT, grid=False))
    bars = (
        base(rows)
        .mark_bar(height={"band": 0.7})
        .encode(
            x=share,
            y=names("bucket", rows),
            color=alt.Color("zone:N", scale=zones, title=None, legend=alt.Legend(orient="top")),
            tooltip=[alt.Tooltip("bucket:N"), alt.Tooltip("text:N", title="peak")],
        )
    )
    texts = base(rows).mark_text(align="left", dx=4, color=INK).encode(x=share, y=names("bucket", rows), text="text:N")
    rule = base([{"share": 100}]).mark_rule(color=INK, strokeDash=[4, 3], opacity=0.5).encode(x=share)
    return layered(rule, bars, texts).properties(width=WIDTH)
