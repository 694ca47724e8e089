"""Heatmap of limits: the effective quota of each client and key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log
from typing import Any

import pyarrow as pa

from ..frames import schemas
from ..frames.meanings import limit, word
from ..frames.relational import checked, each_once, in_arrow, largest, members
from ..model.quota_keys import USER_CLIENT_KEYS
from .labels import clients, count_of, is_are, part_of

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
