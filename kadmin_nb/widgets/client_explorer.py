"""The client explorer: the levels of one client, what applies and what lost, who shares it, beside the hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError
from ..frames.answer import Tabular
from ..frames.blocks import NOTEBOOK, Page, Title
from ..frames.display import Display
from ..hints import Syntax, python
from ..model.entity import Entity
from ..model.levels import LEVELS, Level
from ..model.quota_keys import USER_CLIENT_KEYS, readable
from ..resolution.rules import Effective, Stored, entity_at, explain, stored_of
from .background import Latest
from .panel import Panel

if TYPE_CHECKING:
    from ..frames.blocks import Block

APPLIES, OVERRIDDEN, OUT_OF_REACH = "applies", "overridden", "does not reach it"


def client_levels(quotas: pa.Table, user: str, client_id: str) -> pa.Table:
    """A row a level, most specific first: `number`, `level`, `entity`, and a column a key that is set on any of them.

    Parameters
    ----------
    quotas
        QUOTAS of the cluster.
    client_id
        Blank of a client that sends none: levels of client-ids do not reach it.
    """
    entities = [_entity_reaching(level, user, client_id) for level in LEVELS]
    stored = _quotas_of(quotas, filter(None, entities))
    keys = [key for key in USER_CLIENT_KEYS if any(stored_key == key for _, stored_key in stored)]
    columns: dict[str, list[object]] = {
        "number": [level.number + 1 for level in LEVELS],
        "level": [level.name for level in LEVELS],
        "entity": [OUT_OF_REACH if entity is None else str(entity) for entity in entities],
    }
    limits = explain(stored, user, client_id, keys)
    return pa.table({**columns, **{limit.key: [*_limits_at(entities, stored, limit)] for limit in limits}})


def _entity_reaching(level: Level, user: str, client_id: str) -> Entity | None:
    return entity_at(level, user, client_id) if client_id or not level.client_id else None


def _quotas_of(quotas: pa.Table, entities: Iterable[Entity]) -> Stored:
    names = pa.array([str(entity) for entity in entities], pa.string())
    return stored_of(quotas.filter(pc.is_in(quotas["entity"], names)).to_pylist())


def _limits_at(entities: Iterable[Entity | None], stored: Stored, effective: Effective) -> Iterator[str]:
    for entity in entities:
        value = None if entity is None else stored.get((entity, effective.key))
        state = APPLIES if entity == effective.entity else OVERRIDDEN
        yield "" if value is None else f"{readable(effective.key, value)}, {state}"


LONGEST_LIST = 20_000
"""Characters of the names that a box offers: hosts drop large messages. Any other name can be typed."""

TREE_HEIGHT = 240
"""Pixels of the hierarchy."""


@dataclass(frozen=True)
class ClientFacts:
    """The facts of a cluster that the explorer asks for.

    `why` explains the limits of one user and client-id; `tree` shows the hierarchy; the names complete what is typed.
    """

    quotas: pa.Table
    why: Callable[[str, str], Display]
    tree: Callable[[], Display]
    users: Sequence[str] = ()
    client_ids: Sequence[str] = ()


class ClientExplorer(Panel):
    """The limits of a client, level by level; without one the hierarchy.

    Parameters
    ----------
    facts
        Of the cluster.
    user, client_id
        The client that is shown first.
    """

    def __init__(self, facts: ClientFacts, user: str = "", client_id: str = "") -> None:
        self._facts, self.user, self.client_id = facts, user, client_id
        self._syntax: Syntax = python
        self._shown = facts.why(user, client_id) if user else facts.tree()

    def _at(self, syntax: Syntax) -> ClientExplorer:
        self._syntax, self._shown = syntax, self._shown._at(syntax)
        return self

    def to_arrow(self) -> pa.Table:
        """The levels of the client; without one the QUOTAS of the cluster."""
        return client_levels(self._facts.quotas, self.user, self.client_id) if self.user else self._facts.quotas

    def _title(self) -> str:
        return self._shown._title()

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if not self.user:
            yield from self._shown._content(page)
            return
        yield client_levels(self._facts.quotas, self.user, self.client_id)
        if (used := _used(self._shown)) is not None:
            yield used

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return self._shown._footer(page)

    def choose(self, user: str, client_id: str = "") -> None:
        """Show another client; a blank client-id is one that sends none.

        Raises
        ------
        KadminError
            Its limits cannot be known; the client that was shown stays.
        """
        if user:
            self._shown = self._facts.why(user, client_id)._at(self._syntax)
        self.user, self.client_id = user, client_id

    def build(self) -> Any:
        from . import controls
        from .grid import Grid
        from .hierarchy_sheet import HierarchySheet

        self._controls, self._answer = controls, controls.paragraphs()
        self._background = Latest(self._describe, lambda exc: controls.rewrite_failed(self._answer, exc))
        self._user = controls.combobox("user", _offered(self._facts.users), self.user, self._background.ask)
        self._client_id = controls.combobox(
            "client-id", _offered(self._facts.client_ids), self.client_id, self._background.ask
        )
        self._sheet = HierarchySheet(self._facts.quotas)
        self._sheet.choose(self.user, self.client_id)
        self._grid = Grid(self._sheet, height=TREE_HEIGHT)
        self._grid.toggled, self._grid.focused = self._sheet.toggle, self._picked
        self._reveal()
        self._background.ask()
        return controls.column(controls.row(self._user, self._client_id), self._grid, self._answer)

    def _reveal(self) -> None:
        """Scroll the hierarchy to the client."""
        if (position := self._sheet.position) is not None:
            self._grid.revealed = position

    def _picked(self, key: str, column: str) -> None:
        """The entity of a row of the hierarchy: its names are the client's."""
        try:
            parts = dict(Entity.parse(key).parts)
        except KadminError:
            return  # a heading
        for kind, box in (("user", self._user), ("client-id", self._client_id)):
            if isinstance(name := parts.get(kind), str):
                box.value = name

    def _describe(self) -> None:
        """Show the client of the boxes."""
        self.choose(self._user.value.strip(), self._client_id.value.strip())
        if self._sheet.choose(self.user, self.client_id):
            self._reveal()
        self._controls.rewrite(self._answer, *self._described())

    def _described(self) -> Iterable[Block]:
        if not self.user:
            yield "Choose a user, and a client-id if the client sends one, or a row of the hierarchy."
            return
        yield Title(self._title())
        yield from self._content()
        yield from self._footer()


def _used(shown: Display) -> pa.Table | None:
    """What the client used of each limit, where usage is known."""
    table = shown.to_arrow() if isinstance(shown, Tabular) else None
    if table is None or table["windows_unknown"].null_count == len(table):
        return None
    return table.select(["key", "clients", "windows_unknown", "peak", "utilisation", "throttle_ms", "share_throttled"])


def _offered(names: Sequence[str]) -> list[str]:
    """The first of the names, as many as a message may have."""
    lengths = accumulate(len(name) + 4 for name in names)
    return [name for name, length in zip(names, lengths, strict=True) if length <= LONGEST_LIST]
