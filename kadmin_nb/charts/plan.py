"""Charts of a plan: the slopes of its numbers, and the throttling that limits would have meant."""

from __future__ import annotations

from collections.abc import Iterator
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
from .labels import AXES, DURATION, NUMBER, SECONDS, count_of, distinct, part_of, short, unit_of, uses

MOST_CHANGES = 40
"""Changes that a chart has at most."""

_MOST_ROWS = 100_000
_UNITS = {**AXES, "ms": (DURATION, "time"), "bytes": (f"{NUMBER} + 'B'", "bytes")}
_PLAIN_AXIS = ("format(datum.value, '~s')", "value")
EFFECTS = ("lower", "higher", "newly set", "removed")


@dataclass(frozen=True)
class NumberChange:
    """A change of a number: `old` and `new` are None where there is none."""

    resource: str
    key: str
    old: float | None
    new: float | None
    text: str

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
    """A plan's numbers before and after: a line a change, a dot where it was, a triangle where it will be.

    Lower is a red triangle to the left, higher a blue one to the right, newly set a green diamond, removed a cross.

    Parameters
    ----------
    plan
        A `Plan`, or PLAN as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.VConcatChart
        The 40 changes by the largest factor, a panel a unit. What is not a number is counted below the title.

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
    remark = f"{count_of(others, 'change')} not of numbers" if others else ""
    if not changes:
        return empty("Nothing changes" if not rows else f"{count_of(len(rows), 'change')}, none of a number")
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
    before, after = (in_unit(row["key"], row[name]) or "not set" for name in ("old", "after"))
    return NumberChange(row["resource"], row["key"], old, new, short(f"{before} → {after}"))


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
    """The unit of a quota's key, or the last word of a config's."""
    return unit_of(key) if find(key) else key.rpartition(".")[2]


def _panels(changes: list[NumberChange]) -> Any:
    """A panel a unit, the one with most changes first."""
    from .drawing import alt, ours

    units = [_unit(change.key) for change in changes]
    panels = sorted({unit if unit in _UNITS else "" for unit in units}, key=lambda unit: -units.count(unit))
    labels = distinct([short(f"{change.resource} {change.key}") for change in changes])
    rows = {unit: [*_rows_of_panel(changes, labels, unit)] for unit in panels}
    return ours(alt.vconcat(*(_slopes(rows[unit], *_UNITS.get(unit, _PLAIN_AXIS)) for unit in panels)))


def _rows_of_panel(changes: list[NumberChange], labels: list[str], unit: str) -> Iterator[dict[str, Any]]:
    for change, label in zip(changes, labels, strict=True):
        if (_unit(change.key) if _unit(change.key) in _UNITS else "") == unit:
            ends = [end for end in (change.old, change.new) if end is not None]
            texts = {"change": label, "effect": change.effect, "text": change.text}
            at = change.new if change.new is not None else change.old
            yield {**texts, "low": min(ends), "high": max(ends), "old": change.old if change.new else None, "at": at}


def _slopes(rows: list[dict[str, Any]], label: str, title: str) -> Any:
    from .drawing import BLUE, GREEN, GREY, INK, VERMILLION, WIDTH, alt, base, layered, names

    effects = [*EFFECTS]
    colours = alt.Color("effect:N", title=None, legend=alt.Legend(orient="top"),
                        scale=alt.Scale(domain=effects, range=[VERMILLION, BLUE, GREEN, GREY]))  # fmt: skip
    shapes = alt.Shape(
        "effect:N",
        title=None,
        legend=alt.Legend(orient="top"),
        scale=alt.Scale(domain=effects, range=["triangle-left", "triangle-right", "diamond", "cross"]),
    )
    axis = alt.Axis(labelExpr=label, grid=False, tickCount=5, labelOverlap=True, labelSeparation=16)
    chart = base(rows).encode(y=names("change", rows), tooltip=["change:N", "effect:N", "text:N"])

    def at(field: str) -> Any:
        return alt.X(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(type="log", padding=14))

    lines = chart.mark_rule(size=2).encode(x=at("low"), x2="high", color=colours)
    dots = chart.mark_point(size=40, color=INK, filled=False).encode(x=at("old"))
    ends = chart.mark_point(size=110, filled=True, opacity=1).encode(x=at("at"), color=colours, shape=shapes)
    texts = chart.mark_text(align="left", dx=10, color=INK, fontSize=10).encode(x=at("high"), text="text:N")
    return layered(lines, dots, ends, texts).properties(width=WIDTH - 120)


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
