"""CONFIGS as a spreadsheet shows them: a row per resource and key, by a name that stays when rows move."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import Kafka, serving
from ..errors import KadminError, UsageError
from ..frames import schemas
from ..model.changes import Refusal
from ..model.config_fallback import in_effect, in_unit_of, synonyms_below
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.grammar import Word
from ..model.resources import OWN_SOURCE, WORDS, Resource, Source
from ..plans.advice.fallback import Values, fallback_texts, fallback_values, own_keys
from ..plans.kinds.config_changes import ROOT_LOGGER
from ..plans.observed_state import ObservedState, observed
from .config_cells import ConfigCell, row_name
from .staged_sheet import fits_choices

ConfigTarget = tuple[Resource, str]
"""A resource and a config key: a row."""


_OF_KEYS = ("type", "is_sensitive", "is_read_only")
"""The columns that are the same of all resources of a type."""


@dataclass(frozen=True)
class ConfigTable:
    """CONFIGS with the `names` of its rows, and the resources as words.

    `below` has the texts that apply after a reset, where a row does not tell them itself; `empty` the topics without
    records. Of the rows that were `added` nobody has looked what they hold; `is_whole` says that the others are all
    keys of their resources.
    """

    configs: pa.Table
    below: Values = field(default_factory=dict)
    empty: Collection[str] = ()
    is_whole: bool = False
    added: Collection[ConfigTarget] = ()

    @cached_property
    def resources(self) -> pa.Array:
        """The resource of each row, as it is typed."""
        pairs = pc.binary_join_element_wise(self._text("resource_type"), self._text("resource_name"), " ")
        encoded = pairs.combine_chunks().dictionary_encode()
        words = [str(Resource(*pair.split(" ", 1))) for pair in encoded.dictionary.to_pylist()]
        return pa.array(words, pa.string()).take(encoded.indices)

    @cached_property
    def keys(self) -> pa.Array:
        """The key of each row; empty where the resource was not read."""
        return pc.fill_null(self._text("key"), "").combine_chunks()

    @cached_property
    def names(self) -> pa.Array:
        """The name of each row."""
        names = pc.binary_join_element_wise(self.resources, self.keys, " ")
        return pc.if_else(pc.equal(self.keys, ""), self.resources, names)

    @property
    def sources(self) -> pa.Array:
        """Where the value of each row was set."""
        return self._text("source").combine_chunks()

    @property
    def is_chosen(self) -> np.ndarray:
        """A flag for each row: all of them are shown."""
        return np.ones(self.configs.num_rows, dtype=bool)

    @property
    def rank(self) -> np.ndarray:
        """What is set stands above what is not."""
        return np.where(self.is_own, 0, 1)

    @cached_property
    def is_own(self) -> np.ndarray:
        """A flag for each row whose value was set on the resource itself, or that was not read."""
        types, sources = self._text("resource_type"), self._text("source")
        is_set = pc.is_valid(self.configs["error"])
        for kind, source in OWN_SOURCE.items():
            is_set = pc.or_(is_set, pc.and_(pc.equal(types, kind), pc.fill_null(pc.equal(sources, source), False)))
        of_all = pc.and_(pc.equal(self._text("resource_name"), ""), pc.equal(sources, Source.ALL_BROKERS))
        return np.asarray(pc.or_(is_set, pc.fill_null(of_all, False)), dtype=bool)

    def name_of(self, target: ConfigTarget) -> str:
        """The name of the row of a target."""
        return row_name(*target)

    def rows_of(self, names: Iterable[str]) -> dict[str, int]:
        """The rows of those of the names that have one."""
        return {name: self._positions[name] for name in names if name in self._positions}

    def by_name(self) -> pa.Table:
        """What is set, by resource and key."""
        return pa.table({"name": self.names, "value": self._text("value")}).filter(pa.array(self.is_own))

    def fits(self, word: Word) -> pa.Array:
        """A flag for each row that a word fits."""
        if word.name != "key" and word.name not in WORDS:
            hint = f"One of {', '.join(f'{word}=…' for word in WORDS)}, key~=*.ms, or any part of a row's name."
            raise UsageError(f"{word.name} is not a type of resource", hint=hint)
        names = self.configs["key" if word.name == "key" else "resource_name"]
        is_empty = pc.equal(names, "")
        fits = fits_choices(names, word, is_empty, pc.invert(is_empty)).combine_chunks()
        is_of_type = word.name == "key" or pc.equal(self._text("resource_type"), WORDS[word.name]).combine_chunks()
        return pc.and_(fits, is_of_type)

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {name: row for row, name in enumerate(self.names.to_pylist())}

    def cells(self, rows: Sequence[int] | np.ndarray) -> list[ConfigCell]:
        """The configs of some rows."""
        return [self._cell(row) for row in self.configs.take(pa.array(rows, pa.int64())).to_pylist()]

    def targets(self, rows: Sequence[int]) -> list[ConfigTarget]:
        """The resources and keys of some rows."""
        names = self.configs.select(["resource_type", "resource_name", "key"]).take(pa.array(rows, pa.int64()))
        columns = (column.to_pylist() for column in names.columns)
        return [(Resource(kind, name), key or "") for kind, name, key in zip(*columns, strict=True)]

    def with_rows(self, targets: Iterable[ConfigTarget]) -> ConfigTable:
        """The same with rows below it for keys that were not read; their types are those of the key elsewhere."""
        below = schemas.table(schemas.CONFIGS, [self._unread_row(*target) for target in targets])
        configs = pa.concat_tables([self.configs, below.cast(self.configs.schema)])
        return replace(self, configs=configs, added={*self.added, *targets})

    def observed_state(self, targets: Collection[ConfigTarget]) -> ObservedState:
        """What was read of these configs, as plans look at it."""
        resources = dict.fromkeys(resource for resource, _ in targets)
        listed: dict[Configurable, set[str]] = {r: keys for r in resources if (keys := self._listed_keys(r))}
        unread = {target for target in self.added if not self.is_whole or target[0] not in listed}
        state = ObservedState(listed=listed, unread=unread, empty={*self.empty})
        roots = ((r, ROOT_LOGGER) for r in resources if r.type == "BROKER_LOGGER" and ROOT_LOGGER in listed.get(r, ()))
        rows = self.rows_of(row_name(*target) for target in {*targets, *roots})
        for cell in self.cells([*rows.values()]):
            target = cell.config.resource, cell.config.key
            state.below[target] = cell.below
            if cell.is_listed:
                state.values[target] = observed(cell.config)
        return state

    def _listed_keys(self, resource: Resource) -> set[str]:
        """The keys that were read of a resource."""
        keys = self.keys.filter(pc.equal(self.resources, str(resource))).to_pylist()
        return {key for key in keys if key and (resource, key) not in self.added}

    def _unread_row(self, resource: Resource, key: str) -> dict[str, object]:
        row: dict[str, object] = {"resource_type": resource.type, "resource_name": resource.name, "key": key}
        is_same = pc.and_(pc.equal(self._text("resource_type"), resource.type), pc.equal(self.keys, key))
        like = pc.index(is_same, True).as_py()
        return row if like < 0 else {**row, **self.configs.select(_OF_KEYS).slice(like, 1).to_pylist()[0]}

    def _text(self, column: str) -> pa.ChunkedArray:
        return self.configs[column].cast(pa.string())

    def _cell(self, row: Mapping[str, object]) -> ConfigCell:
        if row["key"] is None:
            resource = Resource(str(row["resource_type"]), str(row["resource_name"]))
            return ConfigCell(ConfigValue(resource, ""), (), Refusal(str(row["error"]), str(row["message"] or "")))
        config = ConfigValue.of(row)
        is_read = (config.resource, config.key) not in self.added
        return ConfigCell(config, self._below(config) if is_read else (), is_read=is_read)

    def _below(self, config: ConfigValue) -> Collection[str | None]:
        if config.resource.type == "BROKER_LOGGER":
            roots = self.rows_of([row_name(config.resource, ROOT_LOGGER)]).values()
            return list(self.configs["value"].take(pa.array(roots, pa.int64())).to_pylist())
        if config.is_sensitive:
            return (config.inherited_text,) if config.is_own and config.inherited is not None else ()
        if texts := self._fallback_texts(config):
            return texts
        return self.below.get((config.resource, config.key), ()) if config.is_own else (config.text,)

    def _fallback_texts(self, config: ConfigValue) -> Sequence[str | None]:
        """The text below it as its own row tells, and the rows of the keys that stand in for its own."""
        if not config.synonyms or config.resource.is_default_broker:
            return () if config.inherited is None else (config.inherited_text,)
        rows = self.rows_of(row_name(config.resource, key) for key in own_keys(config.key) if key != config.key)
        taken = self.configs.take(pa.array(rows.values(), pa.int64()))
        stand_ins = map(ConfigValue.of, taken.to_pylist())
        return fallback_texts(config.resource, config.key, {value.key: value for value in (config, *stand_ins)})


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
        listed = {*configs.filter(pc.equal(configs["resource_name"], ""))["key"].to_pylist()}
        if None in listed:
            return
        for row in self._kafka.configs.describe([self._some_broker()]).to_pylist():
            if row["key"] is not None and row["key"] not in listed and not row["is_read_only"]:
                yield _without_broker(row)

    def _some_broker(self) -> Resource:
        return min(serving(self._kafka), key=lambda broker: broker.id).resource

    def _below(self, table: ConfigTable) -> Values:
        """The fallbacks that the rows of what is set do not tell; none where they cannot be read."""
        cells = table.cells(np.flatnonzero(table.is_own))
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
