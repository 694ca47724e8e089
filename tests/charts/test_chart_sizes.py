"""A chart's axes and sizes: ticks that differ, times with seconds where they pass fast, widths that somebody chose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest

import kadmin_nb as kn
from kadmin_nb.charts.showing import svg
from tests.charts.charted_frames import CHARTS, usage

pytestmark = pytest.mark.slow  # Altair and vl-convert take seconds to start

every_chart = pytest.mark.parametrize("name", CHARTS)


def _svg(chart: Any) -> ElementTree.Element:
    return ElementTree.fromstring(svg(chart))


@dataclass(frozen=True)
class Drawn:
    """An element of a drawing: the classes of the groups that it is in, the ends of its box, and its text."""

    tag: str
    roles: tuple[str, ...]
    panel: int
    x: tuple[float, float]
    y: tuple[float, float]
    text: str = ""
    is_seen: bool = True


_SVG = "{http://www.w3.org/2000/svg}"
_STEPS = re.compile(r"([MLHVhvAaC])([^MLHVhvAaCZ]*)")
_NUMBER = re.compile(r"-?[\d.]+(?:e-?\d+)?")
LETTER, LINE = 5.4, 14
"""Pixels of a letter of 12 pixels, roughly, and from line to line."""


def _drawn(
    element: ElementTree.Element, at: tuple[float, float] = (0, 0), roles: tuple[str, ...] = (), panel: int = 0
) -> Iterator[Drawn]:
    """Everything in a drawing that is not a group; `panel` tells the panels of a chart from each other."""
    tag = element.tag.removeprefix(_SVG)
    move = _NUMBER.findall(element.get("transform", "").partition("rotate")[0])
    x, y = (at[0] + float(move[0]), at[1] + float(move[1])) if len(move) > 1 else at
    seen = element.get("opacity") != "0" and element.get("fill-opacity") != "0"
    if tag in ("svg", "g"):
        roles = (*roles, element.get("class", ""))
        panel = id(element) if "role-scope" in element.get("class", "") or not panel else panel
        for child in element:
            yield from _drawn(child, (x, y), roles, panel)
    elif tag == "text" and "rotate" not in element.get("transform", ""):
        anchor = {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor", "start")]
        for number, line in enumerate(list(element) or [element]):
            text, below = "".join(line.itertext()), y + number * LINE
            start = x - anchor * LETTER * len(text)
            yield Drawn(tag, roles, panel, (start, start + LETTER * len(text)), (below - 8, below), text, seen)
    elif tag == "line":
        ends = [x, x + float(element.get("x2", 0))], [y, y + float(element.get("y2", 0))]
        yield Drawn(tag, roles, panel, (min(ends[0]), max(ends[0])), (min(ends[1]), max(ends[1])), is_seen=seen)
    elif tag == "path" and (points := [*_points(element.get("d", ""))]):
        xs, ys = [x + point[0] for point in points], [y + point[1] for point in points]
        yield Drawn(tag, roles, panel, (min(xs), max(xs)), (min(ys), max(ys)), is_seen=seen)


def _points(path: str) -> Iterator[tuple[float, float]]:
    x = y = 0.0
    for step, words in _STEPS.findall(path):
        numbers = [float(number) for number in _NUMBER.findall(words)]
        x = x + numbers[0] if step == "h" else numbers[0] if step == "H" else numbers[-2] if step in "MLAC" else x
        y = y + numbers[0] if step == "v" else numbers[0] if step == "V" else numbers[-1] if step in "MLAC" else y
        yield x, y


def _ticks(chart: Any) -> Iterator[list[str]]:
    """The texts of each axis."""
    for group in _svg(chart).iter(f"{_SVG}g"):
        if "role-axis-label" in group.get("class", ""):
            yield ["".join(text.itertext()) for text in group.iter(f"{_SVG}text")]


@every_chart
@pytest.mark.parametrize("rows", [3, 24])
def test_no_two_ticks_are_the_same_text(name: str, rows: int) -> None:
    """The axis read 0, 0, 1, 1, 1: each of its numbers was rounded."""
    draw, frame = CHARTS[name]
    axes = [texts for texts in _ticks(draw(frame(rows))) if texts]
    assert axes or name == "hierarchy"  # its columns are texts
    assert [texts for texts in axes if len(texts) != len({*texts})] == []


@every_chart
def test_a_width_that_was_asked_for_is_the_picture_s(name: str) -> None:
    """`--width 500` changed nothing."""
    draw, frame = CHARTS[name]
    narrow, wide = (
        float(_svg(draw(frame(12)).properties(width=width)).get("viewBox", "").split()[2]) for width in (500, 900)
    )
    assert 300 < wide - narrow < 500


def test_a_minute_has_seconds_at_its_ticks() -> None:
    """Two minutes of usage had six ticks, 00:00 or 00:01 each."""
    (times,) = (texts for texts in _ticks(kn.charts.usage(usage(24))) if texts)
    assert times[:5] == ["20 Nov", "00:00:15", "00:00:30", "00:00:45", "00:01"]


def test_hours_have_no_seconds_at_their_ticks() -> None:
    """A day's ticks were too long to stand beside each other."""
    (times,) = (texts for texts in _ticks(kn.charts.usage(usage(16 * 60 * 9))) if texts)
    assert times[:3] == ["20 Nov", "01:00", "02:00"]


