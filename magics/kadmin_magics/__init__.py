"""`%kquota`, `%kconfig`, `%kplan`, `%kadmin`: line and cell magics over `kadmin_nb.commands`, and their completion.

Loaded by `%load_ext kadmin_nb`. The commands, and what they need, are imported when a magic is first used.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

from IPython.core.interactiveshell import InteractiveShell

from kadmin_nb.version import OLDEST_WIDGETS

from .magics import HAS_COMPLETION, KAdmin

__all__ = ["load", "unload"]


def load(shell: InteractiveShell) -> None:
    """Register the magics and their completion; once, however often it is called."""
    if KAdmin.__name__ not in shell.magics_manager.registry:
        if lacking := _lacking():
            print(f"kadmin_nb works here with plain tables and lines; it would have {lacking}.", file=sys.stderr)
        KAdmin(shell).register()


def _lacking() -> str:
    """The abilities that newer versions of what is installed would add; "" where none is old."""
    lacking = [] if HAS_COMPLETION else [f"completion with IPython 8.6, and this is {version('IPython')}"]
    try:
        widgets = version("ipywidgets")
    except PackageNotFoundError:
        return "".join(lacking)
    if int(widgets.partition(".")[0]) < OLDEST_WIDGETS:
        lacking.append(f"editors and sorted tables with ipywidgets {OLDEST_WIDGETS}, and this is {widgets}")
    return "; ".join(lacking)


def unload(shell: InteractiveShell) -> None:
    """Undo `load`, and leave the current cluster."""
    loaded = shell.magics_manager.registry.get(KAdmin.__name__)
    if loaded is not None:
        loaded.unregister()
