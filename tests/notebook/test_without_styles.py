"""Answers where styles, classes and scripts are taken away, as GitHub and mail do of a saved notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

import kadmin_nb as kn
from tests.charts.charted_frames import effective
from tests.notebook.conftest import Notebook

pytestmark = pytest.mark.broker

LINES = (
    "%kquota describe",
    "%kquota resolve user=plain-alice client-id=app",
    "%kquota why user=plain-alice client-id=app",
    "%kquota tree",
    "%kquota audit",
    "%kquota set producer_byte_rate=5 user=plain-bob",
    "%kquota set consumer_byte_rate=7 user=plain-bob",
    "%kconfig describe broker=1",
    "%kadmin users",
    "%kadmin may-i",
    "%kplan log",
    "%kquota discard",
)
BROKEN = {"p", "br", "tr", "div", "summary", "pre", "li"}
"""Elements that begin a line without any style."""


class Plain(HTMLParser):
    """The lines of a page as one reads them without styles: cells are separated by ` | `."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines, self.sides, self.is_seen = [""], [], True
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line, or a cell, whose side is kept."""
        self.is_seen = tag not in ("style", "script")
        if tag in BROKEN:
            self.lines.append("")
        if tag in ("td", "th"):
            self.lines[-1] += " | " if self.lines[-1] else ""
            self.sides.append(dict(attrs).get("align") or "left")

    def handle_endtag(self, tag: str) -> None:
        """What follows a style is seen again."""
        self.is_seen = True

    def handle_data(self, data: str) -> None:
        """A text, in which a browser makes one blank of several and of ends of lines."""
        if self.is_seen:
            self.lines[-1] += re.sub(r"[ \n\t]+", " ", data)


def shown(notebook: Notebook, line: str) -> Iterator[dict[str, str]]:
    """Each output of a line, by kind."""
    value = notebook(line)
    yield from (output["data"] for output in notebook.displayed)
    if value is not None:
        yield notebook.shell.display_formatter.format(value)[0]  # type: ignore[union-attr]


@pytest.fixture
def company(live: Notebook, cluster: kn.Cluster) -> Iterator[Notebook]:
    """A cluster with a user, and a client-id of it."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5e6, user="plain-alice")
    stage.set_quota("producer_byte_rate", 2e6, user="plain-alice", client_id=kn.DEFAULT)
    applied = cluster.apply(stage.plan("to be read"))
    yield live
    live("%kquota discard")
    cluster.apply(cluster.rollback(applied.plan_id))


@pytest.mark.parametrize("line", LINES)
def test_an_output_has_something_to_read_and_is_the_same_again(company: Notebook, line: str) -> None:
    """A saved notebook had outputs of styles alone, 4 kB each, and other bytes each time that it ran."""
    outputs = [*shown(company, line)]
    for output in outputs:
        lines = [text for text in Plain(output["text/html"]).lines if text.strip()]
        assert lines
        assert len(re.search("<style>.*?</style>", output["text/html"], re.DOTALL)[0]) < 3500  # type: ignore[index]
    company("%kquota discard")
    assert [*shown(company, line)] == outputs


def test_a_client_id_of_a_user_is_below_it(company: Notebook) -> None:
    """`client-id=<default>` below user=alice read as the default of everybody."""
    (output,) = shown(company, "%kquota tree")
    lines = [line.partition(" | ")[0] for line in Plain(output["text/html"]).lines]
    assert lines[lines.index("3 user=plain-alice") + 1] == "2 \u2003\u2003client-id=<default>"


def test_each_danger_is_a_line(company: Notebook) -> None:
    """Two dangers of a plan ran together into one paragraph."""
    company("%kquota set producer_byte_rate=5 user=plain-bob")
    company("%kquota set consumer_byte_rate=7 user=plain-bob")
    (output,) = shown(company, "%kquota plan")
    lines = [line for line in Plain(output["text/html"]).lines if "one request of" in line]
    assert len(lines) == 2
    assert ["5 B/s" in lines[0], "7 B/s" in lines[1]] == [True, True]


def test_numbers_are_at_the_right_and_whole(company: Notebook) -> None:
    """Numbers stood at the left, and `1` and `MB/s` on two lines."""
    (output,) = shown(company, "%kquota describe user=plain-alice")
    page = Plain(output["text/html"])
    assert page.sides == ["left", "right"] * 3
    assert output["text/html"].count('align="right" nowrap>') == 2


def test_a_chart_is_one_output(company: Notebook) -> None:
    """A chart had a second output, of a style alone."""
    company["found"] = effective(8)
    (output,) = shown(company, "%kquota chart effective found")
    assert [*output][1:] == ["image/svg+xml", "text/plain"]
