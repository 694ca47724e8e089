"""Whom a reading verb asks about: names, lists of names, DEFAULT, ANY, patterns."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ..errors import UsageError
from ..model.words import ANY, DEFAULT, Pattern, Special, as_value

Selector = Special | Pattern | tuple[str | Special, ...]


def selector(kind: str, value: object) -> Selector:
    """`value` as DEFAULT, ANY, a pattern, or a tuple of names.

    Raises
    ------
    UsageError
        None, or an empty name.
    """
    if value is None:
        raise UsageError(f"{kind} is None", hint=f"Leave {kind} out, or pass kn.DEFAULT or kn.ANY.")
    if isinstance(value, list | tuple):
        names: tuple[str | Special, ...] = tuple(v if v is DEFAULT else str(v) for v in value)
    elif isinstance(given := as_value(value), Special | Pattern):
        return given
    else:
        names = given if isinstance(given, tuple) else (given,)
    if "" in names:
        raise UsageError(f"{kind} has an empty name")
    return names


def matches(chosen: Selector, name: str | None) -> bool:
    """Whether a name (None is the default) is one of those."""
    if chosen is ANY:
        return True
    if name is None:
        return chosen is DEFAULT or (isinstance(chosen, tuple) and DEFAULT in chosen)
    if isinstance(chosen, Pattern):
        return fnmatchcase(name, chosen.glob)
    return isinstance(chosen, tuple) and name in chosen
