"""Python work for Spark's workers, sent by value: they may not have kadmin_nb."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pyarrow as pa

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
    packed = _packed((work, given), modules)
    payload, size = pa.compress(packed, codec=_CODEC, asbytes=True), len(packed)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        import os
        import pickle

        import pyarrow

        work, given = pickle.loads(pyarrow.decompress(payload, decompressed_size=size, codec=_CODEC))
        try:
            yield from work(given, batches)
        except (GeneratorExit, OSError):  # Spark has hung up, as after a limit: this process ends, and would say so
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            raise

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
