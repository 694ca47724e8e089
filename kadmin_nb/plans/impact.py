"""The impact of a change on clients: whom it touches, whom it would have throttled. Counts come first."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence, Sized
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.pages import NOTEBOOK, Page
from ..frames.schema_metadata import stamped
from ..model.grammar import quote
from ..model.quota_keys import readable
from ..resolution import backtesting, input_columns
from ..resolution import impact as comparing
from ..resolution.kernel import PAIRS
from .lowering import stalls, stopped_clients

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..hints import Syntax
    from .plan import Plan

QUOTAS_SHOWN = 10
"""Quotas that a summary names."""

_MEASURED = {"broker", "key", *backtesting.MEASURED}


class BacktestAnswer(Answer):
    """BACKTEST: a row a broker, key and bucket that has a limit, the longest throttled first.

    `touched` are the key, user and client-id of the buckets that a plan touches, where it is one's: the others would
    be throttled today, too. Of `unknown` clients the use is not known, in full or in part, and was not replayed.
    """

    def __init__(self, table: pa.Table, touched: Container[tuple[Any, ...]] | None = None, unknown: int = 0) -> None:
        super().__init__(table)
        self.touched, self.unknown = touched, unknown

    def title(self) -> str:
        """The number that would have been throttled, and the one that was longest."""
        rows = self._table.slice(0, 1).to_pylist()
        throttled = self._table.filter(pc.greater(self._table["throttled_s"], 0))
        brokers = len(throttled["broker"].unique())
        count = f"{len(throttled):,} of {len(self):,} buckets would have been throttled"
        if not len(throttled):
            return count
        where = f"on {brokers} broker{'s' * (brokers != 1)}"
        return f"{count}, {where}{self._without_the_plan(throttled)}; the longest: {_throttled(rows[0])}"

    def footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """That the use of some clients is unknown."""
        if self.unknown:
            whose = f"{self.unknown:,} client{'s' * (self.unknown != 1)}"
            yield f"The use of {whose} is not known in full: only the part that is known was replayed."

    def _without_the_plan(self, throttled: pa.Table) -> str:
        """That the plan does not touch some of them; nothing where it touches all."""
        if self.touched is None:
            return ""
        touched = sum(bucket in self.touched for bucket in _buckets(throttled, ""))
        if not touched:
            return "; the plan touches none of them: the limits of today throttle them, too"
        if touched == len(throttled):
            return ""
        return f"; the plan touches {touched:,} of them, and the limits of today throttle the others, too"


class ImpactAnswer(Answer):
    """IMPACT: a row a client and key that the change touches, the worst first. Its display leads with counts.

    `counts` is IMPACT_COUNTS, `shadowed` SHADOWED. Of a plan, `plan` is there; where its clients came as a USAGE,
    `backtest` and `stalls` too.
    """

    is_frame = False

    def __init__(
        self,
        table: pa.Table,
        counts: pa.Table | None = None,
        shadowed: pa.Table | None = None,
        plan: Plan | None = None,
        backtest: BacktestAnswer | None = None,
        stalls: Answer | None = None,
    ) -> None:
        super().__init__(table)
        self.counts = Answer(schemas.IMPACT_COUNTS.empty() if counts is None else counts)
        self.shadowed = Answer(schemas.SHADOWED.empty() if shadowed is None else shadowed)
        self.plan, self.backtest, self.stalls = plan, backtest, stalls

    @property
    def ok(self) -> bool:
        """True if the brokers would take the plan."""
        return self.plan is None or not self.plan.refused

    @property
    def differing(self) -> Sized:
        """The clients that the plan would touch; without a plan, whom the change touches."""
        return self if self.plan is None else self.plan.differing

    def raise_for_errors(self) -> ImpactAnswer:
        """Itself when the brokers would take the plan.

        Raises
        ------
        Invalid
            They would refuse some of it.
        """
        if self.plan is not None:
            self.plan.raise_for_errors()
        return self

    def title(self) -> str:
        """Counts of the clients of each effect, key by key."""
        counted = self.counts.to_arrow().to_pylist()
        lines = [line for key, rows in groupby(counted, lambda row: row["key"]) if (line := _counted(key, list(rows)))]
        return "\n".join(lines or ["no known client is touched"])

    def _shadowed_lines(self) -> list[str]:
        """The shadowed quotas, a line each."""
        lines = (
            f"shadowed: {r['entity']} {r['key']} {readable(r['key'], r['value'])} ({r['shadowed_by']} wins)"
            for r in self.shadowed.to_arrow().to_pylist()
        )
        return list(map(printable, lines))

    def at(self, syntax: Syntax) -> ImpactAnswer:
        plan = self.plan.at(syntax) if self.plan is not None else None
        counts, shadowed = self.counts.to_arrow(), self.shadowed.to_arrow()
        return ImpactAnswer(self._table, counts, shadowed, plan, self.backtest, self.stalls)

    def _sections(self) -> list[tuple[str, Answer]]:
        """The sections below the impact, with their headings."""
        parts = (("backtest, these limits on the usage as it was", self.backtest), ("stalls when applied", self.stalls))
        return [(title, answer) for title, answer in parts if answer is not None]

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        from ..frames.blocks import Listing

        if len(self.shadowed):
            yield Listing(self._shadowed_lines(), QUOTAS_SHOWN, "that are shadowed", ".shadowed")
        if len(self):
            yield self._table

    def footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        for title, answer in self._sections():
            yield from ("", title, *answer.blocks(page))

    def complaint(self) -> str:
        """Nothing: the plan above it says what would be refused."""
        return ""

    def blocks(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """Below the plan, where it is one's."""
        if self.plan is not None:
            yield from (*self.plan.blocks(page), "")
        yield from super().blocks(page)


