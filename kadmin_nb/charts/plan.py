"""Charts of changes: the slopes of a plan's numbers and of limits that are proposed, and the throttling by limits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from math import inf, isfinite, log
from typing import Any

import pyarrow.compute as pc

from ..frames import schemas
from ..frames.meanings import in_unit, limit
from ..frames.relational import checked, in_arrow, largest
from ..model.figures import seconds
from ..model.quota_keys import find
from .bins import flag_count
from .labels import count_of, distinct, has_unit, part_of, short, unit_of, unit_up_to, uses

MOST_CHANGES = 40
"""Changes that a chart has at most."""

_MOST_ROWS = 100_000
EFFECTS = ("lower", "higher", "newly set", "removed")


@dataclass(frozen=True)
class NumberChange:
    """A change of a number: `old` and `new` are None where there is none."""

    resource: str
    key: str
    old: float | None
    new: float | None
    text: str
    peak: float | None = None

    @property
    def effect(self) -> str:
        """One of EFFECTS."""
        if self.old is None or self.new is None:
            return "newly set" if self.old is None else "removed"
        return "lower" if self.new < self.old else "higher"

    @property
    def size(self) -> float:
        """The number of times that it grows or shrinks, as a logarithm; infinite for what is set or removed."""
        ends = (self.old, self.new)
        return abs(log(ends[1] / ends[0])) if ends[0] and ends[1] and min(ends[0], ends[1]) > 0 else inf


def plan(plan: Any) -> Any:
    """A plan's numbers before and after: a line for each change, from a dot (before) to a triangle (after).

    Lower is a red triangle to the left, higher a blue one to the right, newly set a green diamond, removed a cross.

    Parameters
    ----------
    plan
        A `Plan`, or PLAN as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.VConcatChart
        The 40 changes with the largest factors, a panel for each unit. Changes of other values are counted below the
        title.

    Raises
    ------
    UsageError
        Not a plan or frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.plan(stage.plan())  # doctest: +SKIP
    """
    from .drawing import empty, titled

    columns = ("kind", "resource", "key", "old", "after", "old_known")
    rows = in_arrow(checked(plan, schemas.PLAN.schema, columns, "the plan's changes"), _MOST_ROWS).to_pylist()
    changes = [change for row in rows if (change := _number_change(row))]
    others = len(rows) - len(changes)
    remark = f"{count_of(others, 'change')} of other values" if others else ""
    if not changes:
        return empty("Nothing changes" if not rows else f"{count_of(len(rows), 'change')} of other values than numbers")
    largest = _largest_of_each(changes)
    remarks = [part_of(len(largest), len(changes), "largest changes"), remark]
    return titled(_panels(largest), _effects_finding(changes), "; ".join(filter(None, remarks)))


def _largest_of_each(changes: list[NumberChange]) -> list[NumberChange]:
    """The largest of each effect in turns, so that thousands of removals do not hide what is lowered."""
    in_order = sorted(changes, key=lambda change: (-change.size, change.resource, change.key))
    turns = zip_longest(*([change for change in in_order if change.effect == effect] for effect in EFFECTS))
    chosen = [change for turn in turns for change in turn if change is not None][:MOST_CHANGES]
    return sorted(chosen, key=lambda change: EFFECTS.index(change.effect))


def _number_change(row: dict[str, Any]) -> NumberChange | None:
    """The change of a row, where what is there before and after can be drawn."""
    old, new = (_positive(row[name]) for name in ("old", "after"))
    is_drawn = (old is not None or row["old"] is None) and (new is not None or row["after"] is None)
    if not is_drawn or old == new:
        return None
    before, after = (_value_text(row["key"], row[name]) for name in ("old", "after"))
    return NumberChange(row["resource"], row["key"], old, new, short(f"{before} → {after}"))


def _value_text(key: str, value: str | None) -> str:
    """A number in its unit alone: `7 d`, of which a table has the milliseconds beside it."""
    return in_unit(key, value).rpartition("(")[2].rstrip(")") or "not set"


def _positive(text: str | None) -> float | None:
    """A number that a logarithmic scale has."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) and number > 0 else None


def _effects_finding(changes: list[NumberChange]) -> str:
    counts = {effect: sum(change.effect == effect for change in changes) for effect in EFFECTS}
    return ", ".join(f"{count:,} {effect}" for effect, count in counts.items() if count)


def _unit(key: str) -> str:
    """The unit of a quota's key, or the last word of a config's; empty where an axis has no such unit."""
    unit = unit_of(key) if find(key) else key.rpartition(".")[2]
    return unit if has_unit(unit) else ""


def _panels(changes: list[NumberChange]) -> Any:
    """A panel a unit, the one with most changes first."""
    from .drawing import panels, room_of

    units = [_unit(change.key) for change in changes]
    labels = distinct([short(f"{change.resource} {change.key}") for change in changes])
    rows = [_row_of_panel(change, label) for change, label in zip(changes, labels, strict=True)]
    by_unit = {unit: [row for row, its in zip(rows, units, strict=True) if its == unit] for unit in {*units}}
    in_order = sorted(by_unit.items(), key=lambda panel: (-len(panel[1]), panel[0]))
    effects = [effect for effect in EFFECTS if any(change.effect == effect for change in changes)]
    return panels((_slopes(rows, unit, labels, effects) for unit, rows in in_order), room_of(labels) + 15)


def _row_of_panel(change: NumberChange, label: str) -> dict[str, Any]:
    ends = [end for end in (change.old, change.new) if end is not None]
    texts = {"change": label, "effect": change.effect, "text": change.text}
    at = change.new if change.new is not None else change.old
    points = {"old": change.old if change.new else None, "at": at, "peak": change.peak}
    return {**texts, "low": min(ends), "high": max(ends), **points}


