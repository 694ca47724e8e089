"""The clients that would have been throttled, had these limits been in force all along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import printable
from ..fleets.workers import of_whole_groups
from ..frames import meanings, schemas
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
    read_columns,
    select,
    stacked,
    taken,
    where,
    with_columns,
    words_of,
)
from ..frames.spark import is_spark
from ..model.figures import seconds
from ..model.findings import Coverage
from ..model.quota_keys import readable
from ..resolution import demand
from ..resolution.input_columns import QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters, led, stamp
from ..resolution.kernel import asked_keys
from .covered import coverage, remarks
from .limits_used import KINDS, USAGE_LABEL, measured_rows, with_limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..frames.blocks import Block


from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from ..frames.lazy_answer import SparkAnswer
from ..frames.views import counted_nouns
from ..model.findings import NOT_KNOWN, Finding
from ..resolution import effects as comparing
from ..resolution.kernel import PAIRS
from .covered import NAMED, is_of_brokers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..frames.blocks import Block


TOKENS = "controller_mutation_rate"
"""The key whose buckets hold tokens."""

_READ = ("broker", "user", "client_id", "key", "start", "end", "value")


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
        QUOTAS, as anything with `__arrow_c_stream__`; of a plan: `plan.quotas_after()`.
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
    rows = taken(usage, [*KINDS], USAGE_LABEL)
    judged: pa.Table | DataFrame = replayed(quotas, rows, keys)
    if not isinstance(judged, pa.Table):
        return judged
    return backtest_answer(judged, rows)


def backtest_answer(judged: pa.Table, usage: pa.Table, brokers: Iterable[int] | None = None) -> BacktestAnswer:
    """BACKTEST of a usage here, with what that usage lacks, of a cluster with these brokers."""
    covered = Coverage() if cluster_of(usage) else coverage(usage, brokers)
    unknown = _clients_where(usage, pc.field("value").is_null())
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
    """What was wanted, with times in microseconds, and the cluster's column."""
    rows, cluster = measured_rows(usage)
    words = words_of(rows)
    rows = where(rows, words.column("value") > 0)
    goes_on = words.column("end") > words.column("start")
    rows = guarded(rows, {"end": goes_on}, "window_end is not after window_start", USAGE_LABEL, [*cluster, *_READ])
    return with_columns(rows, {name: words.micros(words.column(name)) for name in ("start", "end")}), cluster


def _clients_where(usage: pa.Table, condition: Any) -> int:
    """The number of clients with a row of which a condition holds."""
    return len(each_once(usage.filter(condition), ["user", "client_id"]))


def buckets(rows: pa.Table, side: str) -> Iterator[tuple[Any, ...]]:
    """The key, user and client-id of each row's bucket, on that side of a change."""
    names = ("key", f"bucket_user{side}", f"bucket_client_id{side}")
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _throttled(row: dict[str, Any]) -> str:
    whose = meanings.client(row["bucket_user"] or None, row["bucket_client_id"] or None) or "nobody named"
    limit = readable(row["key"], row["limit"])
    return printable(f"{whose} on broker {row['broker']}, {seconds(row['throttled_s'])} at {row['key']} {limit}")


# --- the clients that a change of quotas touches; counts come first ---


class ImpactAnswer(Answer):
    """IMPACT: a row for each client and key that the change affects, the worst first. Its display begins with counts.

    `counts` is IMPACT_COUNTS. `backtest` and `stalls` are there where the clients of a plan came
    as a USAGE, with the `dangers` that this tells of. `coverage` says which brokers that usage has; `unseen` are the
    entities of the plan that none of the clients has; `of_rows` counts the clients of its rows, by their numbers.
    """

    _is_frame = False

    def __init__(
        self,
        table: pa.Table,
        counts: pa.Table | None = None,
        backtest: Answer | None = None,
        stalls: Answer | None = None,
        coverage: Coverage = Coverage(),  # it is frozen
        unseen: Sequence[str] = (),
        dangers: Sequence[Finding] = (),
        of_rows: Mapping[int, int] | None = None,
    ) -> None:
        super().__init__(table)
        self.counts = Answer(schemas.IMPACT_COUNTS.empty() if counts is None else counts)
        self.backtest, self.stalls, self.coverage = backtest, stalls, coverage
        self.unseen, self.dangers, self.of_rows = tuple(unseen), tuple(dangers), dict(of_rows or {})

    def _title(self) -> str:
        """Counts of the clients of each effect, key by key."""
        counted = self.counts.to_arrow().to_pylist()
        lines = [line for key, rows in groupby(counted, lambda row: row["key"]) if (line := _counted(key, list(rows)))]
        none = f"no known client is affected{self.coverage.not_known}"
        return "\n".join(lines or [none if counted else f"{NOT_KNOWN} which clients are affected: none is known"])

    @property
    def summary(self) -> str:
        """Clients with a lower and with a higher limit, in a sentence; of a usage also how many used more than that."""
        rows = self._table.to_pylist()
        lower, higher = ({(row["user"], row["client_id"]) for row in rows if row["effect"] in effects}
                         for effects in (comparing.EFFECTS[:2], comparing.EFFECTS[2:4]))  # fmt: skip
        if not lower and not higher:
            return self._title().partition("\n")[0]
        names = "key", "bucket_user", "bucket_client_id"
        over = {tuple(row[name] for name in names) for row in self.backtest or () if row["throttled_windows"]}
        names_after = "key", "bucket_user_after", "bucket_client_id_after"
        used_more = {(row["user"], row["client_id"]) for row in rows if tuple(row[n] for n in names_after) in over}
        clients = counted_nouns(len(lower), "client gets", "clients get")
        more = f"; {len(used_more):,} used more in the usage that was read" if self.backtest is not None else ""
        return f"{clients} a lower limit, {len(higher):,} a higher one{more}"

    def _remarks(self) -> Iterator[str]:
        """What the impact was read from, and what is not known."""
        yield from remarks(self.coverage)
        if self.unseen:
            more = f" and {len(self.unseen) - NAMED:,} more" if len(self.unseen) > NAMED else ""
            whose = printable(f"{', '.join(self.unseen[:NAMED])}{more}")
            yield f"No known client is one of {whose}: which clients these changes affect is {NOT_KNOWN}."

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if len(self):
            yield self._table

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        said = [*self._remarks()]
        yield from said
        parts = {"backtest, these limits on this usage": self.backtest, "stalls when applied": self.stalls}
        for title, answer in parts.items():
            if answer is not None:
                yield from ("", title, *(block for block in answer._blocks(page) if block not in said))


