"""Each line that a page shows prints what the page says: `pytest tests/approved --snapshot-update` renews the pages."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kadmin_nb import state
from kadmin_nb.commands import answer_formats as windows
from kadmin_nb.local import LocalKafka
from tests.approved.conftest import seeded_kafka
from tests.approved.pages import BLOCK, retyped
from tests.approved.transcript import Transcript
from tests.dangerous_plans import applied

ROOT = Path(__file__).parents[2]
PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if BLOCK.search(page.read_text())
]
EXAMPLES = ("used.csv", "clients.csv", "owners.csv", "kafka-request.log", "week.csv")
"""The files of docs/examples that typed lines read."""
WINDOW = os.terminal_size((120, 60))
"""The terminal of the pages: no line is cut, and lengths of time do not decide what finds room."""

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalKafka]:
    """One Kafka for all pages."""
    with seeded_kafka(hostile=False) as running:
        yield running


@pytest.fixture
def seeded(shared: LocalKafka) -> Iterator[LocalKafka]:
    """The Kafka, which is afterwards as it was before."""
    with shared.connect() as cluster:
        before = state.read(state.export(cluster.snapshot()))
        yield shared
        back = cluster.plan_from(before, prune=True, reason="the next page")
        applied(back).raise_for_errors()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_lines_print(page, kadmin, notebook, desk, seeded, pytestconfig, monkeypatch):
    """The manual showed a table that the program no longer printed."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(windows, "USUAL", WINDOW)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("PAGER", "")
    for name in EXAMPLES:
        shutil.copy(ROOT / "docs" / "examples" / name, desk)
    transcript = Transcript(kadmin, notebook, desk, seeded.bootstrap)
    text = page.read_text()
    now = retyped(text, transcript)
    if pytestconfig.option.update_snapshots and transcript.settled(now) != transcript.settled(text):
        page.write_text(now)
    else:
        assert transcript.settled(now) == transcript.settled(text)
