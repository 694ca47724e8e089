"""A chart shows itself without scripts, without a network, and without touching Altair's settings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import pytest

import kadmin_nb as kn
from kadmin_nb.charts.svg import ATTRIBUTES, DRAWN, without_markup
from tests.charts.charted_frames import CHARTS, effective, utilisation
from tests.hostile_names import HOSTILE

pytestmark = pytest.mark.slow  # Altair and vl-convert take seconds to start

every_chart = pytest.mark.parametrize("name", CHARTS)


def _drawings(html: str) -> list[ElementTree.Element]:
    """The elements of the SVG in a chart's HTML."""
    return [*ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6]).iter()]


def test_importing_the_room_does_not_load_altair() -> None:
    """`import kadmin_nb.charts` took two seconds."""
    program = "import sys, kadmin_nb.charts as c; print(c.effective and {'altair', 'vl_convert'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_a_missing_package_is_one_line(package: str) -> None:
    """Without the extra there was an ImportError of forty lines."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import kadmin_nb as kn, pyarrow as pa\nfrom kadmin_nb.frames import schemas\n"
        "try: print(kn.charts.effective(schemas.EFFECTIVE.empty())._repr_html_().split('</style>')[1])\n"
        "except kn.KadminError as error: print(*error.lines(), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert re.search(r"(altair|vl-convert-python) is not installed\n.*kadmin_nb\[charts\]", done.stdout)
    assert done.stderr == ""


@every_chart
def test_an_svg_is_a_drawing_and_no_more(name: str) -> None:
    """The picture in the notebook could have run a script."""
    draw, frame = CHARTS[name]
    for element in _drawings(draw(frame(12))._repr_html_())[1:]:
        assert element.tag.rpartition("}")[2] in DRAWN
        assert set(element.attrib) <= ATTRIBUTES


@every_chart
def test_hostile_names_are_text(name: str) -> None:
    """A client called itself `<script>`, and its name was in the page."""
    draw, frame = CHARTS[name]
    for start in range(0, len(HOSTILE), 24):
        html = draw(frame(24, *HOSTILE[start : start + 24]))._repr_html_()
        assert {element.tag.rpartition("}")[2] for element in _drawings(html)} <= DRAWN
        assert not re.search(r"<(script|img|foreignObject|a|image|b)\b", html)
        assert all(char not in html for char in "\x00\x1b\u202e")


@every_chart
def test_names_are_in_no_expression(name: str) -> None:
    """Vega runs what stands in a filter, and a name stood there."""
    draw, frame = CHARTS[name]
    specification = draw(frame(12, "needle")).to_dict()
    del specification["datasets"]
    for part in (specification, *specification.get("vconcat", ())):
        part.pop("title", None)
    assert "needle" not in str(specification)


def test_a_drawing_keeps_nothing_that_runs() -> None:
    """An SVG is a document: it may hold scripts, links and other documents."""
    hostile = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="x()">'
        '<script>x()</script><foreignObject><b/></foreignObject><a xlink:href="javascript:x()"><path d="M0"/></a>'
        '<image href="https://evil.example/x"/><style>*{}</style><use href="https://evil.example/#x"/>'
        '<rect fill="url(https://evil.example/#x)" style="x" onclick="x()" width="1"/>'
        '<path id="a" clip-path="url(#a)"/></svg>'
    )
    clean = without_markup(hostile)
    assert re.sub("k[0-9a-f]+-", "k-", clean) == (
        '<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" /><path id="k-0" clip-path="url(#k-0)" /></svg>'
    )
    for document in ("<!DOCTYPE svg [<!ENTITY x 'y'>]><svg>&x;</svg>", "no svg"):
        with pytest.raises(kn.KadminError, match="the SVG of the chart"):
            without_markup(document)


def test_altair_keeps_its_settings() -> None:
    """After one of our charts, all charts of my notebook looked otherwise."""
    settings = (alt.renderers.active, alt.data_transformers.active, alt.theme.active, alt.JupyterChart._esm)
    kn.charts.effective(effective(3))._repr_html_()
    assert (alt.renderers.active, alt.data_transformers.active, alt.theme.active, alt.JupyterChart._esm) == settings


CHANGES: dict[str, Any] = {
    "properties": lambda chart, other: chart.properties(width=300),
    "interactive": lambda chart, other: chart.interactive(),
    "layered": lambda chart, other: chart + other,
    "beside": lambda chart, other: chart | other,
    "above": lambda chart, other: chart & other,
    "copied": lambda chart, other: chart.copy(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=[*CHANGES])
def test_a_changed_chart_is_shown_the_same_way(change: Any) -> None:
    """I made it wider, and Altair's own renderer loaded scripts from elsewhere."""
    other = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    changed = change(kn.charts.utilisation(utilisation(5)), other)
    assert isinstance(changed, alt.TopLevelMixin)
    assert changed._repr_mimebundle_() is None  # type: ignore[func-returns-value]
    assert "<script" not in changed._repr_html_()


def test_other_renderers_and_transformers_make_no_difference() -> None:
    """With vegafusion enabled, no chart was shown."""
    before = kn.charts.effective(effective(3))._repr_html_()
    with alt.data_transformers.enable("vegafusion"), alt.renderers.enable("html"):
        assert kn.charts.effective(effective(3))._repr_html_() == before


def test_colours_are_the_hosts() -> None:
    """In the dark theme the chart was a white box."""
    html = kn.charts.effective(effective(3))._repr_html_()
    assert 'style="color: var(--jp-content-font-color1' in html
    assert not re.search(r'<(text|line)[^>]*(fill|stroke)="(#000|black)"[^>]*>(?!5 MB/s)', html)
    assert all(rule.strip().startswith(".kadmin-drawing ") for rule in re.findall(r"([^{}>]+)\{", html))


def test_a_terminal_prints_the_finding() -> None:
    """In a terminal the chart was `alt.LayerChart(...)`."""
    chart = kn.charts.utilisation(utilisation(8))
    assert repr(chart).split("\n") == [
        "4 limits are more than 80 % used, 2 exceeded",
        'chart.save("chart.svg") writes it; also .png, .html, .json',
    ]


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("html", b"<!DOC"), ("json", b"{")])
def test_a_chart_is_saved(kind: str, start: bytes, tmp_path: Path) -> None:
    """The HTML file of a chart loaded its scripts from elsewhere."""
    place = tmp_path / f"chart.{kind}"
    kn.charts.effective(effective(3, "</script><script>alert(1)</script>")).save(place)
    content = place.read_bytes()
    assert content.startswith(start)
    assert kind == "json" or b"<script" not in content
