"""The shadowed rows of a quota table: of a page by the rule itself, of all rows at once on numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..model.changes import Edit
from ..model.entity import Entity
from ..model.levels import LEVELS_BY_NAME
from ..resolution.rules import Stored
from ..resolution.shadows import COMES_BEFORE, shadowed_by, shadowers
from .quota_table import QuotaTable


def shadowers_of(
    table: QuotaTable, entities: Sequence[Entity], overlay: Mapping[tuple[Entity, str], object]
) -> list[str]:
    """The entity that shadows each of these, `user=<default>`, with the keys where it is not all that are set."""
    candidates = {other for entity in entities for other in shadowers(entity)}
    if not candidates:
        return [""] * len(entities)
    stored = _limits(table, {*candidates, *entities}, overlay)
    keys_of: dict[Entity, list[str]] = {}
    for entity, key in stored:
        keys_of.setdefault(entity, []).append(key)
    return [_shadowed_text(stored, entity, keys_of.get(entity, [])) for entity in entities]


def _limits(table: QuotaTable, entities: set[Entity], overlay: Mapping[tuple[Entity, str], object]) -> Stored:
    """The quotas of these entities, staged edits included."""
    rows = table.rows_of({str(entity) for entity in entities})
    limits = {
        (entity, key): float(values[rows[str(entity)]])
        for key, values in table.values.items()
        for entity in entities
        if str(entity) in rows and not np.isnan(values[rows[str(entity)]])
    }
    for (entity, key), edit in overlay.items():
        if entity in entities and isinstance(edit, Edit):
            limits.pop((entity, key), None)
            if edit.value is not None:
                limits[entity, key] = float(edit.value)
    return limits


def _shadowed_text(stored: Stored, entity: Entity, keys: Sequence[str]) -> str:
    by_key = {key: other for key in keys if (other := shadowed_by(stored, entity, key)) is not None}
    if not by_key:
        return ""
    if len(by_key) == len(keys) and len({*by_key.values()}) == 1:
        return str(by_key[keys[0]])
    return ", ".join(f"{other} ({key})" for key, other in by_key.items())


def shadowed_rows(table: QuotaTable) -> np.ndarray:
    """A flag for each row of which some stored quota can never apply."""
    levels = table.entities["level"].to_numpy()
    client_ids = table.entities["client_id"].to_numpy()
    shadowed = np.zeros(len(table), dtype=bool)
    for values in table.values.values():
        is_set = ~np.isnan(values)
        for level, before in COMES_BEFORE.items():
            mine = is_set & (levels == level)
            for other in before if mine.any() else ():
                shadowed |= mine & _covered(client_ids, is_set & (levels == other), LEVELS_BY_NAME[other].client_id)
    return shadowed


def _covered(client_ids: np.ndarray, others: np.ndarray, client_id: str | None) -> np.ndarray | bool:
    """The rows whose clients those others bind: of a named client-id, the rows of that name; else all."""
    if client_id != "name":
        return bool(others.any())
    names = pa.array(client_ids[others], pa.string())
    return np.asarray(pc.is_in(pa.array(client_ids, pa.string()), names))
