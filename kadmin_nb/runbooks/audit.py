"""The checks of an audit: frames of findings, empty where all is well."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.compute import field

from ..errors import NotKnowable
from ..frames import relational, schemas
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.lazy_answer import SparkAnswer
from ..model.findings import SKIPPED, Coverage, Finding
from ..usage import covered, engines
from .cells import MOST, effective
from .report_checks import Check

if TYPE_CHECKING:
    from ..cluster import Cluster

RATES = ("producer_byte_rate", "consumer_byte_rate")
"""The quotas without which one client can take a whole broker."""


def callbacks(cluster: Cluster) -> list[str]:
    """The custom callbacks on brokers, with which Kafka's own rules do not hold."""
    try:
        cluster.quotas.resolve("ANONYMOUS")
    except NotKnowable as exc:
        return [str(exc)]
    return []


def shadowed(tree: Any) -> Answer:
    """The rows of TREE over which another quota always wins."""
    return Answer(pa.table(tree).filter(field("shadowed_by").is_valid()))


def unlimited(quotas: Any, clients: Any) -> Answer:
    """The clients without a limit of a rate: `user`, `client_id`, `key`; for clients in Spark, the first rows."""
    rows = effective(quotas, clients, RATES)
    words = relational.words_of(rows)
    free = relational.select(relational.where(rows, words.is_null(words.column("value"))), _RATE_OF_A_CLIENT)
    if sparks.is_spark(free):
        free = relational.in_arrow(free.orderBy(*_RATE_OF_A_CLIENT), MOST)
    return Answer(free)


_RATE_OF_A_CLIENT = ["user", "client_id", "key"]


def unlimited_unnamed(quotas: Any) -> Answer:
    """The rates that no default quota limits: `key`. It resolves a client that no quota can name."""
    nobody = schemas.table(schemas.PAIRS, [{"user": uuid.uuid4().hex, "client_id": uuid.uuid4().hex}])
    return Answer(unlimited(quotas, nobody).to_arrow().select(["key"]))


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


def utilisation(cluster: Cluster, usage: Any) -> Answer | Check:
    """UTILISATION of the buckets, the fullest first: computed in this process, or on Spark for large usage.

    Spark is not started for it: where there is no session, the check says so.
    """
    is_for_spark = not sparks.is_spark(usage) and pa.table(usage).num_rows > engines.ARROW_ROWS
    if is_for_spark and sparks.active_session() is None:
        reason = f"more than {engines.ARROW_ROWS:,} rows of usage are counted on Spark, and there is no session"
        return Check(Finding("utilisation", SKIPPED, f"{reason}: kn.spark_session() starts one"))
    used = cluster.quotas.utilisation(usage, assume_default=True)
    if isinstance(used, SparkAnswer):
        frame = used.to_spark()
        with sparks.errors_in_one_line():
            return Answer(frame.orderBy(frame["utilisation"].desc_nulls_last()).limit(MOST).toArrow())
    return Answer(used.to_arrow().sort_by([("utilisation", "descending")]).slice(0, MOST))
