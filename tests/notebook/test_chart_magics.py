"""Charts in a shell that has loaded kadmin_nb."""

from __future__ import annotations

import altair as alt
import pytest

import kadmin_nb as kn
from tests.charts.charted_frames import utilisation
from tests.notebook.conftest import Notebook


@pytest.mark.parametrize("join", [alt.layer, alt.hconcat, alt.vconcat])
def test_a_chart_joined_to_altairs_is_shown_as_ours(join: object, notebook: Notebook) -> None:
    """I laid our chart over another, and Altair's renderer loaded scripts from elsewhere."""
    other = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    joined = join(other, kn.charts.utilisation(utilisation(4)))  # type: ignore[operator]
    data, _ = notebook.shell.display_formatter.format(joined)  # type: ignore[union-attr]
    assert "<svg" in data["text/html"]
    assert "<script" not in data["text/html"]


def test_other_charts_are_altairs(notebook: Notebook) -> None:
    """After `%load_ext kadmin_nb` all charts of my notebook looked otherwise."""
    other = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    with alt.renderers.enable("mimetype"):
        data, _ = notebook.shell.display_formatter.format(other)  # type: ignore[union-attr]
    assert any(kind.startswith("application/vnd.vegalite") for kind in data)
