"""The one place that makes HTML or terminal text out of a frame. Every name in it is hostile.

A client-id is chosen by whoever connects. Controls and bidi marks are shown as escapes in both forms,
and pandas escapes cells, labels and column names in HTML.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping

import pyarrow as pa
from tabulate import tabulate

from ..errors import printable
from .stamps import ENGINE

ROWS_SHOWN = 60
"""Rows of the head that a notebook or a terminal shows."""

WIDEST = 80
"""Characters of a cell that they show."""


def text(table: pa.Table, rows: int = ROWS_SHOWN, count: str | None = None, widest: int = WIDEST) -> str:
    """The head of a frame as an aligned table, its count (unless given), and how to get the rest."""
    if not table.num_rows:
        return f"no rows ({', '.join(table.column_names)}){_below(table)}"
    table = _told(table)
    aligned = ["right" if pa.types.is_floating(f.type) or pa.types.is_integer(f.type) else "left" for f in table.schema]
    names = [printable(name) for name in table.column_names]
    body = tabulate(_shown(table, rows, widest), names, "plain", colalign=aligned, disable_numparse=True)
    return f"{body}\n{count or _count(table, rows)}{_below(table)}"


def document(table: pa.Table, rows: int = ROWS_SHOWN, count: str | None = None, widest: int = WIDEST) -> str:
    """The same as HTML."""
    import pandas as pd

    told = _told(table) if table.num_rows else table
    shown = pd.DataFrame(_shown(told, rows, widest), columns=[printable(name) for name in told.column_names], dtype=str)
    body = shown.to_html(index=False, escape=True, border=0, max_rows=None)
    return f"{body}<p>{html.escape((count or _count(table, rows)) + _below(table))}</p>"


def tree(lines: str) -> str:
    """Preformatted text as HTML."""
    return f"<pre>{html.escape(lines)}</pre>"


def _told(table: pa.Table) -> pa.Table:
    """Without the columns that say nothing here."""
    return table.select([name for name in table.column_names if table[name].null_count < table.num_rows])


def _shown(table: pa.Table, rows: int, widest: int) -> list[list[str]]:
    """The cells of the head; pandas, which a terminal would wait for, is not needed for them."""
    return [[_short(value, widest) for value in row.values()] for row in table.slice(0, rows).to_pylist()]


def _short(value: object, widest: int) -> str:
    shown = cell(value)
    return shown if len(shown) <= widest else f"{shown[: widest - 1]}…"


def cell(value: object) -> str:
    """One value as people read it: nothing for null, six places at most, escapes made visible."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, Mapping):
        return " ".join(filter(None, map(cell, value.values())))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return " > ".join(map(cell, value))
    if isinstance(value, float) and (value == 0 or 1e-3 <= abs(value) < 1e15):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return printable(str(value))


def _below(table: pa.Table) -> str:
    """Which engine answered, where there was a choice."""
    said = (table.schema.metadata or {}).get(ENGINE.encode())
    return f"\n{printable(said.decode())}" if said else ""


def _count(table: pa.Table, rows: int) -> str:
    if table.num_rows <= rows:
        return f"{table.num_rows:,} rows" if table.num_rows != 1 else "1 row"
    return f"{table.num_rows:,} rows, the first {rows} shown: .to_pandas() or --as arrow has them all"
