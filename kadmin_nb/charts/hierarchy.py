"""Icicle of the hierarchy: the entities that have quotas, by kind, level and name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..frames import schemas
from ..frames.meanings import word
from ..frames.views import counted_nouns
from ..model.levels import DEFAULT_IP, IP, LEVEL_NAMES
from .groups import Frame, checked, equal, largest
from .labels import count_of, short

MOST_NAMES = 6
"""Names that a level shows at most; the others are one box."""

_HEIGHT, _LOWEST, _GAP = 440.0, 17.0, 2.0
"""Pixels of the whole, of a box at least, so that its name can be read, and between two boxes."""

_COLUMNS_OF_QUOTAS = ("entity", "level", "user", "client_id", "ip")
_ENDS_OF_COLUMNS = (0.0, 0.16, 0.52, 1.0)


@dataclass
class Box:
    """A box of the icicle: `entities` is how many it stands for, `tone` one of TONES."""

    name: str
    entities: int
    tone: str
    children: Sequence[Box] = field(default=())

    @property
    def lowest(self) -> float:
        """The height that it needs for its own name and those in it."""
        return max(_LOWEST, sum(child.lowest for child in self.children))


TONES = ("all", "named", "default", "others")
_GROUNDS = ["#4a5568", "#0072B2", "#9c3f74", "#6b7280"]
"""Of each tone, dark enough for white texts."""


def hierarchy(quotas: Any) -> Any:
    """The entities that have quotas: all of them, their levels, and in each level the names that have most.

    The height of a box goes by the number of its entities; a small box is drawn high enough for its name.

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

    rows = checked(quotas, schemas.QUOTAS, _COLUMNS_OF_QUOTAS, "the quotas")
    levels, _ = largest(rows, ("level",), {"entities": ("count_distinct", "entity")}, len(LEVEL_NAMES))
    counts = {row["level"]: row["entities"] for row in levels.to_pylist()}
    if not counts:
        return empty("No quota is set")
    total = sum(counts.values())
    most = max(counts, key=lambda level: (counts[level], level))
    boxes = [_level_box(rows, level, counts[level]) for level in LEVEL_NAMES if level in counts]
    drawn = [*_rectangles(Box(f"all: {total:,}", total, "all", boxes), 0.0, _HEIGHT, 0)]
    title = f"{counted_nouns(total, 'entity has', 'entities have')} quotas, on {count_of(len(counts), 'level')}"
    return titled(_icicle(drawn), f"{title}; the largest: {word(most)} ({counts[most]:,})")


def _level_box(rows: Frame, level: str, entities: int) -> Box:
    """A level, and the names in it that have most entities."""
    column = {IP: "ip", DEFAULT_IP: "ip"}.get(level, "user" if _has_user(level) else "client_id")
    names, count = largest(
        equal(rows, "level", level), (column,), {"entities": ("count_distinct", "entity")}, MOST_NAMES
    )
    boxes = [_name_box(level, row[column], row["entities"]) for row in names.to_pylist()]
    rest = entities - sum(box.entities for box in boxes)
    others = [Box(f"{count - len(boxes):,} more", rest, "others")] if rest else []
    tone = "default" if level.startswith("DEFAULT") else "named"
    return Box(f"{word(level)}: {entities:,}", entities, tone, [*boxes, *others])


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
    text = box.name if height >= _LOWEST - _GAP - 1 else ""
    yield {"x": left, "x2": right, "y": round(top, 1), "y2": round(top + height - _GAP, 1), "text": text,
           "tone": box.tone, "middle": round(top + (height - _GAP) / 2, 1), "entities": box.entities}  # fmt: skip
    free = height - sum(child.lowest for child in box.children)
    total = sum(child.entities for child in box.children) or 1
    for child in box.children:
        share = child.lowest + max(free, 0.0) * child.entities / total
        yield from _rectangles(child, top, share, column + 1)
        top += share


def _icicle(rows: list[dict[str, Any]]) -> Any:
    from .drawing import WIDTH, alt, base, layered

    bottom = max(row["y2"] for row in rows)
    tones = alt.Scale(domain=[*TONES], range=_GROUNDS)
    legend = alt.Legend(orient="bottom", values=["named", "default", "others"])
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    down = alt.Scale(domain=[0, bottom], reverse=True)
    chart = base(rows)
    boxes = chart.mark_rect(stroke=None, cornerRadius=2).encode(
        x=across, x2="x2", y=alt.Y("y:Q", axis=None, scale=down), y2="y2",
        color=alt.Color("tone:N", scale=tones, title=None, legend=legend), tooltip=["text:N", "entities:Q"],
    )  # fmt: skip
    texts = chart.mark_text(align="left", dx=6, color="white", fontSize=11, limit=230).encode(
        x=across, y=alt.Y("middle:Q", axis=None, scale=down), text="text:N"
    )
    return layered(boxes, texts).properties(width=WIDTH + 180, height=bottom)
