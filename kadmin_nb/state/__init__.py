"""What clusters hold, held, and are to hold: snapshots, their history, declarative files, and what differs between any
two of these.
"""

from __future__ import annotations

from .declaration import Declared, Difference, Entry
from .history import History, open_history
from .reader import load, read
from .writer import export, left_out, schema, unread_of

__all__ = [
    "Declared",
    "Difference",
    "Entry",
    "History",
    "export",
    "left_out",
    "load",
    "open_history",
    "read",
    "schema",
    "unread_of",
]
