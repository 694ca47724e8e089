"""Where kadmin_nb keeps what it downloads, what it runs, and its journal; all outside any repository."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_dir", "state_dir"]


def cache_dir() -> Path:
    """Where downloads are: `$KADMIN_CACHE`, `$XDG_CACHE_HOME/kadmin-nb`, `~/.cache/kadmin-nb`."""
    return _place("KADMIN_CACHE", "XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """Where runs and journals are: `$KADMIN_STATE`, `$XDG_STATE_HOME/kadmin-nb`, `~/.local/state/kadmin-nb`."""
    return _place("KADMIN_STATE", "XDG_STATE_HOME", ".local/state")


def _place(ours: str, xdg: str, below_home: str) -> Path:
    if named := os.environ.get(ours):
        return Path(named).expanduser().absolute()
    base = os.environ.get(xdg)
    return (Path(base) if base else Path.home() / below_home).absolute() / "kadmin-nb"