def impact(before: Any, after: Any, pairs: Any, *, keys: str | Iterable[str] | None = None) -> ImpactAnswer:
    """Clients that a change of QUOTAS touches: limit, level and bucket of each known client, before and after.

    Parameters
    ----------
    before
        QUOTAS, as anything with `__arrow_c_stream__`.
    after
        QUOTAS, or a plan, whose changes are made to `before`.
    pairs
        The known clients: PAIRS, USAGE, or any frame with `user` and `client_id`; each counts once.
    keys
        The keys to compare; the four of users and clients unless said.

    Returns
    -------
    ImpactAnswer
        IMPACT, the worst first; whom it does not touch is only counted.

    Raises
    ------
    UsageError, Invalid
        As `kn.resolve`.

    Examples
    --------
    >>> impact(cluster.quotas.describe(), plan, pairs).counts.to_pandas()  # doctest: +SKIP
    """
    if hasattr(type(after), "quotas_after"):
        after = after.quotas_after(before)
    compared = comparing.impact(before, after, pairs, keys=keys)
    return ImpactAnswer(compared.rows, compared.counts, compared.shadowed)


def backtest(quotas: Any, usage: Any, *, keys: str | Iterable[str] | None = None) -> BacktestAnswer:
    """Clients that would have been throttled, how long and on which broker, had these limits been in force all along.

    The usage is what clients wanted, so it is best taken where no limit was in force. It is replayed second by second
    through the brokers' own sampling: the clients of a bucket are added up on each broker, and what a throttled client
    wanted comes later, until all is through. Windows longer than a second are spread evenly, which hides bursts.
    Requests are taken as small beside the limit: a large one is let through whole, and throttled the longer for it.

    Parameters
    ----------
    quotas
        QUOTAS, as anything with `__arrow_c_stream__`, or a plan that is bound to its cluster.
    usage
        USAGE; a value that is not above 0, or not finite, is nothing; one that is unknown (null) is not replayed.
    keys
        The keys to replay; the four of users and clients unless said.

    Returns
    -------
    BacktestAnswer
        A row a broker, key and bucket that has a limit, the longest throttled first.

    Raises
    ------
    UsageError, Invalid
        No USAGE: which column is missing, and what there is; a window that ends before it begins.
    """
    if hasattr(type(quotas), "quotas_after"):
        usage = of_cluster(
            input_columns.read_columns(usage, backtesting.MEASURED_COLUMNS, backtesting.USAGE), quotas.cluster_id
        )
        quotas = quotas.quotas_after()
    read = input_columns.read_columns(usage, backtesting.MEASURED_COLUMNS, backtesting.USAGE)
    return BacktestAnswer(backtesting.backtest(quotas, read, keys=keys), unknown=_unknown_clients(read))


