"""The language of messages, docstrings and docs: CONTRIBUTING.md has the glossary."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator

from tests.architecture.sources import ROOT, SOURCES, nodes_of, place_of

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


def test_messages_and_docstrings_are_plain() -> None:
    """It said "alter is no word after quota", and I did not know what it wanted."""
    nodes = ((place_of(path), node) for path in SOURCES for node in nodes_of(path) if _is_text(node))
    assert [banned for place, node in nodes for banned in _banned(place, node.value, node.lineno)] == []


def test_pages_are_plain() -> None:
    """The manual had words that the messages did not have."""
    pages = (page for page in PAGES if page.name not in GLOSSARY)
    assert [banned for page in pages for banned in _banned(place_of(page), page.read_text())] == []


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


def _banned(place: str, text: str, first: int = 1) -> Iterator[str]:
    """Where a text that begins in this line has a banned word, and what to write."""
    for pattern, instead in BANNED.items():
        for match in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE):
            yield f"{place}:{first + text.count(chr(10), 0, match.start())}: {match[0]!r}: {instead}"
