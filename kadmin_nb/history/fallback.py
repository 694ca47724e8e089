"""What a cluster goes by where a resource sets nothing, out of what its brokers set."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..advice.config_rules import BROKERS_UNITS
from ..model.rows import Row

_OF_ALL, _BUILT_IN, _ITS_OWN = "DYNAMIC_DEFAULT_BROKER_CONFIG", "DEFAULT_CONFIG", "DYNAMIC_BROKER_CONFIG"
_MILLISECONDS = {"hours": 3_600_000, "minutes": 60_000}


class Beneath:
    """The brokers' configs of a content; of one without brokers nothing is known."""

    def __init__(self, content: pa.Table) -> None:
        brokers = content.filter(pc.equal(content["resource_type"], "BROKER"))
        self._by_key: dict[str, dict[str, Row]] = defaultdict(dict)
        for row in brokers.select(["resource_name", "key", "value", "source"]).to_pylist():
            self._by_key[row["key"]][row["resource_name"]] = row
        self._brokers = [name for name in pc.unique(brokers["resource_name"]).to_pylist() if name]

    def has_the_same(self, row: Row) -> bool:
        """Whether what is set in a row, of another cluster or time, holds here by default."""
        if row["value"] is None:
            return False
        chain = [s for s in json.loads(row["synonyms"] or "[]") if s["source"] != row["source"]]
        if not self._brokers:
            return bool(chain and chain[0]["value"] == row["value"])
        return bool(self._instead(row, chain) == row["value"])

    def _instead(self, row: Row, chain: Sequence[Row]) -> str | None:
        """What holds without the row; None where it is not known, or not the same on all brokers."""
        keys, built_in = _keys(row, chain)
        for key in keys:
            value = self._said(row, key)
            if value != {None}:
                return _in_unit_of_key(value.pop(), key, row) if len(value) == 1 else None
        return built_in

    def _said(self, row: Row, key: str) -> set[str | None]:
        """What the brokers set for a key below that resource."""
        set_on = self._by_key.get(key, {})
        if row["resource_type"] != "BROKER":
            return {self._of(name, set_on) for name in self._brokers}
        if row["resource_name"]:
            return {set_on[""]["value"] if "" in set_on else None}
        return {set_on[name]["value"] if name in set_on else None for name in self._brokers}

    def _of(self, name: str, set_on: Mapping[str, Row]) -> str | None:
        """A broker's own value, that for all brokers, or that of its file: the first there is."""
        own_rows, of_all = set_on.get(name), set_on.get("")
        first = own_rows if own_rows is not None and (own_rows["source"] == _ITS_OWN or of_all is None) else of_all
        return None if first is None else first["value"]


def _keys(row: Row, chain: Sequence[Row]) -> tuple[Sequence[str], str | None]:
    """The brokers' keys that say it, the first before the next, and Kafka's default."""
    built_in: str | None
    if row["resource_type"] == "TOPIC" and row["key"] in BROKERS_UNITS:
        keys, built_in = BROKERS_UNITS[row["key"]]
        return keys, _in_unit_of_key(built_in, keys[-1], row)
    names = dict.fromkeys(synonym["key"] for synonym in chain)
    built_in = next((s["value"] for s in chain if s["source"] == _BUILT_IN), None)
    return list(names), built_in


def _in_unit_of_key(value: str | None, key: str, row: Row) -> str | None:
    """A broker's value in the unit of the row's key."""
    unit = _MILLISECONDS.get(key.rpartition(".")[2]) if key != row["key"] else None
    if unit is None or value is None:
        return value
    return str(int(value) * unit) if value.lstrip("-").isdigit() else value
