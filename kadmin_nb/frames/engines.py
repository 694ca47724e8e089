"""The engines that frames are worked on by: Arrow in this process, or Spark."""

from __future__ import annotations

from ..errors import UsageError

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
