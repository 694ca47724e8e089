"""The cell of a config: the edit that a typed text means, and the text, the mark and the editor of a value.

A secret is neither shown nor kept, whoever types it: its cell takes references, and forgets any other text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import UsageError, printable, printable_lines
from ..frames import schemas
from ..frames.blocks import Block, Title
from ..frames.meanings import word
from ..model import config_values
from ..model.changes import DELETE, SET, Change, Edit, Refusal, Target
from ..model.config_units import parse_config_number, stored_text, with_unit
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.resources import Source
from ..plans.kinds import CONFIGS
from ..plans.observed_state import ObservedState, ObservedValue, observed
from ..secrets import FORMS, SHOWN, is_reference
from .sheet import APPLIES, REFUSED, CellEditor, Mark
from .staged_sheet import Judgement, Refused, ShownState, verdict

EMPTY = '""'
"""The text of a value that is set, and empty: an emptied cell resets."""

LONGEST_EDITED = 5_000
"""Characters of a value that a cell edits: a longer one would not get to a browser in one piece."""

_MOST = {"SHORT": 2**15 - 1, "INT": 2**31 - 1, "LONG": 2**63 - 1}
_WHOLE = re.compile(r"[+-]?[0-9]+")


def row_name(resource: Configurable, key: str) -> str:
    """The name of a row: `topic=orders retention.ms`, or the resource alone where it was not read."""
    return f"{resource} {key}" if key else str(resource)


@dataclass(frozen=True)
class ConfigCell:
    """A config in a table. `below` are the texts that may apply once it has no value of its own, none if not known.

    One that is not `is_read` was staged elsewhere: nobody has looked what it holds. `state` is what is typed there.
    """

    config: ConfigValue
    below: Collection[str | None] = ()
    refusal: Refusal | None = None
    is_read: bool = True
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
    def has_own(self) -> bool:
        """True if it can be reset."""
        return self.config.is_own

    @property
    def is_set(self) -> bool:
        """True unless the value that applies there was set elsewhere, or is Kafka's own."""
        return self.config.is_own or not self.is_read or self.refusal is not None

    @cached_property
    def fallback_text(self) -> str | None:
        """The value that applies once it is reset, all of them where brokers differ; None where that is not known."""
        texts = sorted({"nothing" if text is None else text for text in self.below})
        return " or ".join(self._shown(text) for text in texts) if texts else None

    # -- texts to edits

    def read(self, text: str) -> Edit | None:
        """The edit that a typed text means; None where it says what stands."""
        if self.lock:
            raise UsageError(f"{self.name} cannot be edited: {self.lock}")
        if not text.strip():
            return Edit(DELETE, self.config.resource, self.config.key) if self.has_own else None
        if self.is_secret:
            return self._reference(text.strip())
        value = self._value(text)
        if value == self.config.sent:
            return None
        return self._edit(SET, value)

    def _reference(self, text: str) -> Edit | None:
        if text != SHOWN and not is_reference(text):
            raise UsageError(f"{self.name} is a secret, so what was typed is not kept", hint=f"Type {FORMS}.")
        return None if text == SHOWN else self._edit(SET, text)

    def _value(self, text: str) -> str:
        """The text that brokers store."""
        if text.strip() == EMPTY:
            return ""
        number = text.partition(" (")[0]
        if number != text and with_unit(self.config.key, number) == text:
            text = number  # it was copied out of a cell: `604800000 (7 d)`
        if self.config.resource.type == "BROKER_LOGGER":
            return self._one_of(text.strip().upper(), config_values.LOGGER_LEVELS)
        if self.config.type == "BOOLEAN":
            return self._one_of(text.strip().lower(), config_values.BOOLEAN)
        if self.config.type in (*_MOST, "DOUBLE"):
            return self._number(text.strip())
        return stored_text(self.config.key, text)

    def _one_of(self, text: str, values: Sequence[str]) -> str:
        if text not in values:
            raise UsageError(f"{self.config.key} takes {', '.join(values[:-1])} or {values[-1]}")
        return text

    def _number(self, text: str) -> str:
        parse_config_number(text, [self.config.key])  # refuses what is none
        stored, most = stored_text(self.config.key, text), _MOST.get(self.config.type or "")
        if most is not None and (not _WHOLE.fullmatch(stored) or abs(int(stored)) > most):
            raise UsageError(f"{self.config.key} takes a whole number up to {most:,}")
        return stored

    def _edit(self, op: str, value: str) -> Edit:
        return Edit(op, self.config.resource, self.config.key, value)

    @property
    def _is_list(self) -> bool:
        return self.config.type == "LIST"

    # -- edits to texts

    @property
    def text(self) -> str:
        """The text of the cell; of a reset, the value that applies then."""
        if self.state is None:
            return "not read" if self.refusal is not None else self.standing
        if isinstance(self.state, Refused):
            return self.state.text
        if self.state.change.op == DELETE:
            return self.fallback_text or ""
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

    def editor(self, row: int, column: int) -> CellEditor:
        """Its editor: a choice, a list, or a text; of a secret, one that begins with its reference, or empty."""
        if self.lock:
            return CellEditor(row, column, is_locked=True)
        choices = config_values.choices(self.config.resource.type, self.config.key, self.config.type)
        if choices and not self._is_list and self.has_own:
            choices = ("", *choices)
        return CellEditor(row, column, choices, self._is_list, text=self._start)

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
            return next(iter(self.below), None) or ""
        return change.after or ""

    def mark(self, row: int, column: int) -> Mark | None:
        """Its mark, where it has one: the edit in words beside the value that stood, a refusal, or why it is locked."""
        if self.state is None:
            kind = "" if self.is_set else APPLIES
            return Mark(row, column, kind, self.lock) if self.lock or kind else None
        kind, reason = verdict(self.state)
        if kind != REFUSED and isinstance(self.state, Judgement):
            reason = "; ".join(filter(None, [self.words(self.state.change), reason]))
        return Mark(row, column, kind, reason, self.standing if self.is_read else None)

    def words(self, change: Change) -> str:
        """An edit as a sentence of its cell: `append compact`, `reset`."""
        if change.op == DELETE:
            then = self.fallback_text
            return f"reset: {then} applies then" if then else "reset: the value that applies then is not known here"
        return f"{change.op} {self.text if self.is_secret or change.op == SET else change.wanted}"


