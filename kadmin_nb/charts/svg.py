"""A chart's specification as SVG and PNG, by vl-convert: no browser, no network, and no script in the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree
from zlib import crc32

from ..errors import Invalid, Unsupported

DRAWN = frozenset({"svg", "g", "path", "line", "rect", "circle", "text", "tspan", "defs", "clipPath",
                   "linearGradient", "radialGradient", "stop"})  # fmt: skip
"""The elements that Vega draws with. Whatever else stands in an SVG is left out."""

ATTRIBUTES = frozenset({
    "clip-path", "cx", "cy", "d", "dx", "dy", "fill", "fill-opacity", "font-family", "font-size", "font-style",
    "font-weight", "gradientUnits", "height", "id", "offset", "opacity", "r", "rx", "ry", "stop-color", "stroke",
    "stroke-dasharray", "stroke-linecap", "stroke-miterlimit", "stroke-opacity", "stroke-width", "text-anchor",
    "transform", "version", "viewBox", "width", "x", "x1", "x2", "y", "y1", "y2", "display", "visibility",
})  # fmt: skip
"""The attributes that Vega draws with."""

WIDTH = 900
"""Pixels of a picture with all that belongs to it, where no cell says how wide it is."""

NARROWEST = 480
"""Pixels below which a picture does not follow its cell: the cell scrolls."""

TYPE = 12
"""Pixels of all texts but a title."""

LOOK: Mapping[str, Any] = {
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "gridColor", "domainColor", "tickColor"), "currentColor"),
        **dict.fromkeys(("labelFontSize", "titleFontSize"), TYPE), "titleFontWeight": "normal", "titlePadding": 8,
        "gridOpacity": 0.14, "domainOpacity": 0.4, "tickOpacity": 0.4, "labelPadding": 5,
    },
    "legend": {
        **dict.fromkeys(("labelColor", "titleColor"), "currentColor"), "titleFontWeight": "normal",
        **dict.fromkeys(("labelFontSize", "titleFontSize"), TYPE), "labelLimit": 260, "titleLimit": 260,
        "symbolOpacity": 1, "columnPadding": 32, "offset": 10,
    },
    "title": {"color": "currentColor", "subtitleColor": "currentColor", "fontSize": 15, "subtitleFontSize": TYPE,
              "subtitlePadding": 5, "anchor": "start", "frame": "bounds", "offset": 12},
    "header": dict.fromkeys(("labelColor", "titleColor"), "currentColor"),
    "text": {"fontSize": TYPE},
    "view": {"stroke": None, "step": 22},
    "padding": 4,
}  # fmt: skip
"""Texts and lines are in the colour of the text around them."""


def look_of(specification: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a chart: a width is that of the whole picture, where there is one view."""
    is_single = "mark" in specification or "layer" in specification
    return {**LOOK, "autosize": {"type": "fit-x", "contains": "padding"} if is_single else "pad"}


def as_svg(specification: Mapping[str, Any], ground: str = "transparent") -> str:
    """The SVG of a Vega-Lite specification; nothing is loaded for it."""
    convert = _converter().vegalite_to_svg
    look = {"aria": False, **look_of(specification)}
    return str(convert(_of_width(specification, ground), config=look, allowed_base_urls=[]))


def as_png(specification: Mapping[str, Any]) -> bytes:
    """The same as PNG, twice as many pixels either way."""
    convert = _converter().vegalite_to_png
    look = look_of(specification)
    return bytes(convert(_of_width(specification, "white"), config=look, scale=2, allowed_base_urls=[]))


def _of_width(specification: Mapping[str, Any], ground: str) -> dict[str, Any]:
    """The specification on a ground, WIDTH wide where it would fill a cell."""
    fills = specification.get("width") == "container"
    return {**specification, "background": ground, **({"width": WIDTH} if fills else {})}


def as_vega(specification: Mapping[str, Any]) -> dict[str, Any]:
    """The specification as hosts draw it that have Vega 5, as JupyterLab has: as wide as the cell.

    A host has its Vega-Lite, which may be another than Altair's: it is compiled here. Vega-Lite lets a single view
    fill its cell; panels above each other, which have ROOM in their `usermeta`, do so by the same signal.
    """
    vega: dict[str, Any] = _converter().vegalite_to_vega(
        {**specification, "background": "transparent"}, vl_version=VEGA_5, config=look_of(specification)
    )
    room = specification.get("usermeta", {}).get(ROOM)
    signals = vega.setdefault("signals", [])
    if room is not None and vega.pop("width", None) is not None:
        signals.insert(0, {"name": "width"})
    for signal in signals:
        if signal["name"] == "width" and (room is not None or specification.get("width") == "container"):
            width = f"max(containerSize()[0] || 0, {NARROWEST}) - {room or 0}"
            signal.update(init=width, on=[{"update": width, "events": "window:resize"}])
    return vega


ROOM = "room"
"""What the panels of a chart leave of its width, in pixels, in `usermeta`."""

VEGA_5 = "5.20"
"""The Vega-Lite of vl-convert that compiles for Vega 5."""


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise Unsupported("vl-convert-python is not installed", hint="pip install 'kadmin_nb[charts]'") from None
    return vl_convert


def without_markup(svg: str) -> str:
    """An SVG with nothing in it but drawing: no script, no link, no style, nothing from elsewhere.

    Its ids begin with a mark of its own, so that a page with several charts has each once; vl-convert's own count
    all charts of a process.

    Raises
    ------
    Invalid
        It declares a document type, or is not XML.
    """
    if "<!" in svg:
        raise Invalid("the SVG of the chart declares more than a drawing")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise Invalid(f"the SVG of the chart cannot be read: {error}") from None
    _cleaned(root, _Ids(f"k{crc32(_NUMBERED.sub('', svg).encode()):x}-"))
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return ElementTree.tostring(root, encoding="unicode")


def _cleaned(element: ElementTree.Element, ids: _Ids) -> None:
    """Keep what draws; the names of elements are those of HTML, without a namespace."""
    element.tag = _local_name(element.tag)
    attributes = {name: _renamed(name, value, ids) for name, value in element.attrib.items() if _draws(name, value)}
    element.attrib.clear()
    element.attrib.update(attributes)
    for child in [*element]:
        if _local_name(child.tag) in DRAWN:
            _cleaned(child, ids)
        else:
            element.remove(child)


def _local_name(tag: object) -> str:
    return str(tag).rpartition("}")[2]


def _draws(name: str, value: str) -> bool:
    """True for an attribute of a drawing, and of these for one that refers to nothing but a part of it."""
    return name in ATTRIBUTES and ("url" not in value.lower() or _REFERENCE.fullmatch(value) is not None)


def _renamed(name: str, value: str, ids: _Ids) -> str:
    """An id, or what refers to one, by its new name."""
    if name == "id":
        return ids[value]
    return f"url(#{ids[part[1]]})" if (part := _REFERENCE.fullmatch(value)) else value


class _Ids(dict[str, str]):
    """The new names of a drawing's ids, in the order in which they come."""

    def __init__(self, mark: str) -> None:
        super().__init__()
        self._mark = mark

    def __missing__(self, old: str) -> str:
        self[old] = f"{self._mark}{len(self)}"
        return self[old]


_REFERENCE = re.compile(r"url\(#([\w-]+)\)")
_NUMBERED = re.compile(r"(?:gradient_|clip)\d+")
