"""Charts of quotas: the icicle of the hierarchy, and the heatmap of each client's limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

import pyarrow as pa

from ..frames import schemas
from ..frames.meanings import limit, word
from ..frames.relational import Frame, checked, each_once, equal, in_arrow, largest, members, others
from ..frames.views import counted_nouns
from ..model.levels import DEFAULT_IP, IP, LEVEL_NAMES, LEVELS_BY_NAME
from ..model.quota_keys import USER_CLIENT_KEYS
from ..resolution.shadows import COMES_BEFORE
from .labels import clients, count_of, is_are, part_of, short

MOST_NAMES = 6
"""Names that a level shows at most; the others are one box."""

_HEIGHT, _LOWEST, _GAP = 440.0, 17.0, 2.0
"""Pixels of the whole, of a box at least, so that its name can be read, and between two boxes."""

_COLUMNS_OF_QUOTAS = ("entity", "level", "user", "client_id", "ip", "key")
_ENDS_OF_COLUMNS = (0.0, 0.16, 0.52, 1.0)


@dataclass
class Box:
    """A box of the icicle: `entities` is how many it stands for, `shadowed` how many of these can never apply."""

    name: str
    entities: int
    kind: str
    shadowed: int = 0
    children: Sequence[Box] = field(default=())

    @property
    def lowest(self) -> float:
        """The height that it needs for its own name and those in it."""
        return max(_LOWEST, sum(child.lowest for child in self.children))

    @property
    def tone(self) -> str:
        """One of TONES: its kind, or that none of it can apply."""
        return SHADOWED if self.shadowed == self.entities else self.kind

    @property
    def text(self) -> str:
        """Its name, and how much of it is shadowed where its outline does not say so."""
        is_part = 0 < self.shadowed < self.entities and self.kind != "all"
        return f"{self.name}, {self.shadowed:,} {SHADOWED}" if is_part else self.name


SHADOWED = "shadowed"
TONES = ("all", "named", "default", "others", SHADOWED)
_GROUNDS = ["#4a5568", "#0072B2", "#9c3f74", "#6b7280", "transparent"]
"""Of each tone, dark enough for white texts; what is shadowed is an outline alone, whatever colours a reader sees."""


def hierarchy(quotas: Any) -> Any:
    """The entities that have quotas: all of them, their levels, and in each level the names that have most.

    The height of a box goes by the number of its entities; a small box is drawn high enough for its name. An entity
    whose quotas can all never apply, as others always come first, is an outline.

    Parameters
    ----------
    quotas
        QUOTAS, as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        An icicle, from all entities at the left to names at the right, at most 6 of each level.

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

    rows = checked(quotas, schemas.QUOTAS.schema, _COLUMNS_OF_QUOTAS, "the quotas")
    levels, _ = largest(rows, ("level",), {"entities": ("count_distinct", "entity")}, len(LEVEL_NAMES))
    counts = {row["level"]: row["entities"] for row in levels.to_pylist()}
    if not counts:
        return empty("No quota is set")
    total = sum(counts.values())
    most = max(counts, key=lambda level: (counts[level], level))
    boxes = [_level_box(rows, level, counts[level]) for level in LEVEL_NAMES if level in counts]
    shadowed = sum(box.shadowed for box in boxes)
    drawn = [*_rectangles(Box(f"all: {total:,}", total, "all", shadowed, boxes), 0.0, _HEIGHT, 0)]
    title = f"{counted_nouns(total, 'entity has', 'entities have')} quotas, on {count_of(len(counts), 'level')}"
    remark = f"{shadowed:,} can never apply: a more specific level always wins" if shadowed else ""
    return titled(_icicle(drawn), f"{title}; the largest: {word(most)} ({counts[most]:,})", remark)


def _level_box(rows: Frame, level: str, entities: int) -> Box:
    """A level, and the names in it that have most entities."""
    column = {IP: "ip", DEFAULT_IP: "ip"}.get(level, "user" if _has_user(level) else "client_id")
    mine = equal(rows, "level", level)
    names, count = largest(mine, (column,), {"entities": ("count_distinct", "entity")}, MOST_NAMES)
    live = _live_rows(rows, level, mine)
    shadowed = entities - _live_entities(live, level) if level in COMES_BEFORE else 0
    live_names = (
        {*_texts_of_column(members(live, names.select([column])), column)} if 0 < shadowed < entities else set()
    )
    boxes = [_name_box(level, row[column], row["entities"]) for row in names.to_pylist()]
    for box, name in zip(boxes, names[column].to_pylist(), strict=True):
        box.shadowed = box.entities if shadowed and name not in live_names else 0
    rest = entities - sum(box.entities for box in boxes)
    rest_shadowed = shadowed - sum(box.shadowed for box in boxes)
    more = [Box(f"{count - len(boxes):,} more", rest, "others", rest_shadowed)] if rest else []
    kind = "default" if level.startswith("DEFAULT") else "named"
    return Box(f"{word(level)}: {entities:,}", entities, kind, shadowed, [*boxes, *more])


