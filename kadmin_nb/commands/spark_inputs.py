"""The inputs of verbs over whole fleets: frames or files, a Spark session where it was asked for, answers in Spark."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .session import Session

_FILES = (".parquet", ".csv")


def frame_or_file(session: Session, name: str) -> Any:
    """The path of a Parquet or CSV file that is there; else the frame of that name."""
    place = Path(name)
    return place if place.suffix in _FILES and place.exists() else session.find_frame(name)


def frame_in_arrow(session: Session, name: str) -> Any:
    """A frame or file of that name, in this process: a Spark DataFrame is read whole."""
    from ..frames import files, spark

    frame = frame_or_file(session, name)
    if isinstance(frame, Path):
        return files.read_table(frame)
    return frame.toArrow() if spark.is_spark(frame) else frame


def usage_frame(session: Session, name: str) -> Any:
    """USAGE of that name: a file is read with its types."""
    from ..frames import files, schemas

    frame = frame_or_file(session, name)
    return files.typed(files.read_table(frame), schemas.USAGE.schema) if isinstance(frame, Path) else frame


@contextmanager
def spark_for(session: Session, *names: str | None) -> Iterator[None]:
    """Around a verb that may go to Spark, with a session where one of the names, a form or an engine, is `spark`."""
    from ..frames.spark import spark_session

    if "spark" in names:
        with session.at_work("Spark starts"):
            spark_session()
    with session.at_work("Spark is at work"):
        yield


@contextmanager
def where_spark_is(session: Session, is_spark: bool) -> Iterator[None]:
    """Around a verb of either engine; with a Spark session only where it is Spark's."""
    if not is_spark:
        yield
        return
    with spark_for(session, "spark"):
        yield


def lazy(frame: Any, session: Session) -> Any:
    """A Spark DataFrame as an answer."""
    from ..frames.lazy_answer import SparkAnswer

    return with_progress(SparkAnswer(frame), session)


def with_progress(answer: Any, session: Session) -> Any:
    """The answer; one that is lazy tells who looks how far Spark is when it is looked at."""
    from ..frames.lazy_answer import SparkAnswer

    if isinstance(answer, SparkAnswer):
        answer.around = functools.partial(_reporting_progress, session)
    return answer


@contextmanager
def _reporting_progress(session: Session, what: str) -> Iterator[None]:
    from ..usage.spark_lines import in_one_line

    with session.at_work(what), in_one_line():
        yield
