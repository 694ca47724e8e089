"""The quota editor in a real JupyterLab over a real Kafka."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.browser.conftest import Open

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def test_a_quota_is_edited_planned_applied_and_verified(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """I want to change a limit like a number in a spreadsheet, and see that the brokers have it."""
    user = unique("alice")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "1MB/s", user=user)
    stage.plan().apply().raise_for_errors()
    notebook = open_notebook(
        [
            f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}",
            "%kquota edit",
        ]
    )
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    page.get_by_placeholder("filter: ").fill(user)
    cell = page.get_by_role("gridcell", name="1 MB/s", exact=True)
    cell.dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("2MB/s")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="2 MB/s was 1 MB/s").wait_for()
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("cell", name="verified").wait_for(timeout=60_000)
    assert cluster.quotas.describe(user=user).to_arrow()["value"].to_pylist() == [2e6]
    table = page.get_by_role("grid", name="Quotas")
    table.get_by_role("gridcell", name="2 MB/s", exact=True).wait_for()  # read again, and no longer staged
    page.get_by_role("button", name="Staged 0").wait_for()


def test_what_an_edit_means_stands_beside_it_and_a_new_entity_is_a_row(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """I want to know what a limit will do before I plan it, and to add a client that has none yet."""
    user, other = unique("alice"), unique("bob")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "1MB/s", user=user)
    stage.plan().apply().raise_for_errors()
    notebook = open_notebook([f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}", "%kquota edit"])
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    page.get_by_placeholder("filter: ").fill(user)
    page.get_by_role("gridcell", name="1 MB/s", exact=True).dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("1,5MB")
    page.keyboard.press("Enter")
    page.get_by_text("is not a number").first.wait_for()
    page.get_by_role("gridcell", name="1,5MB was 1 MB/s").dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    page.get_by_text("one request of 16 KiB would take").first.wait_for()
    page.get_by_role("button", name="Staged 1").wait_for()
    page.get_by_label("add").fill(f"user={other} client-id=<default>")
    page.keyboard.press("Enter")
    added = page.get_by_role("row").filter(has_text=f"user={other} client-id=<default>")
    added.locator(".kg-active").wait_for()  # the focus is in the row a moment after it is drawn
    page.keyboard.type("3MB/s")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="3 MB/s was not set").wait_for()
    page.keyboard.press("ArrowUp")
    page.get_by_text(f"user={other} client-id=<default>, producer: 3 MB/s").wait_for()
    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("gridcell", name="3 MB/s was not set").wait_for(state="detached")
    page.set_viewport_size({"width": 600, "height": 900})
    page.get_by_role("rowheader", name=f"user={user}").click()
    page.keyboard.press("ArrowRight")
    cell, table = page.locator(".kg-active").bounding_box(), page.locator(".kg-scroll").first.bounding_box()
    assert table["x"] <= cell["x"] <= cell["x"] + cell["width"] <= table["x"] + table["width"] + 1
    notebook.picture("editor-narrow")


@pytest.mark.long
def test_the_lines_stay_on_the_cell_that_was_typed_until_one_looks_elsewhere(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """I typed a limit and pressed Enter, and what it means was gone: below the table stood the next row."""
    stem = unique("team")
    names = [f"{stem}-{letter}" for letter in "abc"]
    stage = cluster.new_stage()
    for name in names:
        stage.set_quota("producer_byte_rate", "1MB/s", user=name)
    stage.plan().apply().raise_for_errors()
    notebook = open_notebook([f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}", "%kquota edit"])
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    page.get_by_placeholder("filter: ").fill(stem)
    below = page.locator(".kg-line").first
    page.get_by_role("gridcell", name="1 MB/s", exact=True).first.click()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    page.get_by_text("one request of 16 KiB would take").first.wait_for()
    assert page.locator(".kg-row:has(.kg-active)").inner_text().startswith(f"user={names[1]}")
    assert below.inner_text() == f"user={names[0]}, producer: 5 B/s, was 1 MB/s"
    page.keyboard.type("2MB/s")  # the next one: it is judged in its turn
    page.keyboard.press("Enter")
    below.filter(has_text=names[1]).wait_for()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    below.filter(has_text=names[2]).wait_for()
    page.get_by_role("button", name="Discard all").click()
    page.get_by_text("Discarded 2 edits. Undo brings them back.").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Staged 2").wait_for()
    page.locator("input[placeholder^='filter:']").fill(f"{stem}-c")
    page.keyboard.press("Enter")
    page.get_by_text("rows: 1").wait_for()
