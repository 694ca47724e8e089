"""The use of clients while they are observed; of one of them its buckets, and the known clients that share them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from .. import usage
from ..advice.brakes import Follower
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, NotFound, NotKnowable
from ..frames import relational, schemas
from ..frames.answer import Answer
from ..frames.schema_metadata import mark, noted, stamped
from ..model.findings import Row
from ..resolution import kernel
from ..resolution.rules import Effective
from ..usage.bucket_figures import micros
from ..usage.client_use import ClientUse, client_use
from ..usage.engines import Usage
from ..usage.limits_over_time import LimitsOverTime, limits_over_time
from ..usage.near_and_top import TopAnswer
from .groups import group_types
from .observation import ObservationAnswer
from .request_logs import beginning, log_places

if TYPE_CHECKING:
    from ..state import History


def refuse_unknown_logs(kafka: LiveKafka) -> None:
    """Refuse brokers whose request log nobody can find, before their loggers are touched.

    Raises
    ------
    NotKnowable
    """
    if not log_places(kafka.id):
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
    used = usage.usage(_requests_since(since, _logs(rows, record_sizes)))
    of_brokers = {"brokers": observed.to_arrow()["broker"].to_pylist(), "watched": [row["broker"] for row in rows]}
    top = usage.top(used, keys=keys, most=most, time=(since, until), **of_brokers)
    return top.warned([*_missing(observed), *observed.warnings])


def requests_of(observed: ObservationAnswer, record_sizes: pa.Table | None = None) -> pa.Table:
    """REQUESTS of the time that was observed, as far as the logs of all brokers have it; its notes have the others."""
    rows = _logged_rows(observed)
    since, until = _logged_span(rows)
    logs = _logs(rows, record_sizes)
    followers = [one for row, log in logs for one in _followers(_in_time(log.left_out, row, since), (since, until))]
    seen = Observed(frozenset(row["broker"] for row in rows), since, until, tuple(followers))
    return noted(seen.marked(_requests_since(since, logs)), [*_missing(observed), *observed.warnings])


def _missing(observed: ObservationAnswer) -> list[str]:
    """A line for each broker that is missing in what follows."""
    return [f"WARNING: {failure}" for failure in observed.failures]


OBSERVED = "kadmin.observed"
"""Metadata of REQUESTS: the brokers and the time that were observed, and how long followers did not fetch."""


@dataclass(frozen=True)
class Observed:
    """The brokers that were observed, from when to when, and the longest pauses of followers on each of them."""

    brokers: frozenset[int]
    since: datetime
    until: datetime
    followers: tuple[Follower, ...] = ()

    def marked(self, requests: pa.Table) -> pa.Table:
        """The requests with all this in their metadata."""
        followers = [[one.leader, one.broker, one.longest_ms] for one in self.followers]
        times = [self.since.isoformat(), self.until.isoformat()]
        text = json.dumps({"brokers": sorted(self.brokers), "times": times, "followers": followers})
        return schemas.marked(requests, {**(requests.schema.metadata or {}), OBSERVED: text})

    @classmethod
    def of(cls, requests: object) -> Observed | None:
        """What the metadata of requests say; None of those that were not observed from here."""
        text = mark(requests, OBSERVED) if isinstance(requests, pa.Table) else None
        if text is None:
            return None
        found = json.loads(text)
        followers = (Follower(*one) for one in found["followers"])
        since, until = map(datetime.fromisoformat, found["times"])
        return cls(frozenset(found["brokers"]), since, until, tuple(followers))


_FETCHER = r"^broker-(?P<broker>\d+)-fetcher-\d+$"


def _followers(requests: pa.Table, span: tuple[datetime, datetime]) -> Iterator[Follower]:
    """The longest time between the answer to a fetch and the next fetch of each follower of a leader, whose requests of
    brokers these are."""
    fetches = requests.filter(pc.equal(requests["api"], "FETCH"))
    ids = pc.struct_field(pc.extract_regex(fetches["client_id"], _FETCHER), "broker")
    rows = fetches.select(["broker", "time", "total_ms"]).append_column("follower", ids).to_pylist()
    asked = defaultdict[tuple[int, int], list[tuple[datetime, datetime]]](list)
    for row in (row for row in rows if row["follower"] is not None):
        begin = row["time"] - timedelta(milliseconds=row["total_ms"] or 0.0)
        asked[row["broker"], int(row["follower"])].append((begin, row["time"]))
    for (leader, follower), times in asked.items():
        those = sorted([(span[0], span[0]), *times, (span[1], span[1])])
        pauses = (later - answered for (_, answered), (later, _) in pairwise(those))
        yield Follower(leader, follower, max(pauses) / timedelta(milliseconds=1))


def _requests_since(since: datetime, logs: Sequence[tuple[Row, usage.Requests]]) -> pa.Table:
    return pa.concat_tables([schemas.REQUESTS.empty(), *(_in_time(log.frame, row, since) for row, log in logs)])


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


def _logs(rows: Iterable[Row], record_sizes: pa.Table | None) -> list[tuple[Row, usage.Requests]]:
    """The request log of each broker that has one."""
    return [(row, log) for row in rows if (log := _log_of(row, record_sizes)) is not None]


def _log_of(row: Row, record_sizes: pa.Table | None) -> usage.Requests | None:
    if not row["logs"]:
        return None
    try:
        return usage.requests(row["logs"], broker=row["broker"], tz=_zone_here(), record_sizes=record_sizes)
    except NotFound:  # nobody asked for anything, so there is no line
        return None


def _in_time(frame: pa.Table, row: Row, since: datetime) -> pa.Table:
    """REQUESTS of one broker in the time that was observed."""
    is_observed = pc.and_(pc.greater_equal(frame["time"], since), pc.less_equal(frame["time"], row["until"]))
    return frame.filter(is_observed).select(schemas.REQUESTS.names).cast(schemas.REQUESTS.schema)


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

    `used` is the usage that they are out of, `limits` the limits at their time, and `recorded` the last time of these,
    in microseconds; None where they are those of now.
    """

    utilisation: Mapping[str, list[Row]]
    sharing: dict[str, list[tuple[str, str]]]
    explanation: tuple[Effective, ...]
    used: relational.Frame
    limits: LimitsOverTime
    recorded: int | None = None

    @cached_property
    def use(self) -> ClientUse:
        """The use of the client and of its buckets, each window by the limit of its time."""
        return client_use(self.used, self.limits, self.explanation, self.recorded)

    @property
    def windows(self) -> int:
        """The windows that were watched, on the broker with most."""
        return max((row["windows"] for rows in self.utilisation.values() for row in rows), default=0)

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