# -- a cell in words


def config_lines(cell: ConfigCell, documentation: str | None) -> tuple[str, str]:
    """A config in two lines: its value and what the edit does, then what else is to be known, and Kafka's words."""
    was = f", was {cell.standing or 'not set'}" if cell.state is not None and cell.is_read else ""
    first = f"{cell.config.resource}, {cell.config.key}: {cell.text or 'not set'}{was}"
    sentences = [sentence for sentence in config_sentences(cell) if not sentence.startswith("Staged: set")]
    return printable(first), printable(" ".join([*sentences, *(documentation or "").split()]))


def config_details(cell: ConfigCell, documentation: str | None) -> list[Block]:
    """The sentences on a config, every place with a value of it, and Kafka's description."""
    blocks: list[Block] = [Title(printable(cell.name)), "\n".join(map(printable, config_sentences(cell)))]
    rows: list[dict[str, object]] = [{"source": s.source, "key": s.key, "value": s.text} for s in cell.config.synonyms]
    if rows:  # the one that applies first; of a secret the places alone
        blocks.append(schemas.table(schemas.CONFIGS, rows).select(["source", "key", "value"]))
    return [*blocks, printable_lines(documentation)] if documentation else blocks


def config_sentences(cell: ConfigCell) -> Iterator[str]:
    """What is staged there, and what one has to know of the config."""
    state = cell.state
    if isinstance(state, Refused):
        yield f"Not staged: {state.reason}"
    elif state is not None:
        yield f"Staged: {cell.words(state.change)}."
        if state.change.is_refused:
            yield f"Refused: {state.change.refusal}"
        if state.danger:
            yield f"Danger: {state.danger}."
    if cell.lock:
        yield f"It cannot be edited: {cell.lock}."
    if cell.is_secret:
        yield "A secret. Brokers never show its value, and it is set only by reference, such as env:NAME."
    if cell.has_own:
        fallback = cell.fallback_text
        yield "The value after a reset is not known here." if fallback is None else f"Without it: {fallback}."
