"""The chart of a plan: how many times its numbers grow or shrink."""

from __future__ import annotations

from itertools import zip_longest
from math import inf, isfinite, log
from typing import Any, NamedTuple

from ..frames import schemas
from ..frames.meanings import in_unit
from ..frames.relational import checked, in_arrow
from .labels import count_of, distinct, part_of, short

MOST_CHANGES = 40
"""Changes that a chart has at most."""

EFFECTS = ("lower", "higher", "newly set", "removed")


class NumberChange(NamedTuple):
    """A change of a number: `old` and `new` are None where there is none."""

    name: str
    text: str
    old: float | None
    new: float | None

    @property
    def effect(self) -> str:
        """One of EFFECTS."""
        if self.old is None or self.new is None:
            return "newly set" if self.old is None else "removed"
        return "lower" if self.new < self.old else "higher"

    @property
    def factor(self) -> float:
        """The number after, of the one before; 1 where there is none of them."""
        return self.new / self.old if self.old and self.new else 1.0

    @property
    def size(self) -> float:
        """How far it moves; infinite for what is set or removed."""
        return abs(log(self.factor)) if self.old and self.new else inf


def plan(plan: Any) -> Any:
    """A plan's numbers before and after: a line for each change, as long as its factor.

    Lower is a red triangle to the left, higher a blue one to the right, newly set a green diamond, removed a cross.

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
    from .drawing import empty, layered

    columns = ("kind", "resource", "key", "old", "after", "old_known")
    rows = in_arrow(checked(plan, schemas.PLAN.schema, columns, "the plan's changes"), 100_000).to_pylist()
    changes = [change for row in rows if (change := _number_change(row))]
    others = len(rows) - len(changes)
    remark = f"{count_of(others, 'change')} of other values" if others else ""
    if not changes:
        return empty("Nothing changes" if not rows else f"{count_of(len(rows), 'change')} of other values than numbers")
    shown = _largest_of_each(changes)
    counts = {effect: sum(change.effect == effect for change in changes) for effect in EFFECTS}
    finding = ", ".join(f"{count:,} {effect}" for effect, count in counts.items() if count)
    return layered(finding, [part_of(len(shown), len(changes), "largest changes"), remark], *_lines(shown))


def _number_change(row: dict[str, Any]) -> NumberChange | None:
    """The change of a row, where what is there before and after can be drawn."""
    old, new = (_positive(row[name]) for name in ("old", "after"))
    is_drawn = (old is not None or row["old"] is None) and (new is not None or row["after"] is None)
    if not is_drawn or old == new:
        return None
    # a number in its unit alone: `7 d`, of which a table has the milliseconds beside it
    before, after = (in_unit(row["key"], row[name]).rpartition("(")[2].rstrip(")") for name in ("old", "after"))
    text = short(f"{before or 'not set'} → {after or 'not set'}")
    return NumberChange(short(f"{row['resource']} {row['key']}"), text, old, new)


def _positive(text: str | None) -> float | None:
    """A number that a logarithmic scale has."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) and number > 0 else None


def _largest_of_each(changes: list[NumberChange]) -> list[NumberChange]:
    """The largest of each effect in turns, so that thousands of removals do not hide what is lowered."""
    by_size = sorted(changes, key=lambda change: (-change.size, change.name))
    turns = zip_longest(*([change for change in by_size if change.effect == effect] for effect in EFFECTS))
    chosen = [change for turn in turns for change in turn if change is not None][:MOST_CHANGES]
    return sorted(chosen, key=lambda change: EFFECTS.index(change.effect))


def _lines(changes: list[NumberChange]) -> list[Any]:
    from .drawing import (
        BLUE,
        GREEN,
        GREY,
        INK,
        VERMILLION,
        alt,
        base,
        beside,
        legend,
        log_ticks,
        names,
        texts_at_the_end,
    )

    labels = distinct([change.name for change in changes])
    rows = [{"change": label, "effect": change.effect, "text": change.text, "factor": change.factor, "before": 1}
            for label, change in zip(labels, changes, strict=True)]  # fmt: skip
    factors = [change.factor for change in changes]
    low, high = min(*factors, 0.5) / 1.1, max(*factors, 2.0) * 1.1
    shown = [effect for effect in EFFECTS if any(row["effect"] == effect for row in rows)]
    looks = dict(
        zip(
            EFFECTS,
            ((VERMILLION, "triangle-left"), (BLUE, "triangle-right"), (GREEN, "diamond"), (GREY, "cross")),
            strict=True,
        )
    )
    colours = alt.Scale(domain=shown, range=[looks[effect][0] for effect in shown])
    shapes = alt.Scale(domain=shown, range=[looks[effect][1] for effect in shown])
    colour = alt.Color("effect:N", scale=colours, legend=legend(symbolSize=110))
    axis = alt.Axis(values=log_ticks(low, high), labelExpr="'× ' + format(datum.value, ',.3~r')", labelOverlap=True)
    x = alt.X("factor:Q", title="after, of before", axis=axis, scale=beside(rows, low, high, type="log"))
    chart = base(rows).encode(y=names("change"), tooltip=["change:N", "effect:N", "text:N"])
    return [
        chart.mark_rule(size=2).encode(x=x, x2="before", color=colour),
        chart.mark_point(size=40, color=INK, filled=False)
        .encode(x=alt.X("before:Q"))
        .transform_filter("datum.factor != 1"),
        chart.mark_point(size=110, filled=True, opacity=1).encode(
            x=x, color=colour, shape=alt.Shape("effect:N", scale=shapes, legend=legend(symbolSize=110))
        ),
        texts_at_the_end(chart),
    ]
