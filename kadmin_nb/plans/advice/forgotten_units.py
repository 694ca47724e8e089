"""Quotas that look as if a unit was forgotten: 5 B/s where 5 MB/s were meant.

A row tells it by itself: the limit is a thousandth or a thousand times of what it was, or so low that one ordinary
request takes minutes. A broker lets a request through and then throttles its connection until the average is within the
limit again, so such a client all but stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model.changes import Change
from ...model.findings import DANGER, Finding
from ...model.quota_keys import readable

UNIT = "unit"
"""The danger's name."""

THOUSANDFOLD = 1000.0
"""Times up or down from which on a changed limit counts as a slip."""

REQUEST_BYTES = 16_384
"""The bytes of an ordinary request: a batch of Kafka's default `batch.size`."""

LONGEST = 60.0
"""Seconds that an ordinary request may take under a limit."""

_BYTE_RATES = ("producer_byte_rate", "consumer_byte_rate")


def dangers(changes: Iterable[Change]) -> Iterator[Finding]:
    """The rows whose new limit looks like a slip."""
    for change in changes:
        if change.after is not None and not change.is_done and (message := _message(change)):
            yield Finding.about(change, DANGER, UNIT, message)


def _message(change: Change) -> str | None:
    after = float(change.after or "nan")
    before = None if change.old is None else float(change.old)
    if change.key in _BYTE_RATES and after * LONGEST < REQUEST_BYTES:
        slow = _duration(REQUEST_BYTES / after)
        return f"at {readable(change.key, after)} one request of 16 KiB takes {slow}; {_question(change.key, after)}"
    if before and after <= before / THOUSANDFOLD:
        return f"{_way(change.key, before, after)}, a {before / after:,.0f}th; {_question(change.key, after)}"
    if before and after >= before * THOUSANDFOLD:
        return f"{_way(change.key, before, after)}, {after / before:,.0f} times as much; {_question(change.key, after)}"
    return None


def _way(key: str, before: float, after: float) -> str:
    return f"{readable(key, before)} becomes {readable(key, after)}"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def _question(key: str, after: float) -> str:
    """The slip that it probably is."""
    if key in _BYTE_RATES and after < 1000:
        return f"was {after:g}MB/s meant?"
    return "was a unit forgotten?"
