"""The chart of usage: a strip for each limit, its use and its throttles over time; of a backtest, the share of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..frames.meanings import UNLIMITED, limit, used
from ..frames.relational import (
    Frame,
    Measure,
    added_up,
    checked,
    cluster_of,
    in_arrow,
    largest,
    members,
    split_by_null,
    with_columns,
    words_of,
)
from ..model.figures import milliseconds, percent, seconds
from ..usage.limits_used import UNWATCHED_AFTER, used_of_buckets
from .labels import Bins, Row, beside, count_of, part_of, uses

MOST_LIMITS, MOST_WINDOWS, MOST_BARS = 6, 80, 30
"""Limits, and points in time of each, or bars of a backtest, that a chart has at most."""

_BUCKET = ("bucket_user", "bucket_client_id", "key")
_whose = itemgetter(*_BUCKET)


def usage(usage: Any, quotas: Any = None) -> Any:
    """The use of each limit over time: a strip for each bucket, on the broker where it was highest, with the limit.

    What is over the limit, and the throttles that brokers reported, have their own colours. Nothing is drawn where
    nothing was measured. Of BACKTEST, which has no times, a bar for each limit: the part of its active time in which it
    would have throttled.

    Parameters
    ----------
    usage
        USAGE or BACKTEST, as Arrow, pandas, Spark or an answer.
    quotas
        QUOTAS for the limits of USAGE, as anything with `__arrow_c_stream__`. Or QUOTAS_HISTORY, or the result of
        `open_history`: the limits as they were. Without them, each strip is a client.

    Returns
    -------
    altair.LayerChart
        The 6 buckets nearest to their limit, or, without quotas, the 6 clients that used most. With more than 80
        windows, each point is the highest of several. Unknown use is counted below the title. Of BACKTEST the 30 that
        would have been throttled longest.

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
    rows, unknown_rows = split_by_null(used_of_buckets(usage, quotas), "value")
    unknown = largest(unknown_rows, _BUCKET, {"rows": ("count", "broker")}, 1)[1]
    bins = Bins.of(rows, "start", "end", MOST_WINDOWS)
    if bins is None:
        return empty("It is unknown how much was used" if unknown else "Nothing was used")
    windows = _windows(rows)
    chosen, count = largest(windows, _BUCKET, {"rank": ("max", "rank")}, MOST_LIMITS)
    measured = _by_bin(bins.added_to(rows, "start"), (), {})
    points = _points(members(windows, chosen.select(_BUCKET)), bins, measured)
    strips = [_strip(number, row, points) for number, row in enumerate(chosen.to_pylist())]
    spans = _spans(measured)
    noun = "client" if quotas is None else "limit"
    remarks = [part_of(len(strips), count, "highest" if quotas is None else "nearest to their limit"),
               "where the line below is missing, nothing was measured" if len(spans) > 1 else "",
               f"the use of {count_of(unknown, noun)} is unknown, and not drawn" if unknown else "",
               "" if any(row["throttle"] is not None for row in points) else "throttles are unknown"]  # fmt: skip
    return layered(_finding(strips), remarks, *_strips(strips, spans, bins), height=HEIGHT * len(strips))


def _windows(rows: Frame) -> Frame:
    """The use of each bucket in each window of a broker, its limit and longest throttle; the nearer to the limit, the
    higher is `rank`, which is below 0 without one.
    """
    by = (*cluster_of(rows), "broker", "measured", *_BUCKET, "limit", "start")
    measures = {"used": ("sum", "value"), "throttle": ("max", "throttle_ms"), "end": ("max", "end")}
    windows = added_up(rows, by, measures)
    words = words_of(windows)
    used, limit = words.column("used"), words.column("limit")
    share = used / words.when(limit > 0, limit, words.literal(1e-9, pa.float64()))
    without = words.literal(-1.0, pa.float64()) / (used + 1.0)
    return with_columns(windows, {"rank": words.when(words.is_null(limit), without, share)})


def _points(windows: Frame, bins: Bins, measured: Sequence[Row]) -> list[Row]:
    """The highest use and the longest throttle of each bucket in each bin, of all brokers and windows that have the
    same limit. A point is as long as what was measured in its bin; where the limit changed in it, as its own windows.
    """
    measures = {"used": ("max", "used"), "throttle": ("max", "throttle")}
    points = _by_bin(bins.added_to(windows, "start"), (*_BUCKET, "limit"), measures)
    times = {row["bin"]: row for row in measured}
    together = Counter((_whose(row), row["bin"]) for row in points)
    return [row | times[row["bin"]] if together[_whose(row), row["bin"]] == 1 else row for row in points]


