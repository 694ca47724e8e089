"""The end of a command, for the shell that ran it."""

from __future__ import annotations

from enum import IntEnum


class ExitState(IntEnum):
    """The exit codes of the README. Answers and errors say their own; the terminal exits with it."""

    DONE = 0
    """Done, or nothing to do."""

    FAILED = 1
    """Failed before anything changed."""

    WRONG_USAGE = 2

    DIFFERENCES = 3
    """There is something to change, or a difference, and somebody asked with `--detailed-exitcode`."""

    PARTLY = 4
    """Changed in part, or not verified everywhere."""

    REFUSED = 5
    """Refused, nothing sent."""

    INTERRUPTED = 130
