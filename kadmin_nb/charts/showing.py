"""A chart as a notebook and a file show it: Vega-Lite for hosts that draw it, SVG by vl-convert, its finding as text.

Altair's default renderer loads scripts from a CDN. For the charts of this room one formatter of the shell answers in
its place; all others, and Altair's own settings, stay as they are. No browser, no network, and nothing that runs.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from .. import files, paths
from ..errors import Unsupported

OURS = "kadmin_nb: "
"""How the description of a chart of this room begins, wherever it stands in another."""

VEGA_LITE = "application/vnd.vegalite.v5+json"
"""What JupyterLab, Notebook and VS Code draw."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.20.1.json"
TYPE = 12
"""Pixels of all texts but a title."""

_TEXTS = {**dict.fromkeys(("labelColor", "titleColor"), "currentColor"),
          **dict.fromkeys(("labelFontSize", "titleFontSize"), TYPE), "titleFontWeight": "normal"}  # fmt: skip
LOOK: Mapping[str, Any] = {
    "axis": {**_TEXTS, "titleAnchor": "start", "gridOpacity": 0.14, "domainOpacity": 0.4, "tickOpacity": 0.4,
             **dict.fromkeys(("gridColor", "domainColor", "tickColor"), "currentColor")},
    "legend": _TEXTS,
    "title": {"color": "currentColor", "subtitleColor": "currentColor", "fontSize": 15, "subtitleFontSize": TYPE,
              "subtitlePadding": 5, "offset": 12},
    "text": {"fontSize": TYPE},
    "view": {"stroke": None, "step": 22},
    "background": "transparent",
}  # fmt: skip
"""Texts and lines are in the colour of the text around them."""


def is_ours(chart: Any) -> bool:
    """True if it, or one of its parts, is a chart of this room."""
    parts = [getattr(chart, name, None) for name in ("layer", "hconcat", "vconcat", "concat", "spec")]
    nested = [part for some in parts for part in (some if isinstance(some, list) else [some])]
    return str(getattr(chart, "description", "")).startswith(OURS) or any(map(is_ours, filter(_is_part, nested)))


def _is_part(part: object) -> bool:
    return hasattr(part, "to_dict") and hasattr(part, "description")


def headline(chart: Any) -> str:
    """The finding that a chart has for its title."""
    text = getattr(chart.title, "text", chart.title)
    return " ".join(text) if isinstance(text, list) else text if isinstance(text, str) else "a chart"


def svg(chart: Any) -> str:
    """The chart as SVG: names are escaped, no script, no link, no id.

    It has no ground, and its texts have the colour of the page around it; as an image it follows the page's scheme.
    """
    drawn = converter().vegalite_to_svg(_specification(chart, "transparent"), allowed_base_urls=[])
    return str(drawn).replace("<svg ", '<svg style="color-scheme: light dark" ', 1)


def png(chart: Any) -> bytes:
    """The chart as PNG on white, twice as many pixels either way."""
    return bytes(converter().vegalite_to_png(_specification(chart, "white"), scale=2, allowed_base_urls=[]))


def _html(chart: Any) -> str:
    """The SVG as an image, in which no script could run."""
    data = base64.b64encode(svg(chart).encode()).decode()
    return f'<img alt="{escape(headline(chart))}" style="max-width: 100%" src="data:image/svg+xml;base64,{data}">'


def bundle(chart: Any) -> dict[str, Any]:
    """What a cell shows of a chart, for each kind of host; Databricks draws HTML alone."""
    try:
        if paths.is_databricks():
            return {"text/html": _html(chart), "text/plain": headline(chart)}
        drawn = {"image/svg+xml": svg(chart), "text/plain": headline(chart)}
    except Unsupported as missing:
        return {"text/plain": "\n".join([headline(chart), *missing.lines()])}
    host = {"embedOptions": {"actions": False, "renderer": "svg"}}
    return {VEGA_LITE: {**_specification(chart, "transparent"), "$schema": SCHEMA, "usermeta": host}, **drawn}


def write(chart: Any, place: Path) -> None:
    """The chart into a file whose ending is .svg or .png."""
    files.write(place, png(chart) if place.suffix == ".png" else svg(chart))


def _specification(chart: Any, ground: str) -> dict[str, Any]:
    """Vega-Lite in the look of this room; no data transformer of Altair's has a part in it."""
    drawn = chart.to_dict(context={"pre_transform": False}, validate=False)
    return {**drawn, "config": {**drawn.get("config", {}), **LOOK, "background": ground}}


def converter() -> Any:
    """vl-convert, which draws without a browser and without a network.

    Raises
    ------
    Unsupported
        It is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise Unsupported("vl-convert-python is not installed", hint="pip install 'kadmin_nb[charts]'") from None
    return vl_convert


def register(kind: type) -> None:
    """Have a running IPython show charts of this room by `bundle`, unless another formatter is set."""
    shells = sys.modules.get("IPython.core.getipython")
    shell = shells.get_ipython() if shells else None
    formatter = shell.display_formatter.mimebundle_formatter if shell else None
    if formatter is not None and kind not in formatter.type_printers:
        formatter.for_type(kind, _shown)


def _shown(chart: Any, include: Any = None, exclude: Any = None) -> Any:
    return bundle(chart) if is_ours(chart) else chart._repr_mimebundle_(include=include, exclude=exclude)
