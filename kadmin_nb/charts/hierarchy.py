"""The chart of the hierarchy: users, their client-ids and the defaults as a tree, with the limits of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..frames import schemas
from ..frames.meanings import limit, word
from ..frames.relational import Frame, checked, equal, in_arrow, largest, members, others, split_by_null
from ..frames.views import counted_nouns
from ..model.grammar import format_word
from ..model.levels import LEVEL_NAMES, LEVELS_BY_NAME
from ..resolution.shadows import COMES_BEFORE
from ..resolution.tree import ORDER, tree
from .labels import count_of, height, in_lines, key_order, short

MOST_USERS, MOST_NAMES, MOST_KEYS = 10, 6, 5
"""Users, names below a user or at another level, and keys that a chart has at most."""

_COLUMNS = ("entity", "level", "user", "client_id", "ip", "key", "value")
_OF_A_USER = ("USER", "DEFAULT_CLIENT_OF_USER", "CLIENT_OF_USER")
_MORE = {"USER": "user", "CLIENT_OF_USER": "client-id", "CLIENT_OF_DEFAULT_USER": "client-id", "CLIENT": "client-id",
         "IP": "ip"}  # fmt: skip
Row = dict[str, Any]

NAMED, DEFAULT, WITHOUT = "one name", "default: all without a closer quota", "no quota of its own"
_MOST_ROWS = 1000


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
        The 10 users with the most quotas, and at most 6 names below each and at the other levels.

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
    from .drawing import empty, titled

    rows = checked(quotas, schemas.QUOTAS.schema, _COLUMNS, "the quotas")
    measures = {"limits": ("count", "key"), "entities": ("count_distinct", "entity")}
    counted, _ = largest(rows, ("level",), measures, len(LEVEL_NAMES))
    levels = {row["level"]: row for row in counted.to_pylist()}
    if not levels:
        return empty("No quota is set")
    limits, entities = (sum(row[name] for row in levels.values()) for name in ("limits", "entities"))
    chosen, more = _chosen(rows, levels)
    nodes = [*_nodes(tree(schemas.table(schemas.QUOTAS, chosen)).to_pylist(), more)]
    shadowed = sum(row["limits"] - _live_limits(rows, level) for level, row in levels.items() if level in COMES_BEFORE)
    never = f"; {shadowed:,} can never apply" if shadowed else ""
    title = f"{count_of(limits, 'limit')} of {counted_nouns(entities, 'entity', 'entities')}{never}"
    remark = "bars: from the lowest to the highest limit of a key, logarithmic"
    struck = ["struck through: a more specific level always wins"] if shadowed else []
    return titled(_drawn(nodes), title, [remark, *struck])


def _live_limits(rows: Frame, level: str) -> int:
    """The number of a level's quotas that still bind a client, by the rule of `resolution.shadows`."""
    live = equal(rows, "level", level)
    for before in COMES_BEFORE[level]:
        by = ("client_id", "key") if LEVELS_BY_NAME[before].client_id == "name" else ("key",)
        live = others(live, equal(rows, "level", before), by)
    counts, _ = largest(live, ("level",), {"limits": ("count", "key")}, 1)
    return sum(counts["limits"].to_pylist())


# --- the rows that a picture has room for ---


def _chosen(rows: Frame, levels: Mapping[str, Row]) -> tuple[list[Row], dict[str, str]]:
    """The quotas to draw, and what is left out below an entity or of a level, in words."""
    named, _ = split_by_null(rows, "user")
    users, count = largest(named, ("user",), {"limits": ("count", "key")}, MOST_USERS)
    more = {"USER": _rest(count - len(users), "USER")}
    parts = [members(equal(named, "level", level), users.select(["user"])) for level in _OF_A_USER[:2]]
    for number in range(len(users) if "CLIENT_OF_USER" in levels else 0):
        user = users.slice(number, 1).select(["user"])
        part, left = _first_names(members(equal(named, "level", "CLIENT_OF_USER"), user))
        parts.append(part)
        more[format_word("user", users["user"][number].as_py())] = _rest(left, "CLIENT_OF_USER")
    for level in levels:
        if level not in _OF_A_USER:
            part, left = _first_names(equal(rows, "level", level))
            parts.append(part)
            more[level] = _rest(left, level)
    chosen = [row for part in parts for row in in_arrow(part.select(list(_COLUMNS)), _MOST_ROWS).to_pylist()]
    return chosen, more


