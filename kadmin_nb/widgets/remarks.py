"""What a cell means, in words, before anything is planned: two lines below the grid, and all of it where one asks why.

Dangers and warnings are judged by the functions that plans use, on what is stored with all that is staged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import printable, printable_lines
from ..frames import schemas
from ..frames.blocks import Block, Title
from ..hints import magic
from ..model.changes import SET, Change
from ..model.levels import SHARED
from ..model.quota_keys import HEADS, readable
from ..plans.advice import dangers, same_stores
from ..plans.kinds import QUOTAS
from ..plans.observed_state import ObservedState
from ..resolution.rules import Effective
from .config_cells import ConfigCell
from .quota_sheet import QuotaCell, limit_text
from .staged_sheet import Refused, ShownState

# -- a quota


def advice(cell: QuotaCell, quotas: pa.Table, changes: Sequence[Change], brokers: int = 1) -> list[str]:
    """The refusal, the dangers and the warnings that a plan of all staged edits has on this cell.

    Parameters
    ----------
    quotas
        All QUOTAS as they are stored.
    changes
        The rows of a plan that all staged edits of quotas would be.
    """
    of_key = sorted((c for c in changes if c.key == cell.key), key=lambda change: change.resource != cell.entity)
    if not of_key or of_key[0].resource != cell.entity:
        return []
    staged = [change.with_(row=number) for number, change in enumerate(of_key, 1)]  # advice is about the first row
    state = ObservedState(quotas=quotas.filter(pc.equal(quotas["key"].cast(pa.string()), cell.key)), brokers=brokers)
    refusal = [str(staged[0].refusal)] if staged[0].is_refused else []
    judged = [danger.message for danger in dangers.judged(staged, state) if danger.row == 1]
    warned = QUOTAS.warnings([change for change in staged if not change.is_refused], state)
    return [*refusal, *judged, *(warning.message for warning in warned if warning.row in (0, 1))]


def quota_lines(cell: QuotaCell, advised: Sequence[str]) -> tuple[str, str]:
    """A cell of quotas in two lines: what it says and what applies; then what is dangerous, else who shares it."""
    head = f"{cell.entity}, {HEADS.get(cell.key, cell.key)}: "
    was = f", was {cell.old}" if cell.old and cell.state is not None else ""
    applies = cell.applies
    applied = limit_text(applies) + (f" ({applies.entity})" if applies.entity is not None else "")
    percent = cell.percent_used
    used = f"; uses {readable(cell.key, cell.used or 0.0)} ({percent:,.0f} %)" if percent is not None else ""
    if isinstance(cell.state, Refused):
        return f"{head}{cell.text} is not staged{was}", cell.state.reason
    if not cell.text:
        first = f"{head}not set{was}; {applied} applies{used}"
    elif cell.first is not None:
        first = f"{head}{cell.text}{was}; {applied} comes first for its clients that send a client-id{used}"
    else:
        first = f"{head}{cell.text}{was}{used}"
    return first, "; ".join(advised) or _sharing(applies)


def _sharing(applies: Effective) -> str:
    """The clients that share a limit, and the limits that it comes before."""
    if applies.entity is None:
        return "No quota applies."
    lost = ", ".join(f"{other.entity} ({readable(applies.key, other.value)})" for other in applies.overridden)
    shared = SHARED.get(applies.level or "", "each address has its own")
    return f"{shared}; overrides {lost}" if lost else shared


# -- a config


def config_lines(cell: ConfigCell, state: ShownState, documentation: str | None) -> tuple[str, str]:
    """A config in two lines: its value and what the edit does, then what else is to be known, and Kafka's words."""
    shown = cell.text(state)
    was = f", was {cell.text(None) or 'not set'}" if state is not None and cell.is_read else ""
    first = f"{cell.config.resource}, {cell.config.key}: {shown or 'not set'}{was}"
    described = [" ".join((documentation or "").split())]
    sentences = [sentence for sentence in config_sentences(cell, state) if not sentence.startswith("Staged: set")]
    return printable(first), printable(" ".join(filter(None, [*sentences, *described])))


def config_details(cell: ConfigCell, state: ShownState, documentation: str | None) -> list[Block]:
    """The sentences on a config, every place with a value of it, and Kafka's description."""
    blocks: list[Block] = [Title(printable(cell.name)), "\n".join(map(printable, config_sentences(cell, state)))]
    rows: list[dict[str, object]] = [{"source": s.source, "key": s.key, "value": s.text} for s in cell.config.synonyms]
    if rows:  # the one that applies first; of a secret the places alone
        blocks.append(schemas.table(schemas.CONFIGS, rows).select(["source", "key", "value"]))
    return [*blocks, printable_lines(documentation)] if documentation else blocks


def config_sentences(cell: ConfigCell, state: ShownState) -> Iterator[str]:
    """What is staged there, and what one has to know of the config."""
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
        yield "A secret. Brokers never show its value, and it is set only by reference, such as env:NAME."
    if cell.has_own:
        fallback = cell.fallback_text
        yield "The value after a reset is not known here." if fallback is None else f"Without it: {fallback}."
    config = cell.config
    own = None if config.is_sensitive else config.own
    again = Change(1, SET, config.resource, config.key, old=own, wanted=own, after=own)
    if state is None and (same := same_stores([again])):  # typed in its cell it is not an edit
        yield same.at(magic)
