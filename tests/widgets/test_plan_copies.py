"""A plan that is taken elsewhere, as text."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from tests.hostile_names import HOSTILE
from tests.widgets.reviewing import Bench

KEY = "producer_byte_rate"


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("cell", "set producer_byte_rate=5000000 user=alice"),
        ("kafka-configs.sh", "--add-config producer_byte_rate=5000000"),
        ("Markdown", "```diff"),
    ],
)
def test_a_plan_is_copied_as_text(bench: Bench, name: str, line: str) -> None:
    """I wanted the plan in a pull request, and typed it by hand."""
    bench.stage.set_quota(KEY, "5MB/s", user="alice")
    copies = bench.review().copies
    copies.choice.value = name
    assert line in copies.box.text
    copies.choice.value = ""
    assert copies.box.text == ""


def test_a_large_plan_is_cut_at_a_line(bench: Bench) -> None:
    """The text of a large plan was dropped by the host, without a word."""
    for number in range(2_000):
        bench.stage.set_quota(KEY, 1000, user=f"user-{number}-{'x' * 40}")
    copies = bench.review().copies
    copies.choice.value = "cell"
    assert len(copies.box.text) < 100_000
    assert copies.box.text.splitlines()[-1].endswith("more lines: plan.to_cell() has all of it")


def test_what_is_copied_from_a_screen_has_no_controls(bench: Bench) -> None:
    """A user's name held an escape sequence, and I pasted it into a terminal."""
    for name in HOSTILE:
        bench.stage.set_quota(KEY, 1000, user=name)
    copies = bench.review().copies
    for form in ("cell", "kafka-configs.sh", "Markdown"):
        copies.choice.value = form
        assert all(line.isprintable() for line in copies.box.text.split("\n")), form


def test_a_secret_is_in_no_trait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password stood in the page's source."""
    monkeypatch.setenv("NEW_PASSWORD", "canary-7f3a")
    bench.stage.set_config("ssl.keystore.password", "env:NEW_PASSWORD", broker=kn.DEFAULT)
    review = bench.review("a new key")
    states = [review._rows.children[0].value, review.copies.box.get_state(), review.as_html()]
    for form in ("cell", "kafka-configs.sh", "Markdown"):
        review.copies.choice.value = form
        states.append(review.copies.box.get_state())
    assert "canary-7f3a" not in str(states)
