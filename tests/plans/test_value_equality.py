"""Two texts that are one value: a broker describes a value as it was read, not as it was sent."""

from __future__ import annotations

import pytest

from kadmin_nb.plans.observed_state import same


@pytest.mark.parametrize(
    ("sent", "described", "kind"),
    [
        (" 0100", "100", "INT"),
        ("0.50", "0.5", "DOUBLE"),
        ("+Infinity", "Infinity", "DOUBLE"),
        ("9223372036854775807", " 9223372036854775807", "LONG"),
        ("compact, delete", "compact,delete", "LIST"),
        ("TRUE", "true", "BOOLEAN"),
        (None, None, "INT"),
    ],
)
def test_one_value(sent: str | None, described: str | None, kind: str):
    assert same(sent, described, kind)


@pytest.mark.parametrize(
    ("sent", "described", "kind"),
    [
        ("9223372036854775807", "9223372036854775806", "LONG"),
        ("Infinity", "-Infinity", "DOUBLE"),
        ("100", None, "INT"),
        ("one", "two", "INT"),
        ("delete,compact", "compact,delete", "LIST"),
    ],
)
def test_two_values(sent: str | None, described: str | None, kind: str):
    assert not same(sent, described, kind)
