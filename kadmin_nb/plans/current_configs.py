"""The current configs of resources, read through the port."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..admin.ports import Kafka
from ..model.config_values import ConfigValue
from ..model.refusal import Refusal
from ..model.resources import Resource
from .observed_state import LookOptions, ObservedState, ObservedValue


def add_configs(
    picture: ObservedState, kafka: Kafka, targets: Collection[tuple[Resource, str]], look: LookOptions
) -> None:
    """Add the current configs of these targets to a picture, and the errors of resources that cannot be read."""
    resources = dict.fromkeys(resource for resource, _ in targets)
    keys_asked = None if look.whole else sorted({key for _, key in targets})
    if look.topic_ids and (topics := {resource.name: resource for resource in resources if resource.type == "TOPIC"}):
        picture.topic_ids.update((topics[name], topic_id) for name, topic_id in kafka.topic_ids(topics).items())
    table = kafka.configs.describe(resources, keys_asked, node=look.node, timeout=look.time_left())
    for row in table.to_pylist():
        resource = Resource(row["resource_type"], row["resource_name"])
        if row["key"] is None:
            picture.errors[resource] = Refusal(row["error"], row["message"])
        elif resource in resources:
            picture.listed.setdefault(resource, set()).add(row["key"])
            picture.values[resource, row["key"]] = observed(ConfigValue.of(row))
    if look.whole:
        _list_broker_keys(kafka, picture, resources)


def _list_broker_keys(kafka: Kafka, picture: ObservedState, resources: Iterable[Resource]) -> None:
    """The keys, types and defaults of any broker: the cluster-wide default lists only what is set on it, and a broker
    that is not there nothing."""
    unlisted = [r for r in resources if r.is_default_broker or (r.type == "BROKER" and picture.absence(r))]
    broker = next((b for b in kafka.brokers() if not b.is_fenced), None) if unlisted else None
    rows = kafka.configs.describe([Resource("BROKER", str(broker.id))]).to_pylist() if broker else []
    for config in (ConfigValue.of(row) for row in rows if row["key"] is not None):
        for resource in unlisted:
            picture.listed.setdefault(resource, set()).add(config.key)
            picture.values.setdefault((resource, config.key), _unset(config))


def observed(config: ConfigValue) -> ObservedValue:
    """A config as plans compare it: its own value apart from what it inherits."""
    below = config.inherited
    return _unset(config)._replace(
        value=config.own,
        is_known=not (config.is_own and config.is_sensitive),
        inherited=config.inherited_text,
        inherited_from=below.source if below else None,
    )


def _unset(config: ConfigValue) -> ObservedValue:
    """The key as it is wherever nobody has set it: its type and Kafka's default."""
    return ObservedValue(
        base=config.built_in,
        type=config.type,
        is_read_only=bool(config.is_read_only),
        is_sensitive=config.is_sensitive,
    )