def _first_names(rows: Frame) -> tuple[Frame, int]:
    """The quotas of the first entities, those with most quotas first; and how many are left out."""
    entities, count = largest(rows, ("entity",), {"limits": ("count", "key")}, MOST_NAMES)
    return members(rows, entities.select(["entity"])), count - len(entities)


def _rest(count: int, level: str) -> str:
    return f"… {count:,} more {_MORE.get(level, 'entity')}{'s' if count > 1 else ''}" if count else ""


# --- the tree as rows of a picture ---


def _nodes(rows: Iterable[Row], more: Mapping[str, str]) -> Iterator[Row]:
    """A node an entity, in order, with its limits; and one for what is left out behind the last of its kind."""
    nodes: dict[str, Row] = {}
    for row in rows:
        group, place = ORDER.get(row["level"], ORDER["OTHER"])
        node = {"entity": row["entity"], "level": row["level"], "parent": row["parent"], "group": group,
                "depth": int(place > 0), "limits": {}}  # fmt: skip
        if row["key"] is not None:
            nodes.setdefault(row["entity"], node)["limits"][row["key"]] = row
        nodes.setdefault(row["entity"], node)
    last = {kind: entity for entity, node in nodes.items() for kind in _kinds(node)}
    for entity, node in nodes.items():
        yield node
        for kind in _kinds(node):
            if last[kind] == entity and more.get(kind):
                depth = int(kind != "USER" and node["depth"])
                yield {**node, "entity": more[kind], "level": None, "depth": depth, "limits": {}}


def _kinds(node: Row) -> tuple[str, ...]:
    """The kinds of names of which this may be the last that is shown."""
    if node["level"] == "CLIENT_OF_USER":
        return (node["parent"], "USER")
    return ("USER",) if node["group"] == 0 else (node["level"],)


def _tone(node: Row) -> str | None:
    if node["level"] is None:
        return None
    return WITHOUT if not node["limits"] else DEFAULT if node["level"].startswith("DEFAULT") else NAMED


def _label(node: Row) -> str:
    """The entity as the grammar writes it, without its parent."""
    text = node["entity"] if node["level"] is None or not node["depth"] else node["entity"][len(node["parent"]) :]
    return short(text.strip())


ROW, INDENT, TALLEST = 22, 24, 2.6
"""Pixels of a row and of a step to the right; rows that the headings need."""


