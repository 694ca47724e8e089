"""What clusters hold, held, and are to hold: snapshots, their history, declarative files, and what differs between any
two of these.
"""

from __future__ import annotations

from .declaration import Declared
from .history import History, open_history
from .reader import load, read
from .writer import export, schema

__all__ = ["Declared", "History", "export", "load", "open_history", "read", "schema"]
