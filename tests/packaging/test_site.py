"""The site: every page is there, with its Markdown and without the network; its search answers questions."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser.presence import chromium
from tests.terminal.test_twenty_questions import QUESTIONS

ROOT = Path(__file__).parents[2]
SITE = ROOT / "out" / "site"
MAKER = str(ROOT / "docs" / "build_site.py")

pytestmark = pytest.mark.slow

ANSWERED = {
    "which limit applies to my client, and why": "why-limited",
    "am I throttled, and how often": "slow",
    "what would lift it": "lift-a-limit",
    "which limits are stored": "stored-quotas",
    "which limits can never apply": "audit-quotas",
    "which limits repeat what would hold anyway": "audit-quotas",
    "who has no limit": "audit-quotas",
    "which client-ids are junk": "audit-quotas",
    "who is near the limit": "who-uses",
    "who uses most": "who-uses",
    "which limits are too low or far too high": "reports",
    "who are the clients at all": "who-uses",
    "who blocks the upgrade to kafka 4": "upgrade",
    "which clients are too old": "upgrade",
    "may I": "permissions",
    "one limit for many clients": "many-clients",
    "is this a slip": "typing-mistakes",
    "what is set on my topic, and where does it come from": "topic-configs",
    "what does a reset fall back to": "topic-configs",
    "what is wrong in the configs": "wrong-configs",
    "what changed since then": "what-changed",
    "what differs from then": "what-changed",
    "what was done, and who did it": "what-changed",
    "which clients would my change touch": "impact",
    "how do I take it back": "undo",
    "which quota applies to my client": "why-limited",
    "raise the limit of one client": "lift-a-limit",
    "quota has no effect": "audit-quotas",
    "do I have permission": "permissions",
    "set quota for many users": "many-clients",
    "reset topic config to default": "topic-configs",
    "renew a certificate without a restart": "renew-a-certificate",
    "compare two clusters": "what-changed",
    "undo a change": "undo",
    "temporary quota": "undo",
    "replace kafka-configs.sh": "kafka-configs",
    "daily report": "daily-audit",
    "get an alert": "alert",
    "grafana dashboard": "alert",
    "export quotas to prometheus": "alert",
    "job on databricks": "databricks-job",
}
"""The questions as people write them, and the page of docs/how-to that answers each."""

WORDS = {
    "which brokers differ": "wrong-configs",
    "rollback": "undo",
    "cost per team": "reports",
    "offline install": "offline",
    "proxy": "offline",
    "shadowed": "audit-quotas",
}
"""Words that people type, and the page of docs/how-to that is among the first two hits."""


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, as `make docs` builds it."""
    done = subprocess.run([sys.executable, MAKER], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return SITE


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def page(site: Path) -> Iterator[Any]:
    """A page of Chromium whose addresses begin in the site; the tests fail where one complained or looked elsewhere."""
    from playwright.sync_api import sync_playwright

    program, complaints = chromium(), list[str]()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = browser.new_context(base_url=base, viewport={"width": 1400, "height": 1000}).new_page()
        opened.set_default_timeout(60_000)
        opened.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        opened.on("request", lambda asked: asked.url.startswith(base) or complaints.append(asked.url))
        yield opened
        browser.close()
    server.shutdown()
    assert complaints == []


def test_the_site_is_built_without_the_network(site: Path) -> None:
    """The page loaded its fonts from elsewhere, and half of the notebooks were missing."""
    makers = runpy.run_path(MAKER, run_name="build_site")
    pages = [makers["place_of"](source).with_suffix("") for source in makers["sources"]()]
    folders = [site / page if page.name != "index" else site / page.parent for page in pages]
    assert [folder for folder in folders if not (folder / "index.html").exists()] == []
    assert [folder for folder in folders if not (folder / "index.md").exists()] == []
    assert (site / "llms.txt").read_text().count("\n- [") == len(pages)
    loads = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?https?://""")
    assert [folder for folder in folders if loads.search((folder / "index.html").read_text())] == []


def test_every_page_is_in_the_navigation() -> None:
    """I wrote a page, and nobody found it."""
    makers = runpy.run_path(MAKER, run_name="build_site")
    navigation = (ROOT / "mkdocs.yml").read_text()
    places = [str(makers["place_of"](source)) for source in makers["sources"]()]
    assert [place for place in places if f": {place}\n" not in navigation] == []


@pytest.mark.long
def test_the_search_answers_questions(page: Any) -> None:
    """I typed my question, and the first hit was the changelog."""
    assert set(QUESTIONS) <= set(ANSWERED)
    page.goto("")
    page.wait_for_load_state("networkidle")
    box = page.locator("input[role=combobox]")
    for _ in range(20):  # the key is heard once the search is loaded
        page.keyboard.press("Control+k")
        if box.count():
            break
        page.wait_for_timeout(500)
    first = {question: _hits(page, box, question)[0] for question in ANSWERED}
    assert {question: hit for question, hit in first.items() if hit != f"/how-to/{ANSWERED[question]}/"} == {}
    found = {words: _hits(page, box, words)[:2] for words in WORDS}
    assert {words: hits for words, hits in found.items() if f"/how-to/{WORDS[words]}/" not in hits} == {}
    _hits(page, box, "job on databricks")
    page.locator("[role=listbox] a").first.click()
    page.wait_for_url("**/how-to/databricks-job/**")


def _hits(page: Any, box: Any, question: str) -> list[str]:
    """The paths of the hits, the best first."""
    hits = page.locator("[role=listbox] a")
    box.fill("")
    hits.first.wait_for(state="detached")
    box.fill(question)
    hits.first.wait_for()
    return [re.sub(r"^\w+://[^/]+|[?#].*$", "", hit.get_attribute("href")) for hit in hits.all()]


@pytest.mark.parametrize("place", ["", "explanation/how-quotas-resolve/"])
def test_the_form_resolves_in_the_page(page: Any, place: str) -> None:
    """I typed my quotas, and the table below stayed as it was."""
    page.goto(place)
    cells = page.locator("#resolved tbody tr").first.locator("td")
    assert cells.all_inner_texts()[:3] == ["producer_byte_rate", "5 MB/s", "default client of user"]
    page.locator("[name=client]").fill("")
    assert cells.all_inner_texts()[:3] == ["producer_byte_rate", "20 MB/s", "user"]
    page.locator("[name=quotas]").fill("user=alice producer_byte_rat=5")
    assert page.locator("#resolved").inner_text() == "unknown word producer_byte_rat=5"
    page.locator("[name=quotas]").fill("user=<b>x</b> producer_byte_rate=5kB")
    page.locator("[name=user]").fill("<b>x</b>")
    assert cells.all_inner_texts()[:3] == ["producer_byte_rate", "5 kB/s", "user"]


def test_no_page_scrolls_sideways(page: Any) -> None:
    """On my laptop half of the table was off the screen."""
    page.set_viewport_size({"width": 1000, "height": 1000})
    wide = []
    for name in ("", "tutorial/", "how-to/impact/", "reference/cli/", "plans/"):
        page.goto(name)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(name)
    assert wide == []


def test_an_anchor_that_leads_nowhere_fails(tmp_path: Path) -> None:
    """The link led to the top of the page, as its section had another name."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: x\n")
    (tmp_path / "docs" / "index.md").write_text("# One\n\n[two](other.md#two)\n")
    (tmp_path / "docs" / "other.md").write_text("# Other\n\n## Three\n")
    zensical = [
        str(Path(sys.executable).with_name("zensical")),
        "build",
        "--strict",
        "-f",
        str(tmp_path / "mkdocs.yml"),
    ]
    done = subprocess.run(zensical, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0
    assert "anchor does not exist" in done.stdout + done.stderr


def test_a_page_that_was_not_run_says_so(tmp_path: Path) -> None:
    """`make docs` refused a fresh clone; and once the site showed what a command printed in the spring."""
    makers = runpy.run_path(MAKER, run_name="build_site")
    page = tmp_path / "page.md"
    page.write_text("# A page\n\nWords.\n\n```console\n$ kadmin-nb version\n1\n```\n")
    before = makers["digest_of"](page)
    page.write_text(page.read_text().replace("Words", "Other words"))
    assert makers["digest_of"](page) == before
    page.write_text(page.read_text().replace("\n1\n", "\n2\n"))
    assert makers["digest_of"](page) != before
    assert makers["text_of"](page, is_checked=True) == page.read_text()
    assert makers["text_of"](page, is_checked=False).endswith("`make docs-check` did not run them for this site.*\n")
