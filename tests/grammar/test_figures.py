"""Numbers are written one way in every table, sentence and picture."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kadmin_nb.model import figures
from kadmin_nb.model.quota_keys import readable, typed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (figures.digits(12345.6), "12,300"),
        (figures.digits(0.12345), "0.123"),
        (figures.exact(1e6), "1,000,000"),
        (figures.percent(12.5), "12.5 %"),
        (figures.percent(12345.0), "12,300 %"),
        (figures.share(0.0824), "8.24 %"),
        (figures.share(None), ""),
        (figures.milliseconds(0.25), "0.25 ms"),
        (figures.milliseconds(1500), "1.5 s"),
        (figures.seconds(90), "90 s"),
        (figures.seconds(800), "13.3 min"),
        (figures.seconds(10_800), "3 h"),
        (figures.seconds(200_000), "2.31 d"),
        (figures.size(7_654_321), "7.65 MB"),
        (figures.size(12), "12 B"),
        (figures.moment("2026-11-21T12:00:00.123456Z"), "2026-11-21 12:00:00"),
        (figures.utc(datetime(2026, 11, 21, 12, tzinfo=UTC)), "2026-11-21 12:00:00Z"),
        (figures.utc(0), "1970-01-01 00:00:00Z"),
    ],
)
def test_a_number_is_written_one_way(text, expected):
    """Two tables wrote the same share as 0.0824 and 8%, and a large one as 1.23e+04."""
    assert text == expected


@pytest.mark.parametrize(
    ("key", "value", "shown", "as_typed"),
    [
        ("controller_mutation_rate", 1e6, "1,000,000/s", "1000000/s"),
        ("producer_byte_rate", 1.5e15, "1,500,000 GB/s", "1500000GB/s"),
        ("request_percentage", 1250.0, "1,250 %", "1250%"),
    ],
)
def test_a_large_limit_is_typed_without_separators(key, value, shown, as_typed):
    """I copied the limit into a line, and the line did not take it."""
    assert (readable(key, value), typed(key, value)) == (shown, as_typed)
