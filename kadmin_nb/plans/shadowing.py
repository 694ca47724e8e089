"""Quotas that the new quotas of a plan shadow: they can never apply any more."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..model.changes import Change, Target
from ..model.entity import Entity
from ..resolution.rules import stored_of
from ..resolution.shadows import COMES_BEFORE, shadows_of_added
from .quotas_after import limits_after

SHADOWING_LEVELS = sorted({level for levels in COMES_BEFORE.values() for level in levels})
_MAX_NAMES = 5
"""Shadowed entities that a note names; the others are counted."""


def with_shadow_notes(changes: Sequence[Change], quotas: pa.Table | None) -> list[Change]:
    """Changes of quotas, with a note on each that newly shadows others.

    Parameters
    ----------
    quotas
        All QUOTAS as they were when the plan was made.
    """
    shadowed = {} if quotas is None else newly_shadowed(changes, quotas)
    return [_noted(change, shadowed.get(change.target, ())) for change in changes] if shadowed else list(changes)


def newly_shadowed(changes: Sequence[Change], quotas: pa.Table) -> dict[Target, tuple[Entity, ...]]:
    """The entities that new quotas shadow, by the target of each new quota.

    Parameters
    ----------
    quotas
        All QUOTAS as they were before.
    """
    if not any(c.level in SHADOWING_LEVELS and c.old is None and c.after for c in changes):
        return {}
    levels = pa.array([*COMES_BEFORE, *SHADOWING_LEVELS], pa.string())
    before = stored_of(quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), levels)).to_pylist())
    return dict(shadows_of_added(before, limits_after(before, changes)).items())


def _noted(change: Change, shadowed: Sequence[Entity]) -> Change:
    if not shadowed:
        return change
    more = f" and {len(shadowed) - _MAX_NAMES} more" if len(shadowed) > _MAX_NAMES else ""
    note = f"shadows {', '.join(map(str, shadowed[:_MAX_NAMES]))}{more}: they can never apply any more"
    return change.noted(note)
