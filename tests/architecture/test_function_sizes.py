"""A function is read once: how long it may be, and how much it may decide."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import SOURCES, nodes_of, place_of

MOST_LINES = 40
"""Of code, from `def` on; a docstring may say what it needs."""

MOST_DECISIONS = 12

BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def decisions(function: Function) -> int:
    """Branches and loops, those of comprehensions too, and each `and` and `or`."""
    return sum(weight(node) for node in ast.walk(function))


def weight(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return isinstance(node, BRANCHES)


def lines(function: Function) -> int:
    docstring = function.body[0] if ast.get_docstring(function) else None
    documented = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return function.end_lineno - function.lineno + 1 - documented


def functions() -> Iterator[tuple[str, Function]]:
    for path in SOURCES:
        for node in nodes_of(path):
            if isinstance(node, Function):
                yield f"{place_of(path)}:{node.lineno} {node.name}", node


@pytest.mark.parametrize(("measure", "most"), [(lines, MOST_LINES), (decisions, MOST_DECISIONS)], ids=["lines", "if"])
def test_no_function_is_too_long_to_read_once(measure, most):
    """I needed a pencil to follow one function: it decided 24 things in 12 lines."""
    too_much = [f"{where}: {size}" for where, node in functions() if (size := measure(node)) > most]
    assert too_much == []


def test_what_counts_as_a_decision():
    """The count said 3, and I saw 9."""
    text = "def f(a):\n while a and b or c:\n  if x: pass\n  elif y: pass\n return [q if r else s for t in u if v if w]"
    assert decisions(ast.parse(text).body[0]) == 9
