"""What a client can really get: its limits, beside the brokers that lead its topics; now, and in what-ifs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import documents, files
from ..admin.ports import serving
from ..client_configs.kafka import LiveKafka
from ..errors import Invalid, NotFound, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.meanings import client
from ..frames.schema_metadata import stamped
from ..frames.schemas import NOW
from ..hints import did_you_mean
from ..model.quota_keys import on_all_brokers, readable, rounded
from ..model.resources import Partition, refuse_unknown_brokers
from ..resolution import reach as rule
from ..resolution.rules import Effective, explain
from . import bucket_usage, resolving
from .why import one_name, stored_for

RATES = ("producer_byte_rate", "consumer_byte_rate")
REASSIGNED = "after the reassignment"
MOST_BYTES = 64 << 20
"""Of a reassignment's file."""

Replicas = Mapping[tuple[str, int], Sequence[int]]


class ReachAnswer(Answer):
    """REACH; the title is the finding."""

    def _title(self) -> str:
        rows = self._table.to_pylist()
        if not rows:
            return "no limit of bytes: it gets what the brokers can give"
        who = client(rows[0]["user"], rows[0]["client_id"])
        keys = dict.fromkeys(row["key"] for row in rows)
        return "\n".join(_finding(who, key, [row for row in rows if row["key"] == key]) for key in keys)

    def _footer(self, page: Page = NOTEBOOK) -> Iterator[str]:
        if any(row["offline"] for row in self._table.to_pylist()):
            yield "Offline partitions get nothing; the others share the load."


def _finding(who: str, key: str, rows: Sequence[Mapping[str, Any]]) -> str:
    now = rows[0]
    found = [f"{who}: {readable(key, now['on_paper'])} of {key} on paper, {_told(now)} with its leaders where they are"]
    found += [f"{_told(row)} {row['case']}" for row in rows[1:]]
    return "; ".join(found)


def _told(row: Mapping[str, Any]) -> str:
    return "nothing" if row["total"] is None else rounded(row["key"], row["total"])


def of_topics(
    kafka: LiveKafka,
    user: object,
    client_id: object,
    topics: Collection[str],
    lost: Iterable[int],
    replicas: Replicas | None,
    assume_default: bool,
) -> ReachAnswer:
    """REACH of a client that reads or writes all partitions of some topics evenly; see `Quotas.reach`."""
    limits = _limits(kafka, user, client_id, assume_default)
    brokers = [broker.id for broker in serving(kafka)]
    refuse_unknown_brokers([*lost, *sorted(set().union(*(replicas or {}).values()))], brokers)
    partitions = _partitions(kafka, topics)
    cases = {NOW: (partitions, len(brokers))}
    cases |= {f"without broker {one}": (rule.without(partitions, one), len(brokers) - 1) for one in lost}
    if replicas is not None:
        _refuse_foreign(replicas, partitions)
        cases[REASSIGNED] = (rule.reassigned(partitions, replicas), len(brokers))
    rows = [
        _row(limit, case, there, rule.even_shares(placed), sum(one.leader is None for one in placed))
        for limit in limits
        for case, (placed, there) in cases.items()
    ]
    return ReachAnswer(stamped(schemas.table(schemas.REACH, rows), kafka.id))


def of_usage(kafka: LiveKafka, user: object, client_id: object, usage: object, assume_default: bool) -> ReachAnswer:
    """REACH of a client whose load has the shares that USAGE tells; see `Quotas.reach`."""
    limits = _limits(kafka, user, client_id, assume_default)
    used = bucket_usage.of_client(kafka, usage, limits)
    there = len(serving(kafka))
    rows = []
    for limit in limits:
        loads = {row["broker"]: row["mean"] or 0.0 for row in used.utilisation[limit.key]}
        rows.append(_row(limit, NOW, there, rule.shares(loads), 0))
    return ReachAnswer(stamped(schemas.table(schemas.REACH, rows), kafka.id))


def _limits(kafka: LiveKafka, user: object, client_id: object, assume_default: bool) -> list[Effective]:
    """The limits of bytes that the client has."""
    pair = one_name("reach", "user", user), one_name("reach", "client-id", client_id)
    resolving.marks(kafka, assume_default)
    limits = explain(stored_for(kafka, pair), *pair, [*RATES])
    return [limit for limit in limits if limit.value is not None]


def _row(limit: Effective, case: str, brokers: int, shares: Mapping[int, float], offline: int) -> dict[str, Any]:
    assert limit.value is not None
    got = rule.reach(limit.value, shares)
    found = {} if got is None else {"leaders": got.leaders, "busiest": got.busiest, "busiest_share": got.share}
    return {
        "user": limit.user,
        "client_id": limit.client_id,
        "key": limit.key,
        "case": case,
        "value": limit.value,
        "brokers": brokers,
        "on_paper": on_all_brokers(limit.key, limit.value, brokers),
        "total": None if got is None else got.total,
        "leaders": 0,
        "offline": offline,
        **found,
    }


def _partitions(kafka: LiveKafka, topics: Collection[str]) -> list[Partition]:
    if not topics:
        raise UsageError("topics are required", hint="The topics that the client reads or writes.")
    partitions = kafka.partitions(topics)
    missing = sorted({*topics} - {partition.topic for partition in partitions})
    if missing:
        raise NotFound(f"no topic {missing[0]} that we may describe", hint=did_you_mean(missing[0], kafka.topics()))
    return partitions


def _refuse_foreign(replicas: Replicas, partitions: Iterable[Partition]) -> None:
    known = {(partition.topic, partition.number) for partition in partitions}
    if not known & {*replicas}:
        raise UsageError("the reassignment moves no partition of these topics")


def read_reassignment(path: str) -> dict[tuple[str, int], list[int]]:
    """The replicas of a reassignment by topic and partition: the JSON of kafka-reassign-partitions.sh.

    Raises
    ------
    NotFound, Invalid
        No such file; it is not such a JSON.
    """
    try:
        document = documents.from_json(files.read(Path(path), "a reassignment", MOST_BYTES).decode())
        moved = {(part["topic"], part["partition"]): [*map(int, part["replicas"])] for part in document["partitions"]}
    except (ValueError, TypeError, LookupError) as exc:
        told = str(exc) if type(exc) is ValueError else 'it has no "partitions" with topic, partition and replicas'
        raise Invalid(f"{path} is not a reassignment: {told}") from None
    return moved
