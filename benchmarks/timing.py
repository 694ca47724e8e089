"""Timing on a shared machine: only ratios within one run mean anything, so runs are interleaved."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence

Row = dict[str, object]
"""One figure: `figure`, `ours`, `reference`, `ratio`, `bound`, `ok`, `note`; times in seconds unless said."""


def interleaved(works: Sequence[Callable[[], object]], rounds: int = 5) -> list[list[float]]:
    """Seconds of each work in each round, taken in turns after one round to warm up."""
    for work in works:
        work()
    turns = [[seconds(work) for work in works] for _ in range(rounds)]
    return [list(times) for times in zip(*turns, strict=True)]


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    result = work()
    spent = time.perf_counter() - start
    del result
    return spent


def ratio(ours: Sequence[float], reference: Sequence[float]) -> float:
    """The median of the ratios, round by round."""
    return statistics.median(a / b for a, b in zip(ours, reference, strict=True))


def row(figure: str, ours: float, reference: float, times: float, bound: float, note: str = "") -> Row:
    """A figure with its bound: `times` is ours over the reference, and may be at most `bound`."""
    return {
        "figure": figure,
        "ours": round(ours, 4),
        "reference": round(reference, 4),
        "ratio": round(times, 3),
        "bound": bound,
        "ok": times <= bound,
        "note": note,
    }


def not_measured(figure: str, why: str) -> Row:
    """A figure that could not be had, and why; its bound is not kept."""
    return {"figure": figure, "ours": None, "reference": None, "ratio": None, "bound": None, "ok": False, "note": why}
