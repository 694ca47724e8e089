"""COST: what the clients of each team used, and its price, out of USAGE.

Amounts are whole bytes and microseconds before anything is added up, so that sums are the same in any order and in
both engines. On Spark the usage is shuffled once, as rows of clients; whose these are is asked client by client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..fleets.workers import of_rows
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.frame import COUNT, DAY, NUMBER, TEXT, WHOLE
from ..frames.relational import (
    Frame,
    Measure,
    added_up,
    cluster_of,
    framed,
    in_arrow,
    with_columns,
    without_null,
    words_of,
)
from ..frames.schemas import NO_OWNER
from ..frames.spark import is_spark
from ..hints import did_you_mean
from ..model import figures
from ..resolution.input_columns import led
from .limits_used import USAGE_LABEL, usage_columns
from .near_and_top import kadmin_metadata
from .owners import Owners, OwnersSource, Rates, RatesSource, read_owners, read_rates, with_owners
from .rules import RATES, amount, whole

MONTH = "month"
EVERY = (MONTH, "day")

GB, HOUR = 1e9, 3600.0
"""The bytes and the seconds that a rate card has prices of."""

_NAMES = ("user", "client_id", "key", "window_start", "window_end", "value", "throttle_ms", "source")

_AMOUNTS = ("bytes_in", "bytes_out", "io_us")
"""The totals that are paid for, bytes and microseconds."""

_KEYS = [of for of in RATES if of.total in _AMOUNTS]
"""Of each key the total that COST has; a row of USAGE counts by its key, whatever it was measured by."""

_TOTALS = (*_AMOUNTS, "throttled", "windows_unknown", "measured", "rows")
_OF_CLIENTS: dict[str, Measure] = {
    **{name: ("sum", name) for name in (*_AMOUNTS, "throttled")},
    "windows_unknown": ("count_true", "unknown"),
    "measured": ("count_true", "measured"),
    "rows": ("count_rows", "measured"),
}
_OF_OWNERS: dict[str, Measure] = {**{name: ("sum", name) for name in _TOTALS}, "clients": ("count_rows", "team")}
_OF_TEAMS: dict[str, Measure] = {name: ("sum", name) for name in (*_TOTALS, "clients")}

_BOTH_SOURCES = (
    "Some rows are the brokers' own measures of buckets, others are of clients: use that both measured counts twice."
)


def cost(usage: Any, owners: OwnersSource, rates: RatesSource | None = None, every: str = MONTH) -> Frame:
    """COST: the bytes, request time and throttled time of each team in each month, and its price.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`. Who shares a bucket pays for what it used itself; rows
        that a broker measured of a bucket, as metrics have them, belong to the owner of the bucket's names.
    owners
        A TOML file whose table `[owners]` has a pattern and a team a line: `"user~=pay-*" = "payments"`,
        `"user~=* client-id=etl" = "data"`. The first that matches wins. Or such a mapping.
    rates
        A TOML file with `currency`, and the prices `gb_in`, `gb_out` (of 10⁹ bytes) and `request_hour`. Or a mapping.
    every
        "month" or "day", in UTC.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        Where the usage is; on Spark it is lazy. What clients without an owner used is the team `(nobody)`. Bytes are
        whole numbers, and sums over teams are what was used. `bytes_in` and `bytes_out` are out of
        `producer_byte_rate` and `consumer_byte_rate`, `request_s` out of `request_percentage`. Values that are null,
        NaN, infinite, negative, or of more than 2⁵³ bytes in a window are counted in `windows_unknown`.

    Raises
    ------
    UsageError
        Not a frame, a column is missing; something in the owners or rates is wrong; `every` is another word.
    NotFound
        No such file.
    Invalid
        A name or a time of a row is null. Of a Spark DataFrame who reads the result hears of it.

    Examples
    --------
    >>> cost(usage, "owners.toml", "rates.toml")  # doctest: +SKIP
    """
    prices = None if rates is None else read_rates(rates)
    return _priced(_of_owners(usage, read_owners(owners), every), prices, every)


class CostAnswer(Answer):
    """COST: a row a month and team. `warnings` name the patterns that match no client, and what is not known."""

    def __init__(self, table: pa.Table, warnings: Sequence[str] = ()) -> None:
        super().__init__(table)
        self.warnings = tuple(warnings)

    @property
    def without_owner(self) -> Answer:
        """The rows of the clients that nobody owns."""
        return Answer(self._table.filter(pc.equal(self._table["team"], NO_OWNER)))

    def _title(self) -> str:
        """How much was used, by which team most, and how much by clients without an owner."""
        return _finding(self._table) if len(self) else "No client used anything"

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The warnings."""
        return self.warnings


def showback(usage: Any, owners: OwnersSource, rates: RatesSource | None = None, every: str = MONTH) -> CostAnswer:
    """COST for people to read: the same, brought here, with a title, and with warnings.

    Parameters
    ----------
    usage, owners, rates, every
        As of `cost`.

    Returns
    -------
    CostAnswer
        Its `warnings` name each pattern of the owners that matches no client, windows of which the use is unknown, and
        usage that has clients and the brokers' own measures of buckets at once.

    Raises
    ------
    UsageError, NotFound, Invalid
        As of `cost`.
    """
    prices, known = None if rates is None else read_rates(rates), read_owners(owners)
    of_owners = in_arrow(_of_owners(usage, known, every), task="Spark adds up the use of teams")
    table = schemas.marked(_priced(of_owners, prices, every), kadmin_metadata(usage))
    return CostAnswer(table, [*_warnings(of_owners, known)])


def _of_owners(usage: Any, owners: Owners, every: str) -> Frame:
    """A row a day, team and pattern of an owner, with sums in their least units."""
    if every not in EVERY:
        raise UsageError(f"every cannot be {every}", hint=did_you_mean(every, EVERY, f"One of {', '.join(EVERY)}."))
    rows, cluster = usage_columns(usage, _NAMES)
    rows = without_null(rows, [*cluster, "user", "window_start", "window_end"], USAGE_LABEL, [*cluster, *_NAMES])
    by = [*cluster, "day"]
    clients = added_up(with_columns(rows, _amounts(words_of(rows), every)), [*by, "user", "client_id"], _OF_CLIENTS)
    texts = [(name, TEXT) for name in (*cluster, "user", "client_id", "team")]
    kinds = pa.schema([*texts, ("day", DAY), ("owner", WHOLE), *((name, COUNT) for name in _TOTALS)])
    return added_up(of_rows(clients, with_owners, (owners,), kinds), [*by, "team", "owner"], _OF_OWNERS)


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


def _priced(sums: Frame, rates: Rates | None, every: str) -> Frame:
    """COST of the sums of owners."""
    words, cluster = words_of(sums), cluster_of(sums)
    teams = added_up(sums, [*cluster, "day", "team"], _OF_TEAMS)
    number, column = words.number, words.column
    request_s = number(column("io_us")) / 1e6
    price = words.literal(None, NUMBER)
    if rates is not None:
        price = number(column("bytes_in")) / GB * rates.gb_in + number(column("bytes_out")) / GB * rates.gb_out
        price = price + request_s / HOUR * rates.request_hour
    columns = {
        "every": words.literal(every, TEXT),
        "request_s": request_s,
        "throttled_s": number(column("throttled")) / 1e6,
        "cost": price,
        "currency": words.literal(None if rates is None else rates.currency, TEXT),
    }
    priced = framed(with_columns(teams, columns), led(schemas.COST.schema, cluster))
    return priced if is_spark(priced) else _in_order(priced, cluster)


def _in_order(costs: pa.Table, cluster: Sequence[str]) -> pa.Table:
    """By day, those without an owner first."""
    has_owner = pc.not_equal(costs["team"], NO_OWNER)
    order = [(name, "ascending") for name in (*cluster, "day", "has_owner", "team")]
    return costs.take(pc.sort_indices(costs.append_column("has_owner", has_owner), order))


def _warnings(sums: pa.Table, owners: Owners) -> Iterator[str]:
    """What a reader of the figures must know."""
    matched = {*sums["owner"].drop_null().to_pylist()}
    for number, owner in enumerate(owners):
        if number not in matched:
            yield f"{owner.text} of {owner.team} owns no client: none matches it, or an earlier pattern does."
    unknown = pc.sum(sums["windows_unknown"]).as_py()
    if unknown:
        yield f"The use of {unknown:,} windows is unknown: the figures are the least that it can be."
    measured, rows = (pc.sum(sums[name]).as_py() for name in ("measured", "rows"))
    if measured and measured < rows:
        yield _BOTH_SOURCES


def _finding(table: pa.Table) -> str:
    """How much was used, by which team most, and how much by clients without an owner."""
    is_priced = table["cost"].null_count == 0
    sums = {name: ("sum", name) for name in ("bytes_in", "bytes_out", "cost")}
    teams = added_up(table, ["team"], {**sums, "clients": ("max", "clients")}).to_pylist()
    amounts = {row["team"]: row["cost"] if is_priced else row["bytes_in"] + row["bytes_out"] for row in teams}
    total, own = sum(amounts.values()), amounts.pop(NO_OWNER, None)
    currency = table["currency"][0].as_py()
    parts = [figures.price(total, currency) if is_priced else figures.size(total)]
    if amounts and total:
        most = max(amounts, key=lambda team: amounts[team])
        parts.append(f"{most} used most, {figures.share(amounts[most] / total)}")
    if own is not None:
        parts.append(f"{figures.share(own / total) if total else 'a part'} is of clients without an owner")
    return "; ".join(parts)
