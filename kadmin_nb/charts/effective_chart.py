"""The chart of each client's limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..frames import schemas
from ..frames.meanings import RUNGS, limit, word
from ..frames.relational import checked, each_once, in_arrow, largest, members
from .labels import COLUMN, LETTER, Row, beside, clients, count_of, distinct, head, height, key_order, part_of, short

MOST_CLIENTS, MOST_KEYS = 40, 6
"""Clients and keys that a chart has at most."""

_CELL_COLUMNS = ("user", "client_id", "key", "value", "level")
Limits = Sequence[tuple[float | None, str | None] | None]
"""The value and the level of each key; None where the frame has no row."""


def effective(frame: Any) -> Any:
    """The limits of clients, a column for each key: the darker, the lower, with the number of the quota's level.

    Clients with the highest limits come first. The colours go from each key's lowest to its highest limit, on a
    logarithmic scale. A client without a limit has an empty frame and *unlimited*; a limit of 0 has its own colour;
    where the frame has no row for a client and key, there is a dash.

    Parameters
    ----------
    frame
        EFFECTIVE, as Arrow, pandas, Spark or an answer; each client counts once.

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
    from .drawing import ROW, WIDTH, empty, layered

    cells = checked(frame, schemas.EFFECTIVE.schema, _CELL_COLUMNS, "the effective quotas")
    rows = each_once(cells, _CELL_COLUMNS)
    chosen, count = largest(rows, ("user", "client_id"), {"value_most": ("max", "value")}, MOST_CLIENTS)
    if not count:
        return empty("No client was resolved")
    by_key, _ = largest(rows, ("key",), {"rows": ("count", "user"), "limited": ("count", "value")}, MOST_CLIENTS)
    keys = sorted(by_key["key"].to_pylist(), key=key_order)[:MOST_KEYS]
    shown = _limits(chosen, in_arrow(members(rows, chosen)), keys)
    remarks = [
        "darkest: the lowest limit of a key, lightest: the highest, logarithmic",
        "small number: the level at which it is set; the lowest number wins",
        part_of(len(shown), count, "clients with the highest limits"),
        part_of(len(keys), len(by_key), "first keys"),
    ]
    longest = LETTER * max(map(len, shown))
    size = {"width": max(COLUMN * len(keys), WIDTH - longest), "height": ROW * len(shown)}
    chart = layered(_unlimited_finding(by_key.to_pylist()), remarks, *_heatmap([*_cells(shown, keys)]), **size)
    return chart.resolve_scale(color="independent")


def _limits(chosen: pa.Table, rows: pa.Table, keys: Sequence[str]) -> dict[str, Limits]:
    """The limits of each client, by the text that names it."""
    pairs = [*zip(chosen["user"].to_pylist(), chosen["client_id"].to_pylist(), strict=True)]
    names = distinct(clients(pairs, beside(COLUMN * len(keys))))
    stored = {(row["user"], row["client_id"], row["key"]): (row["value"], row["level"]) for row in rows.to_pylist()}
    return {name: [stored.get((*pair, key)) for key in keys] for name, pair in zip(names, pairs, strict=True)}


def _cells(shown: Mapping[str, Limits], keys: Sequence[str]) -> Iterator[Row]:
    """A cell per client and key; also those without a limit."""
    from .drawing import INK

    for name, limits in shown.items():
        for column, (key, one) in enumerate(zip(keys, limits, strict=True)):
            every = [other[column] for other in shown.values()]
            cell = _cell(key, *one, [limit[0] for limit in every if limit]) if one else _MISSING
            yield {"client": name, "key": head(key), "height": 0, "ink": INK, **cell}


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
