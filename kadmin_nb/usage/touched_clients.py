"""The impact of a change of quotas on clients: which ones it touches. Counts come first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.lazy_answer import SparkAnswer
from ..frames.relational import cluster_of, read_columns
from ..frames.spark import is_spark
from ..frames.views import counted_nouns
from ..model.findings import NOT_KNOWN, Coverage, Finding
from ..resolution import effects as comparing
from ..resolution.input_columns import QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters
from ..resolution.kernel import PAIRS
from .covered import NAMED, coverage, is_of_brokers, remarks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..frames.blocks import Block


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

    def _sections(self) -> list[tuple[str, Answer]]:
        """The sections below the impact, with their headings."""
        parts = (
            ("backtest, these limits on this usage", self.backtest),
            ("stalls when applied", self.stalls),
        )
        return [(title, answer) for title, answer in parts if answer is not None]

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if len(self):
            yield self._table

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        said = [*self._remarks()]
        yield from said
        for title, answer in self._sections():
            further = (block for block in answer._blocks(page) if not (isinstance(block, str) and block in said))
            yield from ("", title, *further)

    def _folded(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The impact, the backtest and the stalls, each behind its finding."""
        from ..frames.blocks import Folded

        first, *more = self._title().split("\n")
        yield Folded(f"impact: {first}", [*more, *self._content(page), *self._remarks()])
        for heading, answer in self._sections():
            yield Folded(
                f"{heading.partition(',')[0]}: {answer._short_form()}", [*answer._content(page), *answer._footer(page)]
            )


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
