"""`kadmin-nb quota chart NAME`: the finding as a line, and the picture in a file."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import kadmin_nb as kn
from kadmin_nb.charts.showing import headline
from kadmin_nb.commands.quota import CHARTS
from tests.charts import charted_frames
from tests.terminal.conftest import Kadmin


@pytest.fixture
def changed(tmp_path: Path) -> str:
    """A file with a frame of changes."""
    place = tmp_path / "changed.parquet"
    pq.write_table(charted_frames.CHARTS["history"][1](20), place)
    return str(place)


def test_a_chart_is_its_finding_and_how_to_save_it(kadmin: Kadmin, changed: str) -> None:
    """The terminal printed `alt.Chart(...)`."""
    result = kadmin("quota", "chart", "history", changed)
    assert result.code == 0
    assert result.out.splitlines() == [
        headline(kn.charts.history(charted_frames.CHARTS["history"][1](20))),
        "--out chart.svg writes it; also .png",
    ]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_chart_goes_into_a_file(kadmin: Kadmin, changed: str, tmp_path: Path, kind: str) -> None:
    """I wanted the picture for a report, and there was no notebook."""
    place = tmp_path / f"chart.{kind}"
    result = kadmin("quota", "chart", "history", changed, "--out", str(place))
    assert result.out.splitlines()[1] == f"written to {place}"
    assert place.stat().st_size > 1000


def test_another_ending_is_refused_before_anything_is_read(kadmin: Kadmin) -> None:
    """It read the log for a minute, and then did not know .gif."""
    result = kadmin("quota", "chart", "usage", "missing.parquet", "--out", "chart.gif")
    assert result.code == 2
    assert result.err.startswith("UsageError: --out chart.gif does not end in .svg, .png")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("usage",), "UsageError: a SOURCE of the chart usage is required"),
        (("history",), "UsageError: a SOURCE of the chart history is required"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_what_a_chart_needs_is_named(kadmin: Kadmin, words: tuple[str, ...], line: str) -> None:
    """It said that a frame was None."""
    result = kadmin("quota", "chart", *words)
    assert result.code == 2
    assert result.err.startswith(line)


def test_every_chart_has_a_word() -> None:
    """One of the charts could be made in Python only."""
    assert {*CHARTS} == {*kn.charts.__all__}


@pytest.mark.parametrize("name", ["history", "plan", "effective", "hierarchy"])
def test_a_frame_that_is_there_needs_no_cluster(kadmin: Kadmin, tmp_path: Path, name: str) -> None:
    """I had the answer in a file, and it asked for a cluster."""
    draw, frame = charted_frames.CHARTS[name]
    pq.write_table(frame(20), tmp_path / "rows.parquet")
    result = kadmin("quota", "chart", name, str(tmp_path / "rows.parquet"))
    assert result.out.splitlines()[0] == headline(draw(frame(20)))


@pytest.mark.broker
def test_the_hierarchy_of_a_cluster(live: Kadmin, tmp_path: Path) -> None:
    """The picture and the table were of two clusters."""
    result = live("quota", "chart", "hierarchy", "--out", str(tmp_path / "quotas.svg"))
    assert result.code == 0
    assert (tmp_path / "quotas.svg").read_text().startswith("<svg")
