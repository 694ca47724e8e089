"""The terminal: values as aligned text, errors as one line, the exit codes of the README."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from .. import files
from ..errors import (
    ExitState,
    Hinted,
    Interrupted,
    KadminError,
    UsageError,
    between_words,
    printable,
)
from ..frames.blocks import DIM, RED, ROWS, inked
from ..hints import terminal
from . import Result, run
from .answer_formats import PAGED_ROWS, StatusLine, can_colour, can_page, fitted_lines, show_in_pager, width_of
from .session import Session, default_target

if TYPE_CHECKING:
    from ..frames.display import Display

COMPLETION = "_KADMIN_NB_COMPLETE"
"""`eval "$(_KADMIN_NB_COMPLETE=bash_source kadmin-nb)"` turns the shell's completion on; zsh and fish alike."""


def prepare() -> None:
    """Make this process one of the terminal: without pandas, and with standard streams that can be used.

    Standard input that somebody closed (`<&-`) is at its end.
    """
    sys.meta_path.insert(0, PandasGuard())
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115  # as long as we live
    sys.stdout, sys.stderr = _usable(sys.stdout), _usable(sys.stderr)


class PandasGuard:
    """An import hook that keeps pandas out of commands that do not use it: loading it takes longer than most answers.

    pyarrow imports it at the first value that it is given. Here it is given one as soon as it is loaded, finds no
    pandas, and does not look again; whoever imports pandas afterwards has it, and so has `Table.to_pandas`.
    """

    _is_pyarrow_looking = False

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Nothing, but for pyarrow, whose loading is followed by its look for pandas."""
        if name == "pandas" and self._is_pyarrow_looking:
            raise ModuleNotFoundError(name)
        spec = PathFinder.find_spec(name, path) if name == "pyarrow" else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_look(module: ModuleType) -> None:
                load(module)
                self._is_pyarrow_looking = True
                module.array([])
                sys.meta_path.remove(self)

            spec.loader.exec_module = load_and_look  # type: ignore[method-assign]
        return spec


def _usable(stream: TextIO | None) -> TextIO:
    """A standard stream in which everything can be written.

    One that somebody closed (`>&-`) leads nowhere. Under PYTHONUNBUFFERED Python loses what a write leaves over, as on
    a disk that fills up, without a word; a buffer writes all of it or complains.
    """
    if stream is None:
        return open(os.devnull, "a")  # as long as we live
    if isinstance(stream.buffer, io.RawIOBase):
        again = os.fdopen(os.dup(stream.fileno()), "wb")  # a copy: closing it does not close the other
        stream = io.TextIOWrapper(again, stream.encoding, line_buffering=True)
    stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
    return stream


def complete(instruction: str) -> int:
    """Answer the shell, which asks for its script or for the words that may come next; the exit code."""
    from click.shell_completion import BashComplete, FishComplete, ZshComplete, shell_complete

    from ..model.grammar import argument
    from .click_glue import Completing
    from .completions import names_of_file
    from .root import root

    for shell in (BashComplete, FishComplete, ZshComplete):  # click's own scripts take names apart
        shell.source_template = Path(__file__).with_name(f"complete.{shell.name}").read_text("utf-8")
    return shell_complete(root, {"obj": Completing(names_of_file, argument)}, "kadmin-nb", COMPLETION, instruction)


KAFKA_TOOLS = ("kafka-configs", "kafka-client-quotas", "scram-credentials")
"""The commands that stand in for Kafka's own: scripts that run those know two exit codes, 0 and 1."""


def _exit_code(words: list[str], ended: int) -> int:
    """The exit code of these words, which ended so."""
    is_failure = words[:1] and words[0] in KAFKA_TOOLS and ended not in (ExitState.DONE, ExitState.INTERRUPTED)
    return ExitState.FAILED if is_failure else ended


