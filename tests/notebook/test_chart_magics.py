"""Charts in a shell that has loaded kadmin_nb."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt
import pytest

import kadmin_nb as kn
from kadmin_nb.charts.showing import headline
from tests.charts.charted_frames import effective
from tests.notebook.conftest import Notebook


@pytest.mark.parametrize("join", [alt.layer, alt.hconcat, alt.vconcat])
def test_a_chart_joined_to_altairs_is_shown_as_ours(join: object, notebook: Notebook) -> None:
    """I laid our chart over another, and Altair's renderer loaded scripts from elsewhere."""
    other = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    joined = join(other, kn.charts.effective(effective(4)))  # type: ignore[operator]
    data, _ = notebook.shell.display_formatter.format(joined)  # type: ignore[union-attr]
    assert "<svg" in data["image/svg+xml"]
    assert "<script" not in data["image/svg+xml"]


def test_other_charts_are_altairs(notebook: Notebook) -> None:
    """After `%load_ext kadmin_nb` all charts of my notebook looked otherwise."""
    other = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    with alt.renderers.enable("mimetype"):
        data, _ = notebook.shell.display_formatter.format(other)  # type: ignore[union-attr]
    assert any(kind.startswith("application/vnd.vegalite") for kind in data)


@pytest.mark.broker
def test_the_staged_plan_as_a_picture(live: Notebook, unique: Callable[[str], str]) -> None:
    """I saw a table of numbers where I wanted to see what goes down."""
    live(f"%kquota set producer_byte_rate=1MB/s user={unique('user')}")
    chart = live("%kquota chart plan")
    assert isinstance(chart, alt.LayerChart)
    assert headline(chart) == "1 newly set"
    assert len(live("%kquota plan").changes) == 1
    live("%kquota discard")


def test_a_frame_of_the_notebook_as_a_picture(notebook: Notebook) -> None:
    """The frame was in a variable, and the chart wanted a file."""
    notebook["found"] = kn.Answer(effective(8)).to_pandas()
    chart = notebook("%kquota chart effective found")
    assert isinstance(chart.properties(width=300), alt.LayerChart)
    data, _ = notebook.shell.display_formatter.format(chart)  # type: ignore[union-attr]
    assert "<svg" in data["image/svg+xml"]
    assert data["text/plain"].startswith("3 of 8 clients are unlimited")
