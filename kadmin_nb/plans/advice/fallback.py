"""The value that applies when a config is not set on the resource itself, asked of the cluster now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from ...admin.ports import Kafka, serving
from ...model.changes import Target
from ...model.config_fallback import (
    BROKER_KEYS,
    STAND_INS,
    Synonym,
    deciding_keys,
    in_effect,
    in_unit_of,
    synonyms_below,
    unnamed_defaults,
)
from ...model.config_values import ConfigValue
from ...model.resources import Resource

Values = Mapping[Target, Collection[str | None]]
"""The texts that may apply to a target without its own: several where brokers differ, none where nobody can say."""

_ALL_BROKERS = Resource("BROKER", "")
_Configs = Mapping[str, ConfigValue]


def fallback_values(kafka: Kafka, targets: Iterable[Target]) -> Values:
    """The values below these configs.

    Below the default for all brokers it is one of every broker that serves; none where one of them does not say.
    """
    configs = [(cast(Resource, resource), key) for resource, key in targets]
    of_all = [key for resource, key in configs if resource.is_default_broker]
    of_resources = [(resource, key) for resource, key in configs if not resource.is_default_broker]
    of_brokers = _of_brokers(kafka, set(of_all)).values()
    values: dict[Target, Collection[str | None]] = {
        (_ALL_BROKERS, key): {text for shown in of_brokers for text in fallback_texts(_ALL_BROKERS, key, shown)}
        for key in of_all
    }
    own_rows = _configs(kafka, {resource for resource, _ in of_resources}, {key for _, key in of_resources})
    values |= {(r, key): fallback_texts(r, key, own_rows.get(r, {})) for r, key in of_resources}
    topics = [(r, key) for r, key in of_resources if r.type == "TOPIC" and not values[r, key]]
    return {**values, **_of_topics(kafka, topics)}


def _of_topics(kafka: Kafka, topics: Sequence[tuple[Resource, str]]) -> Values:
    """The fallbacks that brokers' rows alone tell: a topic's own value hides them where brokers set nothing either."""
    broker_keys = {key: BROKER_KEYS["TOPIC"].get(key, "") for _, key in topics}
    asked = {key for key in broker_keys.values() if key in STAND_INS}
    configs = _of_brokers(kafka, asked)
    synonyms = {key: [_synonyms(key, values) for values in configs.values()] for key in asked}
    return {(r, key): _texts_in_effect(key, synonyms.get(broker_keys[key], ())) for r, key in topics}


def _texts_in_effect(key: str, of_brokers: Iterable[Iterable[Synonym]]) -> set[str | None]:
    entries = (in_effect("TOPIC", key, synonyms) for synonyms in of_brokers)
    return {in_unit_of(key, entry) for entry in entries if entry}


def _of_brokers(kafka: Kafka, keys: Collection[str]) -> Mapping[Resource, _Configs]:
    """The configs of each broker that serves; none at all where one could not be read: it may have another value."""
    brokers = [broker.resource for broker in serving(kafka)] if keys else []
    configs = _configs(kafka, brokers, keys)
    return configs if all(broker in configs for broker in brokers) else {}


def _configs(kafka: Kafka, resources: Collection[Resource], keys: Collection[str]) -> Mapping[Resource, _Configs]:
    """The configs by resource and key, with their substitutes; what cannot be read is left out."""
    names = sorted({name for key in keys for name in own_keys(key)})
    configs: dict[Resource, dict[str, ConfigValue]] = {resource: {} for resource in resources}
    for row in kafka.configs.describe(resources, names).to_pylist() if resources else ():
        if row["error"] is not None:
            configs.pop(Resource(row["resource_type"], row["resource_name"]), None)
        elif row["key"] is not None:
            config = ConfigValue.of(row)
            configs[config.resource][config.key] = config
    return configs


def _synonyms(key: str, configs: _Configs) -> list[Synonym]:
    """Every place where a resource has a value for the key, or for a substitute of it."""
    return [synonym for name in own_keys(key) if name in configs for synonym in configs[name].synonyms]


def own_keys(key: str) -> tuple[str, ...]:
    """The key and its substitutes on the same resource."""
    return deciding_keys("BROKER", key)


def fallback_texts(resource: Resource, key: str, configs: _Configs) -> list[str | None]:
    """The text that applies without an own value, None where nothing does; empty where that cannot be seen."""
    of_topics_alone = resource.type == "TOPIC" and key not in BROKER_KEYS["TOPIC"]
    defaults = unnamed_defaults("TOPIC", key) if of_topics_alone else []
    below = synonyms_below(resource.type, key, [*_synonyms(key, configs), *defaults], resource.source)
    if entry := in_effect(resource.type, key, below):
        return [in_unit_of(key, entry)]
    values = [configs[name] for name in own_keys(key) if name in configs]
    is_nothing = not below if resource.type == "BROKER" else all(value.is_unset for value in values)
    return [None] if values and key not in STAND_INS and is_nothing else []
