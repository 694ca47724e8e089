"""Answers of more rows than a screen has, in JupyterLab, and read without a kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kadmin_nb.frames.answer import Answer
from tests.browser.conftest import Open, new_page
from tests.browser.lab import Lab, Notebook, document
from tests.browser.test_hosts import outputs_of, run
from tests.widgets.stored_quotas import quotas

pytestmark = pytest.mark.slow

BEGIN = """
%load_ext kadmin_nb
from kadmin_nb.frames.answer import Answer
from tests.widgets.stored_quotas import quotas
def limits(*names):
    return Answer(quotas({f"user={name}": f"{n + 1}MB/s" for n, name in enumerate(names)}))
"""
MANY = "limits('<b>bob</b>', *(f'u{n:04}' for n in range(1, 5000)))._in_cell()"


def opened(open_notebook: Open, *cells: str) -> Notebook:
    """A notebook whose second cell shows 5,000 rows."""
    notebook = open_notebook([BEGIN, MANY, *cells])
    for number in range(2 + len(cells)):
        notebook.run(number)
    notebook.page.get_by_role("cell", name="user=u0007").wait_for()
    return notebook


@pytest.mark.long
def test_without_a_kernel_it_is_a_page(open_notebook: Open, lab: Lab) -> None:
    """I opened yesterday's notebook, and the answers were gone."""
    notebook = opened(open_notebook)
    page = notebook.page
    page.keyboard.press("Control+s")
    notebook.wait_for_text("Saving completed")
    saved = json.loads(next(lab.home.glob("test_without_a_kernel*.ipynb")).read_text())
    assert "widgets" not in saved["metadata"]
    (lab.home / "yesterday-table.ipynb").write_text(json.dumps(saved))
    again = Notebook(page.context.new_page(), f"{lab.url}/lab/tree/yesterday-table.ipynb?reset")
    again.page.get_by_role("cell", name="user=u0007").wait_for()
    assert again.page.get_by_text("model not found").filter(visible=True).count() == 0
    again.picture("yesterday-table")
    again.page.close()


def test_an_executed_document_has_text_and_html_alone(tmp_path: Path) -> None:
    """The report of the night's run said: Error displaying widget."""
    (tmp_path / "many.ipynb").write_text(json.dumps(document([BEGIN, MANY])))
    run("jupyter-nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb", "many.ipynb", folder=tmp_path)
    [[output]] = outputs_of(tmp_path / "done.ipynb")
    assert (output["output_type"], sorted(output["data"])) == ("execute_result", ["text/html", "text/plain"])
    assert "the DataFrame has all of it" in "".join(output["data"]["text/html"])


NARROW = """box => {
  const [name, limit] = ["name", "standing"].map(kind => box.querySelector(`td.kadmin-${kind}`));
  box.scrollLeft = 1000;
  const copied = document.createRange();
  copied.selectNodeContents(name);
  getSelection().addRange(copied);
  const page = document.documentElement, place = (cell) => cell.getBoundingClientRect().left;
  return {
    page: page.scrollWidth - page.clientWidth, box: box.scrollLeft > 0,
    half: name.offsetWidth <= box.offsetWidth * 0.55,
    name: place(name) - place(box) < 4, limit: place(limit) < place(name) + name.offsetWidth,
    copied: getSelection().toString(),
    line: new Set([...box.querySelectorAll("tr")].map(row => row.offsetHeight)).size <= 2,
  };
}"""


def test_a_narrow_page_scrolls_the_box_of_a_table_and_the_name_stays(browser: Any) -> None:
    """On half of my screen each row took five lines, and the page went sideways with all of its text."""
    name = f"user='CN={'app' * 30}, OU=Shop'"
    limits = {"producer_byte_rate": "1MB/s", "consumer_byte_rate": "3MB/s", "request_percentage": "50%"}
    said = Answer(quotas({name: limits, "user=bob": limits}))
    page = new_page(browser, 400, 400)
    page.set_content(said.as_html())
    found = page.locator(".kadmin-rows").evaluate(NARROW)
    copied = found.pop("copied")
    assert found == {"page": 0, "box": True, "half": True, "name": True, "limit": True, "line": True}
    assert copied.endswith(name)
    page.close()
