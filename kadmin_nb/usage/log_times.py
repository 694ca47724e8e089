"""The times in front of a request log's lines, as instants. Spark's workers run it too."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError

INSTANT = pa.timestamp("us", "UTC")
_CLOCK = pa.timestamp("us")
_OFFSET = r"^.{19}.*[Z+-]"
"""The beginning has a date and a time of day, whose hyphens say nothing."""
_FIXED = re.compile(r"(?:Z|(?:Etc/)?(?:UTC|GMT))|([+-])(\d\d):(\d\d)")


class Times(NamedTuple):
    """The `instants`, null where the text has none; is the clock's time passed twice, was it never shown?"""

    instants: pa.Array
    is_ambiguous: pa.Array
    is_skipped: pa.Array


def check_zone(tz: str | None) -> None:
    """Refuse what is not a time zone.

    Raises
    ------
    UsageError
    """
    if tz is None or _FIXED.fullmatch(tz):
        return
    try:
        ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"{tz} is not a time zone", hint="Such as Europe/Berlin, UTC or +02:00.") from None


def has_offset(written: pa.Array) -> pa.Array:
    """Does the text tell its distance from UTC?"""
    return pc.match_substring_regex(written, _OFFSET)


def times(written: pa.Array, tz: str | None) -> Times:
    """The instants of texts such as `2026-07-01 12:00:00.500`, of this zone where they have no offset."""
    texts = pc.replace_substring_regex(written, r"(\.\d{6})\d+", r"\1")
    with_offset = has_offset(texts)
    clocks = _parsed(pc.if_else(with_offset, None, texts), _CLOCK)
    exact = _parsed(pc.replace_substring_regex(pc.if_else(with_offset, texts, None), r"\s(.{1,6})$", r"\1"), INSTANT)
    local = _of_zone(clocks, tz)
    return Times(pc.coalesce(exact, local.instants), local.is_ambiguous, local.is_skipped)


def _of_zone(clocks: pa.Array, tz: str | None) -> Times:
    """Of an hour that the clock passes twice the first is taken."""
    never = pa.repeat(False, len(clocks))
    if tz is None:
        return Times(pa.nulls(len(clocks), INSTANT), never, never)
    if fixed := _FIXED.fullmatch(tz):
        return Times(pc.subtract(clocks, _distance(fixed)).cast(INSTANT), never, never)
    first, last = (
        pc.assume_timezone(clocks, tz, ambiguous=which, nonexistent="latest") for which in ("earliest", "latest")
    )
    is_skipped = pc.fill_null(pc.not_equal(pc.local_timestamp(first), clocks), False)
    return Times(first.cast(INSTANT), pc.fill_null(pc.not_equal(first, last), False), is_skipped)


def _distance(fixed: re.Match[str]) -> pa.Scalar:
    sign, hours, minutes = fixed.groups(default="0")
    ahead = timedelta(hours=int(hours), minutes=int(minutes))
    return pa.scalar(-ahead if sign == "-" else ahead, pa.duration("us"))


def _parsed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The texts as times; null where one is none, such as the 30th of February."""
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return pa.concat_arrays([_parsed_alone(text, kind) for text in texts])


def _parsed_alone(text: pa.Scalar, kind: pa.DataType) -> pa.Array:
    try:
        return pa.array([text.cast(kind)], kind)
    except pa.ArrowInvalid:
        return pa.nulls(1, kind)
