"""The chart of the hierarchy: users, their client-ids and the defaults as a tree, with the limits of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

import pyarrow as pa

from ..frames import schemas
from ..frames.meanings import limit, word
from ..frames.relational import Frame, checked, equal, in_arrow, largest, members, split_by_null
from ..frames.views import counted_nouns
from ..model.levels import LEVEL_NAMES
from ..resolution.shadows import tree
from .labels import COLUMN, LETTER, PICTURE, Row, count_of, head, height, key_order, part_of, short

MOST_USERS, MOST_OF_USERS, MOST_NAMES, MOST_KEYS = 10, 40, 6, 5
"""Users, their entities, names at another level, and keys that a chart has at most."""

_COLUMNS = ("entity", "level", "user", "client_id", "ip", "key", "value")
_NAMED = ("USER", "DEFAULT_CLIENT_OF_USER", "CLIENT_OF_USER", "CLIENT_OF_DEFAULT_USER", "CLIENT")


def hierarchy(quotas: Any) -> Any:
    """The tree of quotas: each user above its client-ids, then the defaults, with a column of limits for each key.

    The longer the bar behind a limit, the higher it is, from the lowest to the highest of its key on a logarithmic
    scale. A limit that can never apply, as others always come first, is struck through.

    Parameters
    ----------
    quotas
        QUOTAS, as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        The 10 users with the most quotas, with 40 entities at most, the 6 client-ids that have most, and at most 6
        names at each other level.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.hierarchy(cluster.quotas.describe())  # doctest: +SKIP
    """
    from .drawing import ROW, WIDTH, empty, layered

    rows = checked(quotas, schemas.QUOTAS.schema, _COLUMNS, "the quotas")
    measures = {"limits": ("count", "key"), "entities": ("count_distinct", "entity")}
    counted, _ = largest(rows, ("level",), measures, len(LEVEL_NAMES))
    levels = {row["level"]: row for row in counted.to_pylist()}
    if not levels:
        return empty("No quota is set")
    limits, entities = (sum(row[name] for row in levels.values()) for name in ("limits", "entities"))
    chosen = _chosen(rows, levels)
    shown = {row["entity"] for row in chosen}
    nodes = tree(schemas.table(schemas.QUOTAS, chosen)).to_pylist()
    shadowed = any(row["shadowed_by"] for row in nodes)
    remarks = ["bars: from the lowest to the highest limit of a key, logarithmic",
               "struck through: a more specific level always wins" if shadowed else "",
               part_of(len(shown), entities, "users and client-ids with most quotas")]  # fmt: skip
    count = len({row["entity"] for row in nodes})
    keys = sorted({row["key"] for row in nodes if row["key"] is not None}, key=key_order)[:MOST_KEYS]
    longest = max(len(_label(row, inf)) for row in nodes)
    room = min(LETTER * longest + 12, PICTURE - COLUMN * len(keys))
    title = f"{count_of(limits, 'limit')} of {counted_nouns(entities, 'entity', 'entities')}"
    size = {"width": max(room + COLUMN * len(keys), WIDTH), "height": ROW * (count + 1)}
    return layered(title, remarks, *_layers(nodes, keys, room), **size)


def _chosen(rows: Frame, levels: Mapping[str, Row]) -> list[Row]:
    """The quotas to draw: of the users and the client-ids that have most, and of the first names at each other level.

    A client-id has all of its quotas: one of them may come before another.
    """
    limits = {"limits": ("count", "key")}
    named, rest = split_by_null(rows, "user")
    clients, rest = split_by_null(rest, "client_id")
    users, ids = (largest(part, (of,), limits, most)[0].select([of])
                  for part, of, most in ((named, "user", MOST_USERS), (clients, "client_id", MOST_NAMES)))  # fmt: skip
    parts = [_first(members(named, users), MOST_OF_USERS), _first(members(clients, ids), 2 * MOST_NAMES)]
    parts += [_first(equal(rest, "level", level), MOST_NAMES) for level in levels if level not in _NAMED]
    found: list[Row] = pa.concat_tables(parts, promote_options="default").to_pylist()
    return found


def _first(rows: Frame, most: int) -> pa.Table:
    """The quotas of the entities with most of them."""
    entities, _ = largest(rows, ("entity",), {"limits": ("count", "key")}, most)
    return in_arrow(members(rows, entities.select(["entity"])).select(list(_COLUMNS)), 1000)


def _layers(rows: list[Row], keys: Sequence[str], room: float) -> list[Any]:
    """The names in a room at the left, then a column for each key."""
    from .drawing import INK, SKY, alt, base

    tops = {entity: top for top, entity in enumerate(dict.fromkeys(row["entity"] for row in rows))}
    names = [{"y": tops[row["entity"]], "name": _label(row, room / LETTER), "entity": row["entity"],
              "level": word(row["level"])} for row in {row["entity"]: row for row in rows}.values()]  # fmt: skip
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-1.5, len(tops) - 0.5], reverse=True, nice=False, zero=False))
    columns = alt.Scale(domain=[0, max(len(keys), 1)], range=[room, alt.ExprRef("width")], nice=False)
    x = alt.X("x:Q", axis=None, scale=columns)
    whose = ["entity:N", "level:N"]
    tooltip = ["entity:N", "key:N", "limit:N", alt.Tooltip("winner:N", title="always wins")]
    limits = base([*_cells(rows, tops, keys)]).encode(x=x, y=y, tooltip=tooltip)
    struck = limits.transform_filter("datum.shadowed")
    dim = alt.condition("datum.shadowed", alt.value(0.55), alt.value(1))
    headings = base([{"x": column, "y": -1.1, "key": head(key)} for column, key in enumerate(keys)])
    return [
        limits.mark_bar(color=SKY, opacity=0.4, cornerRadius=2, size=17, orient="horizontal").encode(x2="end:Q"),
        limits.mark_text(align="left", dx=5, color=INK).encode(text="limit:N", opacity=dim),
        struck.mark_rule(color=INK, xOffset=3, x2Offset=alt.ExprRef("datum.struck")).encode(x2="x:Q"),
        headings.mark_text(align="left", dx=5, color=INK, fontWeight="bold").encode(x=x, y=y, text="key:N"),
        base(names).mark_text(align="left", color=INK).encode(x=alt.value(0), y=y, text="name:N", tooltip=whose),
    ]  # fmt: skip


def _label(row: Row, most: float) -> str:
    """The entity as the grammar writes it; below its parent the part that is its own."""
    own = row["entity"] if row["parent"] is None else f"└ {row['entity'].removeprefix(row['parent']).strip()}"
    return short(own, most)


def _cells(rows: list[Row], tops: Mapping[str, int], keys: Sequence[str]) -> Iterator[Row]:
    """The limits, each with the end of its bar."""
    values = {key: [row["value"] for row in rows if row["key"] == key] for key in keys}
    for row in rows:
        if row["key"] in values:
            shadowed, text, column = row["shadowed_by"], limit(row["key"], row["value"]), keys.index(row["key"])
            length = 0 if shadowed else 0.15 + 0.75 * height(row["value"], values[row["key"]])
            yield {"entity": short(row["entity"]), "key": short(row["key"]), "limit": text, "shadowed": bool(shadowed),
                   "winner": short(shadowed or "no other quota"), "x": column, "end": round(column + length, 3),
                   "struck": 8 + 6.4 * len(text), "y": tops[row["entity"]]}  # fmt: skip
