"""Quotas that repeat what would hold anyway: with and without them each of their clients has the same limit.

A quota is redundant where all clients that it binds fall back to the same value. It is safe to remove where they also
draw from the same bucket then: an allowance of one's own that becomes a share of another is a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..model.changes import DELETE, Edit
from ..model.findings import WARNING, Finding, Row
from ..model.levels import LEVELS, LEVELS_BY_NAME, SHARED, Level
from .kernel import resolve_general
from .lookup import Flags, Longs
from .rules import entity_at, entity_of

NOTHING = len(LEVELS)
"""The number that stands for no level."""
OF_USER = np.array([*(level.user is not None for level in LEVELS), False])
OF_CLIENT = np.array([*(level.client_id is not None for level in LEVELS), False])
"""Is the user, or the client-id, a part of the bucket of a level?"""

_OF_NAMED_CLIENTS = ("CLIENT_OF_DEFAULT_USER", "CLIENT")
"""The levels that single out client-ids among the clients of a user, or of everyone."""


def redundant(quotas: pa.Table) -> list[Finding]:
    """The quotas of QUOTAS that repeat what would hold anyway, in their order; a quota without clients is left out.

    Each is judged by itself: of two that stand in for one another both are `safe` to remove, and only the first has
    the edit that does.
    """
    level, keys = _numbers(quotas["level"]), quotas["key"].cast(pa.string())
    found: list[tuple[int, Finding]] = []
    for key in pc.unique(keys).to_pylist():
        places = np.flatnonzero((level != NOTHING) & np.asarray(pc.equal(keys, key)))
        found += ((int(places[row]), one) for row, one in _of_key(quotas.take(pa.array(places)), key, level[places]))
    findings = [finding for _, finding in sorted(found, key=itemgetter(0))]
    behind = {(finding.evidence["behind"], finding.key) for finding in findings if finding.edit}
    return [
        replace(finding, edit=None) if (str(finding.target), finding.key) in behind else finding for finding in findings
    ]


def _of_key(quotas: pa.Table, key: str, level: Longs) -> Iterator[tuple[int, Finding]]:
    """The redundant ones among all quotas of a key, each with the number of its row.

    Of each the clients that it could bind are of two sorts, where its entity has no client-id: with one that no quota
    names, and without one.
    """
    user, client_id = (quotas[name].cast(pa.string()) for name in ("user", "client_id"))
    sorts = (client_id, pc.if_else(pa.array(OF_CLIENT[level]), client_id, ""))
    clients = pa.concat_tables([pa.table({"user": user, "client_id": names}) for names in sorts])
    is_unnamed, has_name = pc.is_null(clients["client_id"]), pc.fill_null(pc.not_equal(clients["client_id"], ""), True)
    columns: tuple[Any, ...] = (*_bound(quotas, clients, key), np.asarray(is_unnamed), np.asarray(has_name))
    now, then, is_same, is_unnamed, has_name = (column.reshape(2, -1) for column in columns)
    binds = now == level
    is_fine = is_same & ~(is_unnamed & _are_between(level, now, then))
    keeps_bucket = (OF_USER[then] == OF_USER[now]) & ((OF_CLIENT[then] == OF_CLIENT[now]) | ~has_name)
    is_safe = (keeps_bucket | ~binds).all(axis=0)
    chosen = np.flatnonzero(binds.any(axis=0) & (is_fine | ~binds).all(axis=0))
    fallback = np.where(binds[0], then[0], then[1])
    for number, row in zip(chosen.tolist(), quotas.take(pa.array(chosen)).to_pylist(), strict=True):
        yield number, _finding(row, LEVELS[fallback[number]], bool(is_safe[number]))


def _bound(quotas: pa.Table, clients: pa.Table, key: str) -> tuple[Longs, Longs, Flags]:
    """The levels that bind clients now, and once that quota is gone; and whether the value stays the same."""
    bound = resolve_general(quotas, clients, keys=key, overridden=True)
    lost = bound["overridden"].combine_chunks()
    has_more = pc.greater(pc.list_value_length(lost), 0)
    first = lost.flatten().take(pc.if_else(has_more, lost.offsets[:-1], None))
    is_same: Flags = np.asarray(pc.fill_null(pc.equal(bound["value"].combine_chunks(), first.field("value")), False))
    return _numbers(bound["level"]), _numbers(first.field("level")), is_same


def _numbers(levels: pa.ChunkedArray | pa.Array) -> Longs:
    """The numbers of levels by their names, NOTHING of others."""
    numbers = pc.index_in(levels.cast(pa.string()), pa.array([*LEVELS_BY_NAME]))
    return np.asarray(pc.fill_null(numbers, NOTHING), np.int64)


def _are_between(stored: Longs, now: Longs, then: Longs) -> Flags:
    """True where some of the clients would fall to quotas of their own client-ids before that."""
    numbers = (LEVELS_BY_NAME[name].number for name in _OF_NAMED_CLIENTS)
    between: Flags = np.any([(now < number) & (number < then) & (number in stored) for number in numbers], axis=0)
    return between


def _finding(row: Row, level: Level, is_safe: bool) -> Finding:
    """That a quota is redundant, as the one of this level gives the same."""
    entity, behind = entity_of(row), entity_at(level, row["user"], row["client_id"])
    assert entity is not None
    reason = f"{behind} gives the same" + ("" if is_safe else f", {SHARED[level.name]}")
    evidence = {"value": row["value"], "behind": str(behind), "safe": is_safe, "level": entity.level}
    edit = Edit(DELETE, entity, row["key"]) if is_safe else None
    return Finding("redundant", WARNING, reason, entity, row["key"], evidence=evidence, edit=edit)
