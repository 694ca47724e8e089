"""An answer in the form that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import KadminError, PartlyFailed, UsageError, printable
from .click_glue import Text

if TYPE_CHECKING:
    from ..plans.formats import PlanText


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


def write_file(value: Any, place: Path) -> None:
    """Write the rows to the file of `--out`.

    Raises
    ------
    UsageError
        It has no rows.
    NotFound, Invalid
        It cannot be written there.
    """
    from ..frames.answer import Tabular

    if not isinstance(value, Tabular):
        raise UsageError("--out works with frames only")
    from ..frames.frame_files import write_table

    try:
        write_table(value.to_arrow(), place)
    except KadminError as exc:
        raise lost(value, exc) from None


def lost(value: Any, error: KadminError) -> KadminError:
    """The error of an answer that could not be written; of changes that were made, one that says that they stay."""
    if not getattr(value, "_anything_changed", False):
        return error
    return PartlyFailed(f"{error}; changes already made stay: {value._short_form()}", outcomes=value)


def as_json(value: Any) -> Text:
    """The rows as JSON, in ASCII."""
    return Text("\n".join(json_lines(value)))


def as_csv(value: Any) -> PlanText:
    """The rows as CSV; on a screen its texts are escaped."""
    from ..frames.frame_files import csv_text

    return as_lines(_CSV_ROW.findall(csv_text(value.to_arrow())))


def as_lines(texts: Iterable[str]) -> PlanText:
    """Lines with names that clients chose: exact in a file or a pipe, and on a screen each one line, escaped."""
    from ..plans.formats import PlanText

    texts = [*texts]
    return PlanText("\n".join(texts), "\n".join(map(printable, texts)))


_CSV_ROW = re.compile(r'(?:"[^"]*"|[^"\n])+')
"""A row of CSV: between quotation marks a line may end."""


def json_lines(value: Any) -> Iterator[str]:
    """The same line by line: the rows of a frame as `--out FILE.json` writes them, anything else as a text."""
    from ..frames import frame_files

    return (
        frame_files.json_lines(value.to_arrow())
        if hasattr(value, "to_arrow")
        else iter([frame_files.json_text(str(value))])
    )


PRINT_FORMATS = ("cell", "kafka-configs", "markdown")


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
