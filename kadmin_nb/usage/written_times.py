"""The times that log4j writes in front of a line, in the formats that it has names for, as instants."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames.frame import MOMENT

READ_FORMATS = (
    "These are read: 2026-11-26 11:15:22,718 (ISO8601, DEFAULT), 2026/11/26 11:15:22.718, 26 Nov 2026 11:15:22,718"
    " (DATE), 20261126111522718 (COMPACT) and UNIX_MILLIS. 11/02/2026 is not: it may be of either order."
)
"""The hint of a log whose times are written otherwise."""

_CLOCK = pa.timestamp("us")
_OFFSET = r"^.{19}.*[Z+-]"
"""The beginning has a date and a time of day, whose hyphens say nothing."""
_FIXED = re.compile(r"(?:Z|(?:Etc/)?(?:UTC|GMT))|([+-])(\d\d):(\d\d)")

_TIME = r"(?P<time>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
_ZONE = r"(?P<zone>\s?(?:Z|(?:GMT|UTC)?[+-]\d\d(?::?\d\d)?)|\s(?:[A-Z]{3,5}|[A-Z][A-Za-z]+/[A-Z]\w+))?(?:\W|$)"
"""An offset, or a word that may be the name of a zone."""
_ISO = rf"(?P<written>\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?){_ZONE}"
_DATED = (
    rf"(?P<year>\d{{4}})[/.](?P<month>\d\d)[/.](?P<day>\d\d)[ T-]{_TIME}{_ZONE}",
    rf"(?P<day>\d\d)[ /-](?P<month>[A-Z][a-z]{{2}})[ /-](?P<year>\d{{4}})[ :]{_TIME}{_ZONE}",
    rf"(?:^|\D)(?P<year>\d{{4}})(?P<month>\d\d)(?P<day>\d\d)T?(?P<time>\d{{6}}[.,]?\d{{3,9}}){_ZONE}",
)
"""With slashes, with the name of a month, and COMPACT, which is the basic form of ISO 8601 too."""
_PACKED = r"^(\d\d)(\d\d)(\d\d)[.,]?(\d+)$"
_SINCE_1970 = r"^\W*(?P<number>\d{10}(?:\d{3})?)(?:\W|$)"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEVEL_WORDS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""Words of log4j that may stand where a zone does."""


def written_times(fronts: pa.Array) -> pa.Array:
    """The time in each text, `2026-11-26 11:15:22.718`, with its offset, or a word behind it as `[CET]`; or ""."""
    parts = _parts(fronts, _ISO)
    iso = pc.replace_substring(parts("written"), ",", ".")
    found = pc.fill_null(pc.binary_join_element_wise(iso, _zone(parts), ""), "")
    for pattern in (*_DATED, _SINCE_1970):
        missing = pc.equal(found, "")
        if pc.any(missing).as_py():
            found = pc.replace_with_mask(found, missing, _of_pattern(fronts.filter(missing), pattern))
    return found


def _of_pattern(fronts: pa.Array, pattern: str) -> pa.Array:
    """The times in texts by one of the patterns, "" for none."""
    parts = _parts(fronts, pattern)
    if pattern == _SINCE_1970:
        return instants_text(parts("number").cast(pa.float64()))
    number = pc.add(pc.index_in(parts("month"), pa.array(_MONTHS)), 1).cast(pa.string())
    month = pc.if_else(pc.ascii_is_alpha(parts("month")), pc.utf8_lpad(number, 2, "0"), parts("month"))
    date = pc.binary_join_element_wise(parts("year"), month, parts("day"), "-")
    time = pc.replace_substring(pc.replace_substring_regex(parts("time"), _PACKED, r"\1:\2:\3.\4"), ",", ".")
    return pc.fill_null(pc.binary_join_element_wise(date, " ", time, _zone(parts), ""), "")


