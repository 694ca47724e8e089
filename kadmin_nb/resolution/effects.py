"""Effects of changed quotas: what binds each known client before and after, and who shares its bucket. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..model.changes import DELETE, Edit
from ..model.findings import WARNING, Finding, Row
from ..model.levels import LEVELS, LEVELS_BY_NAME, Level
from ..model.quota_keys import readable
from . import input_columns
from .demand import numbered
from .input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, led
from .kernel import Index, asked_keys, pair_columns, resolve_general
from .lookup import Flags, Longs
from .rules import entity_at, entity_of

SAME_VALUE, UNCHANGED = "same value", "unchanged"

EFFECTS = ("becomes limited", "lowered", "raised", "becomes unlimited", SAME_VALUE)
"""The effects on a client's limit, the worst first; of the same value another quota binds it, or others share it."""


class Impact(NamedTuple):
    """`rows` as IMPACT, the worst first, and `counts` as IMPACT_COUNTS."""

    rows: pa.Table
    counts: pa.Table


def compare(before: Any, after: Any, pairs: Any, *, keys: str | Iterable[str] | None = None) -> Impact:
    """The clients that the way from one QUOTAS to another touches.

    Parameters
    ----------
    before, after
        QUOTAS, as anything with `__arrow_c_stream__`.
    pairs
        The known clients: PAIRS, or any frame with `user` and `client_id`; each counts once. With a `cluster_id` in
        all three it is part of the match.
    keys
        The keys to compare; default: the four of users and clients.

    Raises
    ------
    UsageError, Invalid
        As `resolve`.
    """
    chosen = tuple(sorted(asked_keys(keys)))
    tables = [input_columns.read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL) for quotas in (before, after)]
    people = pa.table(pair_columns(pairs, CLUSTER in tables[0].column_names))
    names = people.column_names
    people = people.group_by(names, use_threads=False).aggregate([])
    codes = [numbered(people, [*names[:-2], name])[0] for name in ("user", "client_id")]
    was, will = (_bound(Index.of(table, chosen).resolve(people), codes) for table in tables)
    effect, is_touched = _effects(was, will)
    key = np.repeat(np.arange(len(chosen)), len(people))
    counts = [
        {"key": name, "effect": word, "clients": int(number)}
        for place, name in enumerate(chosen)
        for word, number in _counted(effect[key == place], is_touched[key == place])
    ]
    words = pa.array(EFFECTS, pa.string()).take(pa.array(effect))
    places = {"place of effect": pa.array(effect), "place of key": pa.array(key)}
    sides = {f"{name}_{side}": bound[name] for side, bound in (("before", was), ("after", will)) for name in _BOUND}
    whole = pa.table({**{name: was[name] for name in (*names, "key")}, "effect": words, **sides, **places})
    touched = whole.filter(pa.array(is_touched)).sort_by([(name, "ascending") for name in (*places, *names)])
    schema = led(schemas.IMPACT.schema, names)
    rows = schemas.marked(touched.select(schema.names).cast(schema), input_columns.stamp(tables[0]))
    return Impact(rows, schemas.table(schemas.IMPACT_COUNTS, counts))


_BOUND = ("value", "level", "bucket_user", "bucket_client_id", "clients")


