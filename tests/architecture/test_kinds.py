"""A kind of change is one object: nothing else in plans tells quotas and configs apart by their classes."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.architecture.sources import IN_PACKAGE, PACKAGE, nodes_of

CLASSES = {"Entity", "Resource"}
NAMES = {"quota", "config"}

KIND_FILES = ("plans/kinds/quota_changes.py", "plans/kinds/config_changes.py")

LEFT_IN_PLANS = {"plans/stage.py": 1}
"""An argument that already is an entity."""


def _tells_apart(node: ast.AST) -> bool:
    """`isinstance(x, Entity)`, or a comparison with the name of a kind."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        classes = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        return bool({c.id for c in classes if isinstance(c, ast.Name)} & CLASSES)
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    return any(isinstance(side, ast.Constant) and side.value in NAMES for side in sides)


def _places(source: Path) -> int:
    return sum(map(_tells_apart, nodes_of(source)))


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    """How many places there are, by file."""
    return Counter({str(s.relative_to(PACKAGE)): n for s in IN_PACKAGE if (n := _places(s))})


def test_plans_tell_kinds_apart_nowhere_else(counts: Counter[str]) -> None:
    """Credentials were to become a kind of change, and 49 places asked whether it was a quota."""
    places = {place: n for place, n in counts.items() if place.startswith("plans/") and place not in KIND_FILES}
    assert places == LEFT_IN_PLANS


def test_other_rooms_tell_no_kinds_apart(counts: Counter[str]) -> None:
    """The same question was asked by files, policies and comparisons, each in its own words."""
    assert {place: n for place, n in counts.items() if not place.startswith("plans/")} == {}
