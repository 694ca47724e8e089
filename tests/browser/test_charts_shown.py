"""Charts in a real JupyterLab: light and dark, with every hostile name, and nothing from elsewhere."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from kadmin_nb.charts.showing import svg
from tests.browser.conftest import Open, new_page
from tests.charts.charted_frames import CHARTS
from tests.hostile_names import HOSTILE

pytestmark = pytest.mark.slow

SETUP = """%load_ext kadmin_nb
import altair as alt, kadmin_nb as kn
from IPython.display import display
from tests.charts.charted_frames import CHARTS
from tests.hostile_names import HOSTILE"""
ALL = """for draw, frame in CHARTS.values():
    display(draw(frame(24, *HOSTILE[{names}])))"""
HALVES = [ALL.format(names=names) for names in (":24", "-24:")]
"""Two cells: JupyterLab hides what is beyond 50 outputs of one."""
JOINED = """draw, frame = CHARTS["backtest"]
other = alt.Chart(alt.InlineData(values=[{"share": 50}])).mark_rule().encode(x="share:Q")
alt.layer(other, draw(frame(4, "</script><script>window.broken = 1</script>")))"""


DRAWN = ".jp-RenderedVegaCommon5"
DRAWN_TEXT = f"{DRAWN} svg text"


def is_light(text: Any) -> bool:
    """True if a text of an SVG is nearer to white than to black."""
    colour = text.evaluate("text => getComputedStyle(text).fill")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 > 128


@pytest.mark.long
def test_every_chart_is_a_picture_that_runs_nothing(open_notebook: Open) -> None:
    """A client called itself `<script>`; and in the dark theme the chart was a white box."""
    notebook = open_notebook([SETUP, *HALVES, JOINED], width=1400, height=1000)
    page = notebook.page
    page.on("dialog", lambda dialog: notebook.complaints.errors.append(dialog.message))
    for number in range(4):
        notebook.run(number)
    charts = 2 * len(CHARTS) + 1
    page.wait_for_function(f"place => document.querySelectorAll(place).length == {charts}", arg=f"{DRAWN} svg.marks")
    assert page.locator(f"{DRAWN} :is(script, img, image, a, foreignObject)").count() == 0
    label = page.locator(DRAWN_TEXT).first
    for theme in ("light", "dark"):
        assert is_light(label) == (theme == "dark")
        if theme == "light":
            notebook.change_theme()
            notebook.run(1)
            label.wait_for(timeout=60_000)
    assert page.evaluate("window.broken") is None


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_a_drawing_follows_the_page(browser: Any, scheme: str) -> None:
    """In a dark page the drawing of a saved notebook was a white box, or black on black."""
    draw, frame = CHARTS["plan"]
    drawing, ground = svg(draw(frame(6))), "#111" if scheme == "dark" else "#fff"
    data = base64.b64encode(drawing.encode()).decode()
    page = new_page(browser, 1000, 800)
    page.set_content(
        f'<!DOCTYPE html><html style="color-scheme: {scheme}"><body style="background: {ground}">{drawing}'
        f'<img src="data:image/svg+xml;base64,{data}"></body></html>'
    )
    assert is_light(page.locator("svg text").first) == (scheme == "dark")
    pixels = page.evaluate(PIXELS)
    light = [sum(pixels[place : place + 3]) > 600 for place in range(0, len(pixels), 4) if pixels[place + 3] > 250]
    assert pixels[3] == 0, "the ground of the image is not transparent"
    assert (sum(light) > 100) == (scheme == "dark")
    page.close()


PIXELS = """async () => {
    const image = document.querySelector("img");
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
}"""
"""The red, green, blue and opacity of each pixel of an image."""


@pytest.mark.parametrize("name", CHARTS)
def test_an_svg_in_a_page_runs_nothing(browser: Any, name: str) -> None:
    """A saved notebook has the SVG in its page, as markup or as an image, and a name in it was a script."""
    said: list[str] = []
    page = new_page(browser, 1000, 800)
    page.on("dialog", lambda dialog: said.append(dialog.message) or dialog.dismiss())
    page.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    for start in range(0, len(NAMES), 24):
        draw, frame = CHARTS[name]
        drawing = svg(draw(frame(24, *NAMES[start : start + 24])))
        data = base64.b64encode(drawing.encode()).decode()
        page.set_content(f'<!DOCTYPE html>{drawing}<img src="data:image/svg+xml;base64,{data}">')
        assert page.locator("svg text").count() > 0
        assert (
            page.evaluate(
                "document.querySelector('img').decode().then(() => document.querySelector('img').naturalWidth)"
            )
            > 100
        )
        assert page.locator(":is(script, iframe, image, a, b, foreignObject, object)").count() == 0
        assert page.evaluate("window.broken") is None
    assert said == []
    page.close()


NAMES = (*HOSTILE, "</text><script>window.broken = 1</script>", "]]><script>window.broken = 1</script>",
         "<img src=x onerror=window.broken=1>", "</svg><script>window.broken = 1</script>")  # fmt: skip
