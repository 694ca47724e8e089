"""What a terminal says of a review, and of a file of a runbook's parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

import kadmin_nb as kn


def test_a_terminal_says_where_reviews_are(kadmin, tmp_path: Path) -> None:
    """I typed what a colleague does in a notebook, and got a traceback."""
    place = kn.Plan("a cluster", "2026-01-01T00:00:00+00:00", ()).save(tmp_path / "p.json")
    done = kadmin("plan", "review", str(place))
    assert (done.code, done.out) == (2, "")
    assert (
        "the terminal has no widgets\nHint: In a notebook: %kplan review. In the terminal, plan show prints a plan."
        in done.err
    )


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1, "a": 2}'])
def test_a_file_that_has_no_parameters_is_refused(kadmin, tmp_path: Path, content: str) -> None:
    """I gave it the wrong file, and it ran with the defaults."""
    place = tmp_path / "parameters.json"
    place.write_text(content)
    done = kadmin("runbook", "run", "change_quotas", "-f", str(place))
    assert done.code == 1
    assert f"{place} is not a JSON object of parameters" in done.err
