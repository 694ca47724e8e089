"""What the cells of runbooks call: frames that a parameter names, one client, configs as they are, charts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.compute import field

from .. import charts
from ..errors import NotFound, NotKnowable, Unsupported, UsageError
from ..files import expanded
from ..frames import frame_files, relational, schemas
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.frame import MOMENT
from ..frames.given_frames import refuse_other_than_text
from ..hints import did_you_mean
from ..model.findings import Coverage
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import USER_CLIENT_KEYS
from ..resolution.kernel import resolve
from ..resolution.rules import entity_at
from ..usage import covered
from .checks import Check

if TYPE_CHECKING:
    from ..cluster import Cluster


_TABLE = re.compile(r"\w+(\.\w+){1,2}")
_CLIENT = ["user", "client_id"]
_CLIENTS = "the clients"
_SCHEMA = pa.schema([(name, pa.string()) for name in _CLIENT])


def use_profiles(file: str) -> None:
    """Make `kn.connect` use the profiles of this file, as `$KADMIN_CONFIG` does; an empty name changes nothing.

    For what has no environment of its own, as serverless compute of Databricks.
    """
    if file:
        os.environ["KADMIN_CONFIG"] = str(expanded(file).absolute())


def frame(where: str, cluster_id: str = "") -> Any:
    """The Arrow table in a .parquet or .csv file, or, if a session is active, the Spark table of that name.

    Of a frame of several clusters the rows of the one with this id, if one is given.

    Raises
    ------
    NotFound, UsageError, Invalid
        No such file, and no session with such a table; another kind of file; a file that does not match its name.
    """
    place = expanded(where)
    session = sparks.active_session()
    if place.is_file():
        table: Any = frame_files.typed(frame_files.read_table(place), schemas.USAGE.schema)
    elif session is None or not _TABLE.fullmatch(where) or place.suffix in frame_files.FILES:
        raise NotFound(f"no such file: {where}", hint="A .parquet or .csv file; with a Spark session also a table.")
    else:
        with sparks.errors_in_one_line():
            table = session.table(where)
            table.schema  # noqa: B018  # over Connect a table that is not there is found out here
    return relational.of_cluster(table, cluster_id) if cluster_id else table


def pandas(frame: Any) -> Any:
    """The rows of a frame as pandas, words as plain strings; Spark works for a frame of its own."""
    rows = relational.in_arrow(relational.taken(frame, (), "the frame"))
    return _as_text(rows).to_pandas()


def since(usage: Any, day: date) -> Any:
    """The windows of USAGE that begin on this day in UTC or later, in Arrow or Spark as the usage is."""
    rows = relational.taken(usage, (), "the usage")
    words = relational.words_of(rows)
    begin = words.literal(datetime.combine(day, time(), UTC), MOMENT)
    return relational.where(rows, words.column("window_start") >= begin)


def limited(rows: Any) -> Any:
    """The rows with a limit as pandas, with the `entity` of the quota that it is from, as in QUOTAS.

    Of UTILISATION, BACKTEST, EFFECTIVE and other frames with a `level` and the names of a bucket.
    """
    found = pandas(rows).dropna(subset=["level", *_BUCKET[1:]])
    names = zip(found["level"], found["bucket_user"], found["bucket_client_id"], strict=True)
    entities = [str(entity_at(LEVELS_BY_NAME[level], user, client)) for level, user, client in names]
    return found.assign(entity=entities).astype({"entity": str})


def clients(given: Any) -> Any:
    """PAIRS: each client of a frame once, such as PAIRS or USAGE. A Spark DataFrame stays lazy.

    None, where nothing is given, stays None.

    Raises
    ------
    UsageError
        It lacks the columns.
    """
    if given is None:
        return None
    names = relational.taken(given, _CLIENT, _CLIENTS)
    schemas.require_columns(_CLIENTS, _CLIENT, relational.names_of(names))
    names = relational.select(names, _CLIENT)
    if sparks.is_spark(names):
        return names.distinct()
    refuse_other_than_text(names, _CLIENT, _CLIENTS)
    names = names.cast(_SCHEMA)
    return names.group_by(_CLIENT, use_threads=False).aggregate([]).sort_by([(name, "ascending") for name in _CLIENT])


def effective(quotas: Any, known: Any, keys: Sequence[str] | None = None) -> Any:
    """EFFECTIVE of these clients, where they are: of those in Spark lazy, and in no order."""
    if not sparks.is_spark(known):
        return _as_text(resolve(quotas, known, keys=keys))
    from ..fleets import resolve as resolve_on_spark

    return resolve_on_spark(quotas, known, keys=keys)


def leaders(cluster: Cluster, topics: Collection[str]) -> pa.Table:
    """LEADERS: the partitions of these topics, and the broker that leads each of them.

    Raises
    ------
    NotFound
        A topic that does not exist, or that we may not describe.
    """
    found = cluster.port.partitions(topics)
    if missing := sorted({*topics} - {partition.topic for partition in found}):
        raise NotFound(
            f"no topic {missing[0]} that we may describe", hint=did_you_mean(missing[0], cluster.port.topics())
        )
    at = {"topic": "topic", "partition": "number", "leader": "leader", "replicas": "replicas", "in_sync": "in_sync"}
    rows = [{name: getattr(partition, part) for name, part in at.items()} for partition in found]
    return schemas.table(schemas.LEADERS, rows)


MOST = 1000
"""Rows that a report holds."""

LIMITS = USER_CLIENT_KEYS
"""The quotas that a user or client can have."""

NOBODY = "ANONYMOUS"
"""The name that brokers give to a user that did not log in."""

_BUCKET = ["key", "bucket_user", "bucket_client_id"]


@dataclass(frozen=True)
class Client:
    """A user, a client-id, or both; an empty text means any.

    Raises
    ------
    UsageError
        Both are empty.
    """

    user: str = ""
    client_id: str = ""

    def __post_init__(self) -> None:
        if not self.user and not self.client_id:
            raise UsageError("neither user nor client_id is given", hint="Pass one of them, or both.")

    @property
    def whom(self) -> dict[str, str]:
        """The names, as `Stage.set_quota` takes them."""
        return {name: text for name, text in (("user", self.user), ("client_id", self.client_id)) if text}

    def bound_by(self, quotas: Any) -> Answer:
        """EFFECTIVE: its limits, and the quotas that lost, by Kafka's own rules; without a user, of ANONYMOUS."""
        return Answer(resolve(quotas, self._pair(), overridden=True))

    def named_in(self, quotas: Any) -> Answer:
        """QUOTAS that name it, by its user or by its client-id."""
        return Answer(pa.table(quotas).filter(reduce(or_, [_is({name: text}) for name, text in self.whom.items()])))

    def removals(self, quotas: Any) -> pa.Table:
        """The quotas to remove, for `Stage.add`; a client-id alone has no quotas of named users."""
        is_own = _is(self.whom) if self.user else _is(self.whom) & field("user").is_null()
        table = pa.table(quotas).filter(is_own)
        return table.set_column(table.column_names.index("value"), "value", pa.nulls(len(table), pa.float64()))

    def _pair(self) -> pa.Table:
        return schemas.table(schemas.PAIRS, [{"user": self.user or NOBODY, "client_id": self.client_id}])


