"""Where there is no JupyterLab: Notebook 7, Voila, papermill, nbconvert, a terminal's IPython."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import new_page
from tests.browser.frames import EVERY, MANY
from tests.browser.lab import PICTURES, ROOT, Complaints, Lab, Notebook, document
from tests.widgets.every_widget import WIDGETS

pytestmark = pytest.mark.slow

CELLS = [MANY, "editor(quotas(['alice', '<b>bob</b>']))"]


def notebook_of(folder: Path) -> Path:
    place = folder / "every.ipynb"
    place.write_text(json.dumps(document(EVERY)))
    return place


def run(*words: str, folder: Path) -> str:
    """A program beside this Python, in a folder; what it prints."""
    binary = str(Path(sys.executable).with_name(words[0]))
    done = subprocess.run([binary, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=120, env=_env())
    assert done.returncode == 0, done.stderr
    return done.stdout


def _env() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "magics"), os.environ["PYTHONPATH"]])}


def outputs_of(place: Path) -> list[list[dict[str, Any]]]:
    """The outputs of each widget's cell."""
    return [cell["outputs"] for cell in json.loads(place.read_text())["cells"][1:]]


@pytest.mark.parametrize("program", ["papermill", "nbconvert"])
def test_an_executed_document_has_a_table_and_no_widget(tmp_path: Path, program: str) -> None:
    """The report of the night's run was 900 kB of widget state, and showed nothing."""
    place = notebook_of(tmp_path)
    words = {
        "papermill": ("papermill", place.name, "done.ipynb", "--no-progress-bar"),
        "nbconvert": ("jupyter-nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb", place.name),
    }[program]
    run(*words, folder=tmp_path)
    outputs = outputs_of(tmp_path / "done.ipynb")
    assert len(outputs) == len(WIDGETS)
    for output in outputs:
        assert [sorted(one["data"]) for one in output] == [["text/html", "text/plain"]]
        html = "".join(output[0]["data"]["text/html"])
        assert "alice" in html
        assert "&lt;b&gt;bob" in html
        assert "<b>bob" not in html
    assert "widgets" not in json.loads((tmp_path / "done.ipynb").read_text())["metadata"]
    run("jupyter-nbconvert", "--to", "html", "done.ipynb", folder=tmp_path)
    page = (tmp_path / "done.html").read_text()
    assert "1 MB/s" in page
    assert "<b>bob" not in page


def test_a_terminal_prints_the_table(tmp_path: Path) -> None:
    """IPython in a terminal showed QuotaEditor(...) and nothing else."""
    printed = run("ipython", "--no-banner", "-c", "\n".join([*CELLS[:1], f"display({CELLS[1]})"]), folder=tmp_path)
    assert "2 quotas" in printed
    assert "user=alice" in printed


def edit_in(page: Any) -> None:
    """Stage a value in the first row, and see that it was taken."""
    page.get_by_role("gridcell", name="1 MB/s", exact=True).dblclick(timeout=60_000)
    page.keyboard.press("Control+a")
    page.keyboard.type("2MB/s")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="2 MB/s was 1 MB/s").wait_for()


def opened(lab: Lab, browser: Any, path: str) -> tuple[Any, Complaints]:
    """A page of a host, and what it complains of."""
    page = new_page(browser, 1000, 900)
    complaints = Complaints()
    complaints.listen(page)
    page.goto(f"{lab.url}/{path}", timeout=90_000)
    return page, complaints


PLAIN = ["import ipywidgets; ipywidgets.IntSlider()"]
"""A notebook that has nothing of ours."""


def of_the_host(page: Any, complaints: Complaints) -> set[str]:
    """What the page of a host complains of by the time that it shows the plain notebook's widget."""
    page.get_by_role("slider").first.wait_for(timeout=90_000)
    page.wait_for_load_state("networkidle", timeout=90_000)
    page.close()
    return {*complaints.errors, *complaints.requests}


@pytest.mark.long
def test_notebook_7(lab: Lab, browser: Any) -> None:
    """Our students have Jupyter Notebook, not JupyterLab."""
    lab.write("plain.ipynb", PLAIN)
    plain = Notebook(new_page(browser, 1000, 900), f"{lab.url}/notebooks/plain.ipynb")
    plain.run(0)
    known = of_the_host(plain.page, plain.complaints)
    lab.write("classic.ipynb", CELLS)
    page = new_page(browser, 1000, 900)
    notebook = Notebook(page, f"{lab.url}/notebooks/classic.ipynb")
    for number in range(len(CELLS)):
        notebook.run(number)
    edit_in(page)
    page.screenshot(path=PICTURES / "notebook-7.png")
    page.close()
    assert {*notebook.complaints.errors, *notebook.complaints.requests} <= known


@pytest.mark.long
def test_voila(lab: Lab, browser: Any) -> None:
    """The dashboard that we publish with Voila showed an empty page."""
    lab.write("plain.ipynb", PLAIN)
    known = of_the_host(*opened(lab, browser, "voila/render/plain.ipynb"))
    lab.write("dashboard.ipynb", CELLS)
    page, complaints = opened(lab, browser, "voila/render/dashboard.ipynb")
    edit_in(page)
    page.screenshot(path=PICTURES / "voila.png")
    page.close()
    assert {*complaints.errors, *complaints.requests} <= known
