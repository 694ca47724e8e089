"""Python work for Spark's workers, sent by value: they may not have kadmin_nb."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import pyarrow as pa

from . import hang_ups

Batches = Iterable[pa.RecordBatch]
Work = Callable[[Any, Batches], Iterator[pa.RecordBatch]]

_CODEC = "zstd"
_registering = threading.Lock()


def by_value(work: Work, argument: Any) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """`work(given, batches)` as a function of the batches alone, for `mapInArrow`.

    It carries `argument` and whatever code of ours `work` uses; what that imports from elsewhere (numpy, pyarrow) must
    be on the workers. Everything is packed here and now, and compressed: Spark Connect sends a plan whole, with
    each question about it, and refuses one of 128 MB.
    """
    packed = _packed((hang_ups.silence, work, argument))
    payload, size = pa.compress(packed, codec=_CODEC, asbytes=True), len(packed)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pickle

        import pyarrow

        silence, work, argument = pickle.loads(pyarrow.decompress(payload, decompressed_size=size, codec=_CODEC))
        silence()
        yield from work(argument, batches)

    return run


def _packed(content: object) -> bytes:
    """Pickled with our code in it. Whose code that is is global in cloudpickle, hence the lock."""
    cloudpickle: Any = import_module("pyspark.cloudpickle")
    package = import_module(__name__.partition(".")[0])
    with _registering:
        cloudpickle.register_pickle_by_value(package)
        try:
            return bytes(cloudpickle.dumps(content))
        finally:
            cloudpickle.unregister_pickle_by_value(package)
