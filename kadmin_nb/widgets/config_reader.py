"""The reader of a config editor: the configs of its resources as they are now, their fallbacks, and Kafka's words."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..admin.ports import Kafka
from ..errors import KadminError
from ..frames import schemas
from ..model.config_fallback import in_effect, in_unit_of, synonyms_below
from ..model.config_values import ConfigValue
from ..model.resources import Resource, Source
from ..plans.advice.fallback import Values, fallback_values
from .config_table import ConfigTable

DOCUMENTATION_SECONDS = 3.0
"""Seconds that Kafka's descriptions may take: somebody moves through the table meanwhile."""

_ALL_BROKERS = Resource("BROKER", "")
_TAG = re.compile(r"<[^<>]+>")


class ConfigReader:
    """Reads the configs of some resources."""

    def __init__(self, kafka: Kafka, resources: Sequence[Resource]) -> None:
        self._kafka, self._resources = kafka, resources
        self._documentation: dict[str, Mapping[str, str]] = {}

    def read(self) -> ConfigTable:
        """The configs as they are set now; of the default for all brokers also the keys that could be set."""
        configs = self._kafka.configs.describe(self._resources)
        if _ALL_BROKERS in self._resources:
            rows = [*configs.to_pylist(), *self._unset_of_all_brokers(configs)]
            rows.sort(key=lambda row: (row["resource_type"], row["resource_name"], row["key"] or ""))
            configs = schemas.table(schemas.CONFIGS, rows)
        topics = {resource.name for resource in self._resources if resource.type == "TOPIC"}
        empty = self._kafka.empty_topics(topics) if topics else ()
        return ConfigTable(configs, self._below(ConfigTable(configs)), empty, is_whole=True)

    def documentation(self, resource: Resource, key: str) -> str | None:
        """Kafka's description of a key, as plain text; None where there is none, or no broker says it in time."""
        if resource.type not in self._documentation:
            self._documentation[resource.type] = self._described(resource)
        return self._documentation[resource.type].get(key)

    def _described(self, resource: Resource) -> Mapping[str, str]:
        """The descriptions of all keys of such resources; none where they cannot be read."""
        try:
            of = self._some_broker() if resource.is_default_broker else resource
            timeout = DOCUMENTATION_SECONDS
            table = self._kafka.configs.describe([of], synonyms=False, documentation=True, timeout=timeout)
        except KadminError:
            return {}
        pairs = zip(table["key"].to_pylist(), table["documentation"].to_pylist(), strict=True)
        return {key: plain_text(text) for key, text in pairs if key and text}

    def _unset_of_all_brokers(self, configs: pa.Table) -> Iterable[dict[str, Any]]:
        """A row for each key that the default for all brokers may have and has not, as a broker that serves has it."""
        is_of_all = np.asarray(configs["resource_name"].to_pylist()) == ""
        listed = {key for key, is_listed in zip(configs["key"].to_pylist(), is_of_all, strict=True) if is_listed}
        if None in listed:
            return
        for row in self._kafka.configs.describe([self._some_broker()]).to_pylist():
            if row["key"] is not None and row["key"] not in listed and not row["is_read_only"]:
                yield _without_broker(row)

    def _some_broker(self) -> Resource:
        return Resource("BROKER", str(min(broker.id for broker in self._kafka.brokers() if not broker.is_fenced)))

    def _below(self, table: ConfigTable) -> Values:
        """The fallbacks that the rows of what is set do not tell; none where they cannot be read."""
        cells = table.cells(np.flatnonzero(table.is_set))
        set_values = [cell.config for cell in cells if cell.has_own and not cell.below and not cell.is_secret]
        try:
            return fallback_values(self._kafka, [(value.resource, value.key) for value in set_values])
        except KadminError:
            return {}


def _without_broker(row: dict[str, Any]) -> dict[str, Any]:
    """A broker's row as it is without that broker's own value, and without the default for all."""
    value = ConfigValue.of(row)
    below = synonyms_below("BROKER", value.key, value.synonyms, Source.ALL_BROKERS)
    applied = in_effect("BROKER", value.key, below)
    text = None if applied is None else in_unit_of(value.key, applied)
    source = None if applied is None else applied.source
    synonyms = [{"source": s.source, "key": s.key, "value": s.text} for s in below]
    return {**row, "resource_name": "", "value": text, "source": source, "synonyms": synonyms}


def plain_text(documentation: str) -> str:
    """Kafka's description without the tags of HTML that it has in places."""
    return html.unescape(_TAG.sub("", documentation.replace("<li>", "\n- ").replace("<p>", "\n"))).strip()
