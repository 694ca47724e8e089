"""Altair's charts as ours: they show themselves as SVG in the host's colours, whatever renderer Altair has.

Altair's default renderer loads scripts from a CDN, and a `</script>` in a name ends its script. These classes are
never shown by it. Altair is imported with this module, which is imported when the first chart is made; its global
renderers, themes and data transformers stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import Unsupported, printable_lines

try:
    import altair
except ImportError:
    raise Unsupported("altair is not installed", hint="pip install 'kadmin_nb[charts]'") from None

from .. import files
from ..frames.markup import document, drawing
from .bins import Bins
from .svg import as_png, as_svg, without_markup

alt: Any = altair
"""Altair, whose own types are too narrow for what it takes."""

WIDTH = 360
"""Pixels of a chart without its labels: with them it is readable at a width of 600."""

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#8a8f98"
"""Okabe and Ito's colours, which colour-blind readers tell apart; on light and dark grounds alike."""

CHARACTER = 6.2
"""Pixels of a character of a name in a wide font. Browsers have other fonts than vl-convert, which places the names."""

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


def layered(*charts: Any) -> Any:
    """Charts on top of each other, the first one at the bottom."""
    return ours(alt.layer(*charts))


def base(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """A chart of these rows, which no data transformer sees."""
    return Chart(alt.InlineData(values=[*rows]))


def titled(chart: Any, title: str, subtitle: str = "") -> Any:
    """The chart under its finding, and in a smaller line what of it is not shown."""
    lines = {"subtitle": subtitle} if subtitle else {}
    return chart.properties(title=alt.TitleParams(text=title, anchor="start", frame="bounds", **lines))


def empty(title: str) -> Any:
    """The chart of no rows: its title says so."""
    return titled(base([]).mark_point().properties(width=WIDTH, height=20), title)


def names(field: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """A row a name, in the order of the rows; with room for them in a font that is wider than the one here."""
    room = max((len(row[field]) for row in rows), default=0) * CHARACTER
    axis = alt.Axis(labelLimit=room + 20, minExtent=room, ticks=False, domain=False)
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)


def over_time(field: str, bins: Bins, **axis: Any) -> Any:
    """Time from left to right, in UTC."""
    scale = alt.Scale(type="utc", domain=bins.span)
    look = {"title": "time, UTC", "format": bins.tick_format, "grid": False, "labelOverlap": True, "tickCount": 6}
    return alt.X(f"{field}:T", scale=scale, axis=alt.Axis(**{**look, **axis}))


def _headline(chart: Any) -> str:
    """The finding that a chart has for its title."""
    title = chart.title
    text = getattr(title, "text", title)
    return " ".join(text) if isinstance(text, list) else text if isinstance(text, str) else "a chart"


def _html_page(chart: Any) -> str:
    head = '<!DOCTYPE html>\n<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    return f"{head}\n{chart._repr_html_()}\n"


_FILE_WRITERS: Mapping[str, Callable[[Any], str | bytes]] = {
    "html": _html_page,
    "svg": lambda chart: without_markup(as_svg(chart._specification(), ground="white")),
    "png": lambda chart: as_png(chart._specification()),
}