def _by_bin(rows: Frame, by: Sequence[str], measures: Mapping[str, Measure]) -> list[Row]:
    """The measures of each group in each bin, with its first and last time as Vega takes them, in their order."""
    ends: dict[str, Measure] = {"from": ("min", "start"), "to": ("max", "end")}
    groups = in_arrow(added_up(rows, (*by, "bin"), {**measures, **ends})).to_pylist()
    moments = ({name: round(row[name].timestamp() * 1000) for name in ends} for row in groups)
    return sorted((row | ends for row, ends in zip(groups, moments, strict=True)), key=itemgetter("from"))


def _spans(measured: Sequence[Row]) -> list[Row]:
    """The times in which anything was measured, without a pause that means that nobody watched."""
    pauses = [after["from"] - before["to"] > 1000 * UNWATCHED_AFTER for before, after in pairwise(measured)]
    starts = [0, *(number for number, pause in enumerate(pauses, 1) if pause), len(measured)]
    return [{"from": measured[first]["from"], "to": measured[last - 1]["to"]} for first, last in pairwise(starts)]


HEIGHT, TALL = 96, 0.52
"""Pixels of a strip: two lines of text above what was used, which has this part of the height."""

_USED, _OVER, _THROTTLED = "used", "over the limit", "throttled"


def _strip(number: int, bucket: Row, points: Sequence[Row]) -> Row:
    """A strip: its bucket, points and limits, the most that was used, the longest throttle, and where it is drawn."""
    its = [row for row in points if _whose(row) == _whose(bucket)]
    limits = [(value, next(rows)["from"]) for value, rows in groupby(its, key=itemgetter("limit"))]
    peak = max(row["used"] for row in its)
    top = max(peak, *(value or 0.0 for value, _ in limits)) or 1.0
    return {**bucket, "points": its, "limits": limits, "peak": peak, "scale": TALL / top, "head": number + 0.1,
            "longest": max((row["throttle"] or 0.0 for row in its), default=0.0), "base": number + 0.88}  # fmt: skip


def _finding(strips: Sequence[Row]) -> str:
    """The number of limits that were exceeded."""
    limited = [strip for strip in strips if any(value is not None for value, _ in strip["limits"])]
    if not limited:
        return f"The use of {count_of(len(strips), 'client')}, none of which has a limit"
    exceeded = sum(any(row["limit"] is not None and row["used"] > row["limit"] for row in strip["points"])
                   for strip in limited)  # fmt: skip
    if len(limited) == 1:
        return f"The limit of {uses(limited, 60)[0]} was {'' if exceeded else 'not '}exceeded"
    return f"{exceeded} of these {len(limited)} limits {'was' if exceeded == 1 else 'were'} exceeded"


def _strips(strips: Sequence[Row], spans: Sequence[Row], bins: Bins) -> list[Any]:
    from .drawing import BLUE, INK, VERMILLION, alt, base, legend, over_time

    heads = [{"y": strip["head"], "text": text} for strip, text in zip(strips, _texts(strips), strict=True)]
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, len(strips)], reverse=True, nice=False))
    x = over_time("from", bins)
    colours = alt.Scale(domain=[_USED, _OVER, _THROTTLED], range=[BLUE, VERMILLION, INK])
    colour = alt.Color("part:N", scale=colours, legend=legend())
    tooltip = [alt.Tooltip("utcyearmonthdatehoursminutesseconds(from):T", title="from, UTC"), "part:N", "text:N"]
    parts = [part for strip in strips for row in strip["points"] for part in _parts(strip, row)]
    lines = [{**span, "y": strip["base"] + 0.012} for strip in strips for span in spans]
    limits = [line for strip in strips for line in _limit_lines(strip, bins)]
    return [
        base(lines).mark_rule(color=INK, opacity=0.6).encode(x=x, x2="to", y=y),
        base(parts).mark_rect(stroke=None).encode(x=x, x2="to", y=y, y2="end", color=colour, tooltip=tooltip),
        base(limits).mark_rule(color=INK, strokeDash=[4, 3]).encode(x=x, x2="to", y=y, tooltip=["text:N"]),
        base(heads).mark_text(align="left", color=INK, lineBreak="\n").encode(x=alt.value(0), y=y, text="text:N"),
    ]  # fmt: skip


