"""The configs that a plan is about, as they are now: what holds, and what it would fall back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.answer import Answer
from ..model.grammar import DEFAULT
from ..model.resources import WORDS, Resource

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..plans.plan import Plan

_SHOWN = ["resource_type", "resource_name", "key", "value", "source", "synonyms", "error", "message"]
_WORD_OF = {kind: word.replace("-", "_") for word, kind in WORDS.items()}


def configs_now(cluster: Cluster, plan: Plan | None) -> Answer | None:
    """CONFIGS, some columns of them: each key of the plan, with the levels that it is set on. None without any."""
    keys: dict[Resource, list[str]] = {}
    for change in plan.changes if plan else ():
        if isinstance(change.resource, Resource):
            keys.setdefault(change.resource, []).append(change.key)
    answers = [_of(cluster, resource, names) for resource, names in keys.items()]
    return Answer(pa.concat_tables(answers).unify_dictionaries()) if answers else None


def _of(cluster: Cluster, resource: Resource, keys: Sequence[str]) -> pa.Table:
    filters: dict[str, Any] = {_WORD_OF[resource.type]: DEFAULT if resource.is_default_broker else [resource.name]}
    described = cluster.configs.describe(**filters).to_arrow()
    rows = pc.or_(
        pc.is_in(described["key"].cast(pa.string()), pa.array(keys, pa.string())), pc.is_valid(described["error"])
    )
    return described.filter(rows).select(_SHOWN).replace_schema_metadata()
