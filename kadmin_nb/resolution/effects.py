"""Effects of changed quotas: what binds each known client before and after, and who shares its bucket. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from . import input_columns
from .demand import numbered
from .input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, led
from .kernel import Index, asked_keys, pair_columns
from .lookup import Longs
from .redundant import NOTHING, OF_CLIENT, OF_USER

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
