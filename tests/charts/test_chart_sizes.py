"""A chart's axes and sizes: ticks that differ, times with seconds where they pass fast, widths that somebody chose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
import vl_convert

import kadmin_nb as kn
from tests.charts.charted_frames import CHARTS, usage

pytestmark = pytest.mark.slow  # Altair and vl-convert take seconds to start

every_chart = pytest.mark.parametrize("name", CHARTS)


def _svg(chart: Any) -> ElementTree.Element:
    return ElementTree.fromstring(vl_convert.vegalite_to_svg(chart.to_dict()))


def _ticks(chart: Any) -> Iterator[list[str]]:
    """The texts of each axis."""
    for group in _svg(chart).iter("{http://www.w3.org/2000/svg}g"):
        if "role-axis-label" in group.get("class", ""):
            yield ["".join(text.itertext()) for text in group.iter("{http://www.w3.org/2000/svg}text")]


@every_chart
@pytest.mark.parametrize("rows", [3, 24])
def test_no_two_ticks_are_the_same_text(name: str, rows: int) -> None:
    """The axis read 0, 0, 1, 1, 1: each of its numbers was rounded."""
    draw, frame = CHARTS[name]
    axes = [texts for texts in _ticks(draw(frame(rows))) if texts]
    assert axes or name == "hierarchy"  # its columns are texts
    assert [texts for texts in axes if len(texts) != len({*texts})] == []


@every_chart
def test_a_chart_fills_the_cell(name: str) -> None:
    """Half of the cell was empty, and the names were cut."""
    draw, frame = CHARTS[name]
    specification = draw(frame(12)).to_dict()
    panels = specification.get("vconcat")
    assert specification.get("width") == "container" if panels is None else all("width" in panel for panel in panels)


@every_chart
def test_a_width_that_was_asked_for_is_the_picture_s(name: str) -> None:
    """`--width 500` changed nothing where a chart has panels."""
    draw, frame = CHARTS[name]
    narrow, wide = (
        float(_svg(draw(frame(12)).properties(width=width)).get("viewBox", "").split()[2]) for width in (500, 900)
    )
    assert 300 < wide - narrow < 500


def test_a_minute_has_seconds_at_its_ticks() -> None:
    """Two minutes of usage had six ticks, 00:00 or 00:01 each."""
    (times,) = (texts for texts in _ticks(kn.charts.throttling(usage(24))) if texts[0].count(":"))
    assert times[:2] == ["00:00:00", "00:00:15"]


def test_hours_have_no_seconds_at_their_ticks() -> None:
    """A day's ticks were too long to stand beside each other."""
    (times,) = (texts for texts in _ticks(kn.charts.throttling(usage(16 * 60 * 9))) if texts[0].count(":"))
    assert {text.count(":") for text in times} == {1}
