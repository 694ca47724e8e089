"""The clients that would have been throttled, had these limits been in force all along. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError
from ..frames import schemas
from . import demand, input_columns
from .impact import known_clients, led
from .input_columns import CLUSTER
from .kernel import Index

USAGE = "the usage"
MEASURED = ("window_start", "window_end", "value")
TOKENS = "controller_mutation_rate"

MEASURED_COLUMNS = ("broker", "user", "client_id", "key", *MEASURED)
"""The columns that are read of USAGE."""
_INSTANT = pa.timestamp("us", "UTC")
_WORST = ("throttled_s", "delay_s")


def backtest(quotas: Any, usage: Any, *, keys: str | Iterable[str] | None = None) -> pa.Table:
    """BACKTEST: what the limits of these quotas would have done to a usage.

    The usage is what clients wanted, so it is best taken where no limit was in force. It is replayed second by second
    through the brokers' own sampling (see `sampling`): the clients of a bucket are added up on each broker, and what a
    throttled client wanted comes later, until all is through. Windows longer than a second are spread evenly, which
    hides bursts; the requests are taken as small beside the limit.

    Parameters
    ----------
    quotas
        QUOTAS, as anything with `__arrow_c_stream__`.
    usage
        USAGE: read are `broker`, `user`, `client_id`, `key`, `window_start`, `window_end`, `value`, and `cluster_id`.
        A value that is not above 0, or not finite, is nothing; one that is null is unknown, and not replayed.
    keys
        The keys to replay; the four of users and clients unless said.

    Returns
    -------
    pyarrow.Table
        A row a broker, key and bucket that has a limit, the longest throttled first.

    Raises
    ------
    UsageError
        Not a frame, a missing column, `cluster_id` on one side only.
    Invalid
        As `resolve`; a window that ends before it begins.
    """
    index = Index.of(quotas, keys)
    usage_rows = input_columns.read_columns(usage, MEASURED_COLUMNS, USAGE)
    input_columns.check_clusters(usage_rows, USAGE, index.tables.clusters is not None)
    demanded = _demand_rows(usage_rows)
    demanded = demanded.filter(pc.is_in(demanded["key"], pa.array(index.tables.keys, pa.string())))
    names = [CLUSTER] if CLUSTER in demanded.column_names else []
    bound = index.resolve(known_clients(demanded, bool(names)))
    limited = _limited(bound)
    rows = demanded.join(limited, [*names, "user", "client_id", "key"], join_type="inner")
    judged = demand.judged(rows, [*names, *demand.BUCKET], TOKENS)
    return schemas.marked(framed(judged), index.stamp)


def _demand_rows(usage: pa.Table) -> pa.Table:
    """The demand, with times in microseconds; a null name is the empty one."""
    names = [name for name in (CLUSTER, "user", "client_id", "key") if name in usage.column_names]
    parts: dict[str, Any] = {name: pc.fill_null(input_columns.text_column(usage, name, USAGE), "") for name in names}
    parts |= {"broker": _number_column(usage, "broker", pa.int32())}
    parts |= {name: _number_column(usage, f"window_{name}", _INSTANT) for name in ("start", "end")}
    parts |= {"value": input_columns.number_column(usage, "value", USAGE, nullable=True)}
    table = pa.table(parts)
    backwards = pc.greater_equal(table["start"], table["end"])
    if pc.any(backwards).as_py():
        row = pc.index(backwards, True).as_py()
        raise Invalid(f"window_end is not after window_start in row {row} of {USAGE}", hint="Rows are counted from 0.")
    return table.filter(pc.and_(pc.is_finite(table["value"]), pc.greater(table["value"], 0)))


def _number_column(usage: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """A column of brokers, or of times as microseconds since 1970; without nulls."""
    try:
        column = usage[name].cast(kind, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UsageError(f"{name} of {USAGE} is {usage[name].type}, not {kind}") from None
    return input_columns.non_null_column(column.cast(pa.int64()) if kind == _INSTANT else column, name, USAGE)


def _limited(bound: pa.Table) -> pa.Table:
    """The clients that have a limit, as words."""
    plain = {name: bound[name] if name == "value" else bound[name].cast(pa.string()) for name in bound.column_names}
    table = pa.table(plain).rename_columns(["limit" if name == "value" else name for name in plain])
    return table.filter(pc.is_valid(table["limit"]))


def framed(table: pa.Table) -> pa.Table:
    """The result of `demand.judged` as BACKTEST, the worst first."""
    schema = led(schemas.BACKTEST.schema) if CLUSTER in table.column_names else schemas.BACKTEST.schema
    first = table["first_throttled"].cast(_INSTANT)
    table = table.set_column(table.schema.get_field_index("first_throttled"), "first_throttled", first)
    order = [(name, "descending") for name in _WORST]
    order += [(name, "ascending") for name in (CLUSTER, *demand.BUCKET) if name in table.column_names]
    return table.sort_by(order).select(schema.names).cast(schema)
