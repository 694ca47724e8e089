"""One config of one resource: what is set, what applies without it, where each comes from, which values there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import config_fallback
from .config_fallback import Synonym, deciding_keys
from .resources import Resource, Source


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A row of CONFIGS. `text` is the effective value as the broker read it, None of a secret, or where nothing is set.

    `source` is where that comes from, None where the frame does not tell. `synonyms` has every place with a value, the
    effective one included, each with the text as it was sent.
    """

    resource: Resource
    key: str
    text: str | None = None
    source: Source | None = None
    synonyms: tuple[Synonym, ...] = ()
    type: str | None = None
    is_sensitive: bool = False
    is_read_only: bool | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ConfigValue:
        """The value in a row of CONFIGS. Kafka names no synonyms of some defaults: the value is their synonym."""
        source = None if row["source"] is None else Source(row["source"])
        synonyms = tuple(Synonym(Source(s["source"]), s["key"], s["value"]) for s in row.get("synonyms") or ())
        if not synonyms and source is not None and row["value"] is not None:
            synonyms = (Synonym(source, row["key"], row["value"]),)
        return cls(
            Resource(row["resource_type"], row["resource_name"]),
            row["key"],
            row["value"],
            source,
            synonyms,
            row.get("type"),
            bool(row.get("is_sensitive")),
            row.get("is_read_only"),
        )

    @property
    def is_own(self) -> bool:
        """True if the value is set on the resource itself, by an alter."""
        return self.source == self.resource.source != Source.UNKNOWN

    @property
    def sent(self) -> str | None:
        """The effective text as it was sent: a broker's row shows what it made of that, and its synonym the text."""
        if self.is_sensitive:
            return None
        own_texts = (s.text for s in self.synonyms if (s.source, s.key) == (self.source, self.key))
        return next((text for text in own_texts if text is not None), self.text)

    @property
    def own(self) -> str | None:
        """The text that was sent for the resource itself; None where none was, and of a secret."""
        return self.sent if self.is_own else None

    @property
    def inherited(self) -> Synonym | None:
        """The synonym that applies without the resource's own value; None where the row does not tell."""
        return self.below(self.resource.source)

    @property
    def inherited_text(self) -> str | None:
        """The text of what is inherited, in the unit of the key."""
        synonym = self.inherited
        return config_fallback.in_unit_of(self.key, synonym) if synonym else None

    def below(self, source: Source) -> Synonym | None:
        """The synonym that applies once that source says nothing; None where the row does not tell."""
        return config_fallback.fallback(self.resource.type, self.key, self.synonyms, source)

    @property
    def built_in(self) -> str | None:
        """Kafka's own default, as far as the row tells."""
        return next((s.text for s in self.synonyms if s.source == Source.BUILT_IN), None)

    @property
    def is_unset(self) -> bool:
        """True if Kafka has no default for the key, and it is not set."""
        return self.text is None and not self.is_sensitive


class BrokerConfigs:
    """The brokers' values by key, of the brokers `names`, without their default.

    `unread` are brokers that could not be read: what all brokers have is not known as long as it has any.
    """

    def __init__(self, values: Iterable[ConfigValue], unread: Iterable[str] = ()) -> None:
        by_key: dict[str, dict[str, ConfigValue]] = defaultdict(dict)
        for value in values:
            by_key[value.key][value.resource.name] = value
        self._by_key = dict(by_key)
        self.names = sorted({name for of_key in by_key.values() for name in of_key} - {""})
        self.unread = sorted(set(unread))

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
        return [  # the one that applies, with what the broker made of its text
            replace(synonym, text=value.text) if (synonym.source, synonym.key) == (value.source, value.key) else synonym
            for value in values
            for synonym in value.synonyms
        ]


BOOLEAN = ("true", "false")

_CLEANUP = ("compact", "delete", "compact,delete")
_TIMESTAMP = ("CreateTime", "LogAppendTime")

VALUES: dict[str, tuple[str, ...]] = {
    "cleanup.policy": _CLEANUP,
    "compression.type": ("gzip", "lz4", "producer", "snappy", "uncompressed", "zstd"),
    "message.timestamp.type": _TIMESTAMP,
    "log.cleanup.policy": _CLEANUP,
    "log.message.timestamp.type": _TIMESTAMP,
    "share.auto.offset.reset": ("earliest", "latest"),
    "share.isolation.level": ("read_committed", "read_uncommitted"),
    "ssl.client.auth": ("none", "requested", "required"),
}
"""The values of the keys that have few, as Kafka's documentation lists them: brokers name none.

They are offered, not enforced: a broker of another version may take more, and decides. Of share.auto.offset.reset those
without a duration.
"""

LOGGER_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""The levels of a broker's loggers."""


def choices(resource_type: str, key: str, value_type: str | None) -> tuple[str, ...]:
    """The values that a config may have, of a list the items; none where they are too many to list."""
    if resource_type == "BROKER_LOGGER":
        return LOGGER_LEVELS
    if value_type == "BOOLEAN":
        return BOOLEAN
    values = VALUES.get(key, ())
    return tuple(value for value in values if "," not in value) if value_type == "LIST" else values
