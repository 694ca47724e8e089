"""Tab in a real JupyterLab."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open

pytestmark = pytest.mark.slow


def test_the_first_tab_behind_a_type_offers_something(open_notebook: Open) -> None:
    """Tab after `user=` showed nothing, and neither did the next ones."""
    notebook = open_notebook(["%load_ext kadmin_nb", ""])
    notebook.run(0)
    page = notebook.page
    notebook.cell(1).locator(".jp-InputArea-editor").first.click()
    page.wait_for_timeout(2000)  # JupyterLab has a completer for a cell a while after somebody is in it
    page.keyboard.type("%kquota describe user=")
    page.keyboard.press("Tab")
    page.locator(".jp-Completer-item").filter(has_text="<default>").filter(visible=True).wait_for()
    notebook.picture("first-tab")
