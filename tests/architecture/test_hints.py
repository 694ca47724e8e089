"""Hints are spelled in the syntax of the place where they are read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import IN_PACKAGE, PACKAGE, nodes_of, place_of

SYNTAXES = ("commands", "local")
"""The rooms that are a terminal's themselves."""

BELOW = [place for place in IN_PACKAGE if place.relative_to(PACKAGE).parts[0] not in SYNTAXES]
AT_ONE_DOOR = re.compile(r"(^|\s)--[a-z]|kadmin-nb |%k(quota|config|plan|admin)")


def _hints(source: Path) -> Iterator[str]:
    """The texts in a file that are given as hints, pieces of f-strings and of `_HINT = …` too."""
    for node in nodes_of(source):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            yield from _texts(node.value)
        if isinstance(node, ast.FunctionDef) and "hint" in node.name:
            yield from (
                text
                for one in ast.walk(node)
                if isinstance(one, ast.Return) and one.value
                for text in _texts(one.value)
            )
        if isinstance(node, ast.Assign) and any("hint" in ast.dump(target).lower() for target in node.targets):
            yield from _texts(node.value)


def _texts(value: ast.expr) -> Iterator[str]:
    """The texts in an expression, but for what a syntax spells."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("Verb", "Option"):
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    for child in ast.iter_child_nodes(value):
        if isinstance(child, ast.expr):
            yield from _texts(child)


def test_no_hint_is_written_for_one_door() -> None:
    """A runbook told me to give it --allow, which it does not have."""
    hints = ((place_of(source), text) for source in BELOW for text in _hints(source))
    assert [(place, text) for place, text in hints if AT_ONE_DOOR.search(text)] == []
