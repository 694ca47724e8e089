"""The use of clients while they are observed; of one of them its buckets, and the known clients that share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..client_configs.kafka import LiveKafka
from ..frames import relational
from ..frames.answer import Answer
from ..model.findings import Row
from ..resolution import kernel
from ..resolution.rules import Effective
from ..usage.bucket_figures import micros
from ..usage.client_use import ClientUse, client_use
from ..usage.engines import Usage
from ..usage.limits_over_time import LimitsOverTime, limits_over_time

if TYPE_CHECKING:
    from ..state import History


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
