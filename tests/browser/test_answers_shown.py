"""Each answer in a real Lab, 1000 and 1400 pixels wide, light and dark; `make pictures` draws them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kadmin_nb as kn
from tests.browser.conftest import new_page
from tests.browser.lab import PICTURES, Notebook
from tests.browser.widths import beyond, cut_names

pytestmark = [pytest.mark.slow, pytest.mark.broker]

RECORDED = Path(__file__).parents[1] / "analytics" / "recorded"
WIDTHS = (1000, 1400)
LOG = f"'{RECORDED}' --broker 'broker-(\\d+)/' --tz UTC"
LINES = {
    "describe": "%kquota describe user~=shown-*",
    "resolve": "%kquota resolve user=shown-alice client-id=app",
    "why": "%kquota why user=shown-alice client-id=app",
    "tree": "%kquota tree",
    "quota audit": "%kquota audit --clients clients",
    "usage": f"%kquota usage {LOG} --every '1 hour'",
    "near": f"%kquota near {LOG}",
    "top": f"%kquota top {LOG}",
    "set": "%kquota set producer_byte_rate=7MB/s user=shown-alice",
    "plan": "%kquota plan",
    "edit": "%kquota edit",
    "review": "%kquota plan --review",
    "discard": "%kquota discard",
    "configs-of-a-topic": "%kconfig describe topic=shown-topic",
    "configs-of-a-broker": "%kconfig describe broker=1",
    "edit-configs": "%kconfig edit topic=shown-topic",
    "audit": "%kconfig audit",
    "may-i": "%kadmin may-i",
    "log": "%kplan log",
}


@pytest.fixture
def cells(kafka: Any, cluster: Any) -> list[str]:
    """A cell a line, of a cluster with some quotas and a topic; the first one connects."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5e6, user="shown-alice")
    stage.set_quota("consumer_byte_rate", 1e7, user="shown-alice")
    stage.set_quota("producer_byte_rate", 5e6, user="shown-alice", client_id="app")
    stage.set_quota("producer_byte_rate", 5e5, client_id="shown-slow-and-shadowed")
    for key in ("producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate"):
        stage.set_quota(key, 4e5, user=kn.DEFAULT, client_id="shown-slow-and-shadowed")
    cluster.apply(stage.plan("to be looked at"))
    if "shown-topic" not in cluster.port.topics():
        cluster.port.create_topics({"shown-topic": 1})
    begin = ("%load_ext kadmin_nb", f"%kadmin use {kafka.bootstrap}", f"%kquota usage {LOG} --out clients --clients")
    return ["\n".join(begin), *LINES.values()]


@pytest.mark.long
def test_every_answer_is_there_to_be_looked_at(cells: list[str], open_notebook: Callable[..., Notebook]) -> None:
    """At 1400 pixels the column `value` fell off the screen."""
    notebook = open_notebook(cells, width=WIDTHS[0], height=4000)
    outputs = [notebook.run(number) for number in range(len(cells))][1:]
    for _theme in ("light", "dark"):
        for width in WIDTHS:
            notebook.page.set_viewport_size({"width": width, "height": 4000})
            for name, output in zip(LINES, outputs, strict=True):
                assert beyond(output, grids=width == WIDTHS[1]) <= 0, f"{name} at {width} pixels"
                assert cut_names(output) == [], f"{name} at {width} pixels"
        notebook.change_theme()
    assert not [name for name, output in zip(LINES, outputs, strict=True) if "Error" in output.inner_text()]


@pytest.mark.long
def test_a_document_of_answers_is_there_to_be_looked_at(cells: list[str], lab: Any, browser: Any) -> None:
    """The page that nbconvert made was white in a dark browser, and bare."""
    place = lab.write("answers.ipynb", cells)
    binary = str(Path(sys.executable).with_name("jupyter-nbconvert"))
    words = [binary, "--to", "html", "--execute", "--output", "answers.html", place.name]
    done = subprocess.run(words, cwd=lab.home, env=lab._env(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    PICTURES.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        page = new_page(browser, width, 900)
        page.goto((lab.home / "answers.html").as_uri())
        page.screenshot(path=PICTURES / f"document-{width}.png", full_page=True)
        page.close()
