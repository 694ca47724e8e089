"""Frames: every answer as Arrow, pandas or Spark, with the same columns and types; and the engines that make them."""

from __future__ import annotations

from ..errors import UsageError

FORMS = ("pandas", "arrow", "spark")
"""The forms of a frame."""


ARROW, SPARK = "arrow", "spark"
ENGINES = (ARROW, SPARK)


def refuse_unknown(engine: str | None) -> None:
    """Refuse a name that is not an engine's; None is whichever fits.

    Raises
    ------
    UsageError
    """
    if engine not in (None, *ENGINES):
        raise UsageError(f"engine={engine!r} is not known", hint=f"It is one of {', '.join(ENGINES)}.")