def run_line(words: list[str]) -> int:
    """Run the words; how that ends."""
    status = StatusLine(sys.stderr)
    session = Session(
        progress=status.progress,
        note=partial(_note_above, status),
        remembered=default_target(),
    )
    try:
        for number, word in enumerate(words, 1):
            if any("\ud800" <= c <= "\udfff" for c in word):
                raise UsageError(f"word {number} of the line is not UTF-8")
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, status)
            with contextlib.closing(status):
                result = run(words or ["--help"], session)
            if session.connected is not None:
                from .completions import keep_names  # with what help does not need

                keep_names(result.value, session.target)
            return _exit_code(words, _shown(result))
    except (KadminError, Interrupted) as exc:
        if exc.outcomes is not None:
            _write_lines(sys.stdout, fitted_lines(exc.outcomes, sys.stdout))
        _say(exc)
        return _exit_code(words, exc.exit_state)
    except KeyboardInterrupt:
        _print_note("interrupted")
        return ExitState.INTERRUPTED
    finally:
        _close(session)


def _close(session: Session) -> None:
    """The answer was given; a connection that ends badly changes nothing."""
    with contextlib.suppress(KadminError):
        session.close()


def _shown(result: Result) -> ExitState:
    """Print a value, or write it where --out says, and the error of a run that ended badly; how that ends."""
    value, error = result.value, result.error
    if value is None:
        return ExitState.DONE
    try:
        _print(result)
    except KadminError as exc:
        if error is None:
            raise
        _say(exc)
    if error is not None:
        _say(error)
        return error.exit_state
    return ExitState.DONE if isinstance(value, str) else _ended(value, result)


def _print(result: Result) -> None:
    """Print a value, or write it where --out says; in a window one that is taller goes through a pager.

    Raises
    ------
    KadminError
        It cannot be written there.
    """
    from .answer_formats import formed, json_lines, write_file

    if result.form:
        formed(result.value, result.form)
    if result.out:
        write_file(result.value, Path(result.out))
    elif result.json:
        _print_lines(json_lines(result.value), result.value)
    else:
        with_pager = result.error is None and can_page(sys.stdin, sys.stdout)
        lines = fitted_lines(result.value, sys.stdout, rows=PAGED_ROWS if with_pager else ROWS)
        _print_lines(show_in_pager(lines, sys.stdout) if with_pager else lines, result.value)


def _show_warning(status: StatusLine, message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as one line on standard error, without the line of code that it came from."""
    _note_above(status, f"Note: {printable(str(message))}")


def _print_lines(lines: Iterable[str], value: object) -> None:
    """Print the lines of a value; a reader that went away, `| head`, is not a failure."""
    from .answer_formats import lost

    error = _write_lines(sys.stdout, lines)
    if error is not None and not isinstance(error, BrokenPipeError):
        raise lost(value, files.not_written(Path("standard output"), error))


def _write_lines(stream: TextIO, lines: Iterable[str]) -> OSError | None:
    """Write them to a standard stream. One that takes no more is cut off: Python flushes it again at its end."""
    try:
        stream.writelines(f"{line}\n" for line in lines)
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def _ended(value: Display, result: Result) -> ExitState:
    """Rows that failed are in the table; standard error says so too, or what would work."""
    try:
        value.raise_for_errors()
    except KadminError as exc:
        if result.out or not value._shows_failures:
            _say(exc)
    else:
        if value.hint:
            _write_lines(sys.stderr, _in_colours([f"Hint: {printable(value.hint)}"]))
    return value._exit_state(result.detailed)


def _say(exc: Hinted) -> None:
    """The error in a line, its hint, and the rows that it is about."""
    exc.syntax = terminal
    table = [] if exc.rows is None else fitted_lines(exc.rows, sys.stderr, rest="2> FILE saves the whole text")
    _write_lines(sys.stderr, [*_in_colours(exc.lines()), *table])


def _in_colours(lines: Iterable[str]) -> Iterator[str]:
    """The lines of an error, as wide as the window: its kind in red, a hint dim."""
    for text in lines:
        kind = text.partition(":")[0]
        parts = between_words(text, width_of(sys.stderr)) if sys.stderr.isatty() else [text]
        if can_colour(sys.stderr) and kind == "Hint":
            parts = [inked(part, DIM) for part in parts]
        elif can_colour(sys.stderr):
            parts[0] = parts[0].replace(kind, inked(kind, RED), 1)
        yield from parts


def _print_note(text: str) -> None:
    _write_lines(sys.stderr, [text])


def _note_above(status: StatusLine, text: str) -> None:
    """Print a line that stays, where the line of the status was."""
    status.close()
    _print_note(text)
