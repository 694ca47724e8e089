"""The configs that a plan is about, as they are now: what holds, and what it would fall back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.answer import Answer
from ..model.grammar import DEFAULT
from ..model.resources import WORDS
from ..plans.kinds.configs import CONFIGS
from ..plans.kinds.registry import by_kind
from ..plans.sending import grouped

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..plans.plan import Plan

_SHOWN = ["resource_type", "resource_name", "key", "value", "source", "synonyms", "error", "message"]
_WORD_OF = {kind: word.replace("-", "_") for word, kind in WORDS.items()}


def configs_now(cluster: Cluster, plan: Plan | None) -> Answer | None:
    """CONFIGS, some columns of them: each key of the plan, with the levels that it is set on. None without any."""
    groups = grouped(by_kind(plan.changes).get(CONFIGS, ())) if plan else {}
    answers = [_of(cluster, resource, [change.key for change in group]) for resource, group in groups.items()]
    return Answer(pa.concat_tables(answers).unify_dictionaries()) if answers else None


def _of(cluster: Cluster, resource: Any, keys: Sequence[str]) -> pa.Table:
    filters: dict[str, Any] = {_WORD_OF[resource.type]: DEFAULT if resource.is_default_broker else [resource.name]}
    described = cluster.configs.describe(**filters).to_arrow()
    rows = pc.or_(
        pc.is_in(described["key"].cast(pa.string()), pa.array(keys, pa.string())), pc.is_valid(described["error"])
    )
    return described.filter(rows).select(_SHOWN).replace_schema_metadata()
