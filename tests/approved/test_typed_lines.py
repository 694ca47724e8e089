"""What every verb prints: `pytest tests/approved --snapshot-update` renews the texts, and the diff is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.approved.transcript import Transcript

SUBJECTS = sorted((Path(__file__).parent / "lines").glob("*.txt"))

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda path: path.stem)
def test_what_a_line_prints_is_approved(subject, kadmin, notebook, desk, seeded, snapshot):
    """A sentence was changed in one place, and forty lines said something else than the manual."""
    transcript = Transcript(kadmin, notebook, desk, seeded.bootstrap)
    typed = [line for line in subject.read_text().splitlines() if line and not line.startswith("#")]
    assert transcript.type(typed) == snapshot
