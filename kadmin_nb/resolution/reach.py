"""How much a client gets from all brokers together: a limit holds on each of them, and its topics have their leaders
somewhere (the arithmetic of KIP-1010's motivation)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.resources import Partition


def without(partitions: Iterable[Partition], broker: int) -> list[Partition]:
    """The partitions after the loss of a broker: what it leads goes to the next replica that is in sync, or offline."""
    return [_without(partition, broker) for partition in partitions]


def _without(partition: Partition, broker: int) -> Partition:
    in_sync = tuple(replica for replica in partition.in_sync if replica != broker)
    heir = next((replica for replica in partition.replicas if replica in in_sync), None)
    leader = heir if partition.leader == broker else partition.leader
    return replace(partition, leader=leader, in_sync=in_sync)


def reassigned(partitions: Iterable[Partition], replicas: Mapping[tuple[str, int], Sequence[int]]) -> list[Partition]:
    """The partitions after a reassignment, each led by the first of its new replicas, as it is preferred."""
    return [_reassigned(partition, replicas.get((partition.topic, partition.number))) for partition in partitions]


def _reassigned(partition: Partition, replicas: Sequence[int] | None) -> Partition:
    if not replicas:
        return partition
    return replace(partition, leader=replicas[0], replicas=tuple(replicas), in_sync=tuple(replicas))


def even_shares(partitions: Iterable[Partition]) -> dict[int, float]:
    """The share of each leading broker where all partitions have the same load; those that are offline have none."""
    led = Counter(partition.leader for partition in partitions if partition.leader is not None)
    return shares(led)


def shares(loads: Mapping[int, float]) -> dict[int, float]:
    """Loads of brokers as shares of their sum; brokers without a load are left out."""
    total = sum(loads.values())
    return {broker: load / total for broker, load in sorted(loads.items()) if load}


@dataclass(frozen=True, slots=True)
class Reach:
    """The most that is got from all brokers together: the busiest of them is the first at its limit."""

    total: float
    leaders: int
    busiest: int
    share: float


def reach(limit: float, shares: Mapping[int, float]) -> Reach | None:
    """What a limit on each broker comes to, where the load has these shares; None where no broker has any."""
    if not shares:
        return None
    busiest = max(shares, key=lambda broker: (shares[broker], -broker))
    return Reach(limit / shares[busiest], len(shares), busiest, shares[busiest])
