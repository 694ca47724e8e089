"""The engine for many clients: by the Arrow kernel in this process, or by the same kernel on Spark's workers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..client_configs.kafka import LiveKafka
from ..errors import Invalid, NotFound, UsageError
from ..frames import SPARK, files, refuse_unknown, schemas
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.engine_choice import Placed, Work
from ..frames.given_frames import arrow_table, column_of, refuse_other_than_text
from ..frames.lazy_answer import SparkAnswer
from ..frames.schema_metadata import CLUSTER_ID, TAKEN_AT, now
from ..resolution.input_columns import CLUSTER

if TYPE_CHECKING:
    from pyarrow import dataset

ARROW_PAIRS = 2_000_000
"""Pairs that the Arrow kernel takes in this process, in about two seconds and half a GB; Spark's are more."""

_PAIR_COLUMNS = ("user", "client_id")
_PAIRS = "the pairs"


RESOLVING = Work("resolved", "pairs", "resolved on Spark", "Spark takes the pairs")


def chosen(pairs: object, engine: str | None) -> Placed:
    """The engine for these pairs: the one that is asked for, else by their number.

    A Spark DataFrame is asked for one row more than Arrow would take. No session is started unless Spark is asked for.

    Raises
    ------
    UsageError
        There is no such engine, the pairs are none, or a column of them is missing.
    """
    refuse_unknown(engine)
    if isinstance(pairs, SparkAnswer):
        pairs = pairs.to_spark()
    if sparks.is_spark(pairs):
        return _of_frame(pairs, engine)
    if isinstance(pairs, str | os.PathLike):
        return _of_file(Path(pairs), engine)
    return _of_frame(pairs_of(pairs), engine)


def on_spark(
    kafka: LiveKafka, clients: Placed, keys: Sequence[str] | None, overridden: bool, marks: dict[str, str]
) -> Answer:
    """EFFECTIVE of clients that are in Spark."""
    from ..fleets import resolve

    resolved = resolve(kafka.quotas.describe(), clients.frame, keys=keys, overridden=overridden)
    return clients.answered(resolved, {CLUSTER_ID: kafka.id, TAKEN_AT: now(), **marks})


def _of_frame(frame: Any, engine: str | None) -> Placed:
    columns = _pair_columns(frame.column_names if isinstance(frame, pa.Table) else frame.columns)
    return RESOLVING.placed(frame.select(columns), engine, ARROW_PAIRS)


def _of_file(place: Path, engine: str | None) -> Placed:
    """A large Parquet file goes to Spark unread, where Spark can see it."""
    if not place.exists():
        raise NotFound(f"no such file: {place}")
    if place.suffix != ".parquet":
        return _of_frame(files.read_table(place), engine)
    source = _opened(place)
    rows, session = source.count_rows(), None
    if engine == SPARK or (engine is None and rows > ARROW_PAIRS):
        session = sparks.spark_session() if engine == SPARK else sparks.active_session()
    if session is None or (frame := sparks.rows_of(place, session)) is None:
        return _of_frame(source.to_table(_pair_columns(source.schema.names)), engine)
    return Placed(frame.select(*_pair_columns(frame.columns)), RESOLVING.on_spark(rows, engine))


def _opened(place: Path) -> dataset.Dataset:
    from pyarrow import dataset

    try:
        return dataset.dataset(place, format="parquet")
    except (pa.ArrowInvalid, OSError) as exc:
        raise Invalid(f"{place} cannot be read: {exc}") from None


def _pair_columns(columns: Sequence[str]) -> list[str]:
    """The columns of pairs that are read."""
    schemas.require_columns(_PAIRS, _PAIR_COLUMNS, columns)
    return [name for name in ("cluster_id", *_PAIR_COLUMNS) if name in columns]


def pairs_of(pairs: object) -> pa.Table:
    """PAIRS from a list of (user, client_id), or a frame.

    Raises
    ------
    UsageError
        Neither of them, or the first row that is not a pair of names.
    """
    if hasattr(pairs, "__arrow_c_stream__"):
        table = arrow_table(pairs, (CLUSTER, *_PAIR_COLUMNS), _PAIRS)
        refuse_other_than_text(table, _PAIR_COLUMNS, _PAIRS)
        return table
    if not isinstance(pairs, list | tuple):
        raise UsageError(f"pairs cannot be a {type(pairs).__name__}", hint="A list of (user, client_id), or a frame.")
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise UsageError(f"row {number} of {_PAIRS} is not a pair", hint="For example ('alice', 'app').")
    users, ids = zip(*pairs, strict=True) if pairs else ((), ())
    names = {"user": users, "client_id": ids}
    return pa.table([column_of(names[name], name, _PAIRS) for name in names], schema=schemas.PAIRS.schema)
