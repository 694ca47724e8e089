"""Charts of usage: bands over time, bars of the peaks beside limits, and the heatmap of throttling."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..frames.given_frames import plain
from ..frames.meanings import limit, used
from ..frames.meanings import limit as limit_text
from ..frames.relational import Frame, added_up, checked, in_arrow, largest, members, positive, split_by_null
from ..model.figures import milliseconds, percent
from ..resolution.kernel import resolve
from .bins import Bins, flag_count
from .labels import (
    Unit,
    buckets,
    clients,
    count_of,
    is_are,
    part_of,
    unit_of,
    unit_up_to,
    uses,
    verb_of,
)

MOST_BANDS, MOST_WINDOWS = 6, 120
"""Buckets, and points in time of each, that a chart has at most."""

_MOST_CLIENTS = 100_000
_COLUMNS_OF_USAGE = ("broker", "user", "client_id", "key", "window_start", "window_end", "value")
_CLIENT_COLUMNS = ("user", "client_id", "key")
_BUCKET_COLUMNS = ("bucket_user", "bucket_client_id", "key")


def usage(usage: Any, quotas: Any = None) -> Any:
    """The use of each limit over time: a band for each bucket, on the broker where it was highest, with the limit.

    Parameters
    ----------
    usage
        USAGE, as Arrow, pandas, Spark or an answer.
    quotas
        QUOTAS for the limits, as anything with `__arrow_c_stream__`. Without them, each band is a client.

    Returns
    -------
    altair.VConcatChart
        The 6 buckets nearest to their limit, or, without quotas, the 6 clients that used most. With more than 120
        windows, each point is the highest of several. Clients with unknown use are counted below the title.

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
    from .drawing import empty, titled

    usage_rows = checked(usage, schemas.USAGE.schema, _COLUMNS_OF_USAGE, "the rows of usage")
    rows, unknown_rows = split_by_null(usage_rows, "value")
    unknown = largest(unknown_rows, _CLIENT_COLUMNS, {"rows": ("count", "broker")}, 1)[1]
    bins = Bins.of(rows, "window_start", "window_end", MOST_WINDOWS)
    if bins is None:
        return empty("It is unknown how much was used" if unknown else "Nothing was used")
    clients = _with_buckets(plain(largest(rows, _CLIENT_COLUMNS, {"peak": ("max", "value")}, _MOST_CLIENTS)[0]), quotas)
    bands, count = _nearest(clients)
    points = _points(rows, clients, bands, bins)
    remark = part_of(len(bands), count, "nearest to their limit" if quotas is not None else "highest")
    not_drawn = f"the use of {count_of(unknown, 'client')} is unknown, and not drawn" if unknown else ""
    return titled(
        _bands(bands, points, bins), _over_finding(bands, points), "; ".join(filter(None, [remark, not_drawn]))
    )


def _with_buckets(clients: pa.Table, quotas: Any) -> pa.Table:
    """The clients with the bucket that each draws from, and its limit; without one, itself."""
    if quotas is None:
        return _own_buckets(clients.append_column("limit", pa.nulls(len(clients), pa.float64())))
    keys = clients["key"].unique().to_pylist()
    pairs = clients.select(["user", "client_id"]).group_by(["user", "client_id"]).aggregate([])
    effective = plain(resolve(quotas, pairs, keys=keys)).rename_columns({"value": "limit"}).drop_columns(["level"])
    joined = clients.join(effective, [*_CLIENT_COLUMNS], join_type="left outer")
    is_limited = joined["limit"].is_valid()
    for name, own in (("bucket_user", "user"), ("bucket_client_id", "client_id")):
        bucket = pc.if_else(is_limited, joined[name], joined[own])
        joined = joined.set_column(joined.column_names.index(name), name, bucket)
    return joined


def _own_buckets(clients: pa.Table) -> pa.Table:
    return clients.append_column("bucket_user", clients["user"]).append_column("bucket_client_id", clients["client_id"])


