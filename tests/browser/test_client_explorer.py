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
