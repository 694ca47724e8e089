"""`python docs/pictures/draw_widgets.py`: draw the pictures of the editors and of a plan's review, in a real JupyterLab
over a local Kafka."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from playwright.sync_api import sync_playwright  # noqa: E402

import kadmin_nb as kn  # noqa: E402
from tests.browser.lab import Lab, Notebook  # noqa: E402
from tests.browser.presence import chromium  # noqa: E402


def typed(page: Any, cell: str, text: str) -> None:
    """Type into a cell of a table."""
    page.get_by_role("gridcell", name=cell, exact=True).first.dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def quota_editor(page: Any) -> None:
    typed(page, "1 MB/s", "5")
    page.get_by_role("button", name="Staged 1").wait_for()


def plan_review(page: Any) -> None:
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("Nothing was sent").first.wait_for()


def config_editor(page: Any) -> None:
    typed(page, "604800000 (7 d)", "1d")
    page.get_by_role("gridcell", name="86400000 (1 d) was 604800000 (7 d)").wait_for()
    page.get_by_text("topic=orders, retention.ms: 86400000").wait_for()


SCENES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "quota-editor": ("%kquota edit", quota_editor),
    "plan-review": ("%kquota plan --reason 'the fair is over' --review", plan_review),
    "config-editor": ("%kconfig edit topic=orders", config_editor),
}


@contextmanager
def company() -> Iterator[kn.local.LocalKafka]:
    """A Kafka with a limit of alice's, and a topic."""
    with kn.local.start() as kafka, kafka.connect() as cluster:
        kn.local.seed(cluster)
        stage = cluster.new_stage()
        stage.set_quota("producer_byte_rate", "1MB/s", user="alice")
        stage.set_config("retention.ms", "604800000", topic="orders")
        cluster.apply(stage.plan("a picture"), allow=["producer_byte_rate user=alice", "retention.ms topic=orders"])
        yield kafka


def main() -> None:
    with company() as kafka, tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        page = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"]).new_page()
        page.set_viewport_size({"width": 1500, "height": 1400})
        begin = f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}"
        lab.write("pictures.ipynb", [begin, *(words for words, _ in SCENES.values())])
        notebook = Notebook(page, f"{lab.url}/lab/tree/pictures.ipynb")
        notebook.run(0)
        for number, (name, (_, act)) in enumerate(SCENES.items(), 1):
            notebook.run(number)
            act(page)
            notebook.cell(number).screenshot(path=HERE / f"{name}.png")
        lab.close()


if __name__ == "__main__":
    main()
