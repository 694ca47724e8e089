"""The notebook about editing, as somebody goes through it with a mouse: edit, review, apply, charts, the way back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.lab import ROOT, Notebook

pytestmark = [pytest.mark.broker, pytest.mark.slow]

SOURCES = [
    "".join(cell["source"])
    for cell in json.loads((ROOT / "notebooks" / "editing.ipynb").read_text())["cells"]
    if cell["cell_type"] == "code"
]


def run_until(notebook: Notebook, beginning: str, cells: Iterator[tuple[int, str]]) -> Any:
    """Run the next cells until the one that begins so; its output."""
    for number, source in cells:
        output = notebook.run(number)
        assert "Traceback" not in output.inner_text()
        assert output.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0, source
        if source.startswith(beginning):
            output.scroll_into_view_if_needed()
            return output
    raise AssertionError(f"no cell begins with {beginning}")


@pytest.mark.long
def test_the_notebook_teaches_what_the_screen_shows(open_notebook: Open) -> None:
    """I followed the notebook with the mouse, and the third step did not work as it was told."""
    notebook = open_notebook(SOURCES, height=1100)
    page, cells = notebook.page, enumerate(SOURCES)
    editor = run_until(notebook, "%kquota edit", cells)
    editor.get_by_placeholder("filter").fill("user=alice")
    page.keyboard.press("Enter")
    editor.get_by_role("gridcell", name="500 kB/s", exact=True).dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("600kB/s")
    page.keyboard.press("Enter")
    editor.get_by_role("gridcell", name="600 kB/s was 500 kB/s").wait_for()
    notebook.picture("editing-quotas")
    page.keyboard.press("Control+z")
    editor.get_by_role("gridcell", name="500 kB/s", exact=True).wait_for()
    editor.get_by_placeholder("filter").fill("")
    page.keyboard.press("Enter")
    run_until(notebook, "%%kquota", cells)
    editor.scroll_into_view_if_needed()
    editor.get_by_role("rowheader", name="user=team-fair").wait_for()
    review = run_until(notebook, "%kquota plan", cells)
    review.get_by_role("button", name="Apply").click()
    review.get_by_role("cell", name="verified").nth(1).wait_for(timeout=60_000)
    notebook.picture("editing-review")
    run_until(notebook, 'kn.runbooks.chart("plan"', cells).get_by_role("img").first.wait_for()
    applied = run_until(notebook, "%kplan apply fair.json", cells)
    assert "nothing to change, 2 unchanged" in applied.inner_text()
    run_until(notebook, 'kn.runbooks.chart("hierarchy"', cells).get_by_role("img").first.wait_for()
    notebook.picture("editing-hierarchy")
    configs = run_until(notebook, "%kconfig edit", cells)
    configs.get_by_role("row").filter(has_text="retention.ms").first.wait_for()
    notebook.picture("editing-configs")
    run_until(notebook, "%kplan apply larger.json", cells)
    back = run_until(notebook, "(back := cluster.rollback", cells)
    back.get_by_role("button", name="Apply").wait_for()
    assert "2 verified" in run_until(notebook, "back.apply()", cells).inner_text()
    assert "1 verified" in run_until(notebook, "kept.apply()", cells).inner_text()
    left = run_until(notebook, "%kquota describe", cells).inner_text()
    assert "none" in left.lower() or "no quotas" in left.lower() or "0 quotas" in left.lower(), left
