"""Within a room, too, modules import in one direction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.sources import IN_PACKAGE, PACKAGE, nodes_of
from tests.architecture.test_imports import ROOMS, nodes_for_types_alone

WHOLE_ROOMS = {
    "cluster": {("cluster.diff", "cluster")},
    "commands": {("commands.local", "commands"), ("commands.terminal", "commands")},
}
"""Modules that use their room by its front, as its users do: their imports of it do not count."""


def _module(source: Path) -> str:
    parts = source.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(source): source for source in IN_PACKAGE if source.parent != PACKAGE}


def _imported(module: str, source: Path) -> Iterator[str]:
    """The modules of ours that a file imports, wherever in it; imports for types alone do not count."""
    typing_only = nodes_for_types_alone(source)
    here = source.relative_to(PACKAGE).parts[:-1]
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom) and id(node) not in typing_only:
            start = ".".join(here[: len(here) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [start, (node.module or "").removeprefix("kadmin_nb").removeprefix(".")]))
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in MODULES else base


@pytest.mark.parametrize("room", [room for room in ROOMS if (PACKAGE / room).is_dir()])
def test_modules_of_a_room_stand_in_an_order(room: str) -> None:
    """Snapshots could not be read without their files, nor the files without snapshots."""
    inside = {m: source for m, source in MODULES.items() if m == room or m.startswith(f"{room}.")}
    passed_over = WHOLE_ROOMS.get(room, set())
    graph = {m: {i for i in _imported(m, s) if i in inside and i != m and (m, i) not in passed_over}
             for m, s in inside.items()}  # fmt: skip
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as exc:
        pytest.fail(f"a circle: {' <- '.join(exc.args[1])}")
