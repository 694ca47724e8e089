"""Declarative files: the quotas and configs that a cluster should have, as YAML or JSON, and the changes to get there.

It takes texts and snapshots, not clusters.
"""

from .declaration import Declared, Difference, Entry
from .reader import load, read
from .writer import export, left_out, schema, unread_of

__all__ = [
    "Declared",
    "Difference",
    "Entry",
    "export",
    "left_out",
    "load",
    "read",
    "schema",
    "unread_of",
]
