"""Texts that people read have none of the words that CONTRIBUTING.md lists: they had to be read twice."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas

from .sources import ROOT, SOURCES, nodes_of, place_of

_TABLE = re.compile(r"^\| not \| rather \|\n\|---\|---\|\n((?:\|.*\n)+)", re.M)
_ROWS = _TABLE.search((ROOT / "CONTRIBUTING.md").read_text())
WORDS = [word for row in (_ROWS[1].splitlines() if _ROWS else []) for word in row.split("|")[1].strip().split(", ")]
LISTED = re.compile(
    rf"\b(?!nobody(?:\s\(one|  ))(?:{'|'.join(WORDS)})\b", re.I
)  # an answer: shared with nobody (one per user), or a cell of it

SHARERS = re.compile(r"^ +shared with .*$", re.M)
"""The last row of a ladder."""

COLUMNS = {name for frame in schemas.FRAMES.values() for name in frame.names}
"""Names of columns stay: they are the Contract's."""

OWN = {
    "nobody named",
    "(nobody named)",
    "(nobody)",
    "nobody",
    "unknown key, let through by --allow-unknown",
    "request log: SHARE_FETCH, whose bytes it does not tell",
}
"""The bucket of clients that no quota names; the team of those without an owner; the sharers of a limit that has
none; a note that old plan files have; a source of USAGE, which tables have."""

COMMENT = re.compile(r"//.*|/\*(?s:.*?)\*/")
PAGES = sorted([*ROOT.glob("kadmin_nb/**/*.js"), *ROOT.glob("kadmin_nb/**/*.j2"), ROOT / "README.md"])
MANUAL = sorted(page for page in (ROOT / "docs").rglob("*.md") if "reference" not in page.parts)
NOTEBOOKS = sorted(
    path for folder in ("kadmin_nb", "notebooks", "databricks") for path in ROOT.glob(f"{folder}/**/*.ipynb")
)


def test_the_list_is_read():
    """The test passed, because it looked for nothing."""
    assert len(WORDS) > 10


@pytest.mark.parametrize("source", SOURCES, ids=place_of)
def test_texts_of_the_program_are_plain(source):
    """I had to read the message twice."""
    strange = {text: LISTED.findall(text) for text in _texts(source) if LISTED.search(text)}
    assert strange == {}


@pytest.mark.parametrize("page", PAGES, ids=place_of)
def test_texts_of_pages_are_plain(page):
    """The button said something else than the manual."""
    assert LISTED.findall(COMMENT.sub("", page.read_text())) == []


@pytest.mark.parametrize("page", MANUAL, ids=place_of)
def test_the_manual_is_plain(page):
    """I stopped at *whom*, and began the sentence again."""
    text = SHARERS.sub("", page.read_text())
    assert [word for word in LISTED.findall(text) if word not in COLUMNS] == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=place_of)
def test_texts_of_notebooks_are_plain(notebook):
    """The explanation above the cell was harder than the cell."""
    cells = json.loads(notebook.read_text())["cells"]
    lines = [
        line if cell["cell_type"] == "markdown" else line.partition("# ")[2]
        for cell in cells
        for line in cell["source"]
    ]
    assert [line for line in lines if LISTED.search(line)] == []


def _texts(source: Path) -> Iterator[str]:
    """The literals of a file that are not docstrings; the docstring of a command is its help."""
    docstrings = {id(node.value) for node in nodes_of(source) if isinstance(node, ast.Expr)}
    for node in nodes_of(source):
        is_literal = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if is_literal and node.value not in COLUMNS | OWN:
            yield node.value
        if isinstance(node, ast.FunctionDef) and _is_command(node):
            yield ast.get_docstring(node) or ""


def _is_command(function: ast.FunctionDef) -> bool:
    return any("command" in ast.unparse(decorator) or "group" in ast.unparse(decorator)
               for decorator in function.decorator_list)  # fmt: skip


DIALECT = re.compile(
    r"\b(?:there|stands?|nobody|somebody|anybody|everybody|anew|whom|unless said|those (?:that|of|which|who))\b"
    r"|\b[Aa] (?:row|line|sentence|file|column|key|limit|broker|object|window|view|day) an? \w+"
    r"|^Of\b|\b(?:apart|then)\.$"
)
"""Words and forms that a docstring's first sentence does without: *one row per limit*, not *a row a limit*."""


def _documented() -> Iterator[tuple[str, str]]:
    """Each public name of kn, and of its modules and classes, with the first paragraph of its docstring."""
    seen = [("kn", kn)]
    while seen:
        name, value = seen.pop()
        if text := inspect.getdoc(value):
            yield name, " ".join(text.split("\n\n")[0].split())
        if inspect.ismodule(value):
            offered = getattr(value, "__all__", ())
        else:
            offered = [each for each in vars(value) if not each.startswith("_")] if inspect.isclass(value) else ()
        seen += [(f"{name}.{each}", getattr(value, each)) for each in offered]


def _in_rooms() -> Iterator[tuple[str, str]]:
    """Each public function and class of the rooms that are rewritten, with the first paragraph of its docstring."""
    for source in SOURCES:
        if source.parent == ROOT / "kadmin_nb" or not REWRITTEN.isdisjoint(source.relative_to(ROOT).parts):
            for node in nodes_of(source):
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    text = ast.get_docstring(node) or ""
                    yield f"{place_of(source)}:{node.lineno}", " ".join(text.split("\n\n")[0].split())


REWRITTEN = {
    "admin", "advice", "charts", "client_configs", "cluster", "commands", "fleets", "frames", "jars", "kadmin_magics",
    "local", "model", "plans", "policy", "profiles", "resolution", "runbooks", "sql", "state",
    "usage",
}  # fmt: skip


def test_first_sentences_of_docstrings_are_plain():
    """`help()` said "a row a quota", and I took it for a slip of the pen."""
    assert {name: text for name, text in (*_documented(), *_in_rooms()) if DIALECT.search(text)} == {}