def _nearest(clients: pa.Table) -> tuple[list[dict[str, Any]], int]:
    """The buckets to show, the nearest to its limit first, those without one last; and the number of all."""
    groups = clients.group_by([*_BUCKET_COLUMNS, "limit"]).aggregate([("peak", "max")])
    share = pc.divide(groups["peak_max"], groups["limit"])
    order = [("share", "descending"), ("peak_max", "descending"), *((name, "ascending") for name in _BUCKET_COLUMNS)]
    chosen = groups.append_column("share", share).sort_by(order).slice(0, MOST_BANDS).to_pylist()
    return [{**row, "band": number} for number, row in enumerate(chosen)], len(groups)


def _points(rows: Frame, clients: pa.Table, bands: list[dict[str, Any]], bins: Bins) -> list[dict[str, Any]]:
    """The highest use of each band in each bin, of all windows and brokers in it."""
    chosen = pa.table({name: [band[name] for band in bands] for name in (*_BUCKET_COLUMNS, "band")})
    of_bands = clients.join(chosen, [*_BUCKET_COLUMNS], join_type="inner").select([*_CLIENT_COLUMNS, "band"])
    windows = added_up(members(rows, of_bands), ("band", "broker", "window_start"), {"used": ("sum", "value")})
    highest = added_up(bins.added_to(windows, "window_start"), ("band", "bin"), {"used": ("max", "used")})
    points = in_arrow(highest, MOST_BANDS * (MOST_WINDOWS + 1)).to_pylist()
    return sorted(points, key=lambda row: (row["band"], row["bin"]))


def _over_finding(bands: list[dict[str, Any]], points: list[dict[str, Any]]) -> str:
    """The number of bands over their limit."""
    limited = [band for band in bands if band["limit"] is not None]
    if not limited:
        return f"The use of {count_of(len(bands), 'client')}, none of which has a limit"
    peaks = {band["band"]: max(row["used"] for row in points if row["band"] == band["band"]) for band in limited}
    over = sum(peaks[band["band"]] > band["limit"] for band in limited)
    return f"{over} of these {count_of(len(limited), 'limit')} {'was' if over == 1 else 'were'} exceeded"


def _bands(bands: list[dict[str, Any]], points: list[dict[str, Any]], bins: Bins) -> Any:
    from .drawing import panels

    names = buckets((band["bucket_user"] for band in bands), (band["bucket_client_id"] for band in bands))
    of_band = [[row for row in points if row["band"] == band["band"]] for band in bands]
    charts = (
        _band(band, name, rows, bins, number == len(bands) - 1)
        for number, (band, name, rows) in enumerate(zip(bands, names, of_band, strict=True))
    )
    return panels(charts, _ROOM_FOR_TICKS + 15, spacing=14)


_ROOM_FOR_TICKS = 75


