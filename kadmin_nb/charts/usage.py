"""The chart of usage: a strip for each limit, its use and its throttles over time; of a backtest, the share of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..frames.given_frames import plain
from ..frames.meanings import limit, used
from ..frames.relational import Frame, added_up, checked, in_arrow, largest, members, split_by_null
from ..model.figures import milliseconds, percent, seconds
from ..resolution.kernel import resolve
from .bins import Bins
from .labels import count_of, part_of, uses

MOST_LIMITS, MOST_WINDOWS, MOST_BARS = 6, 80, 30
"""Limits, and points in time of each, or bars of a backtest, that a chart has at most."""

_COLUMNS = ("broker", "user", "client_id", "key", "window_start", "window_end", "value", "throttle_ms")
_CLIENT = ("user", "client_id", "key")
_BUCKET = ("bucket_user", "bucket_client_id", "key")
Row = dict[str, Any]


def usage(usage: Any, quotas: Any = None) -> Any:
    """The use of each limit over time: a strip for each bucket, on the broker where it was highest, with the limit.

    What is over the limit, and the throttles that brokers reported, have their own colours. Of BACKTEST, which has no
    times, a bar for each limit: the part of its active time in which it would have throttled.

    Parameters
    ----------
    usage
        USAGE or BACKTEST, as Arrow, pandas, Spark or an answer.
    quotas
        QUOTAS for the limits of USAGE, as anything with `__arrow_c_stream__`. Without them, each strip is a client.

    Returns
    -------
    altair.LayerChart
        The 6 buckets nearest to their limit, or, without quotas, the 6 clients that used most. With more than 80
        windows, each point is the highest of several. Clients with unknown use are counted below the title. Of
        BACKTEST the 30 that would have been throttled longest.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.usage(usage, cluster.quotas.describe())  # doctest: +SKIP
    """
    from .drawing import empty, layered

    columns: Any = getattr(usage, "column_names", None) or getattr(usage, "columns", ())
    if "throttled_s" in columns:
        return _backtest(usage)
    rows, unknown_rows = split_by_null(checked(usage, schemas.USAGE.schema, _COLUMNS, "the rows of usage"), "value")
    unknown = largest(unknown_rows, _CLIENT, {"rows": ("count", "broker")}, 1)[1]
    bins = Bins.of(rows, "window_start", "window_end", MOST_WINDOWS)
    if bins is None:
        return empty("It is unknown how much was used" if unknown else "Nothing was used")
    clients = _with_buckets(plain(largest(rows, _CLIENT, {"peak": ("max", "value")}, 100_000)[0]), quotas)
    strips, count = _nearest(clients)
    points = _points(rows, clients, strips, bins)
    remarks = [part_of(len(strips), count, "nearest to their limit" if quotas is not None else "highest"),
               f"the use of {count_of(unknown, 'client')} is unknown, and not drawn" if unknown else "",
               "" if any(row["throttle"] is not None for row in points) else "throttles are unknown"]  # fmt: skip
    layers = _strips(strips, points, bins)
    return layered(_finding(strips, points), remarks, *layers, height=HEIGHT * len(strips))


def _with_buckets(clients: pa.Table, quotas: Any) -> pa.Table:
    """The clients with the bucket that each draws from, and its limit; without one, itself."""
    if quotas is None:
        effective = clients.select(_CLIENT).append_column("limit", pa.nulls(len(clients), pa.float64()))
        effective = effective.append_column("bucket_user", clients["user"]).append_column(
            "bucket_client_id", clients["client_id"]
        )
    else:
        pairs = clients.select(["user", "client_id"]).group_by(["user", "client_id"]).aggregate([])
        found = plain(resolve(quotas, pairs, keys=clients["key"].unique().to_pylist()))
        effective = found.rename_columns({"value": "limit"}).drop_columns(["level"])
    joined = clients.join(effective, [*_CLIENT], join_type="left outer")
    is_limited = joined["limit"].is_valid()
    for name, own in (("bucket_user", "user"), ("bucket_client_id", "client_id")):
        bucket = pc.if_else(is_limited, joined[name], joined[own])
        joined = joined.set_column(joined.column_names.index(name), name, bucket)
    return joined


def _nearest(clients: pa.Table) -> tuple[list[Row], int]:
    """The buckets to show, the nearest to its limit first, those without one last; and the number of all."""
    groups = clients.group_by([*_BUCKET, "limit"]).aggregate([("peak", "max")])
    share = pc.divide(groups["peak_max"], groups["limit"])
    order = [("share", "descending"), ("peak_max", "descending"), *((name, "ascending") for name in _BUCKET)]
    chosen = groups.append_column("share", share).sort_by(order).slice(0, MOST_LIMITS).to_pylist()
    return [{**row, "strip": number} for number, row in enumerate(chosen)], len(groups)


def _points(rows: Frame, clients: pa.Table, strips: list[Row], bins: Bins) -> list[Row]:
    """The highest use and the longest throttle of each strip in each bin, of all windows and brokers in it."""
    chosen = pa.table({name: [strip[name] for strip in strips] for name in (*_BUCKET, "strip")})
    of_strips = clients.join(chosen, [*_BUCKET], join_type="inner").select([*_CLIENT, "strip"])
    sums = {"used": ("sum", "value"), "throttle": ("max", "throttle_ms")}
    windows = added_up(members(rows, of_strips), ("strip", "broker", "window_start"), sums)
    highest = {"used": ("max", "used"), "throttle": ("max", "throttle")}
    points = added_up(bins.added_to(windows, "window_start"), ("strip", "bin"), highest)
    return sorted(
        in_arrow(points, MOST_LIMITS * (MOST_WINDOWS + 1)).to_pylist(), key=lambda row: (row["strip"], row["bin"])
    )


def _finding(strips: list[Row], points: list[Row]) -> str:
    """The number of limits that were exceeded."""
    limited = [strip for strip in strips if strip["limit"] is not None]
    if not limited:
        return f"The use of {count_of(len(strips), 'client')}, none of which has a limit"
    peaks = {strip["strip"]: max(row["used"] for row in points if row["strip"] == strip["strip"]) for strip in limited}
    over = sum(peaks[strip["strip"]] > strip["limit"] for strip in limited)
    return f"{over} of these {count_of(len(limited), 'limit')} {'was' if over == 1 else 'were'} exceeded"


HEIGHT = 96
"""Pixels of a strip: two lines of text above what was used."""

_USED, _OVER, _THROTTLED = "used", "over the limit", "throttled"


def _strips(strips: list[Row], points: list[Row], bins: Bins) -> list[Any]:
    from .drawing import BLUE, INK, VERMILLION, alt, base, legend, over_time

    of_strip = [[row for row in points if row["strip"] == strip["strip"]] for strip in strips]
    drawn = [strip | _heights(strip, rows) for strip, rows in zip(strips, of_strip, strict=True)]
    parts = [
        part for strip, rows in zip(drawn, of_strip, strict=True) for row in rows for part in _parts(strip, row, bins)
    ]
    heads = [{"y": strip["strip"] + 0.1, "text": text} for strip, text in zip(strips, _texts(drawn), strict=True)]
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, len(strips)], reverse=True, nice=False))
    x = over_time("from", bins)
    colours = alt.Scale(domain=[_USED, _OVER, _THROTTLED], range=[BLUE, VERMILLION, INK])
    tooltip = [alt.Tooltip("utcyearmonthdatehoursminutesseconds(from):T", title="from, UTC"), "part:N", "text:N"]
    rules = [{"y": strip["rule"]} for strip in drawn if strip["rule"] is not None]
    return [
        base(parts).mark_rect(stroke=None).encode(
            x=x, x2="to", y=y, y2="end", color=alt.Color("part:N", scale=colours, legend=legend()), tooltip=tooltip
        ),
        base(rules).mark_rule(color=INK, strokeDash=[4, 3]).encode(x=alt.value(0), x2=alt.value("width"), y=y),
        base(heads).mark_text(align="left", color=INK, lineBreak="\n").encode(x=alt.value(0), y=y, text="text:N"),
    ]  # fmt: skip


def _heights(strip: Row, rows: Sequence[Row]) -> Row:
    """What was used at most, the longest throttle, and the height of the limit in the strip."""
    peak, throttles = max(row["used"] for row in rows), [row["throttle"] for row in rows if row["throttle"] is not None]
    top, base = max(peak, strip["limit"] or 0.0) or 1.0, strip["strip"] + 0.88
    rule = None if strip["limit"] is None else base - 0.52 * strip["limit"] / top
    return {"peak": peak, "longest": max(throttles, default=None), "top": top, "base": base, "rule": rule}


def _texts(strips: Sequence[Row]) -> list[str]:
    """The lines of each strip: whose it is, how much was used of what, and how long it was throttled."""
    late = [f", throttled for up to {milliseconds(strip['longest'])}" if strip["longest"] else "" for strip in strips]
    return [f"{name}\nat most {used(strip['key'], strip['peak'])} of {limit(strip['key'], strip['limit'])}{text}"
            for name, strip, text in zip(uses(strips), strips, late, strict=True)]  # fmt: skip


def _parts(strip: Row, row: Row, bins: Bins) -> Iterator[Row]:
    """The rectangles of a bin: what was used within the limit and above it, and below them the throttle."""
    base, key = strip["base"], strip["key"]
    within = row["used"] if strip["limit"] is None else min(row["used"], strip["limit"])
    ends = [round(base - 0.52 * value / strip["top"], 3) for value in (0, within, row["used"])]
    times = bins.times(row["bin"])
    yield {**times, "part": _USED, "y": ends[0], "end": ends[1], "text": used(key, row["used"])}
    if within < row["used"]:
        yield {**times, "part": _OVER, "y": ends[1], "end": ends[2], "text": used(key, row["used"])}
    if row["throttle"]:
        yield {**times, "part": _THROTTLED, "y": base + 0.03, "end": base + 0.08, "text": milliseconds(row["throttle"])}


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


def _backtest(frame: Any) -> Any:
    """The part of its active time in which each limit would have throttled, on the broker where it is longest."""
    from .drawing import ROW, VERMILLION, alt, base, beside, empty, layered, names, texts_at_the_end

    rows = checked(frame, schemas.BACKTEST.schema, _COLUMNS_OF_BACKTEST, "the rows of a backtest")
    measures = {"throttled": ("max", "throttled_s"), "active": ("max", "windows"), "limit": ("max", "limit"),
                "delay": ("max", "delay_s")}  # fmt: skip
    groups, count = largest(rows, _BUCKET, measures, 100_000)
    if not count:
        return empty("No client in this usage has a limit")
    throttled = int(pc.sum(pc.greater(groups["throttled"], 0)).as_py() or 0)
    shown = groups.slice(0, MOST_BARS).to_pylist()
    bars = [{"name": label, **_bar(row)} for label, row in zip(uses(shown), shown, strict=True)]
    verb = "would have been throttled"
    title = f"{throttled:,} of {count_of(count, 'bucket')} {verb}" if throttled else f"No bucket {verb}"
    highest = max(bar["share"] for bar in bars) or 1.0
    axis = alt.Axis(title="throttled, % of the time in which it was used", tickCount=6, grid=False)
    x = alt.X("share:Q", axis=axis, scale=beside(bars, 0, highest))
    chart = base(bars).encode(y=names("name"), tooltip=["name:N", "text:N"])
    layers = [chart.mark_bar(color=VERMILLION, height={"band": 0.7}).encode(x=x), texts_at_the_end(chart)]
    return layered(title, [part_of(len(shown), count, "longest throttled")], *layers, height=ROW * len(bars))


def _bar(row: Row) -> Row:
    share = 100 * row["throttled"] / max(row["active"], row["throttled"], 1)
    late = f", up to {seconds(row['delay'])} late" if row["delay"] else ""
    what = f"{seconds(row['throttled']) or '0 s'} ({percent(share)})"
    return {"share": share, "text": f"{what} at {limit(row['key'], row['limit'])}{late}"}
