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

HOST_COLOURS: Mapping[str, object] = {
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "gridColor", "domainColor", "tickColor"), "currentColor"),
        "gridOpacity": 0.14, "domainOpacity": 0.4, "tickOpacity": 0.4, "titleFontWeight": "normal",
    },
    "legend": dict.fromkeys(("labelColor", "titleColor"), "currentColor") | {"titleFontWeight": "normal"},
    "title": {"color": "currentColor", "subtitleColor": "currentColor", "fontSize": 14, "subtitleFontSize": 11,
              "offset": 10},
    "header": dict.fromkeys(("labelColor", "titleColor"), "currentColor"),
    "view": {"stroke": None},
    "padding": {"left": 4, "top": 4, "bottom": 4, "right": 30},
}  # fmt: skip
"""Texts and lines are in the colour of the text around them; a font that is wider than ours has room at the right."""


def as_svg(specification: Mapping[str, Any], ground: str = "transparent") -> str:
    """The SVG of a Vega-Lite specification; nothing is loaded for it."""
    convert = _converter().vegalite_to_svg
    return str(
        convert({**specification, "background": ground}, config={"aria": False, **HOST_COLOURS}, allowed_base_urls=[])
    )


def as_png(specification: Mapping[str, Any]) -> bytes:
    """The same as PNG, twice as many pixels either way."""
    convert = _converter().vegalite_to_png
    return bytes(convert({**specification, "background": "white"}, config=HOST_COLOURS, scale=2, allowed_base_urls=[]))


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
