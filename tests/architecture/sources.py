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
def nodes_of(source: Path) -> tuple[ast.AST, ...]:
    """Every piece of the file's tree, so that it is walked once."""
    return tuple(ast.walk(tree_of(source)))


def place_of(source: Path) -> str:
    """Its path from the root of the repository."""
    return str(source.relative_to(ROOT))


@cache
def tree_of(source: Path) -> ast.Module:
    """The file, parsed. Nobody may change it."""
    return ast.parse(source.read_text())
