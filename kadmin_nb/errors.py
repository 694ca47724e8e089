"""Everything kadmin_nb raises, as one tree.

KadminError
├── UsageError            the words or arguments do not make sense
├── ConnectionFailed      no broker could be reached
├── AuthenticationFailed  a broker was reached and refused the login
├── NotAuthorized         the principal lacks a right
├── NotFound              the topic, broker, profile or plan does not exist
├── Invalid               Kafka refuses the value or the entity, or a file cannot be used
├── Unsupported           this broker, or this installation, does not support it
├── NotKnowable           the cluster uses rules that cannot be seen from outside, or no broker could tell
├── PlanRefused           a plan was not started, and nothing was sent
│   ├── Conflict          the cluster has changed since the plan
│   ├── Dangerous         the change must be confirmed
│   ├── Expired           the plan is too old
│   ├── Locked            another editor is at work: try again
│   └── WrongCluster      the plan was made for another cluster
├── NeedsLook             a report found what somebody should look at
├── TimedOut              no answer in time: the outcome is unknown
└── PartlyFailed          some rows failed; `.outcomes` has all rows

KeyboardInterrupt
└── Interrupted           a plan was stopped by Ctrl-C; `.outcomes` has the result so far
"""

from __future__ import annotations

import copyreg
import re
import textwrap
from collections.abc import Iterable
from copy import copy
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Self

from . import hints
from .hints import Hint
from .secrets import redacted

if TYPE_CHECKING:
    from .model.changes import Target


class ExitState(IntEnum):
    """The exit codes of the terminal. Answers and errors have one each."""

    DONE = 0
    """Done, or nothing to do."""

    FAILED = 1
    """Failed before anything changed; also where some of the asked rows could not be read."""

    WRONG_USAGE = 2

    DIFFERENCES = 3
    """A report with `fail=true` found something; with `--detailed-exitcode`: there is a change, or a difference."""

    PARTLY = 4
    """Changed in part, or not verified everywhere."""

    REFUSED = 5
    """Refused, nothing sent: to try the same again changes nothing."""

    TRY_AGAIN = 75
    """Another editor is at work, nothing sent: try again later."""

    INTERRUPTED = 130


def printable(text: str) -> str:
    """`text` with everything a terminal would obey, controls and bidi marks, shown as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """The same line by line: what ends a line stays."""
    return "\n".join(map(printable, text.split("\n")))


def between_words(text: str, width: int) -> list[str]:
    """The lines of a text in lines of that width; what has no blank in it, such as a path, stays whole."""
    return [part for line in text.split("\n") for part in _parts(line, width)]


def _parts(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    words = line.lstrip(" ")
    own = " " * min(len(line) - len(words), width // 2)  # textwrap drops an indent before a long word
    return textwrap.wrap(words, width, initial_indent=own, break_on_hyphens=False, break_long_words=False)


def _message(text: str) -> str:
    """A message or hint: whatever it repeats, no secret of it, nothing that a terminal would obey."""
    return _LONG_WORD.sub(lambda word: f"{word[0][:100]}… ({len(word[0]):,} characters)", printable(redacted(text)))


LONGEST_WORD = 1000
"""Characters of a word that a message shows whole."""

_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
"""One that is longer, such as a number of 10,000 digits, is cut: nobody can read it."""


class Hinted(BaseException):
    """An error with a hint, in the syntax of the place where it is read: Python, unless `syntax` was set to another.

    `outcomes` are those of the rows, as far as there is something to show before the error.
    """

    syntax: hints.Syntax = staticmethod(hints.python)
    exit_state = ExitState.FAILED
    rows: Any = None
    """The rows that it is about, to show below it."""

    def __init__(
        self,
        message: str,
        *,
        outcomes: Any = None,
        code: str | None = None,
        hint: str | Hint | None = None,
        targets: Iterable[Target] = (),
    ) -> None:
        super().__init__(_message(message))
        self.outcomes = outcomes
        self.code = code
        self.hint = hint
        self.targets = tuple(targets)
        self.document: object = None

    @property
    def hint(self) -> str | None:
        """A remedy that works."""
        return hints.spelled(self._hint, self.syntax, _message) if isinstance(self._hint, Hint) else self._hint

    @hint.setter
    def hint(self, hint: str | Hint | None) -> None:
        source = hint.source if isinstance(hint, hints.Spelled) else hint
        self._hint = _message(source) or None if isinstance(source, str) else source

    def lines(self) -> list[str]:
        """The message, and the hint if it has one."""
        return [f"{type(self).__name__}: {self}", *([f"Hint: {self.hint}"] if self.hint else [])]

    def in_one_line(self) -> str:
        """The message and what would work, as sentences of one line."""
        return ". ".join(filter(None, [str(self), self.hint]))

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows instead of a stack trace; JupyterLab itself would break them within words."""
        lines = ["\n".join(between_words(line, _OF_A_CELL)) for line in self.lines()]
        return lines if self.rows is None else [*lines, repr(self.rows)]


