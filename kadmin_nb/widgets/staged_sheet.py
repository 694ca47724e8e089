"""The sheet over a stage: cells that hold edits or refused texts, undo and redo; rows sorted, filtered, read again.

Quotas and configs are two sets of rows and columns of it. Undo puts back what an action has left; a cell that somebody
else has changed since, as code that stages does, stays as it is.
"""

from __future__ import annotations

import fnmatch
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..model.changes import Change, Edit, Target
from ..model.configurable import Configurable
from ..model.grammar import ANY, DEFAULT, Choice, Pattern, Word, parse_word, split
from ..model.levels import DEFAULT_IP, IP, LEVELS
from ..model.resources import WORDS
from ..plans import planning
from ..plans.advice import dangers
from ..plans.kinds import kind_of
from ..plans.kinds.change_kind import ChangeKind
from ..plans.observed_state import ObservedState
from ..plans.stage import Listener, Listeners, Stage, edits_of
from .sheet import MOST_CELLS, Arrangement, CellText, Result, Sheet

Whose = TypeVar("Whose", bound=Configurable)

CHOICES = ("staged", "refused", "dangerous")
"""The rows that each of these sheets can show alone."""

DEEPEST = 200
"""Actions that can be taken back."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that was typed into a cell and cannot be staged."""

    text: str
    reason: str


class Judgement(NamedTuple):
    """The row of a plan that an edit is, and its danger, as far as what was read tells."""

    change: Change
    danger: str | None = None


class AddedRow(Enum):
    """The state of a row that was added by hand."""

    ADDED = "added"


CellState = Edit | Refused | AddedRow | None
"""The edit or the refused text of a cell; None where the stored value stands."""

ShownState = Judgement | Refused | None
"""The judgement or the refused text that a cell shows; None where the stored value stands."""

States = Mapping[tuple[Whose, str], CellState]


class Action(NamedTuple):
    """The states of some cells before an action and after it."""

    before: Mapping[Any, CellState]
    after: Mapping[Any, CellState]


