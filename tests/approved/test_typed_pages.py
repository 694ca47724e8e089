"""Each line that a page shows prints what the page says: `pytest tests/approved --snapshot-update` renews the pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.approved.pages import BLOCK, retyped
from tests.approved.transcript import Transcript

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if BLOCK.search(page.read_text())]

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("hostile", [False], indirect=True)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_lines_print(page, kadmin, notebook, desk, seeded, hostile, pytestconfig, monkeypatch):
    """The manual showed a table that the program no longer printed."""
    monkeypatch.setenv("COLUMNS", "100")
    transcript = Transcript(kadmin, notebook, desk, seeded.bootstrap)
    text = page.read_text()
    now = retyped(text, transcript)
    if pytestconfig.option.update_snapshots and transcript.settled(now) != transcript.settled(text):
        page.write_text(now)
    else:
        assert transcript.settled(now) == transcript.settled(text)