def impact(before: Any, after: Any, pairs: Any, *, keys: str | Iterable[str] | None = None) -> ImpactAnswer | DataFrame:
    """Clients that a change of QUOTAS affects: limit, level and bucket of each known client, before and after.

    Parameters
    ----------
    before
        QUOTAS, as anything with `__arrow_c_stream__`.
    after
        QUOTAS; of a plan: `plan.quotas_after(before)`.
    pairs
        The known clients: PAIRS, USAGE, or any frame with `user` and `client_id`; each counts once. For usage that
        brokers measured by bucket, pass `known_clients(usage)`.
    keys
        The keys to compare; default: the four of users and clients.

    Returns
    -------
    ImpactAnswer or pyspark.sql.DataFrame
        IMPACT, the worst first; unaffected clients are only counted. For pairs in Spark a lazy DataFrame, unordered;
        `groupBy("key", "effect").count()` sums it up, and `kn.usage.coverage` says what a usage covers.

    Raises
    ------
    UsageError, Invalid
        As `kn.resolve`.

    Examples
    --------
    >>> impact(before, after, pairs).counts.to_pandas()  # doctest: +SKIP
    """
    pairs = pairs.to_spark() if isinstance(pairs, SparkAnswer) else pairs
    if is_spark(pairs):
        return _on_spark(before, after, pairs, keys)
    compared = comparing.compare(before, after, pairs, keys=keys)
    covered = coverage(pairs) if is_of_brokers(pairs) else Coverage()
    return ImpactAnswer(compared.rows, compared.counts, coverage=covered)


def _counted(key: str, rows: Sequence[dict[str, Any]]) -> str:
    """The counts of one key in a line; nothing where it touches no client."""
    if all(row["effect"] == comparing.UNCHANGED for row in rows):
        return ""
    return f"{key}: " + ", ".join(f"{row['effect']} {row['clients']:,}" for row in rows)


def _on_spark(before: Any, after: Any, pairs: DataFrame, keys: str | Iterable[str] | None) -> DataFrame:
    """The same of clients in Spark: both resolved, side by side."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from ..fleets.fleet_resolving import names_of, resolve

    both = [read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL) for quotas in (before, after)]
    check_clusters(cluster_of(both[1]), "the quotas after", bool(cluster_of(both[0])), "the quotas before")
    known = names_of(pairs, PAIRS, bool(cluster_of(both[0]))).distinct()
    of_client, sides = [*cluster_of(both[0]), "user", "client_id", "key"], []
    for side, quotas in zip(("before", "after"), both, strict=True):
        bound = resolve(quotas, known, keys=keys)
        sharing = Window.partitionBy(*of_client[:-3], "key", "bucket_user", "bucket_client_id")
        bound = bound.withColumn("clients", F.when(F.isnotnull("level"), F.count("*").over(sharing)))
        others = [name for name in bound.columns if name not in of_client]
        sides.append(bound.withColumnsRenamed({name: f"{name}_{side}" for name in others}))
    rows = sides[0].join(sides[1], of_client)
    was, will, had_none, has_none = map(F.expr, _SIDES)
    cases = comparing.effect_cases(had_none, has_none, will < was, will > was)
    effect = F.coalesce(*(F.when(case, F.lit(word)) for case, word in zip(cases, comparing.EFFECTS, strict=False)))
    rows = rows.withColumn("effect", F.coalesce(effect, F.lit(comparing.SAME_VALUE)))
    is_other = [~F.col(f"{name}_before").eqNullSafe(F.col(f"{name}_after")) for name in ("level", "clients")]
    touched = rows.where((F.col("effect") != comparing.SAME_VALUE) | is_other[0] | is_other[1])
    return touched.select(*of_client[:-3], *schemas.IMPACT.names)


_SIDES = ("value_before", "value_after", "level_before IS NULL", "level_after IS NULL")
