"""An answer in the form that was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import indent
from typing import Any

from ..errors import UsageError
from .click_glue import Text

ROWS_AT_ONCE = 4096
"""Rows that are Python at the same time."""


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
    from ..frames.lazy_answer import SparkAnswer

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
    from ..frames.lazy_answer import SparkAnswer
    from ..plans.impact import ImpactAnswer
    from ..plans.outcomes import Outcomes
    from ..policy import PolicyAnswer

    return isinstance(value, Answer) and not isinstance(
        value, TreeAnswer | Diff | ImpactAnswer | Outcomes | PolicyAnswer | SparkAnswer
    )


def as_json(value: Any) -> Text:
    """The rows as JSON, in ASCII."""
    return Text("\n".join(json_lines(value)))


def json_lines(value: Any) -> Iterator[str]:
    """The same row by row: a long frame is never text as a whole."""
    table = value.to_arrow() if hasattr(value, "to_arrow") else None
    if table is None or not len(table):
        yield _json(str(value) if table is None else [])
        return
    batches = table.to_batches(max_chunksize=ROWS_AT_ONCE)
    yield "["
    yield from _with_commas(indent(_json(row), " ") for batch in batches for row in batch.to_pylist())
    yield "]"


def _with_commas(texts: Iterator[str]) -> Iterator[str]:
    """All but the last end in a comma."""
    earlier = next(texts, None)
    for text in texts:
        yield f"{earlier},"
        earlier = text
    yield from () if earlier is None else (earlier,)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, indent=1, default=str)
