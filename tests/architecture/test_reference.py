"""The pages of docs/reference, which are made out of the code."""

from __future__ import annotations

import re
import runpy

import pytest

import kadmin_nb
from tests.architecture.test_terminology import ROOT

PAGES = runpy.run_path(str(ROOT / "docs/reference/generate.py"))["pages"]()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_reference_pages_are_as_new_as_the_code(path):
    """The manual listed a column that the frame had lost."""
    assert path.read_text() == PAGES[path], f"{path.relative_to(ROOT)} is out of date: `make reference` renews it"


def test_every_public_name_is_in_the_reference():
    """I saw `kn.open_history` in a colleague's notebook, and no page had it."""
    titles = set(re.findall(r"^##? kn\.(?:errors\.)?(\w+)$", "".join(PAGES.values()), re.MULTILINE))
    assert set(kadmin_nb.__all__) - titles == set()


def test_no_private_name_is_in_the_reference():
    """A page said that a plan is a kind of PrintFormats, and no page said what that is."""
    pages = {path.name: text for path, text in PAGES.items() if path.parent.name == "api"}
    titles = set(re.findall(r"^## (?:kn\.(?:\w+\.)?)?(\w+)$", "".join(pages.values()), re.MULTILINE))
    kinds = {name for text in pages.values() for name in re.findall(r"^A kind of `(\w+)`\.$", text, re.MULTILINE)}
    assert kinds - titles == set()
    members = re.findall(r"^###? (?:\w+\.)*(_\w+)$", "".join(pages.values()), re.MULTILINE)
    assert members == []


def test_reference_pages_are_the_same_on_every_machine():
    """Each of us made other pages: they had addresses in memory and our home folders in them."""
    assert re.findall(rf"\b0x[0-9a-f]+|{re.escape(str(ROOT))}|/home/\w+", "".join(PAGES.values())) == []


def test_every_variable_of_ours_is_in_the_reference():
    """`KADMIN_CACHE` was in no page; I found it in the code."""
    code = "".join(path.read_text() for path in (ROOT / "kadmin_nb").rglob("*.py"))
    page = (ROOT / "docs/reference/settings.md").read_text()
    read = set(re.findall(r'"(KADMIN_[A-Z_]+)"', code)) - {"KADMIN_RUNBOOK_RECORD"}  # which the launcher sets
    assert set(re.findall(r"`(KADMIN_[A-Z_]+)`", page)) == read


def test_every_page_that_is_named_is_there():
    """The hint sent me to docs/connections.md, which had another name by then."""
    kinds = (
        "kadmin_nb/**/*.py",
        "magics/**/*.py",
        "notebooks/**/*.ipynb",
        "databricks/**/*",
        "kadmin-nb.*",
        "*.md",
        "docs/*.py",
    )
    named = {
        (path.name, page)
        for kind in kinds
        for path in ROOT.glob(kind)
        if path.is_file()
        for page in re.findall(r"\bdocs/[\w./-]+\.md\b", path.read_text(errors="replace"))
    }
    assert len(named) > 10
    assert {(place, page) for place, page in named if not (ROOT / page).exists()} == set()