class StagedSheet(Sheet, ABC, Generic[Whose]):
    """A sheet whose cells are targets of one kind of change. A subclass has the rows, and reads the texts."""

    kind: ClassVar[ChangeKind]
    what_rows_are: ClassVar[str]
    """Words behind their number, in a title."""

    filter_words: ClassVar[str]
    """What a filter takes, as examples."""

    own_choice: ClassVar[str]
    """The rows that only this sheet can show alone, besides those that are staged, refused or dangerous."""

    _order: np.ndarray
    """The numbers of the rows that are shown."""

    def __init__(self, stage: Stage) -> None:
        self._lock = threading.RLock()
        self._stage = edits_of(stage)
        self._refused: dict[tuple[Whose, str], Refused] = {}
        self._is_putting = False
        self._judged: tuple[int, dict[tuple[Whose, str], Judgement]] | None = None
        self._done: list[Action] = []
        self._undone: list[Action] = []
        self._arrangement = Arrangement()
        self._listeners = Listeners()

    # -- what a subclass has

    @abstractmethod
    def read(self, stored: Any) -> Result:
        """Take rows that were read anew; what is staged, refused or added stays."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The rows as they were read last, without what is staged."""

    @abstractmethod
    def _all_names(self) -> pa.Array:
        """The name of each row, shown or not."""

    @abstractmethod
    def _name_of(self, target: tuple[Whose, str]) -> str:
        """The name of the row that a target is in."""

    @abstractmethod
    def _arranged(self, arrangement: Arrangement) -> np.ndarray:
        """The numbers of the rows that it shows, in its order."""

    @abstractmethod
    def _own_flags(self) -> np.ndarray:
        """A flag for each row of the choice of rows that only this sheet has."""

    @abstractmethod
    def _targets(self, cells: Sequence[CellText]) -> Iterable[tuple[tuple[Whose, str], CellText]]:
        """The target of each cell. Raises UsageError for a row or a column that there is not."""

    @abstractmethod
    def _states_of(self, texts: Mapping[tuple[Whose, str], str]) -> dict[tuple[Whose, str], CellState]:
        """The edit that each text means, or its refusal; None where it says what is stored."""

    @abstractmethod
    def _show_targets(self, targets: Collection[tuple[Whose, str]]) -> None:
        """Give those of these targets a row that have none."""

    @abstractmethod
    def _observed_state(self, targets: Collection[tuple[Whose, str]]) -> ObservedState:
        """What was read of these cells, and what their dangers go by."""

    # -- rows

    def __len__(self) -> int:
        return len(self._order)

    def keys(self, first: int, count: int) -> list[str]:
        with self._lock:
            return list(self._all_names().take(pa.array(self._rows(first, count))).to_pylist())

    def arrange(self, arrangement: Arrangement) -> None:
        with self._lock:
            self._order = self._arranged(arrangement)
            self._arrangement = arrangement
        self._changed()

    def counts(self) -> dict[str, int]:
        """The rows of each choice of rows, `all` of them first."""
        with self._lock:
            kinds = {kind: len({*map(self._name_of, targets)}) for kind, targets in self._targets_by_choice().items()}
            return {"all": len(self._all_names()), **kinds, self.own_choice: int(self._own_flags().sum())}

    def _rows(self, first: int, count: int) -> np.ndarray:
        """The numbers of the rows at these positions."""
        return self._order[max(first, 0) : max(first, 0) + count]

    def _flags(self, show: str) -> np.ndarray:
        """A flag for each row that is of the chosen kind."""
        if show == self.own_choice:
            return self._own_flags()
        names = self._all_names()
        if show not in CHOICES:
            return np.ones(len(names), dtype=bool)
        chosen = pa.array([self._name_of(target) for target in self._targets_by_choice()[show]], pa.string())
        return np.asarray(pc.is_in(names, chosen), dtype=bool)

    def _targets_by_choice(self) -> dict[str, Collection[tuple[Whose, str]]]:
        return dict(zip(CHOICES, (self._staged(), self._refused, self.dangers()), strict=True))

    # -- edits

    def changes(self) -> list[Change]:
        """The rows of a plan that the staged edits are, on the values as they were read."""
        return [judged.change for judged in self._judge().values()]

    def dangers(self) -> dict[tuple[Whose, str], str]:
        """The messages of a plan on the dangerous ones among the cells."""
        return {target: judged.danger for target, judged in self._judge().items() if judged.danger is not None}

    def changed_since_read(self, changes: Iterable[Change]) -> list[Change]:
        """The changes of a plan whose old value is not the one that is shown here: somebody else was faster."""
        shown = {change.target: change.old for change in self.changes() if change.old_known}
        return [change for change in changes if change.target in shown and shown[change.target] != change.old]

    def edit(self, cells: Sequence[CellText]) -> Result:
        if len(cells) > MOST_CELLS:
            raise UsageError(f"{len(cells):,} cells at once are too many", hint=f"The limit is {MOST_CELLS:,}.")
        with self._lock:
            states = self._states_of({target: cell.text for target, cell in self._targets(cells)})
            self._do(states)
        self._changed()
        return _result(states)

    def discard(self, cells: Sequence[CellText] | None = None) -> Result:
        """Take back what is staged or refused in these cells, or in all; `undo` brings it back."""
        with self._lock:
            edited = {*self._overlay()}
            targets = edited if cells is None else edited & {target for target, _ in self._targets(cells)}
            if targets:
                self._do(dict.fromkeys(targets))
        self._changed()
        if not targets:
            return Result("nothing is staged there")
        one = len(targets) == 1
        return Result(f"Discarded {len(targets):,} edit{'s' * (not one)}. Undo brings {'it' if one else 'them'} back.")

    def undo(self) -> Result:
        return self._moved(self._done, self._undone, "undo")

    def redo(self) -> Result:
        return self._moved(self._undone, self._done, "redo")

    def refused(self) -> dict[tuple[Whose, str], Refused]:
        """The texts that are not staged, as they do not fit."""
        with self._lock:
            return dict(self._refused)

    def watch(self, listener: Listener) -> None:
        self._listeners.add(listener)

    # -- states

    def _judge(self) -> dict[tuple[Whose, str], Judgement]:
        """The plan's judgement of the staged edits; made again when the stage or the rows have changed."""
        with self._lock:
            version = self._stage.version
            if self._judged is None or self._judged[0] != version:
                edits = self._staged()
                state = self._observed_state(edits)
                changes = planning.judged([*edits.values()], state)
                judged_dangers = dangers.judged([c for c in changes if c.target not in state.unread], state)
                by_row = {danger.row: danger.message for danger in judged_dangers}
                judgements = [Judgement(change, by_row.get(change.row)) for change in changes]
                self._judged = version, dict(zip(edits, judgements, strict=True))
            return self._judged[1]

    def _shown_states(self) -> dict[tuple[Whose, str], Judgement | Refused]:
        return {**self._judge(), **self._refused}

    def _follow_stage(self) -> None:
        """Show what is staged, now and whoever stages more."""
        self._show_targets(self._staged())
        self._stage.watch(self._stage_changed)

    def _staged(self) -> dict[tuple[Whose, str], Edit]:
        staged = self._stage.staged().items()
        return {cast(tuple[Whose, str], target): edit for target, edit in staged if kind_of(edit) is self.kind}

    def _overlay(self) -> dict[tuple[Whose, str], CellState]:
        return {**self._staged(), **self._refused}

    def _states(self, targets: Iterable[tuple[Whose, str]]) -> dict[tuple[Whose, str], CellState]:
        """The states of these cells now."""
        overlay = self._overlay()
        return {target: overlay.get(target) for target in targets}

    def _put(self, states: States[Whose]) -> None:
        """Make these cells hold that."""
        for target in states:
            self._refused.pop(target, None)
        self._refused |= {target: state for target, state in states.items() if isinstance(state, Refused)}
        edits: dict[Target, Edit | None] = {
            t: state if isinstance(state, Edit) else None for t, state in states.items()
        }
        self._is_putting = True
        self._stage.put(edits)
        self._is_putting = False

    def _do(self, states: States[Whose]) -> None:
        """Make these cells hold that, and remember what held before."""
        before = self._states(states)
        self._put(states)
        self._done = [*self._done[1 - DEEPEST :], Action(before, self._states(states))]
        self._undone = []

    def _moved(self, source: list[Action], target: list[Action], name: str) -> Result:
        """Put back what held before an action, where it is as the action left it."""
        if not source:
            return Result(f"nothing to {name}", ok=False)
        with self._lock:
            action = source.pop()
            now = self._states(action.after)
            mine = {cell: state for cell, state in action.before.items() if now[cell] == action.after[cell]}
            self._put(mine)
            target.append(Action({cell: now[cell] for cell in mine}, mine))
        self._changed()
        if passed_over := len(now) - len(mine):
            return Result(f"{name}: {_count(passed_over)} changed elsewhere since, and stay", ok=False)
        return Result(f"{name}: {_count(len(mine))}")

    def _stage_changed(self) -> None:
        with self._lock:
            if self._is_putting:
                return  # by ourselves; whoever edits tells of it, once
            self._show_targets(self._staged())
        self._changed()

    def _changed(self) -> None:
        """Tell those who watch; never under our lock, as they have locks of their own."""
        self._listeners.tell()


