"""The use of clients while they are observed; of one of them its buckets, and the known clients that share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from .. import usage
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, NotFound, NotKnowable
from ..frames import relational, schemas
from ..frames.answer import Answer
from ..frames.schema_metadata import noted, stamped
from ..model.findings import Row
from ..resolution import kernel
from ..resolution.rules import Effective
from ..usage.engines import Usage
from ..usage.near_and_top import TopAnswer
from ..usage.rules import SHARE_BYTES, SHARE_ESTIMATE
from .groups import group_types
from .observation import ObservationAnswer, are_known, beginning


def refuse_unknown_logs(kafka: LiveKafka) -> None:
    """Refuse brokers whose request log nobody can find, before their loggers are touched.

    Raises
    ------
    NotKnowable
    """
    if not are_known(kafka.id):
        raise NotKnowable(
            "brokers do not say where they write their request log",
            hint="Have them write it (observe), and name its files; or take the usage from metrics.",
        )


def top_of(
    observed: ObservationAnswer, keys: Sequence[str] | None, most: int, record_sizes: pa.Table | None = None
) -> TopAnswer:
    """TOP of the time that was observed, as far as the logs of all brokers have it."""
    rows = _logged_rows(observed)
    since, until = _logged_span(rows)
    used = usage.usage(_requests_since(since, rows, record_sizes))
    return usage.top(used, keys=keys, most=most, time=(since, until)).warned([*_missing(observed), *observed.warnings])


def requests_of(observed: ObservationAnswer, record_sizes: pa.Table | None = None) -> pa.Table:
    """REQUESTS of the time that was observed, as far as the logs of all brokers have it; its notes have the others."""
    rows = _logged_rows(observed)
    since, _ = _logged_span(rows)
    return noted(_requests_since(since, rows, record_sizes), [*_missing(observed), *observed.warnings])


def _missing(observed: ObservationAnswer) -> list[str]:
    """A line for each broker that is missing in what follows."""
    return [f"WARNING: {failure}" for failure in observed.failures]


def _requests_since(since: datetime, rows: Sequence[Row], record_sizes: pa.Table | None) -> pa.Table:
    return pa.concat_tables([schemas.REQUESTS.empty(), *(_requests_of(row, since, record_sizes) for row in rows)])


def _logged_rows(observed: ObservationAnswer) -> list[Row]:
    return [row for row in observed.to_arrow().to_pylist() if row["logs"] is not None]


def _logged_span(rows: Sequence[Row]) -> tuple[datetime, datetime]:
    """The time that the logs of all brokers have."""
    return max(map(_logged_since, rows)), max(row["until"] for row in rows)


def _logged_since(row: Mapping[str, Any]) -> datetime:
    """The moment from which on a broker's log has all requests: later than its level was set where files were lost."""
    since, until = cast("tuple[datetime, datetime]", (row["since"], row["until"]))
    if row["complete"]:
        return since
    return max(since, beginning(Path(row["logs"][0]))) if row["logs"] else until


def _requests_of(row: Mapping[str, Any], since: datetime, record_sizes: pa.Table | None) -> pa.Table:
    """REQUESTS of one broker."""
    if not row["logs"]:
        return schemas.REQUESTS.empty()
    try:
        how = {"broker": row["broker"], "tz": _zone_here(), "record_sizes": record_sizes}
        frame = usage.requests(row["logs"], **how).frame
    except NotFound:  # nobody asked for anything, so there is no line
        return schemas.REQUESTS.empty()
    is_observed = pc.and_(pc.greater_equal(frame["time"], since), pc.less_equal(frame["time"], row["until"]))
    return frame.filter(is_observed).cast(schemas.REQUESTS.schema)


def _zone_here() -> str:
    """A local Kafka's log4j writes the time of this machine."""
    offset = datetime.now().astimezone().strftime("%z")
    return f"{offset[:3]}:{offset[3:]}"


# --- the mean size of a record of each topic, by which the bytes of share consumers are estimated ---


def record_sizes(kafka: LiveKafka, names: Iterable[str]) -> pa.Table:
    """RECORD_SIZES of these topics; see `Cluster.record_sizes`."""
    stored = kafka.stored([*names])
    ids = kafka.topic_ids(stored)
    rows: list[Row] = [
        {
            "topic": topic,
            "topic_id": ids[topic],
            "records": records,
            "bytes": size,
            "mean_bytes": size / records if records > 0 else None,
        }
        for topic, (records, size) in sorted(stored.items())
        if topic in ids
    ]
    return stamped(schemas.table(schemas.RECORD_SIZES, rows), kafka.id)


def for_share_groups(kafka: LiveKafka) -> pa.Table | None:
    """RECORD_SIZES of all topics; None where there is no share group, or the sizes may not be read."""
    if "share" not in group_types(kafka).values():
        return None
    try:
        return record_sizes(kafka, kafka.topics())
    except KadminError:
        return None


# --- the use of one client's buckets ---

_BUCKET = ("key", "level", "bucket_user", "bucket_client_id")