_POINTS = ("low", "high", "old", "at", "peak")


def _slopes(rows: list[dict[str, Any]], unit: str, labels: list[str], effects: list[str]) -> Any:
    from .drawing import (
        BLUE,
        GREEN,
        GREY,
        INK,
        NUMBERS,
        VERMILLION,
        alt,
        base,
        beside,
        legend_of,
        log_ticks,
        names,
        number_axis,
        ours,
        room_of,
        texts_at_the_end,
    )

    legend = legend_of(effects, room_of(labels), symbolSize=110)
    colours = alt.Color(
        "effect:N", legend=legend, scale=alt.Scale(domain=[*EFFECTS], range=[VERMILLION, BLUE, GREEN, GREY])
    )
    forms = ["triangle-left", "triangle-right", "diamond", "cross"]
    shapes = alt.Shape("effect:N", legend=legend, scale=alt.Scale(domain=[*EFFECTS], range=forms))
    shown = unit_up_to(unit, max(row["high"] for row in rows))
    rows = [{**row, **{end: shown.of(row[end]) for end in _POINTS}} for row in rows]
    numbers = [row[end] for row in rows for end in _POINTS if row[end]]
    low, high = min(numbers), max(numbers)
    wider = max(high / low, 4) ** 0.04
    axis = number_axis(grid=True, values=log_ticks(low / wider, high * wider), titleAnchor="start")
    scale = beside(rows, low / wider, high * wider, type="log")
    has_peaks = any(row["peak"] for row in rows)
    peak_tooltip = [alt.Tooltip("peak:Q", title=f"peak, {shown.name}", format=NUMBERS)] if has_peaks else []
    tooltip = ["change:N", "effect:N", "text:N", *peak_tooltip]
    chart = base(rows).encode(y=names("change", rows, labels), tooltip=tooltip)

    def at(field: str) -> Any:
        return alt.X(f"{field}:Q", title=shown.name, axis=axis, scale=scale)

    lines = chart.mark_rule(size=2).encode(x=at("low"), x2="high", color=colours)
    dots = chart.mark_point(size=40, color=INK, filled=False).encode(x=at("old"))
    ends = chart.mark_point(size=110, filled=True, opacity=1).encode(x=at("at"), color=colours, shape=shapes)
    peaks = [chart.mark_tick(color=INK, thickness=2, height=16).encode(x=at("peak"))] if has_peaks else []
    return ours(alt.layer(lines, dots, ends, *peaks, texts_at_the_end(chart)))


_COLUMNS_OF_RECOMMENDATIONS = ("entity", "key", "value", "op", "proposed", "peak")


def recommend(frame: Any) -> Any:
    """The limits that are proposed: from the limit now (a circle) to the proposed one, beside the peak that was used.

    Parameters
    ----------
    frame
        RECOMMENDATIONS, as `quotas.recommend` gives it: Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.VConcatChart
        The 40 largest changes, a panel for each unit. Limits that stay are counted below the title.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.recommend(cluster.quotas.recommend(usage))  # doctest: +SKIP
    """
    from .drawing import empty, titled

    columns = _COLUMNS_OF_RECOMMENDATIONS
    found = in_arrow(checked(frame, schemas.RECOMMENDATIONS.schema, columns, "the recommendations"), _MOST_ROWS)
    rows = found.to_pylist()
    changes = [_proposal(row) for row in rows if row["op"] is not None]
    stay = f"{count_of(len(rows) - len(changes), 'limit')} of {len(rows):,} stay"
    if not changes:
        return empty("No limit was judged" if not rows else "No change of a limit is proposed")
    largest = _largest_of_each(changes)
    signs = "circle: the limit now" + (
        "; upright line: the peak that was used" if any(one.peak for one in largest) else ""
    )
    remarks = [signs, part_of(len(largest), len(changes), "largest changes"), stay if len(changes) < len(rows) else ""]
    return titled(_panels(largest), f"Proposed: {_effects_finding(changes)}", "; ".join(filter(None, remarks)))


def _proposal(row: dict[str, Any]) -> NumberChange:
    """What is proposed for a limit; one that is removed has none then."""
    key, new = row["key"], row["proposed"]
    text = f"{limit(key, row['value'])} → {limit(key, new) if new else 'not set'}"
    return NumberChange(row["entity"], key, row["value"], new, text, row["peak"] or None)


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
    """The time in which clients were active, and how much of it their limits would have throttled.

    Parameters
    ----------
    frame
        BACKTEST, as `kn.backtest` gives it: Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        A bar for each bucket, on the broker where it would have been throttled longest; the 30 longest.

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
        return empty("No client in this usage has a limit")
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
    throttled, end = row["throttled"], max(row["active"], row["throttled"])
    late = f", up to {seconds(row['delay'])} late" if row["delay"] else ""
    text = f"{seconds(throttled) or '0 s'} at {limit(row['key'], row['limit'])}{late}"
    return [
        {"name": label, "part": "throttled", "from": 0.0, "to": throttled, "text": text},
        {"name": label, "part": "active, not throttled", "from": throttled, "to": end, "text": ""},
    ]


def _time_bars(rows: list[dict[str, Any]]) -> Any:
    from .drawing import BLUE, VERMILLION, bars, filling

    unit = unit_up_to("s", max(row["to"] for row in rows))
    rows = [{**row, **{end: unit.of(row[end]) for end in ("from", "to")}} for row in rows]
    colours = {"throttled": VERMILLION, "active, not throttled": BLUE}
    tooltip = {"name": "bucket", "part": "part", "text": "throttled"}
    return filling(*bars(rows, colours, f"time in which the bucket was used, {unit.name}", tooltip))
