"""What the cells of runbooks call: frames that a parameter names, the clients and limits in them, charts."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .. import charts
from ..charts.drawing import bars
from ..errors import NotFound, NotKnowable, Unsupported
from ..files import expanded
from ..frames import frame_files, relational, schemas
from ..frames import spark as sparks
from ..frames.frame import MOMENT
from ..frames.given_frames import refuse_other_than_text
from ..hints import did_you_mean
from ..model.findings import Coverage
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import USER_CLIENT_KEYS
from ..resolution.kernel import resolve
from ..resolution.rules import entity_at
from ..usage import covered

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
    return schemas.table(schemas.LEADERS, [{**asdict(one), "partition": one.number} for one in found])


LIMITS = USER_CLIENT_KEYS
"""The quotas that a user or client can have."""

_BUCKET = ["key", "bucket_user", "bucket_client_id"]


def _as_text(table: pa.Table) -> pa.Table:
    """Words as plain strings: filters do not compare dictionaries."""
    kinds = (pa.string() if pa.types.is_dictionary(column.type) else column.type for column in table.schema)
    return table.cast(pa.schema([*zip(table.column_names, kinds, strict=True)]))


def chart(name: str, *arguments: Any) -> Any:
    """The chart of that name in `kn.charts`, or `bars`; None, and a printed line, if its packages are not installed.

    Examples
    --------
    >>> kn.runbooks.chart("hierarchy", cluster.quotas.describe())  # doctest: +SKIP
    >>> kn.runbooks.chart("bars", rows, "length", "name", "colour")  # doctest: +SKIP
    """
    draw = bars if name == "bars" else getattr(charts, name)
    try:
        return draw(*arguments)
    except Unsupported as missing:
        print(f"no chart: {'. '.join(missing.lines())}")
        return None


def callbacks(cluster: Cluster) -> list[str]:
    """The custom callbacks on brokers, with which Kafka's own rules do not hold."""
    try:
        cluster.quotas.resolve("ANONYMOUS")
    except NotKnowable as exc:
        return [str(exc)]
    return []


def coverage(cluster: Cluster, usage: Any) -> Coverage | None:
    """The coverage of a USAGE of this cluster; None without one."""
    if usage is None:
        return None
    brokers = (broker.id for broker in cluster.port.brokers())
    return covered.coverage(relational.of_cluster(usage, cluster.id), brokers)