def _is(names: dict[str, str], column: Callable[[str], Any] = field) -> Any:
    return reduce(and_, (column(name) == text for name, text in names.items()))


def _as_text(table: pa.Table) -> pa.Table:
    """Words as plain strings: filters do not compare dictionaries."""
    kinds = (pa.string() if pa.types.is_dictionary(column.type) else column.type for column in table.schema)
    return table.cast(pa.schema([*zip(table.column_names, kinds, strict=True)]))


def chart(name: str, *frames: Any) -> Any:
    """The chart of that name in `kn.charts`; None, and a printed line, if its packages are not installed.

    A check that did not look, or None, has no chart either: a report does not fail for a picture.

    Examples
    --------
    >>> kn.runbooks.chart("hierarchy", cluster.quotas.describe())  # doctest: +SKIP
    """
    if frames[0] is None or isinstance(frames[0], Check):
        return None
    return _drawn("chart", lambda: getattr(charts, name)(*frames))


def bars(rows: Any, length: str, name: str, colour: str) -> Any:
    """A chart with a bar for each row; None, and a printed line, if its packages are not installed."""

    def picture() -> Any:
        from ..charts.drawing import bars as drawn

        return drawn(rows, length, name, colour)

    return _drawn("picture", picture)


def _drawn(what: str, draw: Callable[[], Any]) -> Any:
    try:
        return draw()
    except Unsupported as missing:
        print(f"no {what}: {'. '.join(missing.lines())}")
        return None


# --- what an audit looks at: frames, empty where all is well ---

RATES = ("producer_byte_rate", "consumer_byte_rate")
"""The quotas without which one client can take a whole broker."""


def callbacks(cluster: Cluster) -> list[str]:
    """The custom callbacks on brokers, with which Kafka's own rules do not hold."""
    try:
        cluster.quotas.resolve("ANONYMOUS")
    except NotKnowable as exc:
        return [str(exc)]
    return []


def unlimited(quotas: Any, clients: Any) -> Answer:
    """The clients without a limit of a rate: `user`, `client_id`, `key`; for clients in Spark, the first rows."""
    rows = effective(quotas, clients, RATES)
    words = relational.words_of(rows)
    free = relational.select(relational.where(rows, words.is_null(words.column("value"))), _RATE_OF_A_CLIENT)
    if sparks.is_spark(free):
        free = relational.in_arrow(free.orderBy(*_RATE_OF_A_CLIENT), MOST)
    return Answer(free)


_RATE_OF_A_CLIENT = ["user", "client_id", "key"]


def coverage(cluster: Cluster, usage: Any) -> Coverage | None:
    """The coverage of a USAGE of this cluster; None without one."""
    if usage is None:
        return None
    brokers = (broker.id for broker in cluster.port.brokers())
    return covered.coverage(relational.of_cluster(usage, cluster.id), brokers)


def throttled(quotas: Any, usage: Any) -> Answer:
    """BACKTEST of the buckets that these limits would have throttled, the longest first."""
    from ..usage import backtest

    replayed: Any = backtest(quotas, usage)
    if not sparks.is_spark(usage):
        return Answer(replayed.to_arrow().filter(field("throttled_s") > 0))
    worst = replayed.where("throttled_s > 0").orderBy("throttled_s", ascending=False).limit(MOST)
    with sparks.errors_in_one_line():
        return Answer(worst.toArrow())
