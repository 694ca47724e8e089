"""What the new quotas of a plan leave unable to bind anyone."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..model.changes import Change, Target
from ..model.entity import Entity
from ..resolution.rules import stored_of
from ..resolution.shadows import COMES_BEFORE, masks

MASKING = sorted({level for levels in COMES_BEFORE.values() for level in levels})
NAMED = 5
"""Masked entities that a note names; the rest is counted."""


def with_masks(changes: Sequence[Change], quotas: pa.Table | None) -> list[Change]:
    """The changes, with a note on each that newly masks others.

    Parameters
    ----------
    quotas
        All QUOTAS as they were when the plan was made.
    """
    shadowed = {} if quotas is None else newly_masked(changes, quotas)
    return [_noted(change, shadowed.get(change.target, ())) for change in changes] if shadowed else list(changes)


def newly_masked(changes: Sequence[Change], quotas: pa.Table) -> dict[Target, tuple[Entity, ...]]:
    """The entities that new quotas leave unable to bind anyone, by the target of each that does.

    Parameters
    ----------
    quotas
        All QUOTAS as they were before.
    """
    if not any(c.level in MASKING and c.old is None and c.after for c in changes):
        return {}
    levels = pa.array([*COMES_BEFORE, *MASKING])
    before = stored_of(quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), levels)).to_pylist())
    return dict(masks(before, _after(before, changes)).items())


def _after(before: dict[tuple[Entity, str], float], changes: Sequence[Change]) -> dict[tuple[Entity, str], float]:
    after = dict(before)
    for change in changes:
        if isinstance(change.resource, Entity):
            after.pop((change.resource, change.key), None)
            if change.after is not None:
                after[change.resource, change.key] = float(change.after)
    return after


def _noted(change: Change, masked: Sequence[Entity]) -> Change:
    if not masked:
        return change
    more = f" and {len(masked) - NAMED} more" if len(masked) > NAMED else ""
    note = f"silences {', '.join(map(str, masked[:NAMED]))}{more}: they can bind nobody any more"
    return change.with_(note=f"{change.note}; {note}" if change.note else note)
