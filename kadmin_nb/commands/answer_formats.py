"""An answer in the form that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from textwrap import indent
from typing import Any

from ..errors import UsageError
from .click_glue import Lines, Text

ROWS_AT_ONCE = 4096
"""Rows that are Python at the same time."""


def formed(value: Any, form: str) -> Any:
    """The value as a plain frame: pandas, arrow or spark.

    Raises
    ------
    UsageError
        It has no rows.
    Unsupported
        `spark`, where pyspark is not installed.
    """
    from ..frames.answer import Tabular

    if not isinstance(value, Tabular):
        raise UsageError(f"--as {form} works with frames only")
    return value._as(form)


def as_json(value: Any) -> Text:
    """The rows as JSON, in ASCII."""
    return Text("\n".join(json_lines(value)))


def as_csv(value: Any) -> Lines:
    """The rows as CSV; on a screen its texts are escaped."""
    from ..frames.files import csv_text

    return Lines(_CSV_ROW.findall(csv_text(value.to_arrow())))


_CSV_ROW = re.compile(r'(?:"[^"]*"|[^"\n])+')
"""A row of CSV: between quotation marks a line may end."""


def json_lines(value: Any) -> Iterator[str]:
    """The same row by row: a long frame is never text as a whole."""
    table = value.to_arrow() if hasattr(value, "to_arrow") else None
    if table is None or not len(table):
        yield _json(str(value) if table is None else [])
        return
    batches = table.to_batches(max_chunksize=ROWS_AT_ONCE)
    yield "["
    yield from _with_commas(indent(_json(row), " ") for batch in batches for row in batch.to_pylist())
    yield "]"


def _with_commas(texts: Iterator[str]) -> Iterator[str]:
    """All but the last end in a comma."""
    earlier = next(texts, None)
    for text in texts:
        yield f"{earlier},"
        earlier = text
    yield from () if earlier is None else (earlier,)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, indent=1, default=str)


PRINT_FORMATS = ("cell", "python", "kafka-configs", "markdown")


def in_print_format(value: Any, form: str) -> Any:
    """The value as that text.

    Raises
    ------
    UsageError
        It is neither a stage nor a plan.
    """
    from ..plans.formats import PrintFormats

    if not isinstance(value, PrintFormats):
        raise UsageError(f"--print {form} works with stages and plans only")
    return getattr(value, f"to_{form.replace('-', '_')}")()