AMOUNT = re.compile(r"[\u2212\d.,]+(?: (?:[kMGT]?B/s|%))?")
"""A number at a tick; a time is another text."""


@every_chart
@pytest.mark.parametrize("rows", [3, 24])
def test_no_axis_goes_on_past_its_data(name: str, rows: int) -> None:
    """The axis of costs ended at 16 GB, and the longest bar at 9."""
    draw, frame = CHARTS[name]
    parts = [*_drawn(_svg(draw(frame(rows))))]
    axes = [part for part in parts if any("role-axis-domain" in role for role in part.roles)]
    for axis in axes:
        labels = [
            part for part in parts if part.panel == axis.panel and part.text and "role-axis-label" in part.roles[-1]
        ]
        way = "x" if axis.y[0] == axis.y[1] else "y"
        beside = [label for label in labels if _is_beside(label, axis, way)]
        if not beside or not all(AMOUNT.fullmatch(label.text) for label in beside):
            continue
        marks = [part for part in parts if part.panel == axis.panel and part.is_seen and part.tag != "text"
                 and "role-mark" in part.roles[-1]]  # fmt: skip
        (start, end), ends = getattr(axis, way), [getattr(mark, way) for mark in marks]
        if all(high - low < 20 for low, high in ends):
            continue  # points of one number
        drawn = max(high for _, high in ends) - min(low for low, _ in ends)
        assert end - start <= 1.1 * drawn, (name, way, [label.text for label in beside])


def _is_beside(label: Drawn, axis: Drawn, way: str) -> bool:
    return 0 < label.y[1] - axis.y[0] < 30 if way == "x" else -120 < label.x[0] - axis.x[0] < 0


@every_chart
@pytest.mark.parametrize(("width", "stem"), [(400, "team-clickstream-of-the-web"), (400, "WWWWWWWWW"), (800, "team")])
def test_no_text_is_cut_and_none_is_over_another(name: str, width: int, stem: str) -> None:
    """The names at the axis ended in …, and the sum of a bar was over it."""
    draw, frame = CHARTS[name]
    drawing = _svg(draw(frame(8, stem)).properties(width=width))
    right = float(drawing.get("viewBox", "").split()[2])
    texts = [part for part in _drawn(drawing) if part.text.strip() and part.is_seen]
    assert [part.text for part in texts if part.text.endswith("…")] == []
    inside = [part for part in texts if not any("role-title" in role for role in part.roles)]
    assert [part.text for part in inside if part.x[0] < -1 or part.x[1] > right + 1] == []
    pairs = combinations(inside, 2)
    assert [
        (one.text, other.text) for one, other in pairs if _overlap(one.x, other.x) and _overlap(one.y, other.y)
    ] == []


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] - 1 and other[0] < one[1] - 1
