"""The frame of `tree`, which shows itself as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ..client_configs.kafka import LiveKafka
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.schema_metadata import stamped
from ..model.entity import Entity
from ..model.grammar import DEFAULT, Selector, matcher
from ..resolution.tree import tree

if TYPE_CHECKING:
    from ..frames.blocks import Block


class TreeAnswer(Answer):
    """TREE: `entity`, `parent`, `level`, `key`, `value`, `shadowed_by`."""

    is_frame = False

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table] if len(self) else []


def tree_of(kafka: LiveKafka, chosen: Mapping[str, Selector]) -> TreeAnswer:
    """TREE of the whole hierarchy, or of the chosen branches of it."""
    table = tree(kafka.quotas.describe())
    return TreeAnswer(stamped(_branches(table, chosen) if chosen else table, kafka.id))


def _branches(tree: pa.Table, chosen: Mapping[str, Selector]) -> pa.Table:
    """The rows of a tree whose entities are among the chosen, with the parents that they hang on."""
    rows = zip(tree["entity"].to_pylist(), tree["parent"].to_pylist(), strict=True)
    matchers = {kind: matcher(names) for kind, names in chosen.items()}
    branch_names = {name for row in rows if _is_chosen(Entity.parse(row[0]), matchers) for name in row}
    return tree.filter(pc.is_in(tree["entity"], pa.array(list(branch_names), pa.string())))


def _is_chosen(entity: Entity, matchers: Mapping[str, Callable[[str | None], bool]]) -> bool:
    parts = {kind: entity.get(kind) for kind in matchers}
    return all(part and matchers[kind](None if part is DEFAULT else str(part)) for kind, part in parts.items())
