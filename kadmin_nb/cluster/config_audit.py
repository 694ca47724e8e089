"""`cluster.configs.audit()`: what to read for the rules of `advice`, and whether a reassignment is running."""

from __future__ import annotations

from itertools import chain

from ..admin import topics
from ..advice.config_rules import findings, relevant
from ..advice.findings import ConfigFindings
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..state.taking import configs_of, listed_resources
from .groups import group_types


def audit(kafka: LiveKafka) -> ConfigFindings:
    """FINDINGS of the cluster as it is now; see `Configs.audit`."""
    resources = chain.from_iterable(listed_resources(kafka).values())
    whole = configs_of(kafka, resources, relevant)
    reassigning = is_reassigning(kafka)
    note = None if reassigning is not None else _NOT_KNOWN
    return ConfigFindings(findings(whole, reassigning, group_types(kafka)), kafka.id, note)


_NOT_KNOWN = "Whether a reassignment is running is not known: brokers list them to those with DESCRIBE on the cluster."


def is_reassigning(kafka: LiveKafka) -> bool | None:
    """True if partitions are being moved; None where no broker says so."""
    try:
        return bool(topics.reassignments_under_way(kafka.wire))
    except KadminError:
        return None
