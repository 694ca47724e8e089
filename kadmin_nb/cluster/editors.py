"""The widgets of a cluster, given what they read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..usage.engines import Usage
from ..widgets.client_explorer import ClientExplorer, ClientFacts
from ..widgets.config_editor import ConfigEditor
from ..widgets.config_table import ConfigReader
from ..widgets.quota_editor import QuotaEditor
from ..widgets.quota_table import StoredQuotas
from .why import one_name

if TYPE_CHECKING:
    from ..admin.ports import Kafka
    from ..model.resources import Resource
    from ..plans.stage import Stage
    from . import Cluster


def edit_quotas(cluster: Cluster, stage: Stage, whom: Mapping[str, Any]) -> QuotaEditor:
    """The editor of all quotas, or of those that fit; see `Cluster.edit_quotas`."""

    def read() -> StoredQuotas:
        quotas = cluster.quotas.describe().to_arrow()
        shown = cluster.quotas.describe(**whom).to_arrow() if whom else quotas
        return StoredQuotas(quotas, shown, len(cluster.brokers))

    return QuotaEditor(read, stage)


def edit_configs(kafka: Kafka, stage: Stage, resources: Sequence[Resource]) -> ConfigEditor:
    """The editor of these resources; see `Cluster.edit_configs`."""
    return ConfigEditor(ConfigReader(kafka, resources), stage)


def explore(cluster: Cluster, user: object, client_id: object, usage: object) -> ClientExplorer:
    """The explorer of one client, or of the hierarchy; see `Cluster.explore`."""
    quotas = cluster.quotas.describe().to_arrow()
    used = None if usage is None else Usage.of(usage).of_cluster(cluster.id)
    clients = pa.table({}) if used is None else used.clients().to_arrow()
    users, client_ids = (_client_names(quotas, clients, column) for column in ("user", "client_id"))
    facts = ClientFacts(
        quotas,
        lambda name, client: cluster.quotas.why(name, client, usage=used),
        cluster.quotas.tree,
        users,
        client_ids,
    )
    return ClientExplorer(facts, one_name("explore", "user", user), one_name("explore", "client-id", client_id))


def _client_names(quotas: pa.Table, clients: pa.Table, column: str) -> list[str]:
    """The names that quotas are set on, or that were in use, sorted."""
    tables = [table for table in (quotas, clients) if column in table.column_names]
    names = {name for table in tables for name in pc.unique(table[column].cast(pa.string())).to_pylist()}
    return sorted(filter(None, names))
