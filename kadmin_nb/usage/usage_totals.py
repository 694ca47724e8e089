"""USAGE_TOTALS: what was used, added up by columns of USAGE and by month or day, on either engine.

Amounts are whole bytes and microseconds before anything is added up, so sums are the same in any order and in both
engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..frames import schemas
from ..frames.frame import COUNT, NUMBER
from ..frames.relational import Frame, Measure, added_up, framed, with_columns, without_null, words_of
from ..hints import did_you_mean
from ..resolution.input_columns import CLUSTER
from .limits_used import KINDS, USAGE_LABEL, usage_columns
from .rules import RATES, amount, whole

EVERY = ("month", "day")
BY = ("broker", "user", "client_id", "key", "window_start", "window_end", "source")
"""The columns of USAGE that usage is added up by, besides the cluster and the day."""

_AMOUNTS = ("bytes_in", "bytes_out", "io_us")
_KEYS = [of for of in RATES if of.total in _AMOUNTS]
"""The total that each key counts for, whatever it was measured by."""

_SUMS: dict[str, Measure] = {
    **{name: ("sum", name) for name in (*_AMOUNTS, "throttled")},
    "windows": ("count_rows", "unknown"),
    "windows_unknown": ("count_true", "unknown"),
}


def totals(usage: Any, by: Sequence[str] = (), every: str = "month") -> Frame:
    """USAGE_TOTALS: bytes, request time and throttled time, added up by columns of USAGE and by month or day.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`. A `cluster_id` is always one of the columns.
    by
        Some of `broker`, `user`, `client_id`, `key`, `window_start`, `window_end` and `source`.
    every
        "month" or "day", in UTC; a window counts where it begins.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        Where the usage is; on Spark it is lazy. The columns of `by` come first. Bytes are whole numbers, so the sums
        over all rows are exactly what was used. Values that are null, NaN, infinite, negative, or of more than 2⁵³
        bytes in a window are counted in `windows_unknown`: the figures of such a row are a lower bound.

    Raises
    ------
    UsageError
        Not a frame, a column is missing; `by` or `every` has another word.
    Invalid
        A name or a time of a row is null. Of a Spark DataFrame, reading the result raises it.

    Examples
    --------
    >>> totals(usage, ["user"], "day").to_pandas()  # doctest: +SKIP
    """
    if every not in EVERY:
        raise UsageError(f"every cannot be {every}", hint=did_you_mean(every, EVERY, f"One of {', '.join(EVERY)}."))
    if strange := next((name for name in by if name not in BY), None):
        raise UsageError(f"by cannot be {strange}", hint=did_you_mean(strange, BY, f"Some of {', '.join(BY)}."))
    names = [name for name in KINDS if name != CLUSTER]
    rows, cluster = usage_columns(usage, names)
    rows = without_null(rows, [*cluster, "user", "window_start", "window_end"], USAGE_LABEL, [*cluster, *names])
    kept, words = [*cluster, *by], words_of(rows)
    sums = added_up(with_columns(rows, _amounts(words, every)), [*kept, "day"], _SUMS)
    seconds = {"request_s": words.number(words.column("io_us")) / 1e6,
               "throttled_s": words.number(words.column("throttled")) / 1e6}  # fmt: skip
    led = pa.schema([(name, KINDS[name].type) for name in kept])
    schema = pa.schema([*led, *schemas.USAGE_TOTALS.schema], schemas.USAGE_TOTALS.schema.metadata)
    return framed(with_columns(sums, seconds), schema, [(name, "ascending") for name in (*cluster, "day", *by)])


def _amounts(words: Any, every: str) -> dict[str, Any]:
    """The columns of a row's window that are added up, amounts as whole numbers of their least unit."""
    key, value, throttle_ms = (words.column(name) for name in ("key", "value", "throttle_ms"))
    length = words.number(words.micros(words.column("window_end")) - words.micros(words.column("window_start")))
    per_unit = words.literal(None, NUMBER)
    for of in _KEYS:
        per_unit = words.when(key == of.key, of.per_unit, per_unit)
    exact, is_known = whole(words, amount(value, length, per_unit))
    throttled, _ = whole(words, throttle_ms * 1000.0)
    return {
        "day": words.first_day(words.column("window_start"), every),
        **{of.total: words.when(key == of.key, exact, words.literal(0, COUNT)) for of in _KEYS},
        "throttled": throttled,
        "unknown": key.isin([of.key for of in _KEYS]) & ~is_known,
    }
