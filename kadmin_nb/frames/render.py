"""The one place that makes HTML or terminal text out of a frame. Every name in it is hostile.

A client-id is chosen by whoever connects. Controls and bidi marks are shown as escapes in both forms,
and pandas escapes cells, labels and column names in HTML.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping

import pandas as pd
import pyarrow as pa
from tabulate import tabulate

from ..errors import printable
from .to_pandas import frame_of

ROWS_SHOWN = 60
"""Rows of the head that a notebook or a terminal shows."""

_WIDEST = 80


def text(table: pa.Table, rows: int = ROWS_SHOWN) -> str:
    """The head of a frame as an aligned table, its count, and how to get the rest."""
    if not table.num_rows:
        return f"no rows ({', '.join(table.column_names)})"
    table = _told(table)
    shown = _shown(table, rows)
    aligned = ["right" if pa.types.is_floating(f.type) or pa.types.is_integer(f.type) else "left" for f in table.schema]
    body = tabulate(shown.to_numpy().tolist(), list(shown.columns), "plain", colalign=aligned, disable_numparse=True)
    return f"{body}\n{_count(table, rows)}"


def document(table: pa.Table, rows: int = ROWS_SHOWN) -> str:
    """The same as HTML."""
    body = _shown(_told(table) if table.num_rows else table, rows).to_html(
        index=False, escape=True, border=0, max_rows=None
    )
    return f"{body}<p>{html.escape(_count(table, rows))}</p>"


def tree(lines: str) -> str:
    """Preformatted text as HTML."""
    return f"<pre>{html.escape(lines)}</pre>"


def _told(table: pa.Table) -> pa.Table:
    """Without the columns that say nothing here."""
    return table.select([name for name in table.column_names if table[name].null_count < table.num_rows])


def _shown(table: pa.Table, rows: int) -> pd.DataFrame:
    return frame_of(table.slice(0, rows)).map(_short).rename(columns=printable)


def _short(value: object) -> str:
    shown = cell(value)
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"


def cell(value: object) -> str:
    """One value as people read it: nothing for null, whole numbers without a point, escapes made visible."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, Mapping):
        return " ".join(filter(None, map(cell, value.values())))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return " > ".join(map(cell, value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return printable(str(value))


def _count(table: pa.Table, rows: int) -> str:
    if table.num_rows <= rows:
        return f"{table.num_rows:,} rows" if table.num_rows != 1 else "1 row"
    return f"{table.num_rows:,} rows, the first {rows} shown: .to_pandas() or --as arrow has them all"
