"""The chart of a plan: how many times its numbers grow or shrink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isfinite, log
from typing import Any

from ..frames import schemas
from ..frames.meanings import UNLIMITED, in_unit
from ..frames.relational import checked, in_arrow
from .labels import Row, count_of, distinct, head, part_of, short

MOST_CHANGES, LONGEST_NAME = 40, 120
"""Changes that a chart has at most, and characters of a name."""

EFFECTS = ("lower", "higher", "newly set", "removed")


def plan(plan: Any) -> Any:
    """A plan's numbers before and after: a line for each change, as long as its factor.

    The ring is what applied before: where nothing was set, the limit that a client fell back to. Lower is a triangle
    to the left, higher one to the right. A diamond limits who was unlimited, a cross sets free.

    Parameters
    ----------
    plan
        A `Plan`, or PLAN as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        The 40 changes with the largest factors. Changes of other values are counted below the title.

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
    from .drawing import empty, layered, width_beside

    columns, label = ("resource", "key", "old", "after", "applies_before", "applies_after"), "the plan's changes"
    rows = in_arrow(checked(plan, schemas.PLAN.schema, columns, label), 100_000).to_pylist()
    changes = [change for row in rows if (change := _number_change(row))]
    others = len(rows) - len(changes)
    remark = f"{count_of(others, 'change')} of other values" if others else ""
    if not changes:
        return empty("Nothing changes" if not rows else f"{count_of(len(rows), 'change')} of other values than numbers")
    by_size = sorted(changes, key=lambda change: (-abs(log(change["factor"])), change["change"]))
    shown = sorted(by_size[:MOST_CHANGES], key=lambda change: EFFECTS.index(change["effect"]))
    counts = Counter(change["effect"] for change in changes)
    finding = ", ".join(f"{counts[effect]:,} {effect}" for effect in EFFECTS if counts[effect])
    labels = distinct([change["change"] for change in shown])
    drawn = [{**change, "change": label} for label, change in zip(labels, shown, strict=True)]
    remarks = [part_of(len(shown), len(changes), "largest changes"), remark]
    return layered(finding, remarks, *_layers(drawn), width=width_beside(drawn, "change"))


def _number_change(row: Row) -> Row | None:
    """The change of a row, where what applies before and after can be drawn."""
    before, after = _applying(row, "old", "applies_before"), _applying(row, "after", "applies_after")
    (old, old_text), (new, new_text) = before, after
    if (old is None and old_text not in NOTHING) or (new is None and new_text not in NOTHING) or old == new:
        return None
    sign = "+" if row["old"] is None else "-" if row["after"] is None else "~"
    name = short(f"{sign} {row['resource']} {head(row['key'])}", LONGEST_NAME)
    factor = new / old if old and new else 1.0
    effect = "newly set" if old is None else "removed" if new is None else "lower" if factor < 1 else "higher"
    return {"change": name, "text": short(f"{old_text} → {new_text}"), "effect": effect, "factor": factor, "before": 1}


NOTHING = ("not set", UNLIMITED)


def _applying(row: Row, own: str, applies: str) -> tuple[float | None, str]:
    """The number that is set, or that applies where none is, and its text."""
    value = row[own] if row[own] is not None else row[applies]
    if value is None or value == UNLIMITED:
        return None, value or "not set"
    # a number in its unit alone: `7 d`, of which a table has the milliseconds beside it
    return _positive(value), in_unit(row["key"], value).rpartition("(")[2].rstrip(")")


def _positive(text: str | None) -> float | None:
    """A number that a logarithmic scale has."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) and number > 0 else None


def _layers(rows: Sequence[Row]) -> list[Any]:
    from .drawing import (
        BLUE,
        GREEN,
        INK,
        ORANGE,
        VERMILLION,
        alt,
        base,
        legend,
        names,
        texts_at_the_end,
        with_room,
    )

    factors = [row["factor"] for row in rows]
    low, high = min(*factors, 0.5) / 1.1, max(*factors, 2.0) * 1.1
    colours = alt.Scale(domain=EFFECTS, range=[ORANGE, GREEN, BLUE, VERMILLION])
    shapes = alt.Scale(domain=EFFECTS, range=["triangle-left", "triangle-right", "diamond", "cross"])
    marks = legend(symbolSize=110, values=[*dict.fromkeys(row["effect"] for row in rows)])
    colour = alt.Color("effect:N", scale=colours, legend=marks)
    shape = alt.Shape("effect:N", scale=shapes, legend=marks)
    axis = alt.Axis(tickCount=6, labelExpr="'× ' + format(datum.value, ',.3~r')", labelOverlap=True)
    scale = with_room(rows, low, high, type="log")
    x = alt.X("factor:Q", title="after, as a multiple of before", axis=axis, scale=scale)
    chart = base(rows).encode(y=names("change"), tooltip=["change:N", "effect:N", "text:N"])
    ring = chart.mark_point(size=40, color=INK, filled=False).encode(x=alt.X("before:Q"))
    return [
        chart.mark_rule(size=2).encode(x=x, x2="before", color=colour),
        ring.transform_filter("datum.factor != 1"),
        chart.mark_point(size=110, filled=True, opacity=1).encode(x=x, color=colour, shape=shape),
        texts_at_the_end(chart),
    ]
