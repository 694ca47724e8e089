"""One tree of commands behind three entry points: the terminal, the magics, completion."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click

    from ..errors import Hinted
    from .click_glue import Values
    from .session import Session

__all__ = ["Result", "complete", "main", "run"]


@dataclass(frozen=True)
class Result:
    """The value a command returned, with the shared options that say how to show it.

    `error` is the end of a run that ended badly; the value is what became of its rows.
    """

    value: Any
    error: Hinted | None = None
    form: str | None = None
    out: str | None = None
    json: bool = False
    detailed: bool = False


def run(
    words: Sequence[str], session: Session, name: str = "kadmin-nb", command: click.Command | None = None
) -> Result:
    """Run one line of words after a command (default: the terminal's); `name` is what was typed for it.

    Help comes back as a value, click's complaints as `UsageError` with the nearest word, its Abort as
    KeyboardInterrupt.
    """
    import click

    from ..frames.blocks import Text
    from .click_glue import HelpAsked, as_ours
    from .root import root

    try:
        chosen = command or root
        with chosen.make_context(name, list(words), obj=session) as context:
            value, error = _ended(chosen, context)
            return Result(value, error, **{k: v for k, v in context.meta.items() if k in Result.__annotations__})
    except HelpAsked as asked:
        return Result(Text(str(asked)))
    except click.exceptions.NoArgsIsHelpError as nothing:
        return Result(Text(nothing.message))
    except click.exceptions.Exit:
        return Result(None)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as exc:
        raise as_ours(exc, words) from None


def _ended(command: click.Command, context: click.Context) -> tuple[Any, Hinted | None]:
    """The value; of a run that ended badly what became of its rows, and the error."""
    from ..errors import Hinted

    try:
        return command.invoke(context), None
    except Hinted as error:
        if error.outcomes is None:
            raise
        return error.outcomes, error


def complete(
    words: Sequence[str],
    incomplete: str,
    name: str = "kadmin-nb",
    command: click.Command | None = None,
    values: Values | None = None,
) -> list[str]:
    """The candidates for `incomplete` after these words; `values` knows those behind a word, by asking a cluster."""
    from click.shell_completion import ShellComplete

    from .click_glue import Completing
    from .root import root

    context = {} if values is None else {"obj": Completing(values)}
    items = ShellComplete(command or root, context, name, "").get_completions(list(words), incomplete)
    return [item.value for item in items if item.type == "plain"]


def main() -> None:
    """The terminal's entry point.

    The garbage collector finds nothing in modules that are being loaded, and at its exit Python searches all that was
    made for cycles, twice. Seldom and not at all, a describe takes 0.42 s of CPU instead of 0.53 s.
    """
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)
    try:
        from . import terminal

        if instruction := os.environ.get(terminal.COMPLETION):
            sys.exit(terminal.complete(instruction))
        terminal.prepare()
        sys.exit(terminal.run_line(sys.argv[1:]))
    except KeyboardInterrupt:  # while modules are loaded
        sys.stderr.write("interrupted\n")
        sys.exit(130)
