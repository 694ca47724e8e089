"""Documents that the code cites are in the repository."""

from __future__ import annotations

import re

from tests.architecture.sources import ROOT, SOURCES

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
