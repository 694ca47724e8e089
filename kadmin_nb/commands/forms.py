"""An answer in the form that was asked for."""

from __future__ import annotations

import json
from typing import Any

from ..errors import UsageError
from .corners import Text


def formed(value: Any, form: str) -> Any:
    """The value as pandas, arrow or spark.

    Raises
    ------
    UsageError
        It is no frame.
    Unsupported
        `spark`, where pyspark is not installed.
    """
    from ..frames.answer import Answer
    from ..frames.lazy import SparkAnswer

    if not hasattr(value, "to_arrow"):
        raise UsageError(f"--as {form} is for frames, and this is none")
    return (value if isinstance(value, SparkAnswer) else Answer(value.to_arrow())).as_(form)


def is_plain(value: Any) -> bool:
    """Whether it is a frame first of all: no tree, diff, plan, stage, impact, verdict or outcomes, which show
    themselves better.

    Nor what is in Spark, which stays there.
    """
    from ..cluster.tree import TreeAnswer
    from ..comparing import Diff
    from ..frames.answer import Answer
    from ..frames.lazy import SparkAnswer
    from ..plans.impact import ImpactAnswer
    from ..plans.outcomes import Outcomes
    from ..policy import PolicyAnswer

    return isinstance(value, Answer) and not isinstance(
        value, TreeAnswer | Diff | ImpactAnswer | Outcomes | PolicyAnswer | SparkAnswer
    )


def as_json(value: Any) -> Text:
    """The rows as JSON, in ASCII."""
    rows = value.to_arrow().to_pylist() if hasattr(value, "to_arrow") else str(value)
    return Text(json.dumps(rows, ensure_ascii=True, indent=1, default=str))
