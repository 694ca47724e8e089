"""The equal parts of a span of time that a chart has room for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from ..frames.relational import Frame, largest, with_further, words_of


@dataclass(frozen=True)
class Bins:
    """The equal parts of a span of time that a chart has room for, in microseconds of UTC."""

    start: int
    step: int
    end: int

    @classmethod
    def of(cls, frame: Frame, first: str, last: str, most: int) -> Bins | None:
        """Those of a frame from its first time to its last, none shorter than its windows; None of no rows."""
        ends, _ = largest(frame, (), {"end": ("max", last), "start": ("min", first)}, 1)
        start, end = (ends[name].cast(pa.int64())[0].as_py() if len(ends) else None for name in ("start", "end"))
        if start is None or end is None:
            return None
        shortest = _window_length(frame, first, last) if first != last else 0
        end += not shortest
        steps = (step * SECOND for step in STEPS)
        step = next((step for step in steps if step >= shortest and (end - start) // step < most), 0)
        step = step or max((end - start) // most + 1, shortest)
        return cls(start // step * step, step, end)

    @property
    def is_of_days(self) -> bool:
        """True if a bin is a day or longer."""
        return self.step >= DAY

    @property
    def title(self) -> str:
        """The day on which it begins."""
        return f"from {datetime.fromtimestamp(self.start / SECOND, UTC):%Y-%m-%d}, UTC"

    @property
    def span(self) -> list[int]:
        """The first and the last time, in milliseconds as Vega takes them."""
        last = max(self.end - 1, self.start)
        return [self.start // 1000, self.times(last - (last - self.start) % self.step)["to"]]

    def added_to(self, frame: Frame, column: str) -> Frame:
        """The frame with the beginning of each row's bin, by a time of it."""
        words = words_of(frame)
        since = words.micros(words.column(column)) - self.start
        return with_further(frame, {"bin": since - words.remainder(since, self.step) + self.start})

    def times(self, start: int) -> dict[str, int]:
        """The beginning and the end of a bin, in milliseconds as Vega takes them."""
        return {"from": start // 1000, "to": (start + self.step) // 1000}


def _window_length(frame: Frame, first: str, last: str) -> int:
    """The length of one of the windows, as many have it."""
    window, _ = largest(frame, (first, last), {"rows": ("count", first)}, 1)
    start, end = (window[name].cast(pa.int64())[0].as_py() for name in (first, last))
    return int(end - start)


SECOND = 1_000_000
DAY = 86400 * SECOND
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""The lengths of a bin in seconds, such as a clock has."""
