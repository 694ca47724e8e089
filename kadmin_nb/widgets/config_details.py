"""The details of a config, beside its table: what an edit does, every place with a value, Kafka's description."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ..errors import printable, printable_lines
from ..frames.blocks import Block, Title
from .config_cells import ConfigCell, ShownState
from .staged_sheet import Refused


def details(cell: ConfigCell, state: ShownState, documentation: str | None) -> list[Block]:
    """Paragraphs and a table; texts of a cluster are text in them."""
    title = Title(printable(cell.name))
    sentences = [*map(printable, _sentences(cell, state))]
    description = [printable_lines(documentation)] if documentation else []
    return [title, "\n".join(sentences), *_synonyms_table(cell), *description]


def _sentences(cell: ConfigCell, state: ShownState) -> Iterator[str]:
    if isinstance(state, Refused):
        yield f"Not staged: {state.reason}"
    elif state is not None:
        yield f"Staged: {cell.words(state)}."
        if state.change.is_refused:
            yield f"Refused: {state.change.refusal}"
        if state.danger:
            yield f"Danger: {state.danger}."
    if cell.lock:
        yield f"It cannot be edited: {cell.lock}."
    if cell.is_secret:
        yield "A secret: brokers never show its value, and it is set only by reference, such as env:NAME."
    if cell.has_own:
        fallback = cell.fallback_text
        yield "What applies after a reset cannot be seen from here." if fallback is None else f"Without it: {fallback}."


def _synonyms_table(cell: ConfigCell) -> Iterator[Block]:
    """Every place with a value, the one that applies first; of a secret the places alone."""
    rows = [{"source": s.source, "key": s.key, "value": s.text} for s in cell.config.synonyms]
    if rows:
        schema = pa.schema([(name, pa.string()) for name in ("source", "key", "value")])
        yield pa.Table.from_pylist(rows, schema=schema)
