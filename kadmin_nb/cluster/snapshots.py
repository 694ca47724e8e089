"""`cluster.snapshot()`: everything that is set on a cluster, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.configs import RESOURCES_A_CALL, chunks
from ..client_configs.kafka import LiveKafka
from ..errors import NotAuthorized, Unsupported
from ..frames import schemas
from ..frames.snapshot_kinds import CLIENT_CONFIGS, CONFIGS, KINDS, QUOTAS
from ..frames.snapshots import Snapshot, snapshot
from ..model.resources import Resource, Source

_OWN = (Source.TOPIC, Source.GROUP, Source.CLIENT_METRICS)
_GONE = ("UNKNOWN_TOPIC_OR_PARTITION", "RESOURCE_NOT_FOUND", "GROUP_ID_NOT_FOUND")


def _client_configs(kafka: LiveKafka) -> pa.Table | None:
    """None where their topic may not be seen, which nobody needs who has none."""
    try:
        return kafka.client_configs.describe()
    except NotAuthorized:
        return None


READERS: Mapping[str, Callable[[LiveKafka], pa.Table | None]] = {
    QUOTAS.name: lambda kafka: kafka.quotas.describe(),
    CLIENT_CONFIGS.name: _client_configs,
}
"""The reading of each kind that is read as a whole; None where it is not read."""


def snapshot_of(kafka: LiveKafka) -> Snapshot:
    """All quotas, every config that is set somewhere, at the place where it is set, and all dynamic client configs.

    Where the topic of client configs may not be read, they are not in its scopes.

    Raises
    ------
    NotAuthorized
        DESCRIBE_CONFIGS on the cluster is missing.
    """
    began = kafka.now()
    frames = {name: table for name, read in READERS.items() if (table := read(kafka)) is not None}
    resources = listed_resources(kafka)
    each = list(chain.from_iterable(resources.values()))
    return snapshot(
        {**frames, CONFIGS.name: _sorted(configs_of(kafka, each, _own))},
        cluster_id=kafka.id,
        taken_at=began,
        scopes=[*(scope for name in frames for scope in KINDS[name].scopes), *resources],
        resources=each,
    )


def listed_resources(kafka: LiveKafka) -> dict[str, Sequence[Resource]]:
    """The resources of each type that this broker can list: groups only from Kafka 4.1 on.

    Topics are listed as config resources where that is possible: a list from metadata leaves out the topics that we
    may not see, and a right that was lost would look like topics that were deleted.
    """
    brokers = [Resource("BROKER", ""), *(Resource("BROKER", str(broker.id)) for broker in kafka.brokers())]
    client_metrics = kafka.configs.resources(["CLIENT_METRICS"])
    try:
        topics = kafka.configs.resources(["TOPIC"])
        listed = {"GROUP": kafka.configs.resources(["GROUP"])}
    except Unsupported:
        topics, listed = [Resource("TOPIC", name) for name in kafka.topics()], {}
    return {"TOPIC": topics, "BROKER": brokers, "CLIENT_METRICS": client_metrics, **listed}


def configs_of(
    kafka: LiveKafka,
    resources: Iterable[Resource],
    kept: Callable[[pa.Table], pa.Table] = lambda configs: configs,
    keys: Sequence[str] | None = None,
) -> pa.Table:
    """CONFIGS of many resources, all or these keys, of each answer what is `kept`."""
    answers = (kafka.configs.describe(part, keys) for part in chunks(resources, RESOURCES_A_CALL))
    return pa.concat_tables([schemas.CONFIGS.empty(), *map(kept, answers)])


def _own(configs: pa.Table) -> pa.Table:
    """The configs set on each resource itself, a broker's static values included, and the unreadable ones."""
    source, name = configs["source"].cast(pa.string()), configs["resource_name"]
    broker = pc.equal(configs["resource_type"].cast(pa.string()), "BROKER")
    of_broker = pc.and_(broker, pc.is_in(source, pa.array([Source.BROKER, Source.FILE], pa.string())))
    of_all = pc.and_(pc.equal(name, ""), pc.equal(source, Source.ALL_BROKERS))
    set_here = pc.or_kleene(
        pc.or_kleene(pc.is_in(source, pa.array(_OWN, pa.string())), of_broker), pc.and_(broker, of_all)
    )
    failed = pc.and_(pc.is_valid(configs["error"]), pc.invert(pc.is_in(configs["error"], pa.array(_GONE, pa.string()))))
    return configs.filter(pc.or_kleene(set_here, failed))


def _sorted(configs: pa.Table) -> pa.Table:
    order = pa.table({n: configs[n].cast(pa.string()) for n in ("resource_type", "resource_name", "key")})
    return configs.take(pc.sort_indices(order, sort_keys=[(n, "ascending") for n in order.column_names]))
