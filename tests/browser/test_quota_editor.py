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
    stage = cluster.stage()
    stage.set_quota("producer_byte_rate", "1MB/s", user=user)
    stage.plan().apply().raise_for_errors()
    notebook = open_notebook(
        [
            f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}",
            f"%kquota edit user={user}",
        ]
    )
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    cell = page.get_by_role("gridcell", name="1 MB/s")
    cell.dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("2MB/s")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="2 MB/s was 1 MB/s").wait_for()
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("gridcell", name="verified").wait_for(timeout=60_000)
    assert cluster.quotas.describe(user=user).to_arrow()["value"].to_pylist() == [2e6]
