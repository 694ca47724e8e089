"""The client explorer in a real JupyterLab over a real Kafka."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.browser.conftest import Open

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def test_a_client_is_picked_in_the_hierarchy(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """I want to click through levels and clients, and see at each what binds it."""
    user = unique("alice")
    stage = cluster.stage()
    stage.set_quota("producer_byte_rate", "1MB/s", user=user, client_id="app")
    stage.set_quota("producer_byte_rate", "2MB/s", user=user)
    stage.plan().apply().raise_for_errors()
    notebook = open_notebook([f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}", f"%kquota explore user={user}"])
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    page.get_by_role("cell", name="2 MB/s, applies").wait_for()
    tree = page.get_by_role("treegrid", name="Hierarchy of quotas")
    root = tree.get_by_role("rowheader", name=f"user={user}", exact=True)
    child = tree.get_by_role("rowheader", name=f"user={user} client-id=app")
    child.click()
    page.get_by_role("cell", name="1 MB/s, applies").wait_for()
    page.get_by_role("cell", name="2 MB/s, overridden").wait_for()
    notebook.picture("explorer")
    root.click()
    page.keyboard.press("ArrowLeft")
    child.wait_for(state="detached")
    assert tree.get_by_role("row", expanded=False).count() == 1
    page.keyboard.press("Enter")
    child.wait_for()


def test_a_tall_tree_scrolls_to_its_client_and_marks_it(open_notebook: Open) -> None:
    """I typed my client, and the tree still showed the letter a."""
    explorer = "from tests.widgets.every_widget import explorer; explorer(*(f'u{n:03}' for n in range(300)))"
    notebook = open_notebook([explorer])
    notebook.run(0)
    page = notebook.page
    page.get_by_role("combobox", name="user").or_(page.get_by_label("user", exact=True)).first.fill("u250")
    page.keyboard.press("Enter")
    row = page.get_by_role("treegrid").get_by_role("rowheader", name="user=u250")
    row.wait_for()
    assert "kg-chosen" in row.get_attribute("class")
    tree, place = page.locator(".kg-scroll").bounding_box(), row.bounding_box()
    assert tree["y"] < place["y"] < tree["y"] + tree["height"] - place["height"]
    notebook.picture("tall-tree")
