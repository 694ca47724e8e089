"""One config of one resource: what is set, what applies without it, and where each comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import config_fallback
from .config_fallback import Synonym
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
        """The value in a row of CONFIGS. Kafka names no synonyms of some defaults: the value itself is one there."""
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
        """True if Kafka has no default for the key, and nobody sets it."""
        return self.text is None and not self.is_sensitive
