"""Variables that a line names in a notebook: `{expr}` and `--pairs name` are looked up, `name << …` is assigned."""

from __future__ import annotations

from keyword import iskeyword
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from kadmin_nb.errors import UsageError
from kadmin_nb.hints import did_you_mean
from kadmin_nb.model.grammar import split


def destination(line: str) -> tuple[str | None, list[str]]:
    """The variable named by `name <<` and the words after it; None and all words where there is none.

    Raises
    ------
    UsageError
        The name cannot be a variable's.
    """
    words = split(line)
    if words[1:2] != ["<<"]:
        return None, words
    if not words[0].isidentifier() or iskeyword(words[0]):
        raise UsageError(f"{words[0]} is not a variable name")
    return words[0], words[2:]


_QUOTES = "Quotes or spaces within {…} need quotes around the word: \"user={names['a']}\""


class Variables:
    """The variables of a shell.

    An expression is evaluated as the user's own code in the user's own notebook, like any other cell. It is
    only ever taken from the line that was typed, never from a value that was looked up or read.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def value(self, expression: str) -> object:
        """The current value of a name or an expression.

        Raises
        ------
        UsageError
            A name that is not known, with the nearest; or what else the expression raises.
        """
        try:
            return self._shell.ev(expression)  # type: ignore[no-untyped-call]
        except NameError as exc:
            raise self._unknown(exc.name or expression, expression) from None
        except SyntaxError:
            raise UsageError(f"{{{expression}}} is not an expression", hint=_QUOTES) from None
        except Exception as exc:
            raise UsageError(f"{{{expression}}} raises {type(exc).__name__}: {exc}") from None

    def frame(self, name: str) -> object:
        """The frame that a variable holds; `{name}` says the same."""
        return self.value(name[1:-1] if name.startswith("{") and name.endswith("}") else name)

    def _unknown(self, name: str, expression: str) -> UsageError:
        otherwise = "" if expression.isidentifier() else _QUOTES
        return UsageError(f"no such variable: {name}", hint=did_you_mean(name, self._names(), otherwise))

    def _names(self) -> list[str]:
        hidden: dict[str, Any] = self._shell.user_ns_hidden
        return [name for name in self._shell.user_ns if name not in hidden and not name.startswith("_")]