@dataclass(frozen=True)
class BucketUsage:
    """The use of the buckets of a client, by quota key: UTILISATION's rows, and who shares them.

    `used` is the usage that they are out of.
    """

    utilisation: Mapping[str, list[Row]]
    sharing: dict[str, list[tuple[str, str]]]
    client: Effective
    used: relational.Frame

    @cached_property
    def loads(self) -> list[Row]:
        """What the client, and those of the same user or client-id, used of a key on a broker; `since` the first window
        in which they were throttled."""
        return _loads(self.used, self.client)

    def since(self, key: str) -> datetime | None:
        """The first window in which a client of the bucket was throttled."""
        rows = (row for row in self.loads if row["key"] == key)
        sharing = self.sharing.get(key)
        moments = (row["since"] for row in rows if sharing is None or (row["user"], row["client_id"]) in sharing)
        return min(filter(None, moments), default=None)

    def is_of_share(self, key: str) -> bool:
        """Was a share consumer of the bucket throttled?"""
        return any(row["key"] == key and row["share_throttles"] for row in self.loads)

    def columns(self, key: str) -> dict[str, Any]:
        """WHY's columns of one key."""
        rows = self.utilisation.get(key)
        clients = len(self.sharing[key]) if key in self.sharing else None
        if not rows:
            return {"clients": clients}
        highest = max(rows, key=lambda row: -1.0 if row["peak"] is None else row["peak"])
        throttles = [row["throttle_ms"] for row in rows if row["throttle_ms"] is not None]
        shares = [row["share_throttled"] for row in rows if row["share_throttled"] is not None]
        return {
            "clients": clients,
            "windows_unknown": sum(row["windows_unknown"] for row in rows),
            "peak": highest["peak"],
            "utilisation": highest["utilisation"],
            "throttle_ms": max(throttles, default=None),
            "share_throttled": max(shares, default=None),
        }


def of_client(kafka: LiveKafka, usage: object, explanation: Iterable[Effective]) -> BucketUsage:
    """The use of the buckets that one client draws from.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`.
    explanation
        The limits of the client, a key each.
    """
    limits, used = tuple(explanation), Usage.of(usage).of_cluster(kafka.id)
    quotas = kafka.quotas.describe()
    rows = _rows_of(used.utilisation(quotas, kafka.id, [limit.key for limit in limits], {}), limits)
    by_key = {limit.key: [row for row in rows if row["key"] == limit.key] for limit in limits}
    known = relational.taken(used.clients(), ("user", "client_id"), "the clients")
    neighbours = relational.in_arrow(_near(known, limits[0]), task="Spark looks for the clients")
    sharing = _sharing(quotas, neighbours, limits)
    return BucketUsage(by_key, sharing, limits[0], used.frame)


def _rows_of(utilised: Answer, limits: Iterable[Effective]) -> list[Row]:
    """UTILISATION's rows of these buckets; of a key that is not limited, the client's own."""
    table: pa.Table = utilised.to_arrow()
    return [row for row in table.to_pylist() if any(_is_of(row, limit) for limit in limits)]


def _is_of(row: Row, limit: Effective) -> bool:
    names = ("user", "client_id") if limit.bucket is None else ("bucket_user", "bucket_client_id")
    whose = (limit.user, limit.client_id) if limit.bucket is None else limit.bucket
    return row["key"] == limit.key and row["level"] == limit.level and tuple(row[name] for name in names) == whose


def _near(frame: relational.Frame, client: Effective) -> relational.Frame:
    """The rows of clients of the same user or the same client-id; no other can share a bucket."""
    column = relational.words_of(frame).column
    return relational.where(frame, (column("user") == client.user) | (column("client_id") == client.client_id))


def _loads(frame: relational.Frame, client: Effective) -> list[Row]:
    words = relational.words_of(frame)
    column = words.column
    is_throttled = column("throttle_ms") > 0
    is_share = (column("source") == SHARE_BYTES) | (column("source") == SHARE_ESTIMATE)
    throttled = {
        "since": words.when(is_throttled, column("window_start")),
        "share_throttles": is_throttled & is_share,
    }
    measures: dict[str, relational.Measure] = {
        "used": ("sum", "value"),
        "since": ("min", "since"),
        "share_throttles": ("count_true", "share_throttles"),
    }
    by = ["user", "client_id", "key", "broker"]
    added = relational.added_up(relational.with_further(_near(frame, client), throttled), by, measures)
    rows: list[Row] = relational.in_arrow(added, task="Spark adds up the use of the clients").to_pylist()
    return rows


def _sharing(quotas: pa.Table, neighbours: pa.Table, limits: Iterable[Effective]) -> dict[str, list[tuple[str, str]]]:
    """The known clients of each bucket, sorted."""
    bound = [limit for limit in limits if limit.bucket is not None]
    rows: list[Row] = kernel.resolve(quotas, neighbours, keys=[limit.key for limit in bound]).to_pylist()
    return {
        limit.key: sorted((row["user"], row["client_id"]) for row in rows if _draws_from(row, limit)) for limit in bound
    }


def _draws_from(row: Row, limit: Effective) -> bool:
    return tuple(row[name] for name in _BUCKET) == (limit.key, limit.level, *(limit.bucket or ()))
