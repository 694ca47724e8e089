"""`%kquota`, `%kconfig`, `%kplan`, `%kadmin`: line and cell magics over `kadmin_nb.commands`, and their completion.

Loaded by `%load_ext kadmin_nb`. The commands, and what they need, are imported when a magic is first used.
"""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from .magics import KAdmin

__all__ = ["load"]


def load(shell: InteractiveShell) -> None:
    """Register the magics and their completion; once, however often it is called."""
    if KAdmin.__name__ not in shell.magics_manager.registry:
        KAdmin(shell).register()
