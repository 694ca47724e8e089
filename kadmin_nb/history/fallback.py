"""The values that a cluster goes by where a resource sets nothing, out of what its brokers set."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..model.config_fallback import Synonym, in_effect, in_unit_of, unnamed_defaults
from ..model.config_values import BrokerConfigs, ConfigValue
from ..model.resources import Source

Row = dict[str, Any]
_COLUMNS = ["resource_type", "resource_name", "key", "value", "source", "synonyms", "is_sensitive"]


class Defaults:
    """The brokers' configs of a content; of one without brokers nothing is known."""

    def __init__(self, content: pa.Table) -> None:
        brokers = content.filter(pc.equal(content["resource_type"], "BROKER"))
        self._brokers = BrokerConfigs(map(_value_of, brokers.select(_COLUMNS).to_pylist()))
        self._texts = cache(self._texts_in_effect)

    def has_the_same(self, row: Row) -> bool:
        """True if what is set in a row, of another cluster or time, holds here by default."""
        value = _value_of(row)
        if value.text is None:
            return False
        if not self._brokers.names:
            return value.text == value.inherited_text
        broker = value.resource.name if value.resource.type == "BROKER" else ""
        built_in = tuple(synonym for synonym in value.synonyms if synonym.source == Source.BUILT_IN)
        return self._texts(value.resource.type, broker, value.key, built_in) == {value.text}

    def _texts_in_effect(
        self, resource_type: str, broker: str, key: str, built_in: tuple[Synonym, ...]
    ) -> set[str | None]:
        """The texts that this broker, or each, goes by without a value; `built_in` is of another cluster."""
        defaults = [*built_in, *unnamed_defaults(resource_type, key)]
        synonyms = [
            self._brokers.synonyms(name, resource_type, key) for name in ([broker] if broker else self._brokers.names)
        ]
        entries = [in_effect(resource_type, key, [*of_broker, *defaults]) for of_broker in synonyms]
        return {in_unit_of(key, entry) if entry else None for entry in entries}


def _value_of(row: Row) -> ConfigValue:
    """The value in a content's row, which keeps the synonyms as JSON."""
    return ConfigValue.of({**row, "synonyms": json.loads(row["synonyms"] or "[]")})
