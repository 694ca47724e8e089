"""Cells of a notebook in which a variable holds a secret."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell


@contextmanager
def cells(bootstrap: str, secret: str) -> Iterator[Callable[[str], ExecutionResult]]:
    """Runs a cell in a real shell, at that Kafka; its result has the value and the error. `s` holds the secret."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "kadmin_nb")
    shell.user_ns["s"] = secret
    shell.run_cell(f"%kadmin use {bootstrap}")
    yield lambda text: shell.run_cell(text, store_history=False)
    ours = shell.magics_manager.registry["KAdmin"]
    ours.leave()
    atexit.unregister(ours.leave)
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()
