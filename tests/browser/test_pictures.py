"""What people see, as pictures in `out/pictures`, to be looked at: `make pictures` writes them.

JupyterLab and Notebook 7, 1000 and 1400 pixels wide, light and dark; a terminal of 80, 120 and 200 columns.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

import pytest
from nbconvert.filters import ansi2html

import kadmin_nb as kn
from tests.browser.conftest import new_page
from tests.browser.lab import PICTURES, Lab, Notebook
from tests.browser.test_answers_shown import LOG
from tests.terminal.pseudo_terminal import in_terminal

pytestmark = [pytest.mark.long, pytest.mark.broker]

HOSTS = {"lab": "lab/tree", "notebook": "notebooks"}
WIDTHS = (1000, 1400)
COLUMNS = (80, 120, 200)
TALL = 3000
"""Pixels of a page's height: no answer needs more."""

CELLS = {
    "quota-describe": "%kquota describe",
    "quota-resolve": "%kquota resolve user=team-fair client-id=app",
    "quota-why": "%kquota why user=team-fair client-id=app",
    "quota-tree": "%kquota tree",
    "quota-audit": "%kquota audit --clients clients",
    "quota-usage": f"%kquota usage {LOG} --every '1 hour'",
    "quota-near": f"%kquota near {LOG}",
    "quota-top": f"%kquota top {LOG}",
    "quota-edit": "%kquota edit",
    "quota-set": "%kquota set producer_byte_rate=7MB/s user=team-fair",
    "quota-remove": "%kquota remove producer_byte_rate user=<default>",
    "quota-plan": "%kquota plan --reason 'room for the fair' --save fair.json --force",
    "quota-review": "%kquota plan --save fair.json --force --review",
    "plan-show": "%kplan show fair.json",
    "plan-apply": "%kplan apply fair.json --allow 'producer_byte_rate user=alice'",
    "plan-verify": "%kplan verify fair.json",
    "plan-log": "%kplan log",
    "discard": "%kquota discard",
    "config-describe-topic": "%kconfig describe topic=orders",
    "config-describe-broker": "%kconfig describe broker=1",
    "config-edit": "%kconfig edit topic=orders",
    "config-audit": "%kconfig audit",
    "users": "%kadmin users",
    "doctor": "%kadmin doctor",
    "may-i": "%kadmin may-i",
    "chart-hierarchy": "%kquota chart hierarchy",
    "chart-effective": "%kquota chart effective clients",
    "error": "%kquota set producer_byte_rate=1,5MB/s user=alice",
}
WORDS = {
    "quota-describe": "quota describe",
    "quota-resolve": "quota resolve user=team-fair client-id=app",
    "quota-why": "quota why user=team-fair client-id=app",
    "quota-tree": "quota tree",
    "quota-audit": "quota audit --only redundant",
    "quota-set": "quota set producer_byte_rate=8MB/s user=team-fair",
    "quota-remove": "quota remove producer_byte_rate user=<default>",
    "config-describe-topic": "config describe topic=orders",
    "config-describe-broker": "config describe broker=1",
    "config-audit": "config audit",
    "plan-log": "plan log",
    "users": "users",
    "cluster": "cluster",
    "doctor": "doctor",
    "help": "--help",
}


@pytest.fixture(scope="module")
def company() -> Iterator[Any]:
    """A local Kafka, filled as a company would."""
    with kn.local.start() as kafka, kafka.connect() as cluster:
        kn.local.seed(cluster)
        yield kafka


@pytest.mark.parametrize("host", HOSTS)
def test_pictures_of_a_notebook(host: str, company: Any, lab: Lab, browser: Any) -> None:
    begin = ("%load_ext kadmin_nb", f"%kadmin use {company.bootstrap}", f"%kquota usage {LOG} --out clients --clients")
    name = f"pictures-{host}.ipynb"
    lab.write(name, ["\n".join(begin), *CELLS.values()])
    page = new_page(browser, WIDTHS[0], TALL)
    notebook = Notebook(page, f"{lab.url}/{HOSTS[host]}/{name}")
    outputs = [notebook.run(number) for number in range(len(CELLS) + 1)][1:]
    PICTURES.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": TALL})
            for scene, output in zip(CELLS, outputs, strict=True):
                output.screenshot(path=PICTURES / f"{scene}-{host}-{width}-{theme}.png")
        notebook.change_theme()
    page.close()
    assert host == "notebook" or not notebook.complaints.errors  # Notebook 7 has errors of its own


def test_pictures_of_a_terminal(company: Any, browser: Any) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for columns in COLUMNS:
        page = new_page(browser, 9 * columns + 40, 400)
        for scene, words in WORDS.items():
            _, lines = in_terminal(columns, [*words.split(), "--cluster", company.bootstrap], colours={})
            page.set_content(_PAGE.format(f"<b>$ kadmin-nb {html.escape(words)}</b>\n{ansi2html(chr(10).join(lines))}"))
            page.screenshot(path=PICTURES / f"{scene}-terminal-{columns}.png", full_page=True)
        page.close()


_PAGE = """<style>
body {{ background: #1e1e1e; color: #d4d4d4; margin: 12px }} pre {{ font: 14px 'DejaVu Sans Mono', monospace }}
.ansi-bold {{ font-weight: bold }} .ansi-red-fg, .ansi-red-intense-fg {{ color: #f47067 }}
.ansi-green-fg, .ansi-green-intense-fg {{ color: #8ddb8c }}
.ansi-yellow-fg, .ansi-yellow-intense-fg {{ color: #f0c674 }}
</style><pre>{}</pre>"""
