"""Rules: functions that return the rows that break them, those of a policy's file included."""

from __future__ import annotations

import inspect
import os
import stat
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from .. import files
from ..errors import NotFound, UsageError, printable
from ..frames import relational
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..hints import did_you_mean
from ..model.changes import refuse_secret_text
from ..model.findings import DANGER, Row

FRAMES = ("quotas", "configs", "effective", "plan", "users", "client_configs")
"""The frames that a rule may take."""

ERROR = "error"
SEVERITIES = (ERROR, DANGER)

MOST_ROWS = 10_000
"""Rows of a breach that are read from Spark."""

_MOST_BYTES = 1 << 20
_SEVERITY = "__kadmin_severity__"
_TAKES = f"It takes any of {', '.join(FRAMES)}."
_NO_HELPER = "The name of a helper begins with _."

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def rule(severity: str = ERROR) -> Callable[[AnyFunction], AnyFunction]:
    """The decorator of a rule whose breach is not an error: `@kn.rule(severity="danger")`.

    A plan that breaks it is applied only if the key is allowed, as any dangerous change.

    Raises
    ------
    UsageError
        Another severity.
    """
    if severity not in SEVERITIES:
        raise UsageError(
            f"a rule cannot have the severity {severity}", hint=did_you_mean(str(severity), SEVERITIES, "error, danger")
        )

    def decorate(function: AnyFunction) -> AnyFunction:
        setattr(function, _SEVERITY, severity)
        return function

    return decorate


@dataclass(frozen=True)
class Rule:
    """A rule: its name, the frames that it takes, and the function that returns the rows that break it.

    `reason` is the first line of the function's docstring, `file` and `line` are where it stands.
    """

    name: str
    reason: str
    severity: str
    takes: tuple[str, ...]
    function: Callable[..., Any]
    file: str
    line: int

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Rule:
        """The rule that a function is.

        Raises
        ------
        UsageError
            It takes something else than frames, has no docstring, or is not a function.
        """
        if not inspect.isfunction(function):
            raise UsageError(f"a {type(function).__name__} is not a rule", hint="A rule is a function, or their file.")
        code = inspect.unwrap(function).__code__
        names = tuple(inspect.signature(function).parameters)
        documented = (inspect.getdoc(function) or "").strip()
        severity = getattr(function, _SEVERITY, ERROR)
        made = cls(
            function.__name__, documented.partition("\n")[0], severity, names, function, code.co_filename,
            code.co_firstlineno,
        )  # fmt: skip
        made._refuse_what_it_is_not()
        return made

    def _refuse_what_it_is_not(self) -> None:
        strange = next((name for name in self.takes if name not in FRAMES), None)
        if strange is not None:
            hint = f"{did_you_mean(strange, FRAMES, _TAKES)} {_NO_HELPER}"
            raise self.wrong(f"{strange} is not a frame", hint)
        if not self.takes:
            raise self.wrong("it takes no frame", f"{_TAKES} {_NO_HELPER}")
        if not self.reason:
            raise self.wrong("it has no docstring", f"Its first line is shown where the rule is broken. {_NO_HELPER}")
        refuse_secret_text(f"the docstring of rule {self.name}", self.reason)

    def broken_by(self, frames: Mapping[str, Any]) -> list[Row]:
        """The rows of these frames that break it, of Spark the first 10,000.

        Raises
        ------
        UsageError
            The function failed, or did not return rows of a frame.
        """
        with _failures_named(self.file, f"rule {self.name}", self.line):
            returned = self.function(**{name: frames[name] for name in self.takes})
            if _is_frame(returned):
                return _rows_of(returned)
        what = "nothing" if returned is None else f"a {type(returned).__name__}"
        raise self.wrong(f"it returned {what}, not rows of a frame", "Rows where all is well are frame[:0].")

    def wrong(self, problem: str, hint: str | None = None) -> UsageError:
        """One line: the file, the line, the rule, and what is wrong with it."""
        return UsageError(printable(f"{self.file}:{self.line}: rule {self.name}: {problem}"), hint=hint)


Given = str | os.PathLike[str] | Callable[..., Any] | Rule


def rules_of(given: Given | Iterable[Given]) -> tuple[Rule, ...]:
    """The rules of a file, a function, or several of them.

    Raises
    ------
    NotFound, UsageError
        A file is not there, others may write it, it cannot be run, or it has no rule; a function is none.
    """
    if isinstance(given, Rule):
        return (given,)
    if isinstance(given, str | os.PathLike):
        return _in_file(str(given))
    if callable(given):
        return (Rule.of(given),)
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise UsageError(f"a {type(given).__name__} is not a rule", hint="A rule is a function, or their file.")
    return tuple(rule for one in given for rule in rules_of(one))


def _in_file(name: str) -> tuple[Rule, ...]:
    """The public functions that a file defines, in their order."""
    place = files.expanded(name)
    if not place.exists():
        raise NotFound(f"{name} is not there, so it cannot be a policy")
    _refuse_others_file(place)
    text = files.read_text(place, "a policy", _MOST_BYTES)
    module = ModuleType(place.stem)
    module.__file__ = name
    with _failures_named(name):
        exec(compile(text, name, "exec", dont_inherit=True), vars(module))
    functions = {
        found: None
        for word, found in vars(module).items()
        if isinstance(found, FunctionType)
        and not word.startswith("_")
        and inspect.unwrap(found).__globals__ is vars(module)
    }
    if not functions:
        raise UsageError(f"{name} has no rule", hint="A rule is a function that takes frames, such as quotas.")
    return tuple(map(Rule.of, functions))


def _refuse_others_file(place: Path) -> None:
    """Refuse a file that somebody else owns or may write: it is run, with our rights."""
    status = place.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{place} is not a file, so it cannot be a policy")
    if files.is_of_others(status):
        raise UsageError(f"{place} belongs to another user, so it is not run as a policy", hint="Make a copy of it.")
    if hasattr(os, "geteuid") and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):  # Windows has its own lists
        hint = f"chmod go-w {place}" if os.access(place, os.W_OK) else "Make a copy of it."
        raise UsageError(f"{place} can be written by others, so it is not run as a policy", hint=hint)


@contextmanager
def _failures_named(file: str, what: str = "", line: int = 0) -> Iterator[None]:
    """What a team's code raises, as one line that names the file, the line and the rule; only Ctrl-C passes."""
    try:
        yield
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        at = error.lineno if isinstance(error, SyntaxError) else (lines or [line])[-1]
        said = error.msg if isinstance(error, SyntaxError) else error
        whose = f"{what}: " if what else ""
        raise UsageError(printable(f"{file}:{at}: {whose}{type(error).__name__}: {str(said)[:300]}")) from None


def _is_frame(returned: object) -> bool:
    return isinstance(returned, Answer) or sparks.is_spark(returned) or hasattr(returned, "columns")


def _rows_of(frame: Any) -> list[Row]:
    """The rows of a frame of whatever kind; what is missing is None."""
    if sparks.is_spark(frame):
        frame = relational.in_arrow(frame, MOST_ROWS)
    elif hasattr(frame, "to_arrow"):
        frame = frame.to_arrow()
    if hasattr(frame, "to_pylist"):
        rows = frame.to_pylist()
    else:
        frame = frame.reset_index() if any(frame.index.names) else frame
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
