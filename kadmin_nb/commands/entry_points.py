"""The entry points of the one tree: what is typed first, and where in the tree it leads."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import click

ROOTS = {"kadmin-nb": "root", "%kadmin": "root", "%kquota": "quota", "%kconfig": "config", "%kplan": "plan"}
"""The module and the name of the command behind each."""

CELLS = {"%%kadmin": None, "%%kquota": "quota", "%%kconfig": "config"}
"""The kind of the lines in each cell; None is either."""

LINES = {f"{magic} line": kind for magic, kind in CELLS.items()}
"""The lines below a cell's first, for completion."""


@cache
def entry_point(name: str) -> click.Command:
    """The command of that entry point, imported when it is first used."""
    if name in ROOTS:
        command: click.Command = getattr(import_module(f".{ROOTS[name]}", __package__), ROOTS[name])
        return command
    from .cell import cell, line

    return cell(CELLS[name]) if name in CELLS else line(LINES[name])
