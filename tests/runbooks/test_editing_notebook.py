"""The notebook about editing where nobody can click: its tables stand as they were, and its lines do the work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.runbooks.notebook_output import shown_by

pytest.importorskip("papermill")
pytestmark = pytest.mark.broker

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "editing.ipynb"


@pytest.mark.long
def test_a_run_by_papermill_shows_every_table(tmp_path: Path) -> None:
    """The widgets of the nightly run were empty boxes, and the document had a megabyte of their state."""
    document = kn.runbooks.run(NOTEBOOK, output=tmp_path).document
    shown = shown_by(document)
    for words in ("31 quotas", "2 staged changes", "2 verified", "37 configs", "undoes row 2"):
        assert words in shown
    assert "widgets" not in json.loads(Path(document).read_text())["metadata"]
