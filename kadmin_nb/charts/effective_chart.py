"""The chart of each client's limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import pyarrow as pa

from ..frames import schemas
from ..frames.meanings import RUNGS, limit, word
from ..frames.relational import checked, each_once, in_arrow, largest, members
from .labels import COLUMN, LETTER, Row, beside, clients, count_of, distinct, head, height, key_order, part_of, short

MOST_CLIENTS, MOST_ROWS, MOST_KEYS = 500, 40, 6
"""Clients, rows of clients with the same limits, and keys that a chart has at most."""

_CELL_COLUMNS = ("user", "client_id", "key", "value", "level")
Limits = tuple[tuple[float | None, str | None] | None, ...]
"""The value and the level of each key; None where the frame has no row."""


def effective(frame: Any) -> Any:
    """The limits of clients, a column for each key: the darker, the lower, with the number of the quota's level.

    Clients with the same limits of the same levels are one row; those with the highest limits come first. The colours
    go from each key's lowest to its highest limit, on a logarithmic scale. A client without a limit has an empty frame
    and *unlimited*; a limit of 0 has its own colour; where the frame has no row for a client and key, there is a dash.

    Parameters
    ----------
    frame
        EFFECTIVE, as Arrow, pandas, Spark or an answer; each client counts once.

    Returns
    -------
    altair.LayerChart
        The 500 clients with the highest limits, in 40 rows at most.

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
    from .drawing import ROW, WIDTH, empty, layered

    cells = checked(frame, schemas.EFFECTIVE.schema, _CELL_COLUMNS, "the effective quotas")
    rows = each_once(cells, _CELL_COLUMNS)
    chosen, count = largest(rows, ("user", "client_id"), {"value_most": ("max", "value")}, MOST_CLIENTS)
    if not count:
        return empty("No client was resolved")
    by_key, _ = largest(rows, ("key",), {"rows": ("count", "user"), "limited": ("count", "value")}, MOST_CLIENTS)
    keys = sorted(by_key["key"].to_pylist(), key=key_order)[:MOST_KEYS]
    groups = _groups(chosen, in_arrow(members(rows, chosen), MOST_CLIENTS * MOST_KEYS), keys)
    shown = [*groups.items()][:MOST_ROWS]
    remarks = [
        "darkest: the lowest limit of a key, lightest: the highest, logarithmic",
        "small number: the level at which it is set; the lowest number wins",
        "3 ×: three clients with the same limits, of which one is named" if len(groups) < len(chosen) else "",
        part_of(len(chosen), count, "clients with the highest limits"),
        part_of(len(shown), len(groups), "rows with the highest limits"),
        part_of(len(keys), len(by_key), "first keys"),
    ]
    longest = LETTER * max(len(name) for _, names in shown for name in names[:1])
    size = {"width": max(COLUMN * len(keys), WIDTH - longest), "height": ROW * len(shown)}
    chart = layered(_unlimited_finding(by_key.to_pylist()), remarks, *_heatmap([*_cells(shown, keys)]), **size)
    return chart.resolve_scale(color="independent")


def _groups(chosen: pa.Table, rows: pa.Table, keys: Sequence[str]) -> dict[Limits, list[str]]:
    """The clients with the same limits, those with the highest first."""
    pairs = zip(chosen["user"].to_pylist(), chosen["client_id"].to_pylist(), strict=True)
    names = distinct(clients(pairs, beside(COLUMN * len(keys)) - 8))
    stored = {(row["user"], row["client_id"], row["key"]): (row["value"], row["level"]) for row in rows.to_pylist()}
    groups: dict[Limits, list[str]] = {}
    for name, row in zip(names, chosen.to_pylist(), strict=True):
        limits = tuple(stored.get((row["user"], row["client_id"], key)) for key in keys)
        groups.setdefault(limits, []).append(name)
    return dict(sorted(groups.items(), key=lambda group: (_from_highest(group[0]), group[1])))


def _from_highest(limits: Limits) -> list[tuple[float, str]]:
    """The place of these limits in an order from the highest to the lowest, those of a higher level first."""
    found = ((one[0], RUNGS.get(one[1] or "", "")) if one else (-inf, "") for one in limits)
    return [(-inf if value is None else -value, place) for value, place in found]


def _cells(groups: Sequence[tuple[Limits, list[str]]], keys: Sequence[str]) -> Iterator[Row]:
    """A cell per row and key; also those without a limit."""
    from .drawing import INK

    for limits, names in groups:
        some = names[0] if len(names) == 1 else f"{len(names):,} × {names[0]}"
        row = {"client": some}
        for column, (key, one) in enumerate(zip(keys, limits, strict=True)):
            every = [other[column] for other, _ in groups]
            cell = _cell(key, *one, [limit[0] for limit in every if limit]) if one else _MISSING
            yield {**row, "key": head(key), "height": 0, "ink": INK, **cell}


_MISSING = {"state": "not resolved", "text": "–"}


def _cell(key: str, value: float | None, level: str | None, values: Sequence[float | None]) -> Row:
    cell = {"text": limit(key, value), "level": word(level), "number": RUNGS.get(level or "", "")}
    if value is None:
        return {**cell, "state": "unlimited", "level": None}
    if value <= 0:
        return {**cell, "state": "zero", "ink": "white"}
    place = height(value, values)
    return {**cell, "state": "limited", "height": round(place, 3), "ink": "white" if place < 0.45 else "black"}


def _unlimited_finding(by_key: list[Row]) -> str:
    """The key that most clients are without a limit of, where there is one."""
    free = max(by_key, key=lambda row: row["rows"] - row["limited"])
    count = free["rows"] - free["limited"]
    if not count:
        return f"All {count_of(free['rows'], 'client')} have a limit of every key"
    verb = "is" if count == 1 else "are"
    return f"{count:,} of {count_of(free['rows'], 'client')} {verb} unlimited in {short(free['key'])}"


def _heatmap(cells: list[Row]) -> list[Any]:
    from .drawing import INK, VERMILLION, alt, base, names

    axis = alt.Axis(orient="top", labelAngle=0, labelFontWeight="bold", ticks=False, domain=False)
    x = {"shorthand": "key:N", "sort": None, "title": None, "axis": axis}
    tooltip = ["client:N", "key:N", alt.Tooltip("text:N", title="limit"), alt.Tooltip("level:N", title="set at")]
    chart = base(cells).encode(x=alt.X(**x), y=names("client"), tooltip=tooltip)
    colours = alt.Scale(domain=[0, 1], scheme=alt.SchemeParams("viridis", extent=[0.15, 0.95]))
    texts = chart.encode(color=alt.Color("ink:N", scale=None))
    others = [{"test": "datum.state == 'zero'", "value": VERMILLION},
              {"test": "datum.state != 'limited'", "value": "transparent"}]  # fmt: skip
    colour = alt.Color("height:Q", legend=None, scale=colours, condition=others)
    stroke = alt.when("datum.state == 'unlimited'").then(alt.value(INK)).otherwise(alt.value("transparent"))
    levels = texts.mark_text(align="left", fontSize=10, opacity=0.8)
    return [
        chart.mark_rect(strokeOpacity=0.35, strokeDash=[3, 2]).encode(color=colour, stroke=stroke),
        levels.encode(x=alt.X(**x, bandPosition=0.05), text="number:N"),
        texts.mark_text().encode(text="text:N"),
    ]
