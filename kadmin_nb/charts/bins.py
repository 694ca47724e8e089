"""The equal parts of a span of time that a chart has room for."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import spark
from ..frames.relational import Frame, largest


def flag_count(flags: pa.ChunkedArray) -> int:
    """The number of flags that are set."""
    return int(pc.sum(flags).as_py() or 0)


@dataclass(frozen=True)
class Bins:
    """The equal parts of a span of time that a chart has room for, in microseconds of UTC."""

    start: int
    step: int
    end: int

    @classmethod
    def of(cls, frame: Frame, first: str, last: str, most: int) -> Bins | None:
        """Those of a frame from its first time to its last; None of no rows."""
        ends, _ = largest(frame, (), {"end": ("max", last), "start": ("min", first)}, 1)
        start, end = (ends[name].cast(pa.int64())[0].as_py() if len(ends) else None for name in ("start", "end"))
        if start is None or end is None:
            return None
        step = next(
            (step * SECOND for step in STEPS if (end - start) // (step * SECOND) < most), (end - start) // most + 1
        )
        return cls(start // step * step, step, end)

    @property
    def is_of_days(self) -> bool:
        """True if a bin is a day or longer."""
        return self.step >= 86400 * SECOND

    @property
    def tick_format(self) -> str:
        """The times of an axis: by the clock within a day or two, by the calendar beyond."""
        days = (self.end - self.start) / (86400 * SECOND)
        return "%H:%M" if days <= 1 else "%d %b %H:%M" if days <= 4 else "%d %b"

    @property
    def span(self) -> list[int]:
        """The first and the last time, in milliseconds as Vega takes them."""
        return [self.start // 1000, (self.start + self.count * self.step) // 1000]

    def added_to(self, frame: Frame, column: str) -> Frame:
        """The frame with the number of each row's bin, by a time of it."""
        if spark.is_spark(frame):
            since = f"(unix_micros({column}) - {self.start})"
            return spark.with_column(frame, "bin", f"CAST(floor({since} / {self.step}) AS BIGINT)")
        since = pc.subtract(frame[column].cast(pa.int64()), self.start)
        return frame.append_column("bin", pc.divide(since, self.step))

    @property
    def count(self) -> int:
        """The number of bins, the last one included."""
        return (max(self.end - 1, self.start) - self.start) // self.step + 1

    def times(self, number: int) -> dict[str, int]:
        """The beginning and the end of a bin, in milliseconds as Vega takes them."""
        start = self.start + number * self.step
        return {"from": start // 1000, "to": (start + self.step) // 1000}


SECOND = 1_000_000
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""The lengths of a bin in seconds, such as a clock has."""
