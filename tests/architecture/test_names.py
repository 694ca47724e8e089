"""Names have one definition and say what they are; documents that the code cites are in the repository."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import ROOT, SOURCES, nodes_of, tree_of

FILES_OF_A_NAME = 3
"""Files that may define one name at module level: the verbs of several rooms, such as `resolve`."""
NAMES_IN_MORE = 12
VAGUE = {
    "found",
    "given",
    "one",
    "said",
    "named",
    "kept",
    "told",
    "held",
    "asked",
    "got",
    "seen",
    "taken",
    "left",
    "rest",
    "own",
    "theirs",
    "what",
    "which",
    "known",
    "wanted",
    "shown",
    "it",
    "them",
    "those",
    "these",
}
"""They say that something came, and not what it is."""
VAGUE_SHARE = 0.015
CITATION = re.compile(r"\b([a-z]+(?:-[a-z]+)+|reliability|design|performance|style)(?:\.md\b|(?= \d+\.\d))")


def _module_level_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _bound_names(source: Path) -> Iterator[str]:
    for node in nodes_of(source):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_a_name_has_one_definition() -> None:
    """`_text` was thirteen functions, and QUOTA_KEYS four constants of two types."""
    trees = (tree_of(source) for source in SOURCES)
    files = Counter(name for tree in trees for name in set(_module_level_names(tree)) if not name.startswith("__"))
    common = sorted(name for name, count in files.items() if count > FILES_OF_A_NAME)
    assert len(common) <= NAMES_IN_MORE, common


def test_names_say_what_they_are() -> None:
    """`found` was a table here and a broker there."""
    names = Counter(name for source in SOURCES for name in _bound_names(source))
    vague = {name: count for name, count in names.items() if name in VAGUE}
    assert sum(vague.values()) <= VAGUE_SHARE * names.total(), vague


def test_cited_documents_are_here() -> None:
    """The reason stood in a paper that nobody outside could read."""
    documents = {page.name for page in ROOT.rglob("*.md") if ".venv" not in page.parts}
    cited = {
        (match[1], source.name)
        for source in SOURCES
        for match in CITATION.finditer(source.read_text())
        if match[0].endswith(".md") or match[1].endswith("-facts")
    }
    assert {(name, where) for name, where in cited if f"{name}.md" not in documents} == set()