def of_plan(plan: Plan, quotas: Any, clients: Any) -> ImpactAnswer:
    """Clients touched by a plan, among PAIRS or a USAGE of its cluster; of a USAGE also the throttled and stalled."""
    before = input_columns.read_columns(quotas, schemas.QUOTAS.names, input_columns.QUOTAS_LABEL)
    before, after = (of_cluster(table, plan.cluster_id) for table in (before, plan.quotas_after(before)))
    measured = is_usage(clients)
    read = input_columns.read_columns(
        clients, ("user", "client_id", *(sorted(_MEASURED | {"source"}) if measured else ())), PAIRS
    )
    clients_read = of_cluster(read, plan.cluster_id)
    compared = comparing.impact(before, after, _clients(clients_read) if measured else clients_read)
    parts: tuple[Any, ...] = ()
    if measured:
        plan = plan._with_dangers(stopped_clients.dangers(plan.changes, before, clients_read))
        predicted = stamped(stalls.stalls(plan.changes, before, clients_read), plan.cluster_id)
        replayed = stamped(backtesting.backtest(after, clients_read), plan.cluster_id)
        touched = {*_buckets(compared.rows, "_before"), *_buckets(compared.rows, "_after")}
        parts = (BacktestAnswer(replayed, touched, _unknown_clients(clients_read)), stalls.StallsAnswer(predicted))
    return ImpactAnswer(stamped(compared.rows, plan.cluster_id), compared.counts, compared.shadowed, plan, *parts)


def _buckets(rows: pa.Table, side: str) -> Iterator[tuple[Any, ...]]:
    """The key, user and client-id of each row's bucket, on that side of a change."""
    names = ("key", f"bucket_user{side}", f"bucket_client_id{side}")
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _unknown_clients(usage: pa.Table) -> int:
    """The number of clients whose use of some key is unknown."""
    names = ["user", "client_id"]
    return len(usage.filter(usage["value"].is_null()).select(names).group_by(names).aggregate([]))


def _clients(usage: pa.Table) -> pa.Table:
    """The rows that name a client: of those that name a bucket only the ones with both names are of one alone."""
    user, client_id, source = (
        input_columns.text_column(usage, name, "the usage") for name in ("user", "client_id", "source")
    )
    alone = pc.and_(pc.not_equal(user, ""), pc.not_equal(client_id, ""))
    return usage.filter(pc.or_kleene(pc.not_equal(source, schemas.OF_BUCKETS), alone))


def of_cluster(table: pa.Table, cluster_id: str) -> pa.Table:
    """The rows of one cluster, without saying so; all of them where the table does not tell."""
    if input_columns.CLUSTER not in table.column_names:
        return table
    is_of_cluster = pc.equal(input_columns.text_column(table, input_columns.CLUSTER, "the frame"), cluster_id)
    return table.filter(is_of_cluster).drop_columns([input_columns.CLUSTER])


def is_usage(frame: Any) -> bool:
    """True if the frame has what USAGE has beyond names."""
    table = frame.to_arrow() if isinstance(frame, Answer) else frame
    names: Iterable[object] = table.column_names if isinstance(table, pa.Table) else getattr(table, "columns", ())
    return set(map(str, names)) >= _MEASURED


def _counted(key: str, rows: Sequence[dict[str, Any]]) -> str:
    """The counts of one key in a line; nothing where it touches nobody."""
    if all(row["effect"] == comparing.UNCHANGED for row in rows):
        return ""
    effects = _summed(rows, "effect", (*comparing.EFFECTS, comparing.UNCHANGED))
    sharing = _summed(rows, "sharing", comparing.SHARING[:-1])
    return f"{key}: {effects}" + (f"; its bucket {sharing}" if sharing else "")


def _summed(rows: Sequence[dict[str, Any]], name: str, words: Sequence[str]) -> str:
    sums = {word: sum(row["clients"] for row in rows if row[name] == word) for word in words}
    return ", ".join(f"{word} {count:,}" for word, count in sums.items() if count)


def _throttled(row: dict[str, Any]) -> str:
    names = [("user", row["bucket_user"]), ("client-id", row["bucket_client_id"])]
    whose = " ".join(f"{kind} {quote(name)}" for kind, name in names if name) or "nobody named"
    limit = readable(row["key"], row["limit"])
    return printable(f"{whose} on broker {row['broker']}, {row['throttled_s']:,.0f} s at {row['key']} {limit}")
