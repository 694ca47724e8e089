"""Lengths of time, wherever somebody types one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kadmin_nb.errors import UsageError
from kadmin_nb.model.config_units import length_of_time, moment

LENGTHS = {
    "90s": 90,
    "1.5h": 5400,
    "5m": 300,
    "5 min": 300,
    "100ms": 0.1,
    "1w": 604_800,
    "2 days 3 hours": 183_600,
    "3 Days": 259_200,
}


@pytest.mark.parametrize("text", LENGTHS)
def test_a_length_is_written_in_one_way_everywhere(text):
    """`--for 5min` was no duration, and `5min ago` was a time."""
    assert length_of_time(text) == timedelta(seconds=LENGTHS[text])
    assert moment(f"{text} ago").tzinfo is not None


@pytest.mark.parametrize("text", ["", "2", "h", "-2h", "2h30", "2 fortnights", "99999999999999999999s"])
def test_what_is_no_length(text):
    """`2 ago` was two nanoseconds ago."""
    assert length_of_time(text) is None
    with pytest.raises(UsageError):
        moment(f"{text} ago")