def of_client(
    kafka: LiveKafka, usage: object, explanation: Iterable[Effective], history: History | None = None
) -> BucketUsage:
    """The use of the buckets that one client draws from.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`.
    explanation
        The limits of the client, a key each.
    history
        The limits of the time of the usage; default: those of now, as if they had always been the same.
    """
    limits, used = tuple(explanation), Usage.of(usage).of_cluster(kafka.id)
    quotas, keys = kafka.quotas.describe(), [limit.key for limit in limits]
    then, snapshots = (quotas, None) if history is None else _recorded(history, kafka.id)
    rows = _rows_of(used.utilisation(then, kafka.id, keys, {}), limits)
    by_key = {limit.key: [row for row in rows if row["key"] == limit.key] for limit in limits}
    known = relational.taken(used.clients(), ("user", "client_id"), "the clients")
    neighbours = relational.in_arrow(_near(known, limits[0]), task="Spark looks for the clients")
    sharing = _sharing(quotas, neighbours, limits)
    over_time = limits_over_time(then, tuple(keys), snapshots)
    recorded = None if snapshots is None else int(micros(snapshots["taken_at"]).max(initial=0))
    return BucketUsage(by_key, sharing, limits, used.frame, over_time, recorded)


def _recorded(history: History, cluster_id: str) -> tuple[pa.Table, pa.Table]:
    """The quotas of a cluster over time, and the snapshots that they are out of; neither names the cluster."""
    intervals = relational.in_arrow(history.intervals("quotas", cluster_id), task="Spark reads the history of quotas")
    snapshots = history.snapshots(cluster_id).to_arrow()
    snapshots = snapshots.filter(pc.equal(snapshots["kind"].cast(pa.string()), "quotas"))
    times = pa.table({"cluster_id": pa.repeat("", len(snapshots)), "taken_at": snapshots["taken_at"]})
    return intervals.drop_columns(["cluster_id"]), times


def _rows_of(utilised: Answer, limits: Iterable[Effective]) -> list[Row]:
    """UTILISATION's rows of these buckets; of a key that is not limited, the client's own."""
    table: pa.Table = utilised.to_arrow()
    return [row for row in table.to_pylist() if any(_is_of(row, limit) for limit in limits)]


def _is_of(row: Row, limit: Effective) -> bool:
    """Is it about the bucket of this limit, under this value?"""
    names = ("user", "client_id") if limit.bucket is None else ("bucket_user", "bucket_client_id")
    whose = (limit.user, limit.client_id) if limit.bucket is None else limit.bucket
    is_limit = (row["key"], row["level"], row["limit"]) == (limit.key, limit.level, limit.value)
    return is_limit and tuple(row[name] for name in names) == whose


def _near(frame: relational.Frame, client: Effective) -> relational.Frame:
    """The rows of clients of the same user or the same client-id; no other can share a bucket."""
    column = relational.words_of(frame).column
    return relational.where(frame, (column("user") == client.user) | (column("client_id") == client.client_id))


def _sharing(quotas: pa.Table, neighbours: pa.Table, limits: Iterable[Effective]) -> dict[str, list[tuple[str, str]]]:
    """The known clients of each bucket, sorted."""
    bound = [limit for limit in limits if limit.bucket is not None]
    rows: list[Row] = kernel.resolve(quotas, neighbours, keys=[limit.key for limit in bound]).to_pylist()
    return {
        limit.key: sorted((row["user"], row["client_id"]) for row in rows if _draws_from(row, limit)) for limit in bound
    }


def _draws_from(row: Row, limit: Effective) -> bool:
    return tuple(row[name] for name in _BUCKET) == (limit.key, limit.level, *(limit.bucket or ()))