def _texts(strips: Sequence[Row]) -> Iterator[str]:
    """The lines of each strip: whose it is, how much was used of what, and how long it was throttled."""
    from .drawing import WIDTH

    for name, strip in zip(uses(strips, WIDTH / 6 - 10), strips, strict=True):
        limits = ", then ".join(limit(strip["key"], value) for value, _ in strip["limits"][-3:])
        late = f", throttled for up to {milliseconds(strip['longest'])}" if strip["longest"] else ""
        of = "," if limits == UNLIMITED else " of"
        yield f"{name}\nat most {used(strip['key'], strip['peak'])}{of} {limits}{late}"


def _limit_lines(strip: Row, bins: Bins) -> Iterator[Row]:
    """The limits, each from its first window to that of the next one, over the whole time."""
    ends = [bins.span[0], *(start for _, start in strip["limits"][1:]), bins.span[1]]
    for (value, _), (start, end) in zip(strip["limits"], pairwise(ends), strict=True):
        if value is not None:
            text = limit(strip["key"], value)
            yield {"from": start, "to": end, "y": strip["base"] - strip["scale"] * value, "text": text}


def _parts(strip: Row, row: Row) -> Iterator[Row]:
    """The rectangles of a point: what was used within the limit and above it, and below them the throttle."""
    base, most, text = strip["base"], row["limit"], used(strip["key"], row["used"])
    within = row["used"] if most is None else min(row["used"], most)
    low, middle, high = (round(base - strip["scale"] * value, 3) for value in (0, within, row["used"]))
    parts = [(_USED, low, middle, text), (_OVER, middle, high, text)][: 1 + (within < row["used"])]
    if row["throttle"]:
        parts.append((_THROTTLED, base + 0.03, base + 0.08, milliseconds(row["throttle"])))
    for part in parts:
        yield {"from": row["from"], "to": row["to"], **dict(zip(("part", "y", "end", "text"), part, strict=True))}


def _backtest(frame: Any) -> Any:
    """The part of its active time in which each limit would have throttled, on the broker where it is longest."""
    from .drawing import (
        BARS,
        ROW,
        VERMILLION,
        alt,
        base,
        empty,
        layered,
        names,
        texts_at_the_end,
        width_beside,
        with_room,
    )

    columns = ("broker", "windows", "throttled_s", "delay_s")
    rows = checked(frame, schemas.BACKTEST.schema, (*_BUCKET, "limit", *columns), "the rows of a backtest")
    measures = {"throttled": ("max", "throttled_s"), "active": ("max", "windows"), "limit": ("max", "limit"),
                "delay": ("max", "delay_s")}  # fmt: skip
    groups, count = largest(rows, _BUCKET, measures, 100_000)
    if not count:
        return empty("No client in this usage has a limit")
    throttled = int(pc.sum(pc.greater(groups["throttled"], 0)).as_py() or 0)
    shown = groups.slice(0, MOST_BARS).to_pylist()
    bars = [{"name": label, **_bar(row)} for label, row in zip(uses(shown, beside(2 * BARS)), shown, strict=True)]
    verb = "would have been throttled"
    title = f"{throttled:,} of {count_of(count, 'bucket')} {verb}" if throttled else f"No bucket {verb}"
    highest = max(bar["share"] for bar in bars) or 1.0
    axis = alt.Axis(title="throttled, % of the time in which it was used", tickCount=6, grid=False)
    x = alt.X("share:Q", axis=axis, scale=with_room(bars, 0, highest))
    chart = base(bars).encode(y=names("name"), tooltip=["name:N", "text:N"])
    layers = [chart.mark_bar(color=VERMILLION, height={"band": 0.7}).encode(x=x), texts_at_the_end(chart)]
    size = {"height": ROW * len(bars), "width": width_beside(bars, "name")}
    return layered(title, [part_of(len(shown), count, "longest throttled")], *layers, **size)


def _bar(row: Row) -> Row:
    share = 100 * row["throttled"] / max(row["active"], row["throttled"], 1)
    late = f", up to {seconds(row['delay'])} late" if row["delay"] else ""
    what = f"{seconds(row['throttled']) or '0 s'} ({percent(share)})"
    return {"share": share, "text": f"{what} at {limit(row['key'], row['limit'])}{late}"}
