"""Variables that a line names in a notebook: `{expr}` and `--pairs name` are looked up."""

from __future__ import annotations

import sys
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from kadmin_nb.errors import UsageError
from kadmin_nb.hints import did_you_mean

_BETWEEN = ("IPython", "kadmin_magics", "decorator")
"""Packages whose frames lie between a line and its magic."""


_INLINE = ("<listcomp>", "<setcomp>", "<dictcomp>")
"""Comprehensions that have a frame of their own before Python 3.12: called at once, by the code around them."""


def caller() -> FrameType:
    """The frame of the code that the running magic is a line of: of a cell, a function, a comprehension."""
    frame: FrameType = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    return frame


class CallersVariables:
    """The variables that one line sees, as Python's own code in its place would: never another of the same name.

    An expression is evaluated as the user's own code in the user's own notebook, like any other cell. It is
    only ever taken from the line that was typed, never from a value that was looked up or read.
    """

    def __init__(self, shell: InteractiveShell, frame: FrameType) -> None:
        self._shell, self._frame = shell, frame

    def __contains__(self, name: object) -> bool:
        return name not in self._shell.user_ns_hidden and name in self._names()

    def value(self, expression: str) -> object:
        """The current value of a name or an expression.

        Raises
        ------
        UsageError
            A name that is not known, with the nearest; or what else the expression raises.
        """
        try:
            return eval(expression, self._names())
        except NameError as exc:
            raise self._unknown(exc.name or expression) from None
        except SyntaxError:
            raise UsageError(f"{{{expression}}} is not an expression") from None
        except Exception as exc:
            raise UsageError(f"{{{expression}}} raises {type(exc).__name__}: {exc}") from None

    def _names(self) -> dict[str, Any]:
        return _names_in(self._frame)

    def _unknown(self, name: str) -> UsageError:
        code = self._frame.f_code
        if name in code.co_varnames + code.co_cellvars + code.co_freevars:
            return UsageError(f"{name} has no value yet in {code.co_name}")
        hidden: dict[str, Any] = self._shell.user_ns_hidden
        names = [known for known in self._names() if known not in hidden and not known.startswith("_")]
        return UsageError(f"no such variable: {name}", hint=did_you_mean(name, names, ""))


def _is_within_another(frame: FrameType) -> bool:
    """True of a function within a function: of the names around it Python keeps those that its own code uses."""
    return "<locals>" in frame.f_code.co_qualname and frame.f_code.co_name not in _INLINE


def _names_in(frame: FrameType) -> dict[str, Any]:
    """The names that code in this frame sees, in one dictionary: what an expression nests must see them, too."""
    if frame.f_locals is frame.f_globals:
        return frame.f_globals
    code = frame.f_code
    if code.co_name in _INLINE and frame.f_back is not None:
        around = _names_in(frame.f_back)
    elif _is_within_another(frame):
        around = {"__builtins__": frame.f_globals.get("__builtins__", __builtins__)}
    else:
        around = frame.f_globals
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars} if code.co_flags & CO_OPTIMIZED else set()
    return {**{name: value for name, value in around.items() if name not in own}, **frame.f_locals}