def _live_rows(rows: Frame, level: str, mine: Frame) -> Frame:
    """The quotas of a level that still bind somebody, by the rule of `resolution.shadows`."""
    for before in COMES_BEFORE.get(level, ()):
        by = ("client_id", "key") if LEVELS_BY_NAME[before].client_id == "name" else ("key",)
        mine = others(mine, equal(rows, "level", before), by)
    return mine


def _live_entities(live: Frame, level: str) -> int:
    counts, _ = largest(live, ("level",), {"entities": ("count_distinct", "entity")}, 1)
    return sum(counts["entities"].to_pylist())


def _texts_of_column(frame: Frame, column: str) -> Sequence[str | None]:
    """The few values of a column of a frame."""
    values, _ = largest(frame, (column,), {"entities": ("count_distinct", "entity")}, MOST_NAMES)
    return list(values[column].to_pylist())


def _has_user(level: str) -> bool:
    """True for the levels whose boxes are users: there an entity's client-ids are below its user."""
    return level in ("CLIENT_OF_USER", "DEFAULT_CLIENT_OF_USER", "USER")


def _name_box(level: str, name: str | None, entities: int) -> Box:
    text = "<default>" if name is None else short(name) or "(empty)"
    more = f": {count_of(entities, 'client-id')}" if level == "CLIENT_OF_USER" and entities > 1 else ""
    return Box(text + more, entities, "default" if name is None else "named")


def _rectangles(box: Box, top: float, height: float, column: int) -> Iterator[dict[str, Any]]:
    """The rectangle of a box, and those of the boxes in it."""
    left, right = _ENDS_OF_COLUMNS[column : column + 2]
    yield {
        **{"x": left, "x2": right, "y": round(top, 1), "y2": round(top + height - _GAP, 1), "tone": box.tone},
        **{"text": box.text if height >= _LOWEST - _GAP - 1 else "", "middle": round(top + (height - _GAP) / 2, 1)},
        **{"entities": box.entities, "shadowed": box.shadowed},
    }
    free = height - sum(child.lowest for child in box.children)
    total = sum(child.entities for child in box.children) or 1
    for child in box.children:
        share = child.lowest + max(free, 0.0) * child.entities / total
        yield from _rectangles(child, top, share, column + 1)
        top += share


def _icicle(rows: list[dict[str, Any]]) -> Any:
    from .drawing import INK, WIDTH, alt, base, layered

    bottom = max(row["y2"] for row in rows)
    legend = alt.Legend(orient="bottom", values=[tone for tone in TONES if tone in {row["tone"] for row in rows[1:]}])
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    down = alt.Scale(domain=[0, bottom], reverse=True)
    chart = base(rows)

    def by_tone(channel: Any, values: list[Any]) -> Any:
        return channel("tone:N", scale=alt.Scale(domain=[*TONES], range=values), title=None, legend=legend)

    boxes = chart.mark_rect(cornerRadius=2).encode(
        x=across, x2="x2", y=alt.Y("y:Q", axis=None, scale=down), y2="y2", color=by_tone(alt.Color, _GROUNDS),
        stroke=by_tone(alt.Stroke, [*["transparent"] * (len(TONES) - 1), INK]),
        tooltip=["text:N", "entities:Q", "shadowed:Q"],
    )  # fmt: skip
    texts = chart.mark_text(align="left", dx=6, fontSize=11, limit=230).encode(
        x=across, y=alt.Y("middle:Q", axis=None, scale=down), text="text:N",
        color=alt.condition(alt.datum.tone == SHADOWED, alt.value(INK), alt.value("white")),
    )  # fmt: skip
    return layered(boxes, texts).properties(width=WIDTH + 180, height=bottom)


MOST_CLIENTS = 40
"""Clients that a chart has at most."""

_CELL_COLUMNS = ("user", "client_id", "key", "value", "level")
Cell = dict[str, Any]


