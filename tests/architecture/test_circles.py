"""Modules import in one direction, wherever in a file an import stands and whatever it is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.architecture.sources import IN_PACKAGE, PACKAGE, nodes_of

FRONTS = {"kadmin_nb", "kadmin_nb.cluster", "kadmin_nb.commands"}
"""What is imported by its front, as its users do, from within: such imports do not count."""

TYPES_OF_EACH_OTHER = {
    ("kadmin_nb.errors", "kadmin_nb.model.changes"),
    ("kadmin_nb.model.configurable", "kadmin_nb.model.resources"),
    ("kadmin_nb.frames.answer", "kadmin_nb.frames.answer_frame"),
    ("kadmin_nb.client_configs.kafka", "kadmin_nb.client_configs.verbs"),
}
"""Pairs of which each has the other in a signature."""


def _module(source: Path) -> str:
    parts = source.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(source): source for source in IN_PACKAGE}


def _imported(source: Path) -> Iterator[str]:
    """The modules of ours that a file imports: within functions and for types alone, too."""
    here = source.relative_to(PACKAGE.parent).parts[:-1]
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom):
            start = ".".join(here[: len(here) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [start, node.module]))
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in MODULES else base


def test_modules_stand_in_an_order() -> None:
    """Sixteen files of plans, usage and policies could only be read together; imports within functions hid it."""
    graph = {
        module: {other for other in _imported(source) if other in MODULES and _counts(module, other)}
        for module, source in MODULES.items()
    }
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as exc:
        circle = exc.args[1]
    assert circle == []


def _counts(module: str, other: str) -> bool:
    return module != other and other not in FRONTS and (module, other) not in TYPES_OF_EACH_OTHER
