"""Dynamic client configs of the double: rows of a broker's image, and alters that are carried out whole or not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from kadmin_nb.admin.ports import Signature
from kadmin_nb.client_configs.topic import Replacements, all_or_none, conflicts, refusals
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Refusal, Target
from kadmin_nb.model.client_configs import ClientEntity

BOUNDS = (6_000, 1_800_000)
"""As brokers have them unless said."""


@dataclass(frozen=True)
class Signed:
    """What the record of an entry says beside its value."""

    revision: int
    signature: Signature
    changed_at: datetime


def described(
    values: Mapping[Any, Mapping[str, Any]], signed: Mapping[Target, Signed], users: Collection[str] | None
) -> pa.Table:
    """CLIENT_CONFIGS of these users."""
    entities = [entity for entity in values if isinstance(entity, ClientEntity) and _is_chosen(entity, users)]
    rows = (row for entity in sorted(entities, key=_names) for row in _rows(entity, values[entity], signed))
    return schemas.table(schemas.CLIENT_CONFIGS, rows)


def answers(
    values: Mapping[Any, Mapping[str, Any]], wishes: Replacements, *, validate_only: bool
) -> dict[ClientEntity, Refusal | None]:
    """What becomes of each entity; with nothing refused all are to be written."""
    stored = {entity: texts for entity, texts in values.items() if isinstance(entity, ClientEntity)}
    if validate_only:
        refused = refusals(stored, wishes, BOUNDS)
        return {entity: refused.get(entity) for entity in wishes}
    return all_or_none(wishes, conflicts(stored, wishes) or refusals(stored, wishes, BOUNDS))


def _is_chosen(entity: ClientEntity, users: Collection[str] | None) -> bool:
    return users is None or entity.user in users


def _names(entity: ClientEntity) -> tuple[str, str]:
    return entity.user, entity.client_id or ""


def _rows(
    entity: ClientEntity, texts: Mapping[str, Any], signed: Mapping[Target, Signed]
) -> Iterator[dict[str, object]]:
    for key, text in sorted(texts.items()):
        record = signed[entity, key]
        yield {
            "entity": str(entity),
            "user": entity.user,
            "client_id": entity.client_id,
            "key": key,
            "value": text,
            "revision": record.revision,
            "author": record.signature.author,
            "plan_id": record.signature.plan_id,
            "changed_at": record.changed_at,
        }
