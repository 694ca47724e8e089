"""The entities of a reading verb: names, DEFAULT, ANY and patterns; a list of them asks for all that any names."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from ..errors import UsageError
from .grammar import ANY, DEFAULT, Choice, Pattern, as_value

Selector = tuple[Choice, ...]


def selector(kind: str, value: object) -> Selector:
    """The names, special values and patterns that `value` lists, each once.

    Raises
    ------
    UsageError
        None, or an empty name.
    """
    chosen = parts(kind, value)
    if "" in chosen:
        raise UsageError(f"{kind} has an empty name")
    return chosen


def parts(kind: str, value: object) -> Selector:
    """The same, where an empty name means something: a blank client-id.

    Raises
    ------
    UsageError
        None.
    """
    if value is None:
        raise UsageError(f"{kind} has no value", hint=f"Leave {kind} out, or pass kn.DEFAULT or kn.ANY.")
    listed = as_value(value)
    return tuple(dict.fromkeys(listed if isinstance(listed, tuple) else (listed,)))


def matcher(chosen: Selector) -> Callable[[str | None], bool]:
    """Tells whether a name is one of those; None is the default."""
    if ANY in chosen:
        return lambda name: True
    names = {None if part is DEFAULT else part for part in chosen}
    globs = [part.glob for part in chosen if isinstance(part, Pattern)]
    return lambda name: name in names or (name is not None and any(fnmatchcase(name, glob) for glob in globs))