def _band(band: dict[str, Any], name: str, points: list[dict[str, Any]], bins: Bins, is_last: bool) -> Any:
    """The use of one bucket: what is above its limit in the colour of a warning."""
    from .drawing import BLUE, INK, NUMBERS, VERMILLION, alt, base, ours, over_time

    highest, limit = max(row["used"] for row in points), band["limit"]
    unit = unit_up_to(unit_of(band["key"]), max(highest, limit or 0.0))
    text = f"{name} {verb_of(band['key'])}: at most {used(band['key'], highest)} of {limit_text(band['key'], limit)}"
    x = over_time("at", bins, labels=is_last, ticks=is_last, **({} if is_last else {"title": None}))
    label = f"format(datum.value, '{NUMBERS}') + ' {'%' if unit.name[0] == '%' else unit.name}'"
    y = {
        "title": None,
        "scale": alt.Scale(nice=False),
        "axis": alt.Axis(labelExpr=label, tickCount=3, minExtent=_ROOM_FOR_TICKS),
    }
    tooltip = [alt.Tooltip("utcyearmonthdatehoursminutesseconds(at):T", title="from, UTC"), "used:N", "limit:N"]
    chart = base(_steps(points, bins, band, unit)).encode(x=x, tooltip=tooltip)
    areas = {"interpolate": "step-after", "line": False}
    layers = [
        chart.mark_area(color=VERMILLION, **areas).encode(y=alt.Y("within:Q", **y), y2="above"),
        chart.mark_area(color=BLUE, **areas).encode(y=alt.Y("within:Q", **y), y2=alt.Y2Datum(0)),
    ]
    if limit is not None:
        layers.append(base([{"limit": unit.of(limit)}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(y="limit:Q"))
    layers.append(chart.mark_rule(opacity=0, strokeWidth=8))
    heading = alt.TitleParams(text=text, fontSize=12, fontWeight="normal", offset=5, frame="group")
    return ours(alt.layer(*layers)).properties(height=64, title=heading)


def _steps(points: list[dict[str, Any]], bins: Bins, band: dict[str, Any], unit: Unit) -> list[dict[str, Any]]:
    """A row a bin, and one for the end of the last; where there is no window nothing was used."""
    values = {row["bin"]: row["used"] for row in points}
    key, limit = band["key"], band["limit"]
    steps = [
        *((number, values.get(number, 0.0)) for number in range(bins.count)),
        (bins.count, values.get(bins.count - 1, 0.0)),
    ]
    return [
        {"at": bins.times(number)["from"],
         "above": unit.of(value), "within": unit.of(value if limit is None else min(value, limit)),
         "used": used(key, value), "limit": limit_text(key, limit)}
        for number, value in steps
    ]  # fmt: skip


MOST_BARS = 40
"""Bars that a chart has at most."""

_BAR_COLUMNS = ("key", "bucket_user", "bucket_client_id", "limit", "peak", "utilisation")
_ZONES = ("below 80 %", "80 to 100 %", "over 100 %")


def utilisation(frame: Any) -> Any:
    """The clients near a limit: a bar for each bucket, its highest peak on any broker in percent of its limit.

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
        return empty("The use of all limits is unknown" if counts["unknown"] else "No client in this usage has a limit")
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
            "name": label,
            "part": _ZONES[(row["share"] >= 80) + (row["share"] > 100)],
            "from": 0,
            "to": row["share"],
            "text": f"{percent(row['share'])}: {used(row['key'], row['peak'])} of {limit(row['key'], row['limit'])}",
        }
        for label, row in zip(labels, groups, strict=True)
        if row["share"] is not None
    ]


def _near_finding(counts: dict[str, int]) -> str:
    if counts["near"]:
        over = f", {counts['over']} exceeded" if counts["over"] else ""
        return f"{count_of(counts['near'], 'limit')} {is_are(counts['near'])} more than 80 % used{over}"
    return f"None of {count_of(counts['limits'], 'limit')} reached 80 %"


def _bar_remarks(counts: dict[str, int], bars: int) -> str:
    unlimited = f"{counts['unlimited']:,} without a limit" if counts["unlimited"] else ""
    unknown = f"{counts['unknown']:,} with unknown use" if counts["unknown"] else ""
    return "; ".join(filter(None, [part_of(bars, counts["limits"], "highest"), unlimited, unknown]))


def _bar_chart(rows: list[dict[str, Any]]) -> Any:
    from .drawing import BLUE, ORANGE, VERMILLION, bars, filling

    colours = dict(zip(_ZONES, (BLUE, ORANGE, VERMILLION), strict=True))
    return filling(
        *bars(rows, colours, "peak, % of the limit", {"name": "bucket", "text": "peak"}, marks=[{"at": 100}])
    )


MOST_THROTTLED, MOST_PARTS = 15, 48
"""Clients, and parts of the time, that a chart has at most."""


def throttling(usage: Any) -> Any:
    """The longest throttle of each client over time, as the brokers reported it.

    Parameters
    ----------
    usage
        USAGE, as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.Chart
        The 15 clients that were throttled longest at a time. A null `throttle_ms` is unknown, not 0: if all are
        unknown, the title says so.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.throttling(usage)  # doctest: +SKIP
    """
    from .drawing import empty, titled

    columns = ("user", "client_id", "window_start", "window_end", "throttle_ms")
    rows = checked(usage, schemas.USAGE.schema, columns, "the rows of usage")
    throttled = positive(rows, "throttle_ms")
    chosen, count = largest(throttled, ("user", "client_id"), {"longest": ("max", "throttle_ms")}, MOST_THROTTLED)
    bins = Bins.of(rows, "window_start", "window_end", MOST_PARTS)
    if bins is None or not count:
        return empty(_nothing_throttled(rows))
    groups = added_up(
        bins.added_to(members(throttled, chosen.select(["user", "client_id"])), "window_start"),
        ("user", "client_id", "bin"),
        {"longest": ("max", "throttle_ms")},
    )
    names = dict(zip(_pairs_of(chosen.to_pylist()), clients(*_columns_of(chosen)), strict=True))
    parts = in_arrow(groups, MOST_THROTTLED * (MOST_PARTS + 1)).to_pylist()
    cells = [
        {
            "client": names[pair],
            **bins.times(row["bin"]),
            "longest": row["longest"],
            "text": milliseconds(row["longest"]),
        }
        for pair, row in sorted(zip(_pairs_of(parts), parts, strict=True), key=lambda part: _order(part, [*names]))
    ]
    longest = milliseconds(chosen["longest"][0].as_py())
    title = f"{count_of(count, 'client')} {'was' if count == 1 else 'were'} throttled, for up to {longest} at a time"
    return titled(_strips(cells, bins), title, part_of(len(chosen), count, "longest"))


def _nothing_throttled(rows: Any) -> str:
    """That there was no throttling; or that nothing tells, which is something else."""
    counts, _ = largest(rows, (), {"tells": ("count", "throttle_ms"), "rows": ("count", "window_start")}, 1)
    tells, count = (counts[name][0].as_py() for name in ("tells", "rows")) if len(counts) else (0, 0)
    return "No client was throttled" if tells or not count else "This usage does not show which clients were throttled"


def _columns_of(groups: Any) -> tuple[list[str], list[str]]:
    return groups["user"].to_pylist(), groups["client_id"].to_pylist()


def _pairs_of(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["user"], row["client_id"]) for row in rows]


def _order(part: tuple[tuple[str, str], dict[str, Any]], pairs: list[tuple[str, str]]) -> tuple[int, int]:
    return pairs.index(part[0]), part[1]["bin"]


def _strips(cells: list[dict[str, Any]], bins: Bins) -> Any:
    """A strip a client: the darker, the shorter it was throttled."""
    from .drawing import alt, base, filling, low_to_high, names, number_legend, over_time

    unit = unit_up_to("ms", max(cell["longest"] for cell in cells))
    cells = [{**cell, "longest": unit.of(cell["longest"])} for cell in cells]
    low, high = (pick(cell["longest"] for cell in cells) for pick in (min, max))
    legend = number_legend(f"longest throttle, {unit.name}", low, high, orient="top", gradientLength=260)
    scale = low_to_high(low, high)
    tooltip = ["client:N", alt.Tooltip("utcyearmonthdatehoursminutesseconds(from):T", title="from, UTC"),
               alt.Tooltip("text:N", title="longest throttle")]  # fmt: skip
    chart = base(cells).mark_bar(height={"band": 0.8}, stroke=None)
    return filling(chart.encode(
        x=over_time("from", bins), x2="to", y=names("client", cells), tooltip=tooltip,
        color=alt.Color("longest:Q", scale=scale, legend=legend),
    ))  # fmt: skip
