"""The configs of the brokers of one cluster: what its topics and groups, and each broker, fall back to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from .config_fallback import Synonym, deciding_keys
from .config_values import ConfigValue


class BrokerConfigs:
    """The brokers' values by key, as far as somebody read them; `names` are the brokers without their default."""

    def __init__(self, values: Iterable[ConfigValue]) -> None:
        by_key: dict[str, dict[str, ConfigValue]] = defaultdict(dict)
        for value in values:
            by_key[value.key][value.resource.name] = value
        self._by_key = dict(by_key)
        self.names = sorted({name for of_key in by_key.values() for name in of_key} - {""})

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def of_all(self, key: str) -> ConfigValue | None:
        """The default for all brokers."""
        return self._by_key.get(key, {}).get("")

    def of_each(self, key: str) -> Mapping[str, ConfigValue]:
        """The values of the brokers that have the key, by name."""
        return {name: value for name, value in self._by_key.get(key, {}).items() if name}

    def synonyms(self, broker: str, resource_type: str, key: str) -> list[Synonym]:
        """Every place where that broker has a value which may decide about a key of such resources, as it reads it."""
        of_keys = (self._by_key.get(name, {}) for name in deciding_keys(resource_type, key))
        values = (values[name] for values in of_keys for name in (broker, "") if name in values)
        return [synonym for value in values for synonym in _as_read(value)]


def _as_read(value: ConfigValue) -> Iterator[Synonym]:
    """The synonyms, the one that applies with what the broker made of its text."""
    for synonym in value.synonyms:
        applies = (synonym.source, synonym.key) == (value.source, value.key)
        yield replace(synonym, text=value.text) if applies else synonym
