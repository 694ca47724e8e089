"""marimo, which has no ipywidgets: the table of an editor is an anywidget there, and edits are staged."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.browser.presence import chromium
from tests.environments import ROOT, with_newer
from tests.waiting import eventually

pytestmark = [pytest.mark.long, pytest.mark.tried(marimo="0.25.2")]

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    from kadmin_nb.frames import schemas
    from kadmin_nb.plans.stage import Stage
    from kadmin_nb.widgets.editor import QuotaEditor
    from kadmin_nb.widgets.quota_sheet import StoredQuotas

    row = {"entity": "user=alice", "level": "USER", "user": "alice", "key": "producer_byte_rate", "value": 1e6}
    quotas = schemas.table(schemas.QUOTAS, [row])
    editor = QuotaEditor(lambda: StoredQuotas(quotas), Stage(None), None)
    grid = mo.ui.anywidget(editor.grid)
    grid
    return editor, grid


if __name__ == "__main__":
    app.run()
"""


def test_an_edit_in_marimo_is_staged(tmp_path: Path):
    """The editor was a line of text that said QuotaEditor."""
    from playwright.sync_api import sync_playwright

    (tmp_path / "limits.py").write_text(NOTEBOOK)
    program = with_newer("marimo", "0.25.2") / "python"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["run", "limits.py", "--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port)]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/magics"}
    server = subprocess.Popen([program, "-m", "marimo", *words], cwd=tmp_path, env=env)
    try:
        eventually(lambda: _answers(port), True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{port}/")
            page.locator(".kadmin-grid [role=gridcell]").first.click(timeout=60_000)
            page.keyboard.type("9MB/s")
            page.keyboard.press("Enter")
            page.locator(".kadmin-grid").get_by_text("1 cell staged").wait_for(timeout=30_000)
            assert "9 MB/s" in page.locator(".kadmin-grid").inner_text()
            browser.close()
    finally:
        server.terminate()
        server.wait(timeout=20)


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
