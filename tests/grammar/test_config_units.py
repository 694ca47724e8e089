"""Units of configs: what somebody types, and the plain number that brokers store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.model.config_units import SIZES, TIMES, duration, exact_number, stored_text, units_hint, units_of
from kadmin_nb.plans.change_lines import edits


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("set retention.ms=7d topic=t", "604800000"),
        ("set retention.ms=1.5h topic=t", "5400000"),
        ("set retention.ms=90min topic=t", "5400000"),
        ("set segment.bytes=1GiB topic=t", "1073741824"),
        ("set max.message.bytes=1_000_000 topic=t", "1_000_000"),
        ("set retention.ms=-1 topic=t", "-1"),
        ("set cleanup.policy=compact topic=t", "compact"),
        ("set log.retention.ms=1d broker=<default>", "86400000"),
        ("append cleanup.policy=compact topic=t", "compact"),
    ],
)
def test_a_unit_becomes_the_number_that_brokers_store(line, value) -> None:
    """I counted the milliseconds of a week on my fingers, and was wrong."""
    (edit,) = edits(line)
    assert edit.value == value


def test_python_takes_units_too() -> None:
    """The magic took 7d, and stage.set_config did not."""
    assert kn.Stage(lambda *_: None).set_config("retention.ms", "7d", topic="t").value == "604800000"


def test_a_fraction_is_refused() -> None:
    """1.0001 kB became 1000 bytes without a word."""
    with pytest.raises(kn.Invalid, match="not a whole number of bytes"):
        edits("set segment.bytes=1.00001kB topic=t")


@pytest.mark.parametrize("text", ["7x", "1d2h", "d", "7 weeks", "1GiB"])
def test_what_does_not_fit_is_the_brokers_to_refuse(text) -> None:
    """A later Kafka may take what we do not know."""
    assert stored_text("retention.ms", text) == text


@pytest.mark.parametrize(
    ("key", "text", "hint"),
    [
        ("retention.ms", "7days", "retention.ms takes ms, s, min, h, d."),
        ("segment.bytes", "1Gi", "segment.bytes takes B, kB, MB, GB, KiB, MiB, GiB, TiB."),
        ("retention.ms", "7x", "retention.ms takes ms, s, min, h, d."),
        ("retention.ms", "1,5h", None),
        ("retention.ms", "7d", None),
        ("retention.ms", "soon", None),
        ("max.connections", "7days", None),
    ],
)
def test_a_unit_that_does_not_fit_is_answered_with_those_that_do(key, text, hint) -> None:
    """`retention.ms=7days` was *Not a number of type LONG*, and nothing said what is."""
    assert units_hint(key, text) == hint


@given(st.sampled_from(["retention.ms", "segment.bytes"]), st.integers(0, 10**6), st.data())
def test_any_unit_is_its_multiple(key, number, data) -> None:
    """MiB were counted as MB."""
    unit = data.draw(st.sampled_from(sorted(units_of(key))))
    assert stored_text(key, f"{number}{unit}") == str(number * (TIMES | SIZES)[unit])


@pytest.mark.parametrize("text", [None, "", "many", "NaN", "Infinity", "1 s"])
def test_a_text_that_is_no_number_has_none(text):
    assert exact_number(text) is None


def test_neighbours_among_large_longs_are_two_numbers():
    """A retention that ends one millisecond earlier was the same number as a float, and so was no cut."""
    assert exact_number(str(2**61 + 1)) != exact_number(str(2**61))
    assert exact_number("0.50") == exact_number("0.5")


def test_a_length_of_time_that_no_clock_reaches_is_written_too() -> None:
    """A quota of next to nothing made a throttle of 1e33 ms, and the table that showed it failed."""
    assert duration(10**33).endswith(" d")