_OF_A_CELL = 68
"""Characters of a line of an error below a cell: JupyterLab, 1000 pixels wide beside its files, has room for 71."""


class KadminError(Hinted, Exception):
    """The root of all errors. `code` is Kafka's name of the error or None, `hint` says what to do; neither has a
    secret.

    `targets` are the keys that it is about, each with its entity or resource; empty if it is about none. `document` is
    the path of the executed runbook that failed with this error, or None.
    """

    def within(self, place: object) -> Self:
        """The same error with a place before the message, `line 3: …`; everything else stays."""
        return self.reworded(f"{place}: {self}")

    def reworded(self, message: str) -> Self:
        """The same error with another message."""
        error = copy(self)
        error.args = (_message(message),)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        """What pickle needs to make it again without `__init__`, whose keywords it does not know."""
        return copyreg.__newobj__, (type(self), str(self)), self.__dict__  # type: ignore[attr-defined]


class UsageError(KadminError):
    """The words or arguments do not make sense; nothing was sent."""

    @property
    def exit_state(self) -> ExitState:  # type: ignore[override]  # a runbook's own usage is not a usage of the command's
        return ExitState.WRONG_USAGE if self.document is None else ExitState.FAILED


class ConnectionFailed(KadminError):
    """No broker could be reached at the given addresses."""


class AuthenticationFailed(KadminError):
    """A broker was reached and refused the credentials or the mechanism."""


class NotAuthorized(KadminError):
    """The principal lacks a right; the message names the right and the resource."""


class NotFound(KadminError):
    """A topic, broker, profile, file, plan or runbook that was named does not exist."""


class Invalid(KadminError):
    """The broker refuses this value, key or entity, or a file cannot be read or written; in their own words."""


class Unsupported(KadminError):
    """The broker's version or this installation cannot do what was asked."""


class NotKnowable(KadminError):
    """What was asked is not known: a custom quota callback decides about limits, or no broker could tell."""


class PlanRefused(KadminError):
    """A plan was refused before anything was sent."""

    exit_state = ExitState.REFUSED


class Conflict(PlanRefused):
    """The cluster has changed since the plan. `rows` are the rows that changed: old, now, wanted."""


class Dangerous(PlanRefused):
    """The change weakens durability or security, and was not allowed by name. `rows` are the dangerous rows."""


class Expired(PlanRefused):
    """The plan has expired."""


class Locked(PlanRefused):
    """Another editor is at work: it holds the cluster's lease, or carries out this very plan. Nothing was sent."""

    exit_state = ExitState.TRY_AGAIN


class WrongCluster(PlanRefused):
    """The plan was made for another cluster."""


class NeedsLook(KadminError):
    """A report was made, and found rows that need a look; to make it again finds the same."""

    exit_state = ExitState.DIFFERENCES


class TimedOut(KadminError):
    """No answer in time; after an alter the outcome is unknown."""


LOCKED = "LOCKED"
"""Our name of a lease that another holds."""

_CLASS_OF_CODE = {
    "SASL_AUTHENTICATION_FAILED": AuthenticationFailed,
    "UNSUPPORTED_SASL_MECHANISM": AuthenticationFailed,
    "ILLEGAL_SASL_STATE": AuthenticationFailed,
    "UNKNOWN_TOPIC_OR_PARTITION": NotFound,
    "RESOURCE_NOT_FOUND": NotFound,
    "GROUP_ID_NOT_FOUND": NotFound,
    "BROKER_ID_NOT_REGISTERED": NotFound,
    "BROKER_NOT_AVAILABLE": ConnectionFailed,
    "NETWORK_EXCEPTION": ConnectionFailed,
    "UNSUPPORTED_VERSION": Unsupported,
    "REQUEST_TIMED_OUT": TimedOut,
}


def kind_of(code: str | None) -> type[KadminError]:
    """The class that says what Kafka's name of an error says; `Invalid` where none fits better."""
    name = code or ""
    return NotAuthorized if name.endswith("_AUTHORIZATION_FAILED") else _CLASS_OF_CODE.get(name, Invalid)


class Interrupted(Hinted, KeyboardInterrupt):
    """A plan was stopped by Ctrl-C, between two requests; `outcomes` has the result of every row."""

    exit_state = ExitState.INTERRUPTED


class PartlyFailed(KadminError):
    """Some rows failed or could not be verified; `outcomes` is the whole result."""

    @property
    def exit_state(self) -> ExitState:  # type: ignore[override]  # here it depends on the rows
        return ExitState.PARTLY if getattr(self.outcomes, "_anything_changed", True) else ExitState.FAILED


__all__ = [  # the classes above: what can be raised
    name for name, kind in vars().items() if isinstance(kind, type) and issubclass(kind, Hinted) and kind is not Hinted
]
