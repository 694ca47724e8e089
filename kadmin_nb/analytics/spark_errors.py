"""Spark's long errors, as one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import Invalid, KadminError, NotFound
from ..traffic.log_files import TORN

_READING = re.compile(r"FAILED_READ_FILE[^\n]*?reading file ['\"`]?(\S+?)['\"`]?\.?(?:\s|$)")
_NO_PATH = re.compile(r"PATH_NOT_FOUND[^\n]*?exist: (\S+?)\.?(?:\s|$)")


@contextmanager
def in_one_line() -> Iterator[None]:
    """Around an action of Spark's that reads files: the file that cannot be read is named, and said once.

    Raises
    ------
    NotFound
        There is no such path.
    Invalid
        A file ends before its time, as a gzip that was cut short does.
    """
    try:
        yield
    except Exception as error:  # py4j's in classic mode, pyspark's over Connect
        translated = _translated(str(error))
        if translated is None:
            raise
        raise translated from None


def unreadable_file(error: Exception) -> str | None:
    """The file that an action of Spark's could not read to its end, if that is what it failed with."""
    reading = _READING.search(str(error))
    return reading[1] if reading else None


def _translated(text: str) -> KadminError | None:
    if missing := _NO_PATH.search(text):
        return NotFound(f"no such path: {missing[1]}")
    if reading := _READING.search(text):
        return Invalid(f"{reading[1]} cannot be read to its end", hint=TORN)
    return None
