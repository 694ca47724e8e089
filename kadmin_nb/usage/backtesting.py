"""The clients that would have been throttled, had these limits been in force all along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import printable
from ..fleets.workers import of_whole_groups
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.relational import (
    Frame,
    added_up,
    among,
    cluster_of,
    each_once,
    framed,
    guarded,
    having,
    of_cluster,
    read_columns,
    select,
    stacked,
    taken,
    where,
    with_columns,
    without_null,
    words_of,
)
from ..frames.spark import is_spark
from ..model.figures import seconds
from ..model.findings import Coverage
from ..model.grammar import quote
from ..model.quota_keys import readable
from ..resolution import demand
from ..resolution.input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters, led, stamp
from ..resolution.kernel import asked_keys
from .arithmetic import is_measured
from .covered import coverage, remarks
from .limits_used import USAGE_LABEL, usage_columns, with_limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..frames.blocks import Block

TOKENS = "controller_mutation_rate"
"""The key whose buckets hold tokens."""

_READ = ("broker", "user", "client_id", "key", "start", "end", "value")
MEASURED_COLUMNS = ("broker", "user", "client_id", "key", "window_start", "window_end", "value")
"""The columns of USAGE that are read."""


class BacktestAnswer(Answer):
    """BACKTEST: a row for each broker, key and bucket with a limit, the longest throttled first.

    Of `unknown` clients the use is not known, in full or in part, and was not replayed.
    `held_back` clients were throttled in the usage: what they wanted is more than it shows. `coverage` says which
    brokers it has, and from when to when.
    """

    def __init__(
        self,
        table: pa.Table,
        unknown: int = 0,
        held_back: int = 0,
        coverage: Coverage = Coverage(),  # it is frozen
    ) -> None:
        super().__init__(table)
        self.unknown, self.held_back, self.coverage = unknown, held_back, coverage

    def _title(self) -> str:
        """The number that would have been throttled, and the one that was longest."""
        rows = self._table.slice(0, 1).to_pylist()
        throttled = self._table.filter(pc.greater(self._table["throttled_s"], 0))
        brokers = len(throttled["broker"].unique())
        least = " at least" if self.unknown or self.held_back else ""
        count = f"{len(throttled):,} of {len(self):,} buckets would have been throttled{least}{self.coverage.not_known}"
        if not len(throttled):
            return count
        where = f"on {brokers} broker{'s' * (brokers != 1)}"
        return f"{count}, {where}; the longest: {_throttled(rows[0])}"

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """What it was read from, and what is not known."""
        yield from remarks(self.coverage)
        if self.unknown:
            whose = f"{self.unknown:,} client{'s' * (self.unknown != 1)}"
            yield f"The use of {whose} is not known in full: only the part that is known was replayed."
        if self.held_back:
            who = f"{self.held_back:,} client{'s were' if self.held_back != 1 else ' was'} throttled in this usage"
            yield f"{who}: how much more was wanted, and would have been throttled, is not known."


def backtest(quotas: Any, usage: Any, *, keys: str | Iterable[str] | None = None) -> BacktestAnswer | DataFrame:
    """Clients that these limits would have throttled, for how long, and on which broker.

    The usage is what clients wanted, so it is best taken where no limit was in force. It is replayed second by second
    through the brokers' own sampling: the clients of a bucket are added up on each broker, and what a throttled client
    wanted comes later, until all is through. Windows longer than a second are spread evenly, which hides bursts.
    Requests are taken as small beside the limit: a large one is let through whole, and throttled the longer for it.

    Parameters
    ----------
    quotas
        QUOTAS, as anything with `__arrow_c_stream__`, or a plan that is bound to its cluster.
    usage
        USAGE; values that are 0, negative or not finite count as no use; unknown ones (null) are not replayed.
    keys
        The keys to replay; default: the four of users and clients.

    Returns
    -------
    BacktestAnswer or pyspark.sql.DataFrame
        A row for each broker, key and bucket with a limit, the longest throttled first. For usage in Spark a lazy
        DataFrame, unordered; `kn.usage.coverage` says which brokers that usage has, and from when to when.

    Raises
    ------
    UsageError, Invalid
        Not USAGE: a column is missing; a window ends before it begins.
    """
    rows = taken(usage, (CLUSTER, *MEASURED_COLUMNS, "throttle_ms"), USAGE_LABEL)
    if hasattr(type(quotas), "quotas_after"):  # a plan
        rows, quotas = of_cluster(rows, quotas.cluster_id), quotas.quotas_after()
    judged: pa.Table | DataFrame = replayed(quotas, rows, keys)
    if not isinstance(judged, pa.Table):
        return judged
    return backtest_answer(judged, rows)


def backtest_answer(judged: pa.Table, usage: pa.Table, brokers: Iterable[int] | None = None) -> BacktestAnswer:
    """BACKTEST of a usage here, with what that usage lacks, of a cluster with these brokers."""
    covered = Coverage() if cluster_of(usage) else coverage(usage, brokers)
    unknown, held_back = _clients_where(usage, pc.field("value").is_null()), 0
    if "throttle_ms" in usage.column_names:
        held_back = _clients_where(usage, pc.field("throttle_ms") > 0)
    return BacktestAnswer(judged, unknown, held_back, covered)


def replayed(quotas: Any, usage: Any, keys: str | Iterable[str] | None = None) -> Frame:
    """BACKTEST, where the usage is; the rules of `backtest`.

    On Spark the clients of a bucket are added up second by second before anything is shuffled; what is left of a bucket
    is brought together, and replayed on the workers.
    """
    chosen, stored = asked_keys(keys), read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL)
    rows, cluster = _demand_rows(usage)
    check_clusters(cluster, USAGE_LABEL, bool(cluster_of(stored)))
    rows = select(among(rows, "key", chosen), [*cluster, *_READ])
    limited = having(with_limits(rows, stored, chosen), "limit")
    names = [*cluster, *demand.BUCKET]
    wanted = select(limited, [*cluster, *demand.READ])
    if is_spark(wanted):
        wanted = _added_up_by_second(wanted, names)
    order = [(name, "descending") for name in ("throttled_s", "delay_s")]
    order += [(name, "ascending") for name in names]
    schema = led(schemas.BACKTEST.schema, names)
    judged = framed(of_whole_groups(wanted, names, demand.judged, (names, TOKENS), schema), schema, order)
    return schemas.marked(judged, stamp(stored)) if isinstance(judged, pa.Table) else judged


def _added_up_by_second(rows: Frame, names: Sequence[str]) -> Frame:
    """The rows, of each bucket and second one without a client, and one without a window for each client.

    Other windows may overlap: they stay as they are.
    """
    words, same = words_of(rows), [*names, "level", "limit"]
    column, client = words.column, ("user", "client_id")
    by_second = demand.is_second(column("start"), column("end"), words.remainder)
    times = {name: column(name) for name in ("start", "end")}
    others = {"other": words.when(~by_second, column("value"))}
    alone = {name: words.when(~by_second, column(name)) for name in client}
    nothing = {name: words.literal(None, pa.int64()) for name in times}
    unknown = {name: words.literal(None, pa.float64()) for name in ("value", "other")}
    window = {**times, **alone, "value": column("value"), **others}
    of_client = {**nothing, **{name: column(name) for name in client}, **unknown}
    both = stacked(rows, same, [(None, window), (by_second, of_client)])
    sums = added_up(both, [*same, *times, *client, "other"], {"value": ("sum", "value")})
    return with_columns(sums, {"value": words.either(column("other"), column("value"))})


def _demand_rows(usage: Any) -> tuple[Frame, list[str]]:
    """What was wanted, with times in microseconds, and the cluster's column; a null name is the empty one."""
    rows, cluster = usage_columns(usage, MEASURED_COLUMNS)
    words, names = words_of(rows), [*cluster, *MEASURED_COLUMNS]
    value = words.column("value")
    rows = where(rows, is_measured(value) & (value > 0))
    rows = without_null(rows, ("broker", "window_start", "window_end"), USAGE_LABEL, names)
    ends = {name: words.micros(words.column(f"window_{name}")) for name in ("start", "end")}
    texts = {
        name: words.either(words.column(name), words.literal("", pa.string())) for name in (*cluster, "user", "key")
    }
    rows = with_columns(rows, {**ends, **texts})
    goes_on = words.column("end") > words.column("start")
    return guarded(rows, {"end": goes_on}, "window_end is not after window_start", USAGE_LABEL, names), cluster


def _clients_where(usage: pa.Table, condition: Any) -> int:
    """The number of clients with a row of which a condition holds."""
    return len(each_once(usage.filter(condition), ["user", "client_id"]))


def buckets(rows: pa.Table, side: str) -> Iterator[tuple[Any, ...]]:
    """The key, user and client-id of each row's bucket, on that side of a change."""
    names = ("key", f"bucket_user{side}", f"bucket_client_id{side}")
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _throttled(row: dict[str, Any]) -> str:
    names = [("user", row["bucket_user"]), ("client-id", row["bucket_client_id"])]
    whose = " ".join(f"{kind} {quote(name)}" for kind, name in names if name) or "nobody named"
    limit = readable(row["key"], row["limit"])
    return printable(f"{whose} on broker {row['broker']}, {seconds(row['throttled_s'])} at {row['key']} {limit}")
