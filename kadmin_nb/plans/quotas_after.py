"""The quotas as they are when changes are done: as a table, or as the limits that the rules read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..model.changes import Change, Target
from ..model.entity import Entity
from ..resolution.rules import Stored, stored_of
from ..resolution.shadows import COMES_BEFORE, shadows_of_added

Limits = dict[tuple[Entity, str], float]


def limits_after(before: Stored, changes: Iterable[Change]) -> Limits:
    """The limit of each entity and key after these changes of quotas."""
    after = dict(before)
    for change in changes:
        target = cast(Entity, change.resource), change.key
        after.pop(target, None)
        if change.after is not None:
            after[target] = float(change.after)
    return after


def table_after(quotas: pa.Table, changes: Sequence[Change]) -> pa.Table:
    """QUOTAS after these changes; unsorted."""
    rows = [change for change in changes if change.resource.kind == Entity.kind]
    identities = pc.binary_join_element_wise(quotas["entity"], quotas["key"].cast(pa.string()), "\n")
    gone = pc.is_in(identities, pa.array([f"{change.resource}\n{change.key}" for change in rows], pa.string()))
    new = schemas.table(schemas.QUOTAS, (_row(change) for change in rows if change.after is not None))
    unchanged = quotas.filter(pc.invert(gone)).select(schemas.QUOTAS.names).cast(schemas.QUOTAS.schema)
    return pa.concat_tables([unchanged.replace_schema_metadata(), new]).unify_dictionaries()


def _row(change: Change) -> dict[str, object]:
    """A change's quota as a row of QUOTAS."""
    return {**cast(Entity, change.resource).columns(), "key": change.key, "value": float(change.after or "nan")}


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
