"""The host of a notebook: is somebody there who could click, and how do outputs reach them. Nothing is imported."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from .. import databricks

_VOILA = ("VOILA_KERNEL_ID", "VOILA_BASE_URL", "VOILA_PREHEAT")


def shell() -> Any:
    """IPython's shell; None outside of it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def has_front_end() -> bool:
    """True if a browser may show widgets: a kernel whose client could ask back, or Voila.

    papermill, nbconvert and a terminal's IPython have none: papermill and nbconvert would keep the widgets' state in
    the document, and nobody could click.
    """
    kernel = getattr(shell(), "kernel", None)
    if kernel is None:
        return False
    is_voila = any(name in os.environ for name in _VOILA)
    return is_voila or databricks.is_here() or bool(getattr(kernel, "_allow_stdin", False))


def publish(data: dict[str, Any]) -> None:
    """An output of the cell that runs."""
    shell().display_pub.publish(data=data, metadata={})


def in_order(widget: Any) -> Any:
    """The widget; its messages and those of the others that are `in_order` arrive in the order of the page.

    JupyterLab sends those of all widgets to one subshell, a thread. ipykernel 7.4 hands them to the thread that last
    sent something of that widget instead: a click overtook the text that was typed before it, or waited for a cell.
    """
    widget.comm._reply_subshell_for = None  # ipykernel then goes by the message, as it did before 7.4
    return widget


def hear_interrupts(act: Callable[[], None]) -> None:
    """Call `act` where the kernel is interrupted while no cell runs; while one runs, the interrupt is the cell's.

    ipykernel ignores such an interrupt. It puts its handler back after each cell, and so takes ours over here.
    """
    kernel = getattr(shell(), "kernel", None)
    is_free = getattr(kernel, "saved_sigint_handler", None) is signal.SIG_IGN
    if is_free and threading.current_thread() is threading.main_thread():
        kernel.saved_sigint_handler = lambda number, frame: act()  # type: ignore[union-attr]