def effective(frame: Any) -> Any:
    """The limits of clients, a row a client, a column a key: the darker, the lower, on a logarithmic scale.

    A client that nothing limits has an empty frame and *unlimited*; a limit of 0 a colour of its own; where the frame
    has no row for a client and key, there is a dash.

    Parameters
    ----------
    frame
        EFFECTIVE, as Arrow, pandas, Spark or an answer; a client that is there several times counts once.

    Returns
    -------
    altair.LayerChart
        The 40 clients with the highest limits.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.effective(cluster.quotas.resolve(pairs=clients))  # doctest: +SKIP
    """
    from .drawing import empty, titled

    cells = checked(frame, schemas.EFFECTIVE.schema, _CELL_COLUMNS, "the effective quotas")
    rows = each_once(cells, _CELL_COLUMNS)
    chosen, count = largest(rows, ("user", "client_id"), {"value_most": ("max", "value")}, MOST_CLIENTS)
    if not count:
        return empty("No client was resolved")
    by_key, _ = largest(rows, ("key",), {"rows": ("count", "user"), "limited": ("count", "value")}, MOST_CLIENTS)
    cells = [*_limit_cells(chosen, in_arrow(members(rows, chosen), MOST_CLIENTS * MOST_CLIENTS), by_key)]
    return titled(
        _heatmap(cells),
        _unlimited_finding(by_key.to_pylist()),
        part_of(len(chosen), count, "clients with the highest limits"),
    )


def _limit_cells(chosen: pa.Table, rows: pa.Table, by_key: pa.Table) -> Iterable[Cell]:
    """A cell a client and key, the clients in their order; also those without a row."""
    labels = clients(chosen["user"].to_pylist(), chosen["client_id"].to_pylist())
    keys = sorted(by_key["key"].to_pylist(), key=_key_order)
    stored = {(row["user"], row["client_id"], row["key"]): row for row in rows.to_pylist()}
    ranges = {key: _extremes(row["value"] for row in stored.values() if row["key"] == key) for key in keys}
    for label, row in zip(labels, chosen.to_pylist(), strict=True):
        for key in keys:
            yield _limit_cell(label, key, stored.get((row["user"], row["client_id"], key)), ranges[key])


def _key_order(key: str) -> tuple[int, str]:
    return (USER_CLIENT_KEYS.index(key) if key in USER_CLIENT_KEYS else len(USER_CLIENT_KEYS)), key


def _extremes(values: Iterable[float | None]) -> tuple[float, float]:
    """The lowest and the highest of a key, of those that a logarithm has."""
    positive = [value for value in values if value is not None and value > 0]
    return min(positive, default=1.0), max(positive, default=1.0)


def _limit_cell(label: str, key: str, row: Mapping[str, Any] | None, between: tuple[float, float]) -> Cell:
    if row is None:
        return {"client": label, "key": key, "state": "not resolved", "text": "–", "ink": "currentColor"}
    value, level = row["value"], row["level"]
    cell = {"client": label, "key": key, "text": limit(key, value), "level": word(level)}
    if value is None:
        return {**cell, "state": "unlimited", "ink": "currentColor"}
    if value <= 0:
        return {**cell, "state": "zero", "ink": "white"}
    height = _height(value, *between)
    return {**cell, "state": "limited", "height": round(height, 3), "ink": "white" if height < 0.55 else "black"}


def _height(value: float, low: float, high: float) -> float:
    """The place of a value between the lowest and the highest of its key, 0 to 1, on a logarithmic scale."""
    return 1.0 if high <= low else log(value / low) / log(high / low)


def _unlimited_finding(by_key: list[Cell]) -> str:
    """The key that most clients are without a limit of, where there is one."""
    free = max(by_key, key=lambda row: row["rows"] - row["limited"])
    count = free["rows"] - free["limited"]
    if not count:
        return f"All {count_of(free['rows'], 'client')} have a limit of every key"
    return f"{count:,} of {count_of(free['rows'], 'client')} {is_are(count)} unlimited in {free['key']}"


def _heatmap(cells: list[Cell]) -> Any:
    from .drawing import INK, VERMILLION, alt, base, layered, names

    axis = alt.Axis(orient="top", labelAngle=0, labelLimit=150, ticks=False, domain=False)
    chart = base(cells).encode(x=alt.X("key:N", sort=None, title=None, axis=axis), y=names("client", cells))
    chart = chart.encode(tooltip=[alt.Tooltip(f"{name}:N") for name in ("client", "key", "text", "level")])
    legend = alt.Legend(title="lowest to highest of its key", orient="bottom", values=[], gradientLength=180)
    heights = alt.Color("height:Q", scale=alt.Scale(scheme="viridis", domain=[0, 1]), legend=legend)
    frame = {"stroke": INK, "strokeOpacity": 0.35, "strokeDash": [3, 2], "color": "transparent"}
    texts = chart.mark_text(fontSize=10).encode(text="text:N", color=alt.Color("ink:N", scale=None))
    layers = layered(
        chart.mark_rect(opacity=0),
        chart.mark_rect().encode(color=heights).transform_filter("datum.state == 'limited'"),
        chart.mark_rect(color=VERMILLION).transform_filter("datum.state == 'zero'"),
        chart.mark_rect(**frame).transform_filter("datum.state == 'unlimited'"),
        texts,
    )
    return layers.resolve_scale(color="independent").properties(width=460)
