"""The language of messages, docstrings and docs: CONTRIBUTING.md has the glossary."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, SOURCES, tree_of

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").rglob("*.ipynb")])
GLOSSARY = {"CONTRIBUTING.md", "CHANGELOG.md"}
"""Pages that may quote a banned word: the glossary names what not to write."""

BANNED = {
    r"(?<!there )\b(is|are) no (?!longer\b|more\b|worse\b|such\b|doubt\b)": "write: is not a …, unknown …, no such …",
    r"\bis no word\b": "write: unknown command 'x' for 'y'",
    r"\b(of|plan|diff|describe) what\?|^which \w+\?$|\bwho wrote\b": "a message does not ask: 'X is required'",
    r"\b(masked|masks|masking|silenced|silences)\b": "write: shadowed",
    r"\bmut(e[sd]?|ing)\b(?! channels?\b)": "write: throttled",
    r"\bsecond words?\b|\binsist(s|ed)?\b": "write: dangerous, confirm with …, requires",
    r"\bcan bind nobody\b|\bnever wins?\b|\bcan never win\b": "write: shadowed, or can never apply",
}
OPENINGS = re.compile(r"(What|Who|Whom|Whose|Which|Whether|Where|Why|How)\b")
"""Words with which a docstring asks rather than tells."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_messages_and_docstrings_are_plain(path: Path) -> None:
    """It said "alter is no word after quota", and I did not know what it wanted."""
    texts = [(node.lineno, node.value) for node in ast.walk(tree_of(path)) if _is_text(node)]
    assert list(_banned(texts)) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_docstring_begins_with_what_a_thing_is_or_does(path: Path) -> None:
    """Every docstring began with "What …" or "Whether …", and none named the thing."""
    assert [line for line, text in _docstrings(tree_of(path)) if OPENINGS.match(text.strip())] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_are_plain(path: Path) -> None:
    """The manual had words that the messages did not have."""
    if path.name not in GLOSSARY:
        assert list(_banned([(1, path.read_text())])) == []


def test_files_that_pages_name_exist() -> None:
    """ARCHITECTURE.md sent me to three modules that had other names by then."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        named = re.findall(r"`([\w./-]+/|[\w./-]+\.(?:py|toml|md|ipynb|json))`", (ROOT / page).read_text())
        assert [name for name in named if not any(_is_at(name, path) for path in tracked)] == [], page


def _is_at(name: str, path: str) -> bool:
    """Whether a tracked file is, or lies in, what a page names; from the root or within kadmin_nb."""
    return any(path == f"{top}{name}" or path.startswith(f"{top}{name.rstrip('/')}/") for top in ("", "kadmin_nb/"))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts that stand alone as statements: docstrings, and those below an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def _banned(texts: list[tuple[int, str]]) -> Iterator[str]:
    for first, text in texts:
        for number, line in enumerate(text.split("\n"), first):
            for pattern, instead in BANNED.items():
                if match := re.search(pattern, line, re.IGNORECASE):
                    yield f"line {number}: {match[0]!r}: {instead}"
