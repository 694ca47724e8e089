"""Names, numbers and times as a chart has them. A name is text that somebody else chose: it is shown, no more.

No expression and no field is made out of a name: both are constants here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from math import log
from typing import Any

import pyarrow as pa

from ..errors import printable, printable_lines
from ..frames.meanings import client
from ..frames.relational import Frame, largest, with_further, words_of
from ..frames.views import counted_nouns
from ..model.quota_keys import HEADS, USER_CLIENT_KEYS

PICTURE, COLUMN, LETTER = 900, 120, 7.2
"""Pixels of a picture with its names, of a column of limits at least, and of a letter."""

Row = dict[str, Any]
"""What is drawn of something, or was read for it."""


def as_text(text: str) -> str:
    """A text of a chart as it is shown. Altair writes texts into scripts: what would end one, or begin another, has a
    joiner in it that no one sees."""
    return _OF_SCRIPTS.sub("<\u2060", printable_lines(text))


_OF_SCRIPTS = re.compile(r"<(?=[!/s])", re.IGNORECASE)
"""How `</script>`, `<script>` and `<!--` begin."""


def short(text: str, most: float = 40) -> str:
    """A name on one line, its middle left out where it is longer than that."""
    shown, half = printable(text), int(min(most, len(text))) // 2
    return shown if len(shown) <= most else f"{shown[:half]}…{shown[1 - half :]}"


def beside(width: float) -> int:
    """The letters of a name that have room beside a chart of that width."""
    return int((PICTURE - width) / LETTER)


def clients(pairs: Iterable[tuple[str | None, str | None]], most: float) -> list[str]:
    """The text of each client or bucket, of at most so many characters."""
    return [short(client(*pair), most) or "(no user)" for pair in pairs]


def uses(rows: Sequence[Mapping[str, Any]], most: float) -> list[str]:
    """The buckets of these rows and their keys, each text different; an empty part is not in a bucket."""
    whose = clients(((row["bucket_user"] or None, row["bucket_client_id"] or None) for row in rows), most)
    return distinct([f"{who} {head(row['key'])}" for who, row in zip(whose, rows, strict=True)])


def distinct(texts: Sequence[str]) -> list[str]:
    """The texts, numbered where several are shortened to the same."""
    times = Counter(texts)
    numbers = {text: count(1) for text in times}
    return [f"{next(numbers[text])}: {text}" if times[text] > 1 else text for text in texts]


def count_of(many: int, noun: str) -> str:
    """So many of a noun with a regular plural: *3 clients*, *1 client*, *no clients*."""
    return counted_nouns(many, noun, f"{noun}s")


def part_of(shown: int, many: int, which: str) -> str:
    """That a chart has the first of many; nothing where it has all."""
    return f"{shown:,} of {many:,}: the {which}" if shown < many else ""


def head(key: str) -> str:
    """A quota's key in a word; another one as it is."""
    return HEADS.get(key, short(key))


def key_order(key: str) -> tuple[int, str]:
    """The place of a key: as Kafka lists its own, then the others."""
    return (USER_CLIENT_KEYS.index(key) if key in USER_CLIENT_KEYS else len(USER_CLIENT_KEYS)), key


def height(value: float, values: Iterable[float | None]) -> float:
    """The place of a value between the lowest and the highest, 0 to 1, on a logarithmic scale; 0.5 of one alone."""
    positive = [other for other in values if other is not None and other > 0]
    low, high = min(positive, default=0.0), max(positive, default=0.0)
    if value <= 0:
        return 0.0
    return 0.5 if high <= low else log(value / low) / log(high / low)


# -- the equal parts of a span of time that a chart has room for


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
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""The lengths of a bin in seconds, such as a clock has."""
