"""A chart shows itself without scripts, without a network, and without touching Altair's settings."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import pandas as pd
import pytest

import kadmin_nb as kn
from kadmin_nb.charts.drawing import bars
from kadmin_nb.charts.showing import VEGA_LITE, bundle, headline, svg, write
from tests.charts.charted_frames import CHARTS, effective
from tests.hostile_names import HOSTILE

pytestmark = pytest.mark.slow  # Altair and vl-convert take seconds to start

every_chart = pytest.mark.parametrize("name", CHARTS)
DRAWN = {"svg", "g", "path", "line", "rect", "text", "tspan"}
"""The elements that a chart of ours is drawn with: none runs, and none is from elsewhere."""
SCRIPT = "</script><script>alert(1)</script>"


def hostile_charts(name: str) -> Iterator[Any]:
    """The chart of that name with every hostile name in it, some at a time."""
    draw, frame = CHARTS[name]
    for start in range(0, len(HOSTILE), 24):
        yield draw(frame(24, *HOSTILE[start : start + 24]))


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
        "import kadmin_nb as kn\nfrom kadmin_nb.charts import showing\nfrom kadmin_nb.frames import schemas\n"
        "try: print(showing.bundle(kn.charts.effective(schemas.EFFECTIVE.empty()))['text/plain'])\n"
        "except kn.KadminError as error: print(*error.lines(), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert re.search(r"(altair|vl-convert-python) is not installed\n.*kadmin_nb\[charts\]", done.stdout)
    assert done.stderr == ""


@every_chart
def test_a_chart_is_altairs_own(name: str) -> None:
    """`chart.properties` was not Altair's, and `alt.layer` made another class of my chart."""
    draw, frame = CHARTS[name]
    chart = draw(frame(12))
    assert type(chart) is alt.LayerChart
    assert chart.properties(width=300).to_dict()["width"] == 300


@every_chart
def test_hostile_names_are_text_in_the_svg(name: str) -> None:
    """A client called itself `<script>`, and its name was in the page."""
    for chart in hostile_charts(name):
        drawing = svg(chart)
        elements = [*ElementTree.fromstring(drawing).iter()]
        assert {element.tag.rpartition("}")[2] for element in elements} <= DRAWN
        assert [key for element in elements for key in element.attrib if "href" in key or key.startswith("on")] == []
        assert "<!" not in drawing
        assert not re.search(r"url\(|[\x00\x1b\u202e]", drawing)


@every_chart
def test_a_drawing_has_no_id(name: str) -> None:
    """Two charts of a page had the same gradient, and one of them was drawn in the other's colours."""
    draw, frame = CHARTS[name]
    assert not re.search(r'\bid="', svg(draw(frame(24))))


@every_chart
def test_a_drawing_is_no_white_box(name: str) -> None:
    """In a dark page the drawing of a saved notebook was a white box."""
    draw, frame = CHARTS[name]
    drawing = svg(draw(frame(12)))
    assert 'fill="white"' not in drawing.partition("<g")[0]
    assert drawing.startswith('<svg style="color-scheme: light dark" ')


def test_the_bars_of_a_runbook_are_a_chart_of_ours() -> None:
    """The picture of a runbook was no chart, and white in a dark theme."""
    rows = pd.DataFrame({"share": [3, 1], "place": ["broker 1", SCRIPT], "source": ["stated", "seen"]})
    chart = bars(rows, "share", "place", "source")
    assert type(chart) is alt.LayerChart
    shown = bundle(chart)
    assert [*shown] == [VEGA_LITE, "image/svg+xml", "text/plain"]
    assert shown["text/plain"] == "share by place"
    assert "<script" not in str(shown)


@every_chart
def test_no_name_ends_a_script(name: str) -> None:
    """`chart.save("x.html")` is Altair's, and writes the names into a script, which `</script>` ends."""
    for chart in hostile_charts(name):
        written = chart.to_json()
        assert not re.search(r"<(/|!|s)", written, re.IGNORECASE)
    draw, frame = CHARTS[name]
    assert SCRIPT not in draw(frame(4, SCRIPT)).to_html()


@every_chart
def test_names_are_in_no_expression(name: str) -> None:
    """Vega runs what stands in a filter, and a name stood there."""
    draw, frame = CHARTS[name]
    specification = draw(frame(12, "needle")).to_dict()
    for part in ("datasets", "title", "description"):
        del specification[part]
    assert "needle" not in str(specification)


def test_altair_keeps_its_settings() -> None:
    """After one of our charts, all charts of my notebook looked otherwise."""
    settings = (alt.renderers.active, alt.data_transformers.active, alt.theme.active, alt.JupyterChart._esm)
    bundle(kn.charts.effective(effective(3)))
    assert (alt.renderers.active, alt.data_transformers.active, alt.theme.active, alt.JupyterChart._esm) == settings


def test_other_renderers_and_transformers_make_no_difference() -> None:
    """With vegafusion enabled, no chart was shown."""
    before = bundle(kn.charts.effective(effective(3)))
    with alt.data_transformers.enable("vegafusion"), alt.renderers.enable("html"):
        assert bundle(kn.charts.effective(effective(3))) == before


def test_one_output_has_all_that_hosts_show() -> None:
    """In the dark theme the chart was a white box."""
    shown = bundle(kn.charts.effective(effective(3)))
    assert [*shown] == [VEGA_LITE, "image/svg+xml", "text/plain"]
    assert shown[VEGA_LITE]["config"]["background"] == "transparent"
    assert shown[VEGA_LITE]["config"]["title"]["color"] == "currentColor"
    assert shown["text/plain"] == "1 of 3 clients is unlimited in producer_byte_rate"


def test_databricks_shows_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's page had the text of the chart alone: Databricks draws no Vega."""
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "16.4")
    shown = bundle(kn.charts.effective(effective(3, SCRIPT)))
    assert [*shown] == ["text/html", "text/plain"]
    assert re.fullmatch(
        r'<img alt="[^"<]+" style="max-width: 100%" src="data:image/svg\+xml;base64,[\w+/=]+">', shown["text/html"]
    )


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_chart_is_written(kind: str, start: bytes, tmp_path: Path) -> None:
    """The HTML file of a chart loaded its scripts from elsewhere."""
    place = tmp_path / f"chart.{kind}"
    write(kn.charts.effective(effective(3, SCRIPT)), place)
    content = place.read_bytes()
    assert content.startswith(start)
    assert b"<script" not in content


def test_the_finding_is_the_headline() -> None:
    """In a terminal the chart was `alt.LayerChart(...)`."""
    assert headline(kn.charts.effective(effective(3))) == "1 of 3 clients is unlimited in producer_byte_rate"
