"""Our source files, each parsed once for all the tests that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "kadmin_nb"

IN_PACKAGE = sorted(PACKAGE.rglob("*.py"))
SOURCES = [*IN_PACKAGE, *sorted((ROOT / "magics").rglob("*.py"))]
"""With those of the magics."""


@cache
def tree_of(source: Path) -> ast.Module:
    """The file, parsed. Nobody may change it."""
    return ast.parse(source.read_text())
