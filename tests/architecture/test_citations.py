"""What the code cites is in the repository: documents, and names of ours in docstrings."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.sources import ROOT, SOURCES, nodes_of, place_of, tree_of

CITATION = re.compile(r"\b([a-z]+(?:-[a-z]+)+|reliability|design|performance|style)(?:\.md\b|(?= \d+\.\d))")


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


QUOTED = re.compile(r"`((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\([^`]*\))?`")
CLASS = re.compile(r"(?:[A-Z]+[a-z0-9]+){2,}")
OTHERS = {"ClientQuotaManager", "TokenBucket", "org.apache.kafka.tools.ConfigCommand", "kafka.net", "frame.toArrow",
          "org.apache.kafka.common.metrics.stats.Rate", "pyspark.errors.SparkRuntimeException",
          "widgets.getAll"}  # fmt: skip
"""Names of Kafka's, Spark's and Databricks' that docstrings cite."""


@cache
def _modules() -> dict[str, set[str]]:
    """The names in each module of ours, by its last word: what it defines, and the attributes of what it defines."""
    names: dict[str, set[str]] = defaultdict(set)
    for source in SOURCES:
        module = source.parent.name if source.stem == "__init__" else source.stem
        names[module] |= {*_names_in(source)}
        names[source.parent.name].add(source.stem)
    return names


def _names_in(source: Path) -> Iterator[str]:
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).rpartition(".")[2]
        elif isinstance(node, ast.arg | ast.Attribute):
            yield node.arg if isinstance(node, ast.arg) else node.attr


@cache
def _every() -> set[str]:
    return set().union(*_modules().values())


def _is_stale(text: str) -> bool:
    """Whether a name in backticks looks like one of ours, of a module or a class, and there is none."""
    *path, name = text.split(".")
    if text in OTHERS:
        return False
    if path and path[-1] in _modules():
        is_key = len(path) > 1 and name.islower()  # a config key, such as `session.timeout.ms`
        return not is_key and name not in _modules()[path[-1]] | _modules().keys()
    looks_like_ours = CLASS.fullmatch(name) or (path and name[0].isupper())
    return bool(looks_like_ours) and not _every().issuperset([*path[-1:], name])


def _quoted(source: Path) -> Iterator[str]:
    """The names in backticks in the docstrings of a file, files with their endings left out."""
    for node in nodes_of(source):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from (match[1] for match in QUOTED.finditer(node.value.value) if not _is_file(match[1]))


def _is_file(text: str) -> bool:
    return text.endswith((".py", ".css", ".js", ".json", ".md", ".toml"))


def test_names_in_docstrings_are_here() -> None:
    """It sent me to `places.Place`, which had been gone for a month."""
    assert [(place_of(source), text) for source in SOURCES for text in _quoted(source) if _is_stale(text)] == []


def test_what_a_module_hands_out_is_in_it() -> None:
    """`__all__` named a class of an earlier house."""
    handed_out = (
        (source, element.value)
        for source in SOURCES
        for node in tree_of(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for element in getattr(node.value, "elts", ())
    )
    lazy = ROOT / "kadmin_nb" / "__init__.py"
    assert [(place_of(s), name) for s, name in handed_out if s != lazy and name not in {*_names_in(s)}] == []
