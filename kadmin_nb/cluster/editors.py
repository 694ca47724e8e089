"""The widgets of a cluster, given what they read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..widgets.config_editor import ConfigEditor
from ..widgets.config_table import ConfigReader
from ..widgets.quota_editor import QuotaEditor
from ..widgets.quota_table import StoredQuotas

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
