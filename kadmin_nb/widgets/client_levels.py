"""The eight levels of one client as a table: what is stored at each, which one applies for each key, what lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ..model.entity import Entity
from ..model.levels import LEVELS, Level
from ..model.quota_keys import USER_CLIENT_KEYS, readable
from ..resolution.rules import Effective, Stored, entity_at, explain, stored_of

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