def _bound(effective: pa.Table, codes: Sequence[Longs]) -> pa.Table:
    """EFFECTIVE of known clients, each once, with how many `clients` share each bucket; and `number`, of the level.

    `codes` are equal where a user, or a client-id, is.
    """
    level = np.concatenate([np.asarray(pc.fill_null(part.indices, NOTHING)) for part in effective["level"].chunks])
    key = np.repeat(np.arange(len(level) // max(len(codes[0]), 1)), len(codes[0]))
    bucket = key
    for code, speaks in zip(codes, (OF_USER, OF_CLIENT), strict=True):
        bucket = bucket * (len(code) + 1) + np.tile(code + 1, len(level) // max(len(code), 1)) * speaks[level]
    number = np.asarray(pc.dictionary_encode(pa.array(bucket)).indices)
    clients = pa.array(np.bincount(number)[number] if len(number) else number, pa.int64(), mask=level == NOTHING)
    return effective.append_column("clients", clients).append_column("number", pa.array(level))


def _effects(was: pa.Table, will: pa.Table) -> tuple[Any, Any]:
    """The number of the effect on each row; and whether the change touches it."""
    before, after = (np.asarray(side["value"].fill_null(np.nan)) for side in (was, will))
    levels = [np.asarray(side["number"]) for side in (was, will)]
    had_none, has_none = (level == NOTHING for level in levels)
    cases = effect_cases(had_none, has_none, after < before, after > before)
    effect = np.select(cases, range(len(cases)), len(cases))
    others = np.asarray(pc.fill_null(pc.not_equal(was["clients"], will["clients"]), False))
    return effect, (effect < len(cases)) | (levels[0] != levels[1]) | others


def effect_cases(had_none: Any, has_none: Any, is_less: Any, is_more: Any) -> list[Any]:
    """The conditions of EFFECTS but the last, of operators that numpy's arrays and Spark's columns have."""
    return [had_none & ~has_none, is_less, is_more, has_none & ~had_none]


def _counted(effect: Any, is_touched: Any) -> list[tuple[str, int]]:
    """The number of clients of each effect on one key, and of the unchanged."""
    numbers = np.bincount(effect[is_touched], minlength=len(EFFECTS))
    every = [*zip(EFFECTS, numbers, strict=True), (UNCHANGED, len(effect) - len(effect[is_touched]))]
    return [(word, number) for word, number in every if number]


# --- quotas that repeat what would hold anyway: without them each client has the same limit, in the same bucket ---

NOTHING = len(LEVELS)
"""The number that stands for no level."""
OF_USER = np.array([*(level.user is not None for level in LEVELS), False])
OF_CLIENT = np.array([*(level.client_id is not None for level in LEVELS), False])
"""Is the user, or the client-id, a part of the bucket of a level?"""

_CLIENT_OF_DEFAULT_USER = LEVELS_BY_NAME["CLIENT_OF_DEFAULT_USER"].number


def redundant(quotas: pa.Table) -> list[Finding]:
    """The quotas of QUOTAS that repeat what would hold anyway, key by key; a quota without clients is left out.

    A quota is redundant where all clients that it binds fall back to the same value in the same bucket. Each is judged
    by itself: of two that stand in for one another both are redundant, and only the first has the edit that removes it.
    """
    level, keys = _numbers(quotas["level"]), quotas["key"].cast(pa.string())
    findings: list[Finding] = []
    for key in pc.unique(keys).to_pylist():
        is_of_key = (level != NOTHING) & np.asarray(pc.equal(keys, key))
        findings += _of_key(quotas.filter(pa.array(is_of_key)), key, level[is_of_key])
    behind = {(finding.evidence["expected_source"], finding.key) for finding in findings}
    return [replace(one, edit=None, fix=None) if (str(one.target), one.key) in behind else one for one in findings]


def _of_key(quotas: pa.Table, key: str, level: Longs) -> Iterator[Finding]:
    """The redundant ones among all quotas of a key.

    Of each the clients that it could bind are of two sorts, where its entity has no client-id: with one that no quota
    names, and without one.
    """
    user, client_id = (quotas[name].cast(pa.string()) for name in ("user", "client_id"))
    sorts = (client_id, pc.if_else(pa.array(OF_CLIENT[level]), client_id, ""))
    clients = pa.concat_tables([pa.table({"user": user, "client_id": names}) for names in sorts])
    columns: tuple[Any, ...] = (*_bound_and_next(quotas, clients, key), np.asarray(pc.is_null(clients["client_id"])))
    now, then, is_same, is_unnamed = (column.reshape(2, -1) for column in columns)
    binds = now == level
    is_fine = is_same & (OF_USER[then] == OF_USER[now]) & (OF_CLIENT[then] == OF_CLIENT[now])
    if _CLIENT_OF_DEFAULT_USER in level:  # a client-id of its own has that quota before
        is_fine &= ~(is_unnamed & (now < _CLIENT_OF_DEFAULT_USER) & (then > _CLIENT_OF_DEFAULT_USER))
    chosen = np.flatnonzero(binds.any(axis=0) & (is_fine | ~binds).all(axis=0))
    fallback = np.where(binds[0], then[0], then[1])[chosen]
    for row, number in zip(quotas.take(pa.array(chosen)).to_pylist(), fallback, strict=True):
        yield _finding(row, LEVELS[number])


def _bound_and_next(quotas: pa.Table, clients: pa.Table, key: str) -> tuple[Longs, Longs, Flags]:
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


def _finding(row: Row, level: Level) -> Finding:
    """That a quota is redundant, as the one of this level gives the same."""
    entity, behind = entity_of(row), entity_at(level, row["user"], row["client_id"])
    assert entity is not None
    key, value = row["key"], str(row["value"])
    message = f"{entity} {key} {readable(key, row['value'])}: {behind} gives the same"
    evidence = {"value": value, "source": entity.level, "expected": value, "expected_source": str(behind)}
    edit, fix = Edit(DELETE, entity, key), f"quota remove {key} {entity}"
    return Finding("redundant", WARNING, message, entity, key, evidence=evidence, edit=edit, fix=fix)
