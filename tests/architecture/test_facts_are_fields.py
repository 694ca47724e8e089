"""Our own messages are for people: the code reads fields."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kadmin_nb import errors
from tests.architecture.sources import ROOT, SOURCES, nodes_of

OURS = {*errors.__all__, "Exception", "BaseException"}
"""The types under which an error of ours may be caught."""

SENTENCES = {"validated", "message", "hint", "note", "fix"}
"""Attributes and columns that hold words for people."""

SEARCHES = {"partition", "rpartition", "split", "rsplit", "splitlines", "startswith", "endswith", "removeprefix"}
SEARCHES |= {"removesuffix", "find", "index", "search", "match", "fullmatch", "findall", "finditer"}

REWRITES = {"lower", "upper", "casefold", "strip", "lstrip", "rstrip", "replace", "format"}
"""Methods that make another text of a sentence, which is one as well."""

OF_OTHERS = {
    "kadmin_nb/state/catalog.py: str(exc)": "Spark, classic and Connect, says so only in words",
    "kadmin_nb/usage/tables.py: str(error)": "Spark, classic and Connect, says so only in words",
}
"""Messages of libraries, and of a former format, that have no field for the fact."""


def _searches(source: Path) -> Iterator[str]:
    """Where a file takes a fact out of a sentence, or copies an error field by field."""
    for nodes, names in _scopes(source):
        for node in nodes:
            for text in _searched(node):
                if _is_sentence(text, names):
                    yield f"{source.relative_to(ROOT)}: {ast.unparse(text)}"
            if isinstance(node, ast.Call) and _is_type_of(node.func, names):
                yield f"{source.relative_to(ROOT)}: {ast.unparse(node.func)}(…)"


def _scopes(source: Path) -> Iterator[tuple[Iterable[ast.AST], set[str]]]:
    """The whole file, for its columns and attributes; then each piece in which a name is an error of ours."""
    yield nodes_of(source), set()
    for node in nodes_of(source):
        if isinstance(node, ast.ExceptHandler) and node.name and node.type and _names_in(node.type) & OURS:
            yield ast.walk(node), {node.name}
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            errors_given = {a.arg for a in arguments if a.annotation and _names_in(a.annotation) & {*errors.__all__}}
            if errors_given:
                yield ast.walk(node), errors_given
            if names_of_words := {*_bound_to_words(node)}:
                yield ast.walk(node), names_of_words


def _bound_to_words(function: ast.FunctionDef) -> Iterator[str]:
    """The names that a function gives to words for people: `note = change.note`, `(note := row["note"])`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.NamedExpr) and _is_sentence(node.value, set()):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _names_in(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {
        part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
    }


def _searched(node: ast.AST) -> Iterator[ast.expr]:
    """The texts in which this piece of code looks for something."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
        yield from (node.func.value, *node.args)
    if isinstance(node, ast.Compare) and any(
        isinstance(op, ast.In | ast.NotIn | ast.Eq | ast.NotEq) for op in node.ops
    ):
        is_of_none = any(isinstance(side, ast.Constant) and side.value is None for side in node.comparators)
        yield from () if is_of_none else (node.left, *node.comparators)


def _is_sentence(text: ast.expr, names: set[str]) -> bool:
    """Whether it is `str(exc)`, `exc.args[0]`, words for people, or a text made out of one of these."""
    if names and isinstance(text, ast.Name):
        return text.id in names
    if isinstance(text, ast.Attribute) and text.attr in ("args", *SENTENCES):
        return (text.attr == "args" and _is_sentence(text.value, names)) if names else text.attr != "args"
    if isinstance(text, ast.Subscript) and not names and (_is_column(text.slice) or _is_table_of_words(text.value)):
        return True
    if isinstance(text, ast.Call) and not names and any(map(_is_column, text.args[:2])):
        return _called(text) in ("get", "getattr")
    return any(_is_sentence(part, names) for part in _made_of(text))


def _made_of(text: ast.expr) -> list[ast.expr]:
    """The texts of which this one is made: what hides one is looked through."""
    match text:
        case ast.BoolOp(values=parts) | ast.JoinedStr(values=parts):
            return parts
        case ast.FormattedValue(value=part) | ast.NamedExpr(value=part) | ast.Subscript(value=part):
            return [part]
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return [one, other]
        case ast.Call(func=ast.Name(id="str" | "repr" | "printable"), args=parts):
            return parts
        case ast.Call(func=ast.Attribute(value=part, attr=verb)) if verb in SEARCHES | REWRITES:
            return [part]
    return []


def _is_column(name: ast.expr) -> bool:
    return isinstance(name, ast.Constant) and name.value in SENTENCES


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_table_of_words(name: ast.expr) -> bool:
    return isinstance(name, ast.Name) and name.id in _tables_of_words()


@functools.cache
def _tables_of_words() -> set[str]:
    """The constants of the library whose values are words for people: `SHARED`."""
    return {
        target.id
        for source in SOURCES
        for node in nodes_of(source)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.isupper() and any(map(_is_in_words, node.value.values))
    }


def _is_in_words(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.count(" ") > 1


def _is_type_of(called: ast.expr, names: set[str]) -> bool:
    """Whether it is `type(exc)`, called to make another error like it."""
    is_type = isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "type"
    return is_type and any(isinstance(a, ast.Name) and a.id in names for a in called.args)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def searches() -> set[str]:
    """Those of all files."""
    return {place for source in SOURCES for place in _searches(source)}


def test_no_fact_is_taken_out_of_a_sentence(searches: set[str]) -> None:
    """A message was put in better words, and a hint, a staged line and the rows of an error were gone."""
    assert searches - set(OF_OTHERS) == set()


def test_the_exceptions_are_still_needed(searches: set[str]) -> None:
    """The list of exceptions was longer than the code."""
    assert set(OF_OTHERS) - searches == set()


@pytest.mark.parametrize(
    "code",
    [
        'try:\n    f()\nexcept KadminError as exc:\n    ok = "no topic" in str(exc)',
        'try:\n    f()\nexcept (OSError, errors.Invalid) as exc:\n    code = exc.args[0].partition(":")',
        'def f(exc: Conflict):\n    return re.search("moved", str(exc))',
        'def f(exc: KadminError):\n    return type(exc)(f"line 1: {exc}", code=exc.code)',
        'refused = change.validated.split(":")[0]',
        'is_fine = str(change.validated).startswith("ok")',
        'is_fine = change.validated == "ok"',
        'is_secret = row["note"] == SECRET',
        'edit = row["fix"].removeprefix("config set ")',
        'is_ours = OURS in (change.note or "")',
        'is_ours = "ours" in (change.note if change.note else "")',
        'is_shared = SHARED[level].startswith("shared by all")',
        'is_ours = row["note"].split("; ")[0].startswith("ours")',
        'is_ours = row.get("note", "").lower() == "ours"',
        'is_ours = "ours" in f"{change.note}"',
        'is_ours = str(change.note).partition(";")[0]',
        'is_ours = "ours" in (note := change.note)',
        'def f(change: Change):\n    if note := change.note:\n        return note.startswith("ours")',
        'def f(change: Change):\n    note = change.note or ""\n    return "ours" in note',
        'def f(exc: Conflict):\n    return "moved" in f"{exc}"',
    ],
)
def test_searches_of_sentences_are_seen(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The check itself had passed for a year, as it saw nothing."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "sample.py").write_text(code)
    assert [*_searches(tmp_path / "sample.py")] != []
