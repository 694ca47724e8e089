"""The frames of a cluster as the data source `kadmin_nb` hands them out; read where Spark reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import pyarrow as pa

from ..cluster import Cluster, connect
from ..frames import schemas
from ..frames.frame import TEXT
from ..frames.given_frames import plain
from ..model.grammar import ANY, LEFT_OUT
from ..state.taking import configs_of, listed_resources

Asked = Mapping[str, Sequence[str]]
"""The names that are asked for, by column; all where it has none."""

FRAMES = {
    "quotas": schemas.QUOTAS,
    "configs": schemas.CONFIGS,
    "brokers": schemas.BROKERS,
    "users": schemas.USERS,
    "client_configs": schemas.CLIENT_CONFIGS,
}


def columns_of(frame: str) -> pa.Schema:
    """The columns of a frame of clusters: the cluster as it was named, its id, and the frame's own."""
    leading = [pa.field(name, TEXT, False) for name in ("cluster", "cluster_id")]
    return plain(pa.schema([*leading, *FRAMES[frame].schema]).empty_table()).schema


def rows(frame: str, target: str, asked: Asked) -> pa.Table:
    """The frame of a cluster, of the names that are asked for and perhaps others.

    Raises
    ------
    KadminError
        As of `connect`, and of the verb that reads the frame.
    """
    with connect(target) as cluster:
        table = plain(_READERS[frame](cluster, asked))
        leading = {"cluster": pa.repeat(target, len(table)), "cluster_id": pa.repeat(cluster.id, len(table))}
    return pa.table({**leading, **{name: table[name] for name in table.column_names}}).cast(columns_of(frame))


def _quotas(cluster: Cluster, asked: Asked) -> pa.Table:
    user, client_id, ip = (list(asked.get(name, ())) or LEFT_OUT for name in ("user", "client_id", "ip"))
    return cluster.quotas.describe(user=user, client_id=client_id, ip=ip).to_arrow()


def _configs(cluster: Cluster, asked: Asked) -> pa.Table:
    """All configs of the resources that a cluster lists, the values that hold by default too."""
    types, names = asked.get("resource_type"), asked.get("resource_name")
    resources = [
        resource
        for resource in chain.from_iterable(listed_resources(cluster.port).values())
        if (types is None or resource.type in types) and (names is None or resource.name in names)
    ]
    return configs_of(cluster.port, resources)


def _users(cluster: Cluster, asked: Asked) -> pa.Table:
    return cluster.users(user=list(asked.get("user", ())) or ANY).to_arrow()


def _client_configs(cluster: Cluster, asked: Asked) -> pa.Table:
    return cluster.client_configs.describe(user=list(asked.get("user", ())) or ANY).to_arrow()


_READERS: Mapping[str, Callable[[Cluster, Asked], pa.Table]] = {
    "quotas": _quotas,
    "configs": _configs,
    "brokers": lambda cluster, _: cluster.brokers.to_arrow(),
    "users": _users,
    "client_configs": _client_configs,
}