def _drawn(nodes: list[Row]) -> Any:
    from .drawing import BLUE, GREY, INK, PURPLE, SKY, alt, base, beside_columns, filling, legend_of, room_of

    keys = sorted({key for node in nodes for key in node["limits"]}, key=key_order)[:MOST_KEYS]
    tops = [*_tops(nodes)]
    labels = [_label(node) for node in nodes]
    cells = [*_cells(nodes, tops, labels, keys)]
    names = [
        {"x": INDENT * node["depth"] + 7, "y": top, "name": label, "level": word(node["level"]), "tone": _tone(node)}
        for node, top, label in zip(nodes, tops, labels, strict=True)
    ]
    tree_width = min(room_of(labels) + INDENT + 34, 330)
    rows = alt.Scale(domain=[-TALLEST, tops[-1] + 0.6], reverse=True, nice=False, zero=False)

    def down(field: str = "y") -> Any:
        return alt.Y(f"{field}:Q", axis=None, scale=rows)

    pixels = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1000], range=[0, 1000], zero=False, nice=False))
    tree_room = beside_columns(len(keys), tree_width)
    columns = alt.Scale(domain=[0, len(keys)], range=[alt.ExprRef(tree_room), alt.ExprRef("width")], nice=False)
    across = alt.X("x:Q", axis=None, scale=columns)
    present = {row["tone"] for row in names}
    looks = {NAMED: (BLUE, "circle"), DEFAULT: (PURPLE, "diamond"), WITHOUT: (GREY, "square")}
    shown = {tone: look for tone, look in looks.items() if tone in present}
    legend = legend_of([*shown], symbolSize=90)
    colours = alt.Scale(domain=[*shown], range=[colour for colour, _ in shown.values()])
    shapes = alt.Scale(domain=[*shown], range=[shape for _, shape in shown.values()])
    tooltip = [alt.Tooltip("name:N", title="entity"), "level:N"]
    links = base([*_links(nodes, tops)]).mark_rule(color=INK, opacity=0.35).encode(x=pixels, x2="x2", y=down(), y2="y2")
    dots = base([row for row in names if row["tone"]]).mark_point(filled=True, opacity=1, size=75).encode(
        x=pixels, y=down(), tooltip=tooltip, color=alt.Color("tone:N", scale=colours, legend=legend),
        shape=alt.Shape("tone:N", scale=shapes, legend=legend),
    )  # fmt: skip
    text = base(names).mark_text(align="left", dx=10, color=INK, limit=alt.ExprRef(f"{tree_room} - 30"))
    texts = text.encode(x=pixels, y=down(), text="name:N", tooltip=tooltip)
    limits = base(cells).encode(
        x=across,
        y=down(),
        tooltip=["entity:N", "key:N", "limit:N", alt.Tooltip("winner:N", title="always wins")],
    )
    bars = limits.mark_rect(color=SKY, opacity=0.4, cornerRadius=2).encode(x2="end:Q", y=down("top"), y2="bottom")
    values = limits.mark_text(align="left", dx=5, color=INK).encode(
        text="limit:N", opacity=alt.condition("datum.shadowed", alt.value(0.55), alt.value(1))
    )
    strikes = limits.transform_filter("datum.shadowed").mark_rule(
        color=INK, xOffset=3, x2Offset=alt.ExprRef("datum.struck")
    ).encode(x2="x:Q")  # fmt: skip
    headings = [{"x": column, "y": -2.1, "key": in_lines(key)} for column, key in enumerate(keys)]
    titles = base(headings).mark_text(align="left", dx=5, color=INK, lineBreak="\n")
    return filling(
        alt.layer(links, dots, texts).resolve_scale(x="shared"),
        alt.layer(bars, values, strikes, titles.encode(x=across, y=down(), text="key:N")),
        height=ROW * (tops[-1] + 0.6 + TALLEST),
    ).resolve_scale(x="independent", color="independent", shape="independent")


def _tops(nodes: list[Row]) -> Iterator[float]:
    """The place of each row from the top, with half a row between users, client-ids and ips."""
    gaps = 0.0
    for number, node in enumerate(nodes):
        gaps += 0.5 if number and node["group"] != nodes[number - 1]["group"] else 0
        yield number + gaps


def _links(nodes: list[Row], tops: list[float]) -> Iterator[Row]:
    """The lines from each parent down, and to the right to its children."""
    above, left = 0.0, 7
    for node, top in zip(nodes, tops, strict=True):
        if not node["depth"]:
            above = top + 0.3
        else:
            yield {"x": left, "x2": left, "y": above, "y2": top}
            above = top
            yield {"x": left, "x2": left + INDENT - (7 if node["level"] else 0), "y": top, "y2": top}


def _cells(nodes: list[Row], tops: list[float], labels: list[str], keys: list[str]) -> Iterator[Row]:
    """The limits of the nodes, each with the end of its bar."""
    ends = {key: [node["limits"][key]["value"] for node in nodes if key in node["limits"]] for key in keys}
    for node, top, label in zip(nodes, tops, labels, strict=True):
        for column, key in enumerate(keys):
            if key in node["limits"]:
                row = node["limits"][key]
                shadowed, text = row["shadowed_by"], limit(key, row["value"])
                length = 0 if shadowed else 0.15 + 0.75 * height(row["value"], ends[key])
                yield {"entity": label, "key": short(key), "limit": text, "shadowed": bool(shadowed),
                       "winner": short(shadowed or "no other quota"),
                       "x": column, "end": round(column + length, 3), "struck": 8 + 6.4 * len(text),
                       "y": top, "top": top - 0.38, "bottom": top + 0.38}  # fmt: skip