def _result(states: States[Whose]) -> Result:
    refused = [state for state in states.values() if isinstance(state, Refused)]
    if not refused:
        return Result(f"{_count(len(states))} staged")
    first = refused[0].reason
    more = f"; and {len(refused) - 1:,} more" if len(refused) > 1 else ""
    return Result(f"{len(refused):,} of {len(states):,} not staged: {first}{more}", ok=False)


def _count(cells: int) -> str:
    return f"{cells:,} cell{'s' * (cells != 1)}"


# -- the words of a filter: any part of a row's name as the table shows it, or `user~=team-*`, `key~=*.ms`


_COLUMNS = {"user": "user", "client-id": "client_id", "ip": "ip"}
_HINT = f"One of {', '.join(f'{kind}=…' for kind in _COLUMNS)}, {'user~=team-*'}, or any part of who."
_LEVELS = {
    ("user", "default"): [level.name for level in LEVELS if level.user == "default"],
    ("user", "any"): [level.name for level in LEVELS if level.user],
    ("client-id", "default"): [level.name for level in LEVELS if level.client_id == "default"],
    ("client-id", "any"): [level.name for level in LEVELS if level.client_id],
    ("ip", "default"): [DEFAULT_IP],
    ("ip", "any"): [IP, DEFAULT_IP],
}
_CONFIG_HINT = f"One of {', '.join(f'{word}=…' for word in WORDS)}, key~=*.ms, or any part of a row's name."


