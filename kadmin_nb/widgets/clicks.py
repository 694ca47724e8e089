"""Hints as a review has them: by its buttons and fields."""

from __future__ import annotations

from ..hints import Option, Verb, Way, magic, python

_BUTTONS = {"apply": "Apply", "resume": "Resume", "rollback": "Roll back", "verify": "Verify"}


def clicks(way: Way) -> str:
    """A way to help oneself, spelled for somebody who looks at a review."""
    if isinstance(way, Verb):
        return next((_BUTTONS[word] for word in way.words.split() if word in _BUTTONS), magic(way))
    return _typed(way)


def _typed(option: Option) -> str:
    if option.name == "allow" and isinstance(option.value, list):
        return f"{' and '.join(map(str, option.value))} typed again"
    return "a reason" if option.name == "reason" else f"review({python(option)})"
