"""Python work for Spark's workers, sent by value: they may not have kadmin_nb."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pyarrow as pa

from . import hang_ups

Batches = Iterable[pa.RecordBatch]
Work = Callable[[Any, Batches], Iterator[pa.RecordBatch]]

_CODEC = "zstd"
_registering = threading.Lock()


def by_value(work: Work, given: Any, *modules: ModuleType) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """`work(given, batches)` as a function of the batches alone, for `mapInArrow`.

    It carries `given` and the code of `modules`, which must hold `work` and all of ours that it uses; what they
    import from elsewhere (numpy, pyarrow) must be on the workers. Everything is packed here and now, and
    compressed: Spark Connect sends a plan whole, with each question about it, and refuses one of 128 MB.
    """
    packed = _packed((hang_ups.silence, work, given), (hang_ups, *modules))
    payload, size = pa.compress(packed, codec=_CODEC, asbytes=True), len(packed)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pickle

        import pyarrow

        silence, work, given = pickle.loads(pyarrow.decompress(payload, decompressed_size=size, codec=_CODEC))
        silence()
        yield from work(given, batches)

    return run


def _packed(what: object, modules: Iterable[ModuleType]) -> bytes:
    """Pickled with the code of the modules. Which modules those are is global in cloudpickle, hence the lock."""
    cloudpickle: Any = import_module("pyspark.cloudpickle")
    with _registering:
        ours = [module for module in modules if module.__name__ not in cloudpickle.list_registry_pickle_by_value()]
        for module in ours:
            cloudpickle.register_pickle_by_value(module)
        try:
            return bytes(cloudpickle.dumps(what))
        finally:
            for module in ours:
                cloudpickle.unregister_pickle_by_value(module)
