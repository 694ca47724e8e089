"""An answer in the form that was asked for: a frame, a file, JSON, or lines for a window, a file or a pipe."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from ..errors import KadminError, PartlyFailed, UsageError
from ..frames.blocks import ASCII, ROWS, WHOLE, Text, window
from ..plans.execution.progress import Advance


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
    return getattr(value, f"to_{form}")()


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


def json_lines(value: Any) -> Iterator[str]:
    """The same line by line: the rows of a frame as `--out FILE.json` writes them, anything else as a text."""
    from ..frames import frame_files

    if hasattr(value, "to_arrow"):
        return frame_files.json_lines(value.to_arrow())
    return iter([frame_files.json_text(str(value))])


def in_print_format(value: Any) -> Any:
    """The value as a block for a pull request.

    Raises
    ------
    UsageError
        It is neither a stage nor a plan.
    """
    from ..plans.formats import PrintFormats

    if not isinstance(value, PrintFormats):
        raise UsageError("--print works with stages and plans only")
    return value.to_markdown()


USUAL = os.terminal_size((80, 24))
"""The size of a terminal that does not tell its own."""

PAGED_ROWS = 2000
"""Rows of a table that a pager gets."""

REST = "--json shows everything"


def fitted_lines(value: object, stream: TextIO, *, rest: str = REST, rows: int = ROWS) -> Iterable[str]:
    """A value as lines: what fits into a window; all of it in a file or a pipe, and texts exactly.

    Parameters
    ----------
    rest
        Where all of a table is that is too long for a window.
    rows
        The rows of a table that a window shows.
    """
    from ..frames.display import Display

    if isinstance(value, Display):
        from ..frames.render import lines

        if not stream.isatty():
            return lines(value._blocks(WHOLE), WHOLE)
        ascii_only = not _has_signs(stream)
        page = window(_size(stream).columns, rest, rows, colour=can_colour(stream), ascii_only=ascii_only)
        shown = lines(value._blocks(page), page)
        return (line.translate(ASCII) for line in shown) if ascii_only else shown
    return [str(value) if isinstance(value, str) and not stream.isatty() else repr(value)]


def _size(stream: TextIO) -> os.terminal_size:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        size = USUAL
    return os.terminal_size((size.columns or USUAL.columns, size.lines or USUAL.lines))


def _has_signs(stream: TextIO) -> bool:
    """True if the stream takes the signs of tables."""
    try:
        "✓▲█".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def width_of(stream: TextIO) -> int:
    """The columns of a window."""
    return _size(stream).columns


def can_colour(stream: TextIO) -> bool:
    """True of a window that shows colours, unless NO_COLOR is set: https://no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def can_ask(*streams: TextIO) -> bool:
    """True if a person sees what is written, and can answer.

    Not in a cell, `!kadmin-nb …`: Jupyter's terminal for it has no keys, and these two variables.
    """
    is_cell = os.environ.get("PAGER") == os.environ.get("GIT_PAGER") == "cat"
    return not is_cell and all(stream.isatty() for stream in streams)


def can_page(*streams: TextIO) -> bool:
    """True if a person can use a pager; an empty PAGER, as git has it, is none."""
    is_wanted = os.environ.get("PAGER") != "" and os.environ.get("TERM", "dumb") != "dumb"
    return is_wanted and can_ask(*streams)


def show_in_pager(lines: Iterable[str], window: TextIO) -> list[str]:
    """Show lines that are more than the window has in a pager; the lines that are yet to be printed."""
    whole = list(lines)
    if len(whole) < _size(window).lines:
        return whole
    import click

    flags = os.environ.setdefault("LESS", "FRX")  # as git does: colours, and no pager for what fits
    if "R" not in flags:
        os.environ["LESS"] = f"{flags} -R"
    is_less = Path(os.environ.get("PAGER", "less").partition(" ")[0]).name == "less"
    click.echo_via_pager((f"{line}\n" for line in whole), color=is_less or None)
    return []


QUIET = 0.5
"""Seconds before anything is shown."""

_ERASE = "\r\x1b[K"


class StatusLine:
    """The line that tells how far a plan is; a stream that is not a person's terminal gets nothing of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._since, self._is_shown = stream, time.monotonic(), False

    def progress(self, advance: Advance) -> None:
        """Show how far a plan is, once it has taken long enough to be worth a line."""
        if time.monotonic() - self._since >= QUIET and can_ask(self._stream):
            print(f"{_ERASE}{advance}", end="", file=self._stream, flush=True)
            self._is_shown = True

    def close(self) -> None:
        """Take the line away."""
        if self._is_shown:
            print(_ERASE, end="", file=self._stream, flush=True)
        self._is_shown = False
