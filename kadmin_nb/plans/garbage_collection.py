"""The garbage collector, at rest while a large plan is made or carried out.

A plan of 10,000 changes makes some 400,000 small objects that all stay alive and form no cycles. The collector walks
them again and again as they grow: planned and applied they take 1.04 s of CPU, and took 1.41 s. (Mercurial does the
same, as `util.nogc`.)
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_rest() -> Iterator[None]:
    """No collections in this block, if there were any before it; reference counting goes on."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
