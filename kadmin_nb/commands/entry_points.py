"""The entry points of the one tree: what is typed first, and where in the tree it leads."""

from __future__ import annotations

import click

from .cell import cell, line
from .config import config
from .plan import plan
from .quota import quota
from .root import root

ENTRY_POINTS: dict[str, click.Command] = {
    "kadmin-nb": root,
    "%kadmin": root,
    "%kquota": quota,
    "%kconfig": config,
    "%kplan": plan,
    "%%kadmin": cell(None),
    "%%kquota": cell("quota"),
    "%%kconfig": cell("config"),
}

LINES: dict[str, click.Command] = {
    "%%kadmin line": line(None),
    "%%kquota line": line("quota"),
    "%%kconfig line": line("config"),
}
"""The lines below a cell's first, for completion."""
