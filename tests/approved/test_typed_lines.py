"""What every verb prints: `pytest tests/approved --snapshot-update` renews the texts, and the diff is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.approved.transcript import PYTHON, VERSION, Transcript

TEXTS = sorted((Path(__file__).parent / "__snapshots__").glob("*.ambr"))
FOLDER = re.compile(r"/(?:home|root|Users|tmp|work|opt)/\S+")
SUBJECTS = sorted((Path(__file__).parent / "lines").glob("*.txt"))

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda path: path.stem)
def test_what_a_line_prints_is_approved(subject, kadmin, notebook, desk, seeded, snapshot):
    """A sentence was changed in one place, and forty lines said something else than the manual."""
    transcript = Transcript(kadmin, notebook, desk, seeded.bootstrap)
    typed = [line for line in subject.read_text().splitlines() if line and not line.startswith("#")]
    assert transcript.type(typed) == snapshot


@pytest.mark.parametrize("place", TEXTS, ids=lambda path: path.stem)
def test_an_approved_text_holds_nothing_of_the_machine(place):
    """`make test` failed on a fresh machine: a text had been approved with the Python of its author."""
    text = place.read_text()
    assert [match[0] for known in (PYTHON, VERSION, FOLDER) for match in known.finditer(text)] == []
