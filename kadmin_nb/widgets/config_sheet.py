"""The sheet of configs: a row per resource and key, over a stage; what is set stands above what is not.

A secret is neither shown nor kept, whoever types it: its cell takes references, and forgets any other text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import Kafka
from ..errors import UsageError, printable
from ..frames import schemas
from ..frames.blocks import BADGE, NAME, Block, Title
from ..frames.blocks import KEY as KEY_LOOK
from ..frames.meanings import word
from ..model import config_values
from ..model.changes import DELETE, SET, Change, Edit, Refusal, Target
from ..model.config_units import refuse_other_than_number, stored_text, with_unit
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.resources import OWN_SOURCE, Resource, Source
from ..plans.kinds import CONFIGS
from ..plans.observed_state import ObservedState, ObservedValue, observed
from ..plans.stage import Stage
from ..secrets import FORMS, SHOWN, is_reference
from .sheet import APPLIES, REFUSED, CellEditor, CellText, Column, Mark
from .staged_sheet import Judgement, Refused, ShownState, StagedSheet, verdict

EMPTY = '""'
"""The text of a value that is set, and empty: an emptied cell resets."""

LONGEST_EDITED = 5_000
"""Characters of a value that a cell edits: a longer one would not get to a browser in one piece."""

NUMBERS = ("SHORT", "INT", "LONG", "DOUBLE")


def row_name(resource: Configurable, key: str) -> str:
    """The name of a row: `topic=orders retention.ms`, or the resource alone where it was not read."""
    return f"{resource} {key}" if key else str(resource)


@dataclass(frozen=True)
class ConfigCell:
    """A config in a table; of a resource that was not read the `refusal`. `state` is what is typed there."""

    config: ConfigValue
    refusal: Refusal | None = None
    state: ShownState = None

    # -- facts

    @property
    def name(self) -> str:
        """The name of its row."""
        return row_name(self.config.resource, self.config.key)

    @cached_property
    def is_secret(self) -> bool:
        """True if Kafka keeps the value to itself."""
        edit = Edit(SET, self.config.resource, self.config.key, "")
        values: dict[Target, ObservedValue] = {edit.target: observed(self.config)} if self.is_listed else {}
        return CONFIGS.is_secret(edit, ObservedState(values))

    @property
    def is_listed(self) -> bool:
        """True if a broker knows the key there, or elsewhere."""
        return self.config.type is not None or self.config.source not in (None, Source.UNKNOWN)

    @cached_property
    def lock(self) -> str:
        """The reason why it cannot be edited; empty where it can."""
        if self.refusal is not None:
            return f"not read: {self.refusal}"
        if self.config.is_read_only:
            return "read-only: it is set in the broker's file, and a change needs a restart"
        text = "" if self.is_secret else self.config.sent or ""
        is_strange = len(text) > LONGEST_EDITED or not text.isprintable()
        return "its value is too long, or has line ends or control characters: use %kconfig" if is_strange else ""

    @property
    def source(self) -> str:
        """Where the value was set; of a resource that was not read, its error."""
        if self.refusal is not None:
            return self.refusal.code
        return "" if self.config.source is None else word(self.config.source)

    @property
    def below(self) -> str | None:
        """The text that applies once it has no value of its own; None where its row does not tell."""
        return self.config.inherited_text if self.config.is_own else self.config.text

    # -- texts to edits

    def read(self, text: str) -> Edit | None:
        """The edit that a typed text means; None where it says what stands."""
        if self.lock:
            raise UsageError(f"{self.name} cannot be edited: {self.lock}")
        if not text.strip():
            return Edit(DELETE, self.config.resource, self.config.key) if self.config.is_own else None
        if self.is_secret:
            return self._reference(text.strip())
        value = self._value(text)
        if value == self.config.sent:
            return None
        return Edit(SET, self.config.resource, self.config.key, value)

    def _reference(self, text: str) -> Edit | None:
        if text != SHOWN and not is_reference(text):
            raise UsageError(f"{self.name} is a secret, so what was typed is not kept", hint=f"Type {FORMS}.")
        return None if text == SHOWN else Edit(SET, self.config.resource, self.config.key, text)

    def _value(self, text: str) -> str:
        """The text that brokers store; whether it fits the plan says, as a broker does."""
        if text.strip() == EMPTY:
            return ""
        number = text.partition(" (")[0]
        if number != text and with_unit(self.config.key, number) == text:
            text = number  # it was copied out of a cell: `604800000 (7 d)`
        if self.config.resource.type == "BROKER_LOGGER":
            return text.strip().upper()
        if self.config.type in NUMBERS:
            refuse_other_than_number(self.config.key, text)
        return stored_text(self.config.key, text)

    # -- edits to texts

    @property
    def text(self) -> str:
        """The text of the cell; of a reset, the value that applies then."""
        if self.state is None:
            return "not read" if self.refusal is not None else self.standing
        if isinstance(self.state, Refused):
            return self.state.text
        if self.state.change.op == DELETE:
            return self._shown(self.below or "")
        return self._shown(self.state.change.after or "") or EMPTY

    @property
    def standing(self) -> str:
        """The text of the value that stands without an edit."""
        if self.is_secret:
            return SHOWN if self.config.is_own else ""
        text = self.config.sent
        return EMPTY if text == "" and self.config.is_own else self._shown(text or "")

    def _shown(self, text: str) -> str:
        return with_unit(self.config.key, text)

    @property
    def editor(self) -> CellEditor:
        """Its editor: a choice, or a text; of a secret, one that begins with its reference, or empty."""
        if self.lock:
            return CellEditor(is_locked=True)
        choices = config_values.choices(self.config.resource.type, self.config.type)
        return CellEditor(("", *choices) if choices and self.config.is_own else choices, text=self._start)

    @property
    def _start(self) -> str:
        """The text that its editor begins with."""
        if isinstance(self.state, Refused):
            return self.state.text
        change = None if self.state is None else self.state.change
        if self.is_secret:
            return (change.reference and change.wanted) or "" if change else ""
        if change is None:
            return self.config.sent or ""
        if change.op == DELETE:
            return self.below or ""
        return change.after or ""

    @property
    def mark(self) -> Mark | None:
        """Its mark, where it has one: the edit in words beside the value that stood, a refusal, or why it is locked."""
        if self.state is None:
            kind = "" if self.config.is_own or self.refusal is not None else APPLIES
            return Mark(kind, self.lock) if self.lock or kind else None
        kind, reason = verdict(self.state)
        if kind != REFUSED and isinstance(self.state, Judgement):
            reason = "; ".join(filter(None, [self.words(self.state.change), reason]))
        return Mark(kind, reason, self.standing)

    def words(self, change: Change) -> str:
        """An edit as a sentence of its cell: `append compact`, `reset`."""
        if change.op == DELETE:
            return "reset" if self.below is None else f"reset: {self._shown(self.below)} applies then"
        return f"{change.op} {self.text if self.is_secret or change.op == SET else change.wanted}"

    @property
    def lines(self) -> tuple[str, str]:
        """It in two lines: its value and what the edit does, then what else is to be known."""
        was = "" if self.state is None else f", was {self.standing or 'not set'}"
        first = f"{self.config.resource}, {self.config.key}: {self.text or 'not set'}{was}"
        return printable(first), printable(" ".join(self._sentences()))

    @property
    def details(self) -> list[Block]:
        """The sentences on it, and every place with a value of it."""
        blocks: list[Block] = [Title(printable(self.name)), *self.lines]
        if synonyms := self.config.synonyms:  # the one that applies first; of a secret the places alone
            rows = (dict[str, object](source=s.source, key=s.key, value=s.text) for s in synonyms)
            blocks.append(schemas.table(schemas.CONFIGS, rows).select(["source", "key", "value"]))
        return blocks

    def _sentences(self) -> Iterator[str]:
        """What the edit does or why it is refused, and what one has to know of the config."""
        if (mark := self.mark) is not None and mark.note:
            yield f"{mark.note}."
        if self.is_secret:
            yield "A secret. Brokers never show its value, and it is set only by reference, such as env:NAME."
        if self.config.is_own and self.state is None and self.below is not None:
            yield f"Without it: {self._shown(self.below)}."


# -- the table

ConfigTarget = tuple[Resource, str]
"""A resource and a config key: a row."""


@dataclass(frozen=True)
class ConfigTable:
    """CONFIGS of some resources, all their keys, with the `names` of its rows."""

    configs: pa.Table

    @classmethod
    def read(cls, kafka: Kafka, resources: Sequence[Resource]) -> ConfigTable:
        """The configs of these resources as they are set now."""
        return cls(kafka.configs.describe(resources))

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

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {name: row for row, name in enumerate(self.names.to_pylist())}

    def cells(self, rows: Sequence[int] | np.ndarray) -> list[ConfigCell]:
        """The configs of some rows."""
        return [_cell(row) for row in self.configs.take(pa.array(rows, pa.int64())).to_pylist()]

    def targets(self, rows: Sequence[int]) -> list[ConfigTarget]:
        """The resources and keys of some rows."""
        names = self.configs.select(["resource_type", "resource_name", "key"]).take(pa.array(rows, pa.int64()))
        columns = (column.to_pylist() for column in names.columns)
        return [(Resource(kind, name), key or "") for kind, name, key in zip(*columns, strict=True)]

    def observed_state(self, targets: Collection[ConfigTarget]) -> ObservedState:
        """What was read of these configs, as plans look at it."""
        resources = dict.fromkeys(resource for resource, _ in targets)
        listed: dict[Configurable, set[str]] = {r: keys for r in resources if (keys := self._listed_keys(r))}
        state = ObservedState(listed=listed)
        for cell in self.cells([*self.rows_of(row_name(*target) for target in targets).values()]):
            target = cell.config.resource, cell.config.key
            state.below[target] = () if cell.below is None else (cell.below,)
            if cell.is_listed:
                state.values[target] = observed(cell.config)
        return state

    def _listed_keys(self, resource: Resource) -> set[str]:
        """The keys that were read of a resource."""
        return {*filter(None, self.keys.filter(pc.equal(self.resources, str(resource))).to_pylist())}

    def _text(self, column: str) -> pa.ChunkedArray:
        return self.configs[column].cast(pa.string())


def _cell(row: Mapping[str, object]) -> ConfigCell:
    if row["key"] is not None:
        return ConfigCell(ConfigValue.of(row))
    resource = Resource(str(row["resource_type"]), str(row["resource_name"]))
    return ConfigCell(ConfigValue(resource, ""), Refusal(str(row["error"]), str(row["message"] or "")))


# -- the sheet

RESOURCE, KEY, VALUE, SOURCE = "resource", "key", "value", "source"

_COLUMNS = (
    Column(KEY, "key", KEY_LOOK),
    Column(VALUE, "value", is_editable=True, hint="the value that applies; empty it to reset"),
    Column(SOURCE, "source", BADGE, hint="where the value was set"),
)


class ConfigSheet(StagedSheet[Resource, ConfigCell]):
    """Configs as they are set, with what is staged for them; of one resource its name is not repeated in each row."""

    kind = CONFIGS
    what_rows_are = "configs"
    filter_words = "retention, orders-*"
    own_choice = "set"
    _table: ConfigTable

    def __init__(self, table: ConfigTable, stage: Stage) -> None:
        super().__init__(table, stage)
        resources = self._table.resources.unique().to_pylist()
        self._only = resources[0] if len(resources) == 1 else None
        self.columns = _COLUMNS if self._only else (Column(RESOURCE, "resource", NAME), *_COLUMNS)
        self.label = f"Configs of {self._only}" if self._only else "Configs"

    def to_arrow(self) -> pa.Table:
        return self._table.configs

    def cell(self, name: str, column: str = VALUE) -> ConfigCell | None:
        return super().cell(name, VALUE)

    def _cells(self, rows: np.ndarray, names: Sequence[str]) -> list[Sequence[str | ConfigCell]]:
        shown = self._shown_states()
        read = self._table.cells(rows)
        cells = [replace(cell, state=shown.get((cell.config.resource, cell.config.key))) for cell in read]
        texts: dict[str, Sequence[str | ConfigCell]] = {
            RESOURCE: [str(cell.config.resource) for cell in cells],
            KEY: [cell.config.key for cell in cells],
            VALUE: cells,
            SOURCE: [cell.source for cell in cells],
        }
        return [texts[column.name] for column in self.columns]

    def _add_rows(self, targets: Sequence[ConfigTarget]) -> None:
        """None: what is staged for other resources stands in the plan alone."""

    def _staged(self) -> dict[ConfigTarget, Edit]:
        staged = super()._staged().items()
        return {target: edit for target, edit in staged if self._table.rows_of([row_name(*target)])}

    def _stored_cells(self, targets: Sequence[ConfigTarget]) -> list[ConfigCell]:
        return self._table.cells([*self._table.rows_of(map(self._table.name_of, targets)).values()])

    def _targets(self, cells: Sequence[CellText]) -> list[ConfigTarget]:
        rows = self._table.rows_of(cell.key for cell in cells)
        return self._table.targets([rows[cell.key] for cell in cells])

    def _observed_state(self, targets: Collection[ConfigTarget]) -> ObservedState:
        return self._table.observed_state(targets)