def instants_text(numbers: pa.Array) -> pa.Array:
    """Seconds since 1970, or thousandths, millionths or billionths of them by their size, as times in UTC.

    "" for what is before 1973 in all of them.
    """
    values = np.asarray(pc.fill_null(numbers.cast(pa.float64()), 0.0))
    is_time = (values >= 1e8) & (values < 1e20)
    values = np.where(is_time, values, 1e8)
    exponents = np.clip((np.log10(values) - 8) // 3, 0, 3)
    micros = pa.array(np.rint(values * 10.0 ** (6 - 3 * exponents)).astype(np.int64), mask=~is_time)
    return pc.fill_null(pc.binary_join_element_wise(micros.cast(_CLOCK).cast(pa.string()), "Z", ""), "")


def _parts(fronts: pa.Array, pattern: str) -> Callable[[str], pa.Array]:
    groups = pc.extract_regex(fronts, pattern)
    return lambda name: pc.struct_field(groups, name)


def _zone(parts: Callable[[str], pa.Array]) -> pa.Array:
    """The offset, or the word in brackets."""
    zone = parts("zone")
    if not pc.any(pc.not_equal(zone, "")).as_py():
        return zone
    offset = pc.replace_substring_regex(zone, r"^\s?(?:GMT|UTC)?([Z+-])", r"\1")
    return pc.replace_substring_regex(offset, r"^\s(.*)$", r"[\1]")


class Times(NamedTuple):
    """The `instants`, null where the text has none, or one that the clock skipped; is it passed twice?

    `has_no_zone`: neither an offset nor the name of a zone stands behind the time. `has_other_zone`: a name does that
    tz does not have.
    """

    instants: pa.Array
    is_ambiguous: pa.Array
    has_no_zone: pa.Array
    has_other_zone: pa.Array


def zone_of(tz: str | None) -> tzinfo:
    """A time zone, by its name or its distance from UTC, which is the default.

    Raises
    ------
    UsageError
        It is none.
    """
    fixed = _FIXED.fullmatch(tz or "UTC")
    if fixed is None:
        try:
            return ZoneInfo(str(tz))
        except (KeyError, ValueError, OSError):
            raise UsageError(f"{tz} is not a time zone", hint="For example Europe/Berlin, UTC or +02:00.") from None
    sign, hours, minutes = fixed.groups()
    distance = timedelta() if sign is None else timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-distance if sign == "-" else distance)


def times(written: pa.Array, tz: str | None) -> Times:
    """The instants of texts such as `2026-07-01 12:00:00.500`, of this zone where they tell none.

    An offset in the text counts, whatever tz is; the name of a zone if tz has it.
    """
    texts = _with_offsets(pc.replace_substring_regex(written, r"(\.\d{6})\d+", r"\1"), tz)
    has_other_zone = pc.match_substring(texts, "[")
    with_offset = pc.match_substring_regex(texts, _OFFSET)
    clocks = _parsed(pc.if_else(pc.or_(with_offset, has_other_zone), None, texts), _CLOCK)
    exact = _parsed(pc.replace_substring_regex(pc.if_else(with_offset, texts, None), r"\s(.{1,6})$", r"\1"), MOMENT)
    instants, is_ambiguous = _of_zone(clocks, tz)
    has_no_zone = pc.and_(pc.not_equal(texts, ""), pc.invert(with_offset))
    return Times(pc.coalesce(exact, instants), is_ambiguous, has_no_zone, has_other_zone)


def _of_zone(clocks: pa.Array, tz: str | None) -> tuple[pa.Array, pa.Array]:
    """The instants, null where the clock skipped it; of an hour that it passes twice the first. Is it such an hour?"""
    never = pa.repeat(False, len(clocks))
    if tz is None:
        return pa.nulls(len(clocks), MOMENT), never
    if _FIXED.fullmatch(tz):
        ahead = pa.scalar(zone_of(tz).utcoffset(None), pa.duration("us"))
        return pc.subtract(clocks, ahead).cast(MOMENT), never
    first, last = (
        pc.assume_timezone(clocks, tz, ambiguous=which, nonexistent="latest") for which in ("earliest", "latest")
    )
    exists = pc.equal(pc.local_timestamp(first), clocks)
    return pc.if_else(exists, first, None).cast(MOMENT), pc.fill_null(pc.not_equal(first, last), False)


def _parsed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The texts as times; null where one is none, such as the 30th of February."""
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, kind)
        return pa.concat_arrays([_parsed(texts.slice(place, 1), kind) for place in range(len(texts))])


def _with_offsets(texts: pa.Array, tz: str | None) -> pa.Array:
    """With the offsets of the zones that are named behind the times, as far as tz has these names; without levels."""
    if not pc.any(pc.match_substring(texts, "[")).as_py():
        return texts
    offsets = {**dict.fromkeys(_LEVEL_WORDS, ""), "UTC": "+0000", "GMT": "+0000"}
    if tz is not None and not _FIXED.fullmatch(tz):
        moments = [datetime(datetime.now().year, month, 1, tzinfo=ZoneInfo(tz)) for month in (1, 7)]
        offsets |= {tz: "", **{f"{moment:%Z}": f"{moment:%z}"[:5] for moment in moments}}
    for name, offset in offsets.items():
        texts = pc.replace_substring(texts, f"[{name}]", offset)
    return texts
