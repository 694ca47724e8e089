"""Reviews over the double: a cluster in memory whose requests a test can hold back."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from kadmin_nb.cluster.changing import Changes
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.plan_review import PlanReview
from tests.double import FakeKafka

LONG = 30.0
"""Seconds after which a test gives up."""


_NUMBERS = itertools.count(1)


@dataclass
class Bench:
    """A cluster in memory, a stage on it, and a gate that the n-th request that changes something waits at."""

    kafka: FakeKafka = field(default_factory=FakeKafka)
    held_back: int = 0
    arrived: threading.Event = field(default_factory=threading.Event)
    gate: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.kafka.id = f"double-{next(_NUMBERS)}"  # journals of its own: time is the same in each of them
        self.changes = Changes(self.kafka)  # type: ignore[arg-type]
        self.changes.target = "localhost:9092"
        self.stage: Stage = self.changes.new_stage()
        self.kafka.carried.append(self._wait)

    def _wait(self, call: Any) -> None:
        if self.held_back and call.alters and len(self.kafka.alters) == self.held_back:
            self.arrived.set()
            assert self.gate.wait(LONG)

    def review(self, reason: str | None = None, **options: Any) -> PlanReview:
        """The review of what is staged, its widget built."""
        review = self.stage.plan(reason).review(**options)
        assert isinstance(review, PlanReview)
        assert review.widget
        return review

    def limits(self) -> dict[str, float]:
        """The quotas as they are stored, by entity."""
        rows = self.kafka.quotas.describe().to_pylist()
        return {row["entity"]: row["value"] for row in rows}


def done(review: PlanReview, act: Callable[[], None]) -> str:
    """Do something, wait until it is over, and give the line that stands below the buttons."""
    act()
    review._work._thread.join(LONG)
    return review.status


def usable(review: PlanReview) -> list[str]:
    """The buttons that can be clicked."""
    return [b.description for b in review.buttons if b.layout.display != "none" and not b.disabled]


def beside(review: PlanReview) -> list[str]:
    """The buttons beside the lines about refused and dangerous rows."""
    return [way.description for way in review._ways]


def clicked(review: PlanReview, words: str) -> PlanReview:
    """The review that a button beside a line leads to."""
    next(way for way in review._ways if way.description == words).click()
    review._work._thread.join(LONG)
    assert review.next is not None, review.status
    return review.next


def states_of_rows(review: PlanReview) -> list[str | None]:
    """The state of each row, as far as anything of the plan was sent."""
    if review.outcomes is None:
        return [None] * len(review.plan)
    rows = sorted(review.outcomes.to_arrow().to_pylist(), key=lambda row: row["row"])
    return [row["state"] for row in rows]


def shown(review: PlanReview) -> str:
    """The rows, and what stands above them, as text; a line is followed by its buttons."""
    above = [] if review._alerts.layout.display == "none" else review._alerts.children
    lines = (getattr(part, "children", (part,))[0] for part in above)
    return unescape(re.sub("<[^>]+>", "\n", "".join(getattr(part, "value", "") for part in (*lines, review._rows))))


def type_again(review: PlanReview, asked: str, text: str) -> None:
    """Fill the field of a dangerous row."""
    review.confirmations.add([asked])
    review.confirmations._fields[asked].value = text
