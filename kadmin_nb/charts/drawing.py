"""Altair's charts as ours: they show themselves as SVG in the host's colours, whatever renderer Altair has.

Altair's default renderer loads scripts from a CDN, and a `</script>` in a name ends its script. These classes are
never shown by it. Altair is imported with this module, which is imported when the first chart is made; its global
renderers, themes and data transformers stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path
from textwrap import wrap
from typing import Any

from ..errors import Unsupported, UsageError, printable_lines

try:
    import altair
except ImportError:
    raise Unsupported("altair is not installed", hint="pip install 'kadmin_nb[charts]'") from None

from .. import files
from ..frames.markup import document, drawing
from .bins import Bins
from .svg import ROOM, WIDTH, as_png, as_svg, as_vega, without_markup

alt: Any = altair
"""Altair, whose own types are too narrow for what it takes."""

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE, GREY = "#56B4E9", "#E69F00", "#8a8f98"
"""Okabe and Ito's colours, which colour-blind readers tell apart; on light and dark grounds alike."""

LOW_TO_HIGH = ["#453781", "#2d708e", "#20a386", "#74d055", "#dce319"]
"""Viridis without its darkest, which no dark ground shows."""

CHARACTER, WIDE_CHARACTER = 7.2, 12.0
"""Pixels of a character in a wide font, and of a wide one. Browsers have other fonts than vl-convert, which places the
names."""

_WIDE_CHARACTERS = re.compile(r"[A-Zmw@%]|[^ -~]")

VEGA = "application/vnd.vega.v5+json"
"""The specification that JupyterLab, Notebook and VS Code draw."""

INK = "currentColor"
"""The colour of the text around the chart."""


