"""The quotas as they are when changes are done: as a table, or as the limits that the rules read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..model.changes import Change
from ..model.entity import Entity
from ..resolution.rules import Stored

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
