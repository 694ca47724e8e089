"""Every widget as a screen reader meets it: axe-core finds nothing in the editors and the review."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.browser.conftest import Open
from tests.browser.lab import Notebook

pytestmark = [pytest.mark.broker, pytest.mark.slow]

KEY = "producer_byte_rate"
LONG = 90_000


def violations(notebook: Notebook) -> list[tuple[str, str, str]]:
    """The rules that the outputs of the notebook break, each with the element."""
    response = Axe().run(notebook.page, context=".jp-OutputArea-output").response
    return [
        (rule["id"], node["html"][:300], node["failureSummary"][:300])
        for rule in response["violations"]
        for node in rule["nodes"]
    ]


def assert_nothing(notebook: Notebook, name: str) -> None:
    """Nothing is broken in either theme; pictures of both are kept."""
    assert violations(notebook) == []
    for _ in range(2):
        theme = notebook.change_theme()
        notebook.picture(f"{name}-{theme}")
        assert violations(notebook) == []


def opened(open_notebook: Open, kafka: LocalKafka, *cells: str) -> Any:
    """A notebook of these cells, all of them run."""
    notebook = open_notebook([f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}", *cells], height=1400)
    for number in range(len(cells) + 1):
        notebook.run(number)
    return notebook


@pytest.mark.long
def test_the_quota_editor_and_its_remarks(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """My screen reader read the table, and nothing of the boxes and remarks around it."""
    user = unique("alice")
    stage = cluster.new_stage()
    stage.set_quota(KEY, "1MB/s", user=user)
    stage.plan().apply().raise_for_errors()
    notebook = opened(open_notebook, kafka, "%kquota edit")
    page = notebook.page
    page.get_by_placeholder("filter: ").fill(user, timeout=LONG)
    page.get_by_role("gridcell", name="1 MB/s", exact=True).dblclick(timeout=LONG)
    page.keyboard.press("Control+a")
    page.keyboard.type("5 apples")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Staged 1").wait_for(timeout=LONG)
    assert violations(notebook) == []
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    page.get_by_text("one request of 16 KiB would take").first.wait_for(timeout=LONG)
    page.get_by_label("add").wait_for(timeout=LONG)
    assert_nothing(notebook, "quota-editor")


@pytest.mark.long
def test_the_config_editor_and_its_details(kafka: LocalKafka, cluster: kn.Cluster, open_notebook: Open) -> None:
    """The chips of a list were buttons without a name."""
    notebook = opened(open_notebook, kafka, "%kconfig edit broker=1")
    page = notebook.page
    page.get_by_role("combobox").first.wait_for(timeout=LONG)
    page.locator("input[placeholder^='filter:']").fill("log.cleanup.policy")
    page.locator("input[placeholder^='filter:']").press("Enter")
    page.get_by_role("gridcell", name="delete", exact=True).dblclick(timeout=LONG)
    page.get_by_label("add an item").wait_for(timeout=LONG)
    assert violations(notebook) == []
    page.keyboard.type("compact")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="delete,compact was delete").click(timeout=LONG)
    page.get_by_text("Without it: delete").or_(page.get_by_text("Staged: append compact")).first.wait_for(timeout=LONG)
    assert_nothing(notebook, "config-editor")


@pytest.mark.long
def test_the_review_of_a_plan_on_its_way(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """The line that says what came of my click was never read to me."""
    client = unique("app")
    stage = cluster.new_stage()
    stage.set_quota(KEY, "1MB/s", client_id=client)
    stage.plan().apply().raise_for_errors()
    notebook = opened(
        open_notebook, kafka, f"%kquota set {KEY}=5 client-id={client} --reason low", "%kquota plan --review"
    )
    page = notebook.page
    page.get_by_role("button", name="Apply").wait_for(timeout=LONG)
    assert violations(notebook) == []
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("status").get_by_text("must be allowed first").wait_for(timeout=LONG)
    assert_nothing(notebook, "review-danger")
    page.get_by_label("type again").last.fill(f"{KEY} client-id={client}")
    page.get_by_role("button", name="Apply").last.click()
    notebook.wait_for_text("1 verified")
    assert page.get_by_role("status").filter(has_text="1 verified").count() == 1
    assert_nothing(notebook, "review-verified")
