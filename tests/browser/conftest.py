"""A real browser with a real JupyterLab. Console errors and requests beyond this machine fail a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.browser.lab import Lab, Notebook
from tests.browser.presence import chromium

Open = Callable[..., Notebook]


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium: the machine's, else the one that Playwright has. Its profile keeps JupyterLab's scripts compiled.

    Not for the session: while Playwright is there, its event loop counts as running, and `asyncio.run` refuses.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        profile = tmp_path_factory.mktemp("browser")
        started = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium(), args=["--no-sandbox"]
        )
        started.set_default_timeout(90_000)  # a busy machine
        yield started
        started.close()


def new_page(browser: Any, width: int, height: int) -> Any:
    """An empty page of that size."""
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": height})
    return page


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab."""
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture
def open_notebook(lab: Lab, browser: Any, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens notebooks of these cells; the test fails where a page complained."""
    opened: list[Notebook] = []

    def open_(cells: Sequence[str], *, width: int = 1280, height: int = 900, clipboard: bool = False) -> Notebook:
        name = f"{Path(request.node.name).name.replace('/', '-')[:60]}-{len(opened)}.ipynb"
        lab.write(name, cells)
        if clipboard:
            browser.grant_permissions(["clipboard-read", "clipboard-write"], origin=lab.url)
        notebook = Notebook(new_page(browser, width, height), f"{lab.url}/lab/tree/{name}?reset")
        opened.append(notebook)
        return notebook

    yield open_
    for number, notebook in enumerate(opened):
        notebook.picture(f"{Path(request.node.name).name.replace('/', '-')[:60]}-{number}")
        print(notebook.text()[-5000:])  # what pytest shows where a test failed: no picture leaves CI
    print((lab.home / "server.log").read_text()[-5000:])
    for notebook in opened:
        notebook.page.close()
        assert not notebook.complaints.errors, notebook.complaints.errors
        assert not notebook.complaints.requests, notebook.complaints.requests
    lab.shut_kernels()
