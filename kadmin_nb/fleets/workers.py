"""Python work for Spark's workers, sent by value: they may not have kadmin_nb. The same work runs here, on Arrow.

A kernel is a function of an Arrow table and arguments, whose result is a table. `of_rows` and `of_whole_groups` call it
where the frame is.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import KadminError
from ..frames import spark
from ..frames.given_frames import plain_schema

Batches = Iterable[pa.RecordBatch]
Work = Callable[[Any, Batches], Iterator[pa.RecordBatch]]
Kernel = Callable[..., pa.Table]

GROUP = "group of a worker"
"""The column by which a worker knows where a group ends."""

PART = 1 << 18
"""Rows that a worker takes at a time: with what is made of them some 200 MB."""

_CODEC = "zstd"
_registering = threading.Lock()


def of_rows(frame: Any, kernel: Kernel, arguments: tuple[Any, ...], schema: pa.Schema) -> Any:
    """`kernel(table, *arguments)` of the rows of a frame, as `schema` has it; on Spark of some at a time, and lazy."""
    return _worked(frame, kernel, arguments, schema, _each_batch)


def of_whole_groups(
    frame: Any,
    names: Sequence[Any],
    kernel: Kernel,
    arguments: tuple[Any, ...],
    schema: pa.Schema,
    together: Kernel | None = None,
) -> Any:
    """`kernel(table, *arguments)` of tables that have all rows of each group, and many groups; on Spark lazy.

    A worker takes so many groups of its partition at a time that they have some PART rows, or else one larger group: a
    call for each of many small groups takes far longer, and the whole partition may not fit. Rows that were
    `brought_together` are not moved again; of a larger group `together(table, *arguments)` makes fewer rows of the same
    columns, of which the kernel's result is the same.
    """
    if spark.is_spark(frame):
        frame = spark.group_after_group(frame, names, GROUP, together is not None)
    return _worked(frame, kernel, arguments, schema, partial(_whole_groups, together, arguments))


Parts = Callable[[Batches], Iterator[pa.Table]]
"""How batches become the tables that a kernel takes."""


def _worked(frame: Any, kernel: Kernel, arguments: tuple[Any, ...], schema: pa.Schema, parts: Parts) -> Any:
    if not spark.is_spark(frame):
        return _fitted(kernel(frame, *arguments), schema)
    plain = plain_schema(schema)
    return frame.mapInArrow(by_value(_part_by_part, (kernel, arguments, plain, parts)), spark.spark_schema(plain))


Job = tuple[Kernel, tuple[Any, ...], pa.Schema, Parts]
"""A kernel, its arguments, the columns of its result, and its tables."""


def _part_by_part(job: Job, batches: Batches) -> Iterator[pa.RecordBatch]:
    kernel, arguments, schema, parts = job
    for part in parts(batches):
        yield from _fitted(kernel(part, *arguments), schema).combine_chunks().to_batches()


def _each_batch(batches: Batches) -> Iterator[pa.Table]:
    return (pa.Table.from_batches([batch]) for batch in batches)


def _whole_groups(together: Kernel | None, arguments: tuple[Any, ...], batches: Batches) -> Iterator[pa.Table]:
    """The rows, in tables that end where a group does, without the column that identifies the groups.

    What is more than a part, of one group, is made fewer rows whenever it has doubled.
    """
    held, most = list[pa.Table](), PART
    for batch in batches:
        ends = np.flatnonzero(np.diff(np.asarray(batch[GROUP]))) + 1
        rows = pa.Table.from_batches([batch]).drop_columns([GROUP])
        if len(ends) and sum(map(len, held)) + len(rows) >= PART:
            yield _one([*held, rows.slice(0, ends[-1])])
            held, rows, most = [], rows.slice(ends[-1]), PART
        held.append(rows)
        if together and sum(map(len, held)) > most:
            held = [together(_one(held), *arguments)]
            most = max(PART, 2 * len(held[0]))
    if held:
        yield _one(held)


def _one(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables, promote_options="default")


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table.select(schema.names).cast(schema)


def by_value(work: Work, argument: Any) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """`work(argument, batches)` as a function of the batches alone, for `mapInArrow`; it travels as `loader` says."""
    load = loader(work, argument)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        yield from load()(batches)

    return run


def loader(work: Work, argument: Any) -> Callable[[], Callable[[Batches], Iterator[pa.RecordBatch]]]:
    """A function without arguments that gives, wherever it is called, `work(argument, …)`.

    It carries `argument` and whatever code of ours `work` uses; what that imports from elsewhere (numpy, pyarrow) must
    be on the workers. Everything is packed here and now, and compressed: Spark Connect sends a plan whole, with
    each question about it, and refuses one of 128 MB.
    """
    packed = _packed((silence, work, argument))
    payload, size = pa.compress(packed, codec=_CODEC, asbytes=True), len(packed)

    def load() -> Callable[[Batches], Iterator[pa.RecordBatch]]:
        import pickle
        from functools import partial

        import pyarrow

        silence, work, argument = pickle.loads(pyarrow.decompress(payload, decompressed_size=size, codec=_CODEC))
        silence()
        return partial(work, argument)

    return load


def _packed(content: object) -> bytes:
    """Pickled with our code in it."""
    with travelling():
        return bytes(import_module("pyspark.cloudpickle").dumps(content))


@contextmanager
def travelling() -> Iterator[None]:
    """What is pickled here has our code in it. Whose code that is is global in cloudpickle, hence the lock."""
    cloudpickle: Any = import_module("pyspark.cloudpickle")
    package = import_module(__name__.partition(".")[0])
    with _registering:
        cloudpickle.register_pickle_by_value(package)
        try:
            yield
        finally:
            cloudpickle.unregister_pickle_by_value(package)


HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""What PySpark's setting `spark.sql.execution.pyspark.udf.hideTraceback.enabled` is in a worker's environment."""


def with_message_alone(error: Any) -> KadminError:
    """A KadminError, to be raised in a worker, as one line. Spark shows no traceback of it: the worker ends with it."""
    os.environ[HIDE_TRACEBACK] = "1"
    alone: KadminError = error.reworded(error.in_one_line())
    return alone


HANG_UPS = (ConnectionError, EOFError)
"""The errors of writing to a connection that is closed, and of reading from it."""


def silence() -> None:
    """In this worker, the daemon's own code does not print hang-ups; all other code prints as before.

    A worker that Spark hangs up on, as after a limit, ends in silence then: PySpark's daemon, of which each worker is a
    fork, prints a traceback, with a local Spark on the terminal. Eight reads of a few rows printed eight.
    """
    daemon: Any = sys.modules["__main__"]
    if getattr(daemon.__spec__, "name", None) == "pyspark.daemon":
        printer = SimpleNamespace(format_exc=traceback.format_exc, print_exc=_unless_hung_up(traceback.print_exc))
        daemon.traceback, daemon.print = printer, _unless_hung_up(print)


def _unless_hung_up(tell: Callable[..., None]) -> Callable[..., None]:
    """The same, but silent about a connection that Spark has closed."""
    return lambda *words, **how: None if isinstance(sys.exc_info()[1], HANG_UPS) else tell(*words, **how)
