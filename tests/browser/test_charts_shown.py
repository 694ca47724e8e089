"""Charts in a real JupyterLab: light and dark, with every hostile name, and nothing from elsewhere."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.charts.charted_frames import CHARTS

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
JOINED = """draw, frame = CHARTS["utilisation"]
other = alt.Chart(alt.InlineData(values=[{"share": 50}])).mark_rule().encode(x="share:Q")
alt.layer(other, draw(frame(4, "</script><script>window.broken = 1</script>")))"""
INTERACTIVE = "kn.charts.interactive(draw(frame(4, *HOSTILE[:4])))"


DRAWN = ".jp-RenderedVega5"
DRAWN_TEXT = f"{DRAWN} svg text"
INTERACTIVE_TEXT = ".vega-embed svg .mark-text.role-mark text"


def is_light(text: Any) -> bool:
    """True if a text of an SVG is nearer to white than to black."""
    colour = text.evaluate("text => getComputedStyle(text).fill")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 > 128


@pytest.mark.long
def test_every_chart_is_a_picture_that_runs_nothing(open_notebook: Open) -> None:
    """A client called itself `<script>`; and in the dark theme the chart was a white box."""
    notebook = open_notebook([SETUP, *HALVES, JOINED, INTERACTIVE], width=1400, height=1000)
    page = notebook.page
    page.on("dialog", lambda dialog: notebook.complaints.errors.append(dialog.message))
    for number in range(4):
        notebook.run(number)
    charts = 2 * len(CHARTS) + 1
    page.wait_for_function(f"place => document.querySelectorAll(place).length == {charts}", arg=f"{DRAWN} svg.marks")
    assert page.locator(f"{DRAWN} :is(script, img, image, a, foreignObject)").count() == 0
    label, text = (page.locator(place).first for place in (DRAWN_TEXT, INTERACTIVE_TEXT))
    for theme in ("light", "dark"):
        notebook.run(4)
        text.wait_for(timeout=60_000)
        assert (is_light(label), is_light(text)) == (theme == "dark", theme == "dark")
        if theme == "light":
            notebook.change_theme()
    assert page.evaluate("window.broken") is None