class InHostColours:
    """The display of a chart: SVG where HTML is shown, its title where only text is."""

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> None:
        """Nothing: Altair's renderer would answer here."""

    def _repr_html_(self) -> str:
        try:
            return drawing(without_markup(as_svg(self._specification())), _headline(self))
        except Unsupported as missing:
            return document(_headline(self), "\n".join(missing.lines()))

    def in_a_host(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The chart for hosts that draw Vega, with tooltips, as SVG for all others, and the metadata of these."""
        specification = self._specification()
        bundle = {VEGA: as_vega(specification), "image/svg+xml": _svg_file(self), "text/plain": repr(self)}
        return bundle, {VEGA: {"embed_options": {"actions": False, "renderer": "svg"}}}

    def properties(self, **changes: Any) -> Any:
        """Altair's properties. `width` is that of the whole picture, in pixels; its panels have their share of it.

        Raises
        ------
        UsageError
            A width for charts beside each other: each has its own.
        """
        if "width" not in changes or isinstance(self, (Chart, LayerChart)):
            return super().properties(**changes)  # type: ignore[misc]
        width = changes.pop("width")
        if not isinstance(self, VConcatChart):
            raise UsageError(
                "charts beside each other have no common width",
                hint="Set the width of each: chart.properties(width=400) | other.properties(width=400).",
            )
        changed = super().properties(**changes)  # type: ignore[misc]
        room = _room(changed)
        changed.vconcat = [panel.properties(width=width - room) for panel in changed.vconcat]
        changed.usermeta = alt.Undefined
        return changed

    def __repr__(self) -> str:
        return printable_lines(f'{_headline(self)}\nchart.save("chart.svg") writes it; also .png, .html, .json')

    def save(self, fp: Any, format: str | None = None, **more: Any) -> None:
        """Write it to a file: .svg, .png and .html as it is shown here, without scripts; .json and others by Altair."""
        kind = format or Path(str(fp)).suffix.removeprefix(".")
        if kind not in _FILE_WRITERS or not isinstance(fp, str | Path):
            super().save(fp, format, **more)  # type: ignore[misc]
            return
        files.write(Path(fp), _FILE_WRITERS[kind](self))

    def _specification(self) -> dict[str, Any]:
        return self.to_dict(context={"pre_transform": False}, validate=False)  # type: ignore[attr-defined,no-any-return]

    def __add__(self, other: Any) -> Any:
        return ours(alt.layer(self, other))

    def __or__(self, other: Any) -> Any:
        return ours(alt.hconcat(self, other))

    def __and__(self, other: Any) -> Any:
        return ours(alt.vconcat(self, other))

    def facet(self, *args: Any, **more: Any) -> Any:
        """Altair's facet."""
        return ours(super().facet(*args, **more))  # type: ignore[misc]

    def repeat(self, *args: Any, **more: Any) -> Any:
        """Altair's repeat."""
        return ours(super().repeat(*args, **more))  # type: ignore[misc]


class Chart(InHostColours, alt.Chart):  # type: ignore[misc]
    """`altair.Chart`."""


class LayerChart(InHostColours, alt.LayerChart):  # type: ignore[misc]
    """`altair.LayerChart`."""


class HConcatChart(InHostColours, alt.HConcatChart):  # type: ignore[misc]
    """`altair.HConcatChart`."""


class VConcatChart(InHostColours, alt.VConcatChart):  # type: ignore[misc]
    """`altair.VConcatChart`."""


class FacetChart(InHostColours, alt.FacetChart):  # type: ignore[misc]
    """`altair.FacetChart`."""


class RepeatChart(InHostColours, alt.RepeatChart):  # type: ignore[misc]
    """`altair.RepeatChart`."""


_OURS = {kind.__mro__[2]: kind for kind in (Chart, LayerChart, HConcatChart, VConcatChart, FacetChart, RepeatChart)}


def ours(chart: Any) -> Any:
    """A chart of Altair's, made of ours, as one that shows itself as ours do: Altair copies charts in the same way."""
    kind = _OURS.get(type(chart))
    return chart if kind is None else kind(**chart._kwds)


def is_of_ours(chart: Any) -> bool:
    """True if one of its parts is a chart of ours."""
    parts = [getattr(chart, name, None) for name in ("layer", "hconcat", "vconcat", "concat", "spec")]
    flat = [part for part in parts if isinstance(part, alt.TopLevelMixin)]
    nested = (item for part in parts if isinstance(part, list) for item in part)
    return isinstance(chart, InHostColours) or any(map(is_of_ours, [*flat, *nested]))


def base(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """A chart of these rows, which no data transformer sees."""
    return Chart(alt.InlineData(values=[*rows]))


def filling(*layers: Any, **properties: Any) -> Any:
    """These layers on top of each other, the first one at the bottom, as wide as the cell."""
    chart = layers[0] if len(layers) == 1 else ours(alt.layer(*layers))
    return chart.properties(width="container", **properties)


def panels(charts: Iterable[Any], room: float, **properties: Any) -> Any:
    """Charts above each other, together as wide as the cell, with this much room at their side for labels."""
    drawn = [chart.properties(width=WIDTH - room) for chart in charts]
    return ours(alt.vconcat(*drawn, usermeta={ROOM: room}, **properties))


def _room(chart: Any) -> float:
    """The pixels that the panels of a chart leave."""
    return 0 if chart.usermeta is alt.Undefined else chart.usermeta[ROOM]


def titled(chart: Any, title: str, subtitle: str | list[str] = "") -> Any:
    """The chart under its finding, and in smaller lines what of it is not shown; a narrow cell has room for each."""
    parts = [subtitle] if isinstance(subtitle, str) else subtitle
    smaller = [line for part in parts for line in wrap(part, SUBTITLE)]
    return chart.properties(
        title=alt.TitleParams(text=wrap(title, TITLE), **({"subtitle": smaller} if smaller else {}))
    )


TITLE, SUBTITLE = 60, 84
"""Characters of a line of a title, and of the smaller lines below it."""


def empty(title: str) -> Any:
    """The chart of no rows: its title says so."""
    return titled(filling(base([]).mark_point(), height=20), title)


def names(field: str, rows: Sequence[Mapping[str, Any]], texts: Sequence[str] = (), columns: int = 0) -> Any:
    """A row a name, in the order of the rows, with room for them, or for all of `texts`, in a wide font.

    In a narrow cell they have what so many `columns` leave.
    """
    room = room_of(texts or [row[field] for row in rows])
    limit = alt.ExprRef(beside_columns(columns, room + 20))
    axis = alt.Axis(
        labelLimit=limit, minExtent=alt.ExprRef(f"containerSize()[0] > 0 ? 0 : {room:g}"), ticks=False, domain=False
    )
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)


def beside_columns(columns: int, room: float) -> str:
    """The pixels of names beside so many columns, as an expression: those they need, or what a narrow cell leaves."""
    return f"min({room:g}, max({LEAST_NAME}, {CELL} - {COLUMN * columns}))"


LEAST_NAME, COLUMN = 195, 95
"""Pixels that names and a column of values have at least."""

CELL = f"((containerSize()[0] || {WIDTH}) + 0 * width)"
"""The width of the cell, or of the picture, as an expression; by `width` it is worked out again where that changes."""


def room_of(texts: Iterable[str]) -> float:
    """The pixels that the longest of these texts needs."""
    return max(map(_width_of, texts), default=0) + 6


def _width_of(text: str) -> float:
    return CHARACTER * len(text) + (WIDE_CHARACTER - CHARACTER) * len(_WIDE_CHARACTERS.findall(text))


def legend_of(parts: Sequence[str], room: float = 0, **more: Any) -> Any:
    """A legend of these parts, in as many columns as fit beside the `room` of names: all, two or one."""
    needed = [room + columns * (room_of(parts) + 50) for columns in (len(parts), 2)]
    columns = alt.ExprRef(f"{CELL} >= {needed[0]:g} ? {len(parts)} : {CELL} >= {needed[1]:g} ? 2 : 1")
    return alt.Legend(**{"orient": "top", "title": None, "values": [*parts], "columns": columns, **more})


def over_time(field: str, bins: Bins, **axis: Any) -> Any:
    """Time from left to right, in UTC."""
    scale = alt.Scale(type="utc", domain=bins.span)
    look = {"title": bins.title, "format": bins.tick_format, "values": bins.ticks, "grid": False, "labelOverlap": True}
    return alt.X(f"{field}:T", scale=scale, axis=alt.Axis(**{**look, **axis}))


def beside(rows: Sequence[Mapping[str, Any]], lowest: float, highest: float, **scale: Any) -> Any:
    """A scale from the lowest to the highest, which leaves room at its right for the `text` of each row."""
    room = room_of(row["text"] for row in rows)
    end = alt.ExprRef(f"max(width - {room:g}, width / 3)")
    return alt.Scale(domain=[lowest, highest], nice=False, range=[0, end], **scale)


def texts_at_the_end(chart: Any) -> Any:
    """The `text` of each row of a chart, in that room."""
    return chart.mark_text(align="right", color=INK).encode(x=alt.value("width"), text="text:N")


def bars(
    rows: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    title: str,
    tooltip: Mapping[str, str],
    *,
    marks: Sequence[Mapping[str, Any]] = (),
    axis: Any = None,
    texts: Sequence[str] = (),
) -> Sequence[Any]:
    """The layers of a bar a name, in parts of these colours, with the `text` of its rows at the right.

    Parameters
    ----------
    rows
        The parts of the bars: `name`, `part`, `from`, `to` and `text`.
    colours
        The colour of each part, in the order of the legend; one that is there alone needs no legend.
    title
        The title of the axis: what it measures.
    tooltip
        The fields of a tooltip, with their titles.
    marks
        Numbers that are marked (`at`): each at its bar (`name`), or across all of them.
    axis, texts
        The axis, where it is not one of any numbers; the names of all panels, where there are several.
    """
    marked = base(marks)
    end = max(row[field] for some, field in ((rows, "to"), (marks, "at")) for row in some)
    places = names("name", rows, texts)
    shown = {part: colour for part, colour in colours.items() if any(row["part"] == part for row in rows)}
    legend = legend_of([*shown], room_of(texts or [row["name"] for row in rows])) if len(shown) > 1 else None
    look = alt.Scale(domain=[*shown], range=[*shown.values()])

    def along(field: str) -> Any:
        return alt.X(field, title=title, axis=axis or number_axis(titleAnchor="start"), scale=beside(rows, 0, end))

    parts = base(rows).mark_bar(height={"band": 0.7}).encode(
        x=along("from:Q"), x2="to", y=places, color=alt.Color("part:N", title=None, scale=look, legend=legend),
        tooltip=[alt.Tooltip(f"{field}:N", title=name) for field, name in tooltip.items()],
    )  # fmt: skip
    values = texts_at_the_end(base(rows).encode(y=places))
    if not marks:
        return parts, values
    if "name" in marks[0]:
        return parts, marked.mark_tick(color=INK, thickness=2, height=20).encode(x=along("at:Q"), y=places), values
    return marked.mark_rule(color=INK, strokeDash=[4, 3], opacity=0.5).encode(x=along("at:Q")), parts, values


NUMBERS = ",.6~r"
"""The form of a number at a tick: two ticks that differ are two texts."""


def number_axis(**more: Any) -> Any:
    """An axis of a few numbers."""
    return alt.Axis(**{"format": NUMBERS, "tickCount": 6, "grid": False, "labelOverlap": True, **more})


def count_axis(highest: float, lowest: float = 0) -> Any:
    """An axis of whole numbers."""
    few = {"values": [*range(int(lowest), int(highest) + 1)]} if highest - lowest <= MOST_COUNTS else {}
    return number_axis(grid=True, tickMinStep=1, **few)


MOST_COUNTS = 8


def low_to_high(low: float, high: float) -> Any:
    """The colours of positive numbers, the darker the lower: seen on light and dark grounds, by all readers."""
    domain = [low, high] if low < high else [low / 2, high]
    return alt.Scale(type="log", domain=domain, scheme=alt.SchemeParams("viridis", extent=[0.15, 0.95]))


def number_legend(title: str, low: float, high: float, **more: Any) -> Any:
    """The legend of these colours, with its first and last number among others."""
    values = sorted({low, high} | {tick for tick in log_ticks(low, high) if low * 1.3 < tick < high / 1.3})
    return alt.Legend(title=title, format=".3~r", values=values, direction="horizontal", **more)


def log_ticks(low: float, high: float) -> list[float]:
    """The ticks between two positive numbers: 1, 2 and 5 of each power of ten, or the powers alone."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    return shown if len(shown) <= MOST_COUNTS else shown[:: -(-len(shown) // MOST_COUNTS // 3) * 3]


def _headline(chart: Any) -> str:
    """The finding that a chart has for its title."""
    title = chart.title
    text = getattr(title, "text", title)
    return " ".join(text) if isinstance(text, list) else text if isinstance(text, str) else "a chart"


def _html_page(chart: Any) -> str:
    head = '<!DOCTYPE html>\n<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    return f"{head}\n{chart._repr_html_()}\n"


def _svg_file(chart: Any) -> str:
    return without_markup(as_svg(chart._specification(), ground="white"))


_FILE_WRITERS: Mapping[str, Callable[[Any], str | bytes]] = {
    "html": _html_page,
    "svg": _svg_file,
    "png": lambda chart: as_png(chart._specification()),
}