def matching(entities: pa.Table, words: str) -> np.ndarray:
    """A flag for each entity that the words fit; `entities` has entity, level and the names as columns.

    Raises
    ------
    UsageError
        A word of another type, which stands in no entity either.
    """
    return _fitting(entities["entity"].combine_chunks(), words, lambda word: _fits_entity(entities, word))


def _fitting(names: pa.Array, words: str, fits: Callable[[Word], pa.Array]) -> np.ndarray:
    """A flag for each name that has this text in it, or that fits word by word, where a word may be one of grammar."""
    has_all = _has(names, words.strip())
    try:
        by_words = reduce(pc.and_, [_fits_word(names, word, fits) for word in split(words)], _has(names, ""))
    except UsageError:
        if not pc.any(has_all).as_py():
            raise
        by_words = has_all
    return np.asarray(pc.or_(has_all, by_words), dtype=bool)


def _fits_word(names: pa.Array, text: str, fits: Callable[[Word], pa.Array]) -> pa.Array:
    has_it = _has(names, text)
    try:
        return pc.or_(has_it, pc.fill_null(fits(parse_word(text)), False)) if "=" in text else has_it
    except UsageError:
        if not pc.any(has_it).as_py():
            raise
        return has_it


def _has(names: pa.Array, text: str) -> pa.Array:
    return pc.match_substring(names, text, ignore_case=True)


def matching_configs(names: pa.Array, configs: pa.Table, words: str) -> np.ndarray:
    """A flag for each row of CONFIGS, of these names, that the words fit.

    Raises
    ------
    UsageError
        A word of another type, which stands in no row either.
    """
    return _fitting(names, words, lambda word: _fits_config(configs, word))


def _fits_entity(entities: pa.Table, word: Word) -> pa.Array:
    if word.name not in _COLUMNS:
        raise UsageError(f"{word.name} is not a type of entity", hint=_HINT)
    is_default, is_any = (
        pc.is_in(entities["level"], pa.array(_LEVELS[word.name, kind], pa.string())) for kind in ("default", "any")
    )
    return _fits_choices(entities[_COLUMNS[word.name]], word, is_default, is_any).combine_chunks()


def _fits_config(configs: pa.Table, word: Word) -> pa.Array:
    if word.name != "key" and word.name not in WORDS:
        raise UsageError(f"{word.name} is not a type of resource", hint=_CONFIG_HINT)
    names = configs["key" if word.name == "key" else "resource_name"]
    is_empty = pc.equal(names, "")
    fits = _fits_choices(names, word, is_empty, pc.invert(is_empty))
    if word.name != "key":
        fits = pc.and_(fits, pc.equal(configs["resource_type"].cast(pa.string()), WORDS[word.name]))
    return fits.combine_chunks()


def _fits_choices(names: pa.ChunkedArray, word: Word, is_default: Any, is_any: Any) -> pa.ChunkedArray:
    """A flag for each name that fits one of the choices of a word."""
    flags = {DEFAULT: is_default, ANY: is_any}

    def fits(choice: Choice) -> pa.ChunkedArray:
        if isinstance(choice, Pattern):
            return pc.match_substring_regex(names, regex_of(choice.glob))
        return flags[choice] if choice in flags else pc.equal(names, str(choice))

    return reduce(pc.or_, map(fits, word.value if isinstance(word.value, tuple) else (word.value,)))


def regex_of(glob: str) -> str:
    """The pattern as RE2 takes it: the end of the text is `\\z` there."""
    return "^" + fnmatch.translate(glob).replace(r"\Z", r"\z")
