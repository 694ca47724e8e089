"""The site: every page is there, with its Markdown and without the network."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def test_the_site_is_built_without_the_network() -> None:
    """The page loaded its fonts from elsewhere, and half of the notebooks were missing."""
    command = [sys.executable, str(ROOT / "docs" / "build_site.py"), "--unchecked"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    site = ROOT / "out" / "site"
    makers = runpy.run_path(str(ROOT / "docs" / "build_site.py"), run_name="build_site")
    pages = [makers["place_of"](source).with_suffix("") for source in makers["sources"]()]
    folders = [site / page if page.name != "index" else site / page.parent for page in pages]
    assert [folder for folder in folders if not (folder / "index.html").exists()] == []
    assert [folder for folder in folders if not (folder / "index.md").exists()] == []
    assert (site / "llms.txt").read_text().count("\n- [") == len(pages)
    loads = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?https?://""")
    assert [folder for folder in folders if loads.search((folder / "index.html").read_text())] == []
