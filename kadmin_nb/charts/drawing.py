"""The parts that charts have in common: their colours, axes, titles and rows. Importing it imports Altair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from ..errors import Unsupported

try:
    import altair
except ImportError:
    raise Unsupported("altair is not installed", hint="pip install 'kadmin_nb[charts]'") from None

from .labels import LETTER, PICTURE, Bins, as_text, beside, short
from .showing import OURS, register

alt: Any = altair
"""Altair, whose own types are too narrow for what it takes."""

BLUE, VERMILLION, GREEN, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9"
"""Okabe and Ito's colours, which colour-blind readers tell apart; on light and dark grounds alike."""

INK = "currentColor"
"""The colour of the text around the chart."""

WIDTH, BARS, ROW = 620, 220, 22
"""Pixels of a chart without its names, of bars at least, and of a row."""


def base(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A chart of these rows, which no data transformer sees; their texts are shown and end no script."""
    safe = [{name: as_text(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows]
    return alt.Chart(alt.InlineData(values=safe))


def layered(title: str, remarks: Iterable[str], *layers: Any, **properties: Any) -> Any:
    """These layers, the first at the bottom, under the finding and the lines on what is not shown."""
    register(alt.TopLevelMixin)
    finding, smaller = as_text(title), [line for remark in remarks for line in wrap(as_text(remark), 100)]
    below = smaller or alt.Undefined
    text = alt.TitleParams(text=wrap(finding, 75), subtitle=below, anchor="start", frame="bounds")
    return alt.layer(*layers).properties(**{"title": text, "description": OURS + finding, "width": WIDTH, **properties})


def empty(title: str) -> Any:
    """The chart of no rows: its title says so."""
    return layered(title, (), base([]).mark_point(), height=20)


def names(field: str) -> Any:
    """A row for each name, in the order of the rows."""
    axis = alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=8)
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)


def legend(title: str | None = None, **more: Any) -> Any:
    """A legend above the chart."""
    return alt.Legend(orient="top", title=title, symbolOpacity=1, labelLimit=300, columnPadding=24, **more)


def over_time(field: str, bins: Bins) -> Any:
    """Time from left to right, in UTC."""
    axis = alt.Axis(title=bins.title, format=TICKS, tickCount=8, grid=False, labelOverlap=True)
    return alt.X(f"{field}:T", scale=alt.Scale(type="utc", domain=bins.span, nice=False), axis=axis)


TICKS = {**dict.fromkeys(("milliseconds", "seconds"), "%H:%M:%S"), **dict.fromkeys(("minutes", "hours"), "%H:%M"),
         **dict.fromkeys(("day", "date", "week"), "%-d %b"), **dict.fromkeys(("month", "quarter"), "%b %Y"),
         "year": "%Y"}  # fmt: skip
"""The text of a tick, by the unit of time that begins there."""


def with_room(rows: Sequence[Mapping[str, Any]], lowest: float, highest: float, **scale: Any) -> Any:
    """A scale from the lowest to the highest, which leaves room at its right for the `text` of each row."""
    room = f"max(width - {_room(rows, 'text'):g}, width / 3)"
    return alt.Scale(domain=[lowest, highest], nice=False, range=[0, alt.ExprRef(room)], **scale)


def width_beside(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    """The width that a picture has for bars and the `text` of each row beside these names."""
    return max(PICTURE - _room(rows, name), BARS + _room(rows, "text"))


def _room(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    return LETTER * max((len(row[name]) for row in rows), default=0) + 12


def texts_at_the_end(chart: Any) -> Any:
    """The `text` of each row of a chart, in that room."""
    return chart.mark_text(align="right", color=INK).encode(x=alt.value("width"), text="text:N")


MOST_BARS = 40
"""Bars of a picture."""


def bars(rows: Any, length: str, name: str, colour: str) -> Any:
    """A chart with a bar for each of the first 40 rows, in their order.

    Parameters
    ----------
    rows
        A pandas frame.
    length, name, colour
        The columns of the bars' lengths, names and colours.

    Raises
    ------
    Unsupported
        Altair is not installed.
    """
    first = zip(*(rows[column].head(MOST_BARS) for column in (length, name, colour)), strict=True)
    values = [{"length": float(long), "name": short(str(who), beside(2 * BARS)), "colour": str(how), "text": ""}
              for long, who, how in first]  # fmt: skip
    x, colours = alt.X("length:Q", title=length), alt.Color("colour:N", legend=legend(colour))
    drawn = base(values).mark_bar().encode(x=x, y=names("name"), color=colours)
    return layered(f"{length} by {name}", (), drawn, width=width_beside(values, "name"))
