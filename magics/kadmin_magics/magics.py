"""The magics: split the line, run the same command as the terminal, hand its value back.

They print nothing but one line that tells how far a long call is, where a person watches.
"""

from __future__ import annotations

import atexit
import linecache
import time
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import IPython
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand

from kadmin_nb import hints
from kadmin_nb.errors import Interrupted, KadminError, printable
from kadmin_nb.model.grammar import split
from kadmin_nb.plans.execution.progress import Advance

from .frames import show_frames
from .variables import CallersVariables, caller

if TYPE_CHECKING:
    from kadmin_nb.commands import Result

    from .notebook import NotebookSession


@magics_class
class KAdmin(Magics):
    """Kafka quotas and configs in a notebook."""

    shell: InteractiveShell

    def register(self) -> None:
        """Into the shell, with completion."""
        self.shell.register_magics(self)
        if IPython.version_info >= (8, 6):  # an older one asks for no matchers
            from .completion import matcher

            ours = matcher(lambda target: self.session.settings_of(target))
            self.shell.Completer.custom_matchers.append(ours)
        show_frames(self.shell)
        atexit.register(self.leave)

    @no_var_expand
    @line_cell_magic
    def kquota(self, line: str, cell: str | None = None) -> Any:
        """Client quotas.

        `%kquota describe user=alice`, `%kquota resolve user=alice client-id=app`, `%kquota tree`;
        `%kquota set producer_byte_rate=5MB/s user={name}` stages, `%kquota plan` shows what it means,
        `%kquota apply` carries it out. A `%%kquota` cell stages many lines. `%kquota --help` has all verbs.
        """
        return self._run("kquota", line, cell)

    @no_var_expand
    @line_cell_magic
    def kconfig(self, line: str, cell: str | None = None) -> Any:
        """Configs of topics, brokers, groups and client-metrics.

        `%kconfig describe topic=orders`; `%kconfig set retention.ms=86400000 topic=orders` stages,
        `%kconfig plan` shows what it means, `%kconfig apply` carries it out. A `%%kconfig` cell stages many
        lines. `%kconfig --help` has all verbs.
        """
        return self._run("kconfig", line, cell)

    @no_var_expand
    @line_magic
    def kplan(self, line: str) -> Any:
        """Plans, by file or id: `%kplan show p.json`, and `apply`, `verify`, `rollback`, `log`; `-f FILE`."""
        return self._run("kplan", line, None)

    @no_var_expand
    @line_cell_magic
    def kadmin(self, line: str, cell: str | None = None) -> Any:
        """The whole tree: `%kadmin use prod`, `%kadmin local start`, `%kadmin runbook list`.

        `%kadmin use` takes a profile, a .properties file, host:port, or `{cluster}`, a Cluster of yours. A
        `%%kadmin` cell stages lines of both kinds. `%kadmin --help` has all verbs.
        """
        return self._run("kadmin", line, cell)

    @cached_property
    def session(self) -> NotebookSession:
        """The state that the magics of this shell share."""
        from .notebook import NotebookSession

        return NotebookSession()

    def _run(self, magic: str, line: str, cell: str | None) -> Any:
        """The value of one line or cell; nothing when it goes into a variable."""
        from kadmin_nb.commands import run

        from .notebook import entry_point

        words = split(line)
        variables = CallersVariables(self.shell, caller())
        typed = f"%{magic}" if cell is None else f"%%{magic}"
        with closing(Line(self.shell)) as line_of_progress:
            self.session.progress, self.session.note = line_of_progress.progress, line_of_progress.note
            self.session.cell, self.session.variables = cell, variables
            result = None
            try:
                result = run(words, self.session, typed, entry_point(typed))
                value = self._handed(result)
                return None if _is_hushed(line, caller()) else value
            except (KadminError, Interrupted) as exc:
                exc.syntax = hints.magic
                _display_outcomes(exc, result)
                raise
            finally:
                self.session.variables = None  # they hold the caller's frame

    def _handed(self, result: Result) -> Any:
        """The value in its form; into its variable when it has one. What is raised where it is not ok, is."""
        from kadmin_nb.commands.answer_formats import write_file
        from kadmin_nb.frames.frame_files import FILES

        value, out = _formed(result), result.out
        if out and out.endswith(FILES):
            write_file(result.value, Path(out))
        elif out:
            self.shell.push({out: value})  # type: ignore[no-untyped-call]
        if result.error is not None:
            raise result.error
        if getattr(result.value, "_is_raised", False):
            result.value.raise_for_errors()
        if hint := getattr(result.value, "hint", None):
            _show_text(f"Hint: {printable(hint)}")
        return None if out else value

    def leave(self) -> None:
        """Leave the current cluster."""
        if "session" in self.__dict__:
            self.session.close()


def _formed(result: Result) -> Any:
    from kadmin_nb.commands.answer_formats import as_json, formed
    from kadmin_nb.frames.display import Display

    value = result.value
    if result.json:
        return as_json(value)
    if result.form:
        return formed(value, result.form)
    return value._at(hints.magic)._in_cell() if isinstance(value, Display) else value


def _is_hushed(line: str, frame: FrameType) -> bool:
    """True if the line ends in `;`, as an expression that shows nothing; not where a variable gets its value."""
    source = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return line.rstrip().endswith(";") and source.lstrip().startswith("get_ipython().run_")


def _display_outcomes(failed: KadminError | Interrupted, result: Result | None) -> None:
    """The rows, before the error that counts them: as the text that was asked for, or as a table."""
    from IPython.display import display

    from kadmin_nb.commands.answer_formats import as_json
    from kadmin_nb.frames.blocks import NOTEBOOK

    if failed.outcomes is None:
        return
    if result is not None and (result.json or isinstance(result.value, str)):
        _show_text(as_json(result.value) if result.json else result.value)
    else:
        display(failed.outcomes._mimebundle(replace(NOTEBOOK, has_errors_apart=True)), raw=True)  # type: ignore[no-untyped-call]


def _show_text(text: str) -> None:
    from IPython.display import display

    display({"text/plain": text}, raw=True)  # type: ignore[no-untyped-call]


QUIET = 1.0
"""Seconds before anything is shown."""


class Line:
    """An updating line of text: a display in a notebook.

    papermill and nbclient send no input, so nobody watches there, and documents stay as they are.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._kernel = getattr(shell, "kernel", None)
        self._since = time.monotonic()
        self._handle: Any = None

    def progress(self, advance: Advance) -> None:
        """Say how many rows are done."""
        if time.monotonic() - self._since >= QUIET:
            self.note(str(advance))

    def note(self, text: str) -> None:
        """Say what takes long, where a person can see it: one who may be asked for input."""
        if getattr(self._kernel, "_allow_stdin", False):
            self._display(text)

    def _display(self, text: str) -> None:
        from IPython.display import display

        plain = {"text/plain": text}
        if self._handle is None:
            self._handle = display(plain, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(plain, raw=True)

    def close(self) -> None:
        """Take the line away."""
        if self._handle is not None:
            self._display("")
