"""The current configs of resources, read through the port."""

from __future__ import annotations

from collections.abc import Collection

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
    if look.whole and any(resource.is_default_broker for resource in resources):
        _list_broker_keys(kafka, picture)
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


def _list_broker_keys(kafka: Kafka, picture: ObservedState) -> None:
    """The cluster-wide default lists only what is set on it: its keys, types and defaults are any broker's."""
    everyone = Resource("BROKER", "")
    broker = next((b for b in kafka.brokers() if not b.is_fenced), None)
    rows = kafka.configs.describe([Resource("BROKER", str(broker.id))]).to_pylist() if broker else []
    for row in rows:
        if row["key"] is not None:
            config = ConfigValue.of(row)
            picture.listed.setdefault(everyone, set()).add(config.key)
            picture.values[everyone, config.key] = _unset(config)


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
