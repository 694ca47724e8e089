"""The review of a plan in a real JupyterLab over a real Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.browser.conftest import Open

pytestmark = [pytest.mark.broker, pytest.mark.slow]

KEY = "producer_byte_rate"
LONG = 60_000


def _click(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).last.click()


def test_a_danger_is_confirmed_and_taken_back(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """What everybody may send was lifted by one click."""
    client = unique("app")
    stage = cluster.stage()
    stage.set_quota(KEY, "1MB/s", client_id=kn.DEFAULT)
    stage.set_quota(KEY, "1MB/s", client_id=client)
    stage.plan().apply().raise_for_errors()
    notebook = open_notebook(
        [
            f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}",
            f"%kquota remove {KEY} client-id=<default>\n%kquota set {KEY}=2MB/s client-id={client}",
            "%kquota plan --review",
        ]
    )
    for number in range(3):
        notebook.run(number)
    page = notebook.page
    page.get_by_role("gridcell", name="not set").wait_for()
    _click(page, "Apply")
    page.get_by_text("again lets it through, with a reason").wait_for(timeout=LONG)
    notebook.picture("review-danger")
    page.get_by_label("reason").fill("the default is too low")
    _click(page, "Plan again")
    page.get_by_text("because the default is too low").wait_for(timeout=LONG)
    page.get_by_label("type again").last.fill(KEY)
    _click(page, "Apply")
    page.get_by_role("gridcell", name="verified").first.wait_for(timeout=LONG)
    assert cluster.quotas.describe(client_id=kn.DEFAULT, strict=True).to_arrow().num_rows == 0
    page.get_by_text("2 verified").wait_for(timeout=LONG)
    notebook.picture("review-verified")
    _click(page, "Roll back")
    page.get_by_text("because roll back").wait_for(timeout=LONG)
    notebook.picture("review-rollback")
    _click(page, "Apply")
    page.get_by_role("gridcell", name="verified").first.wait_for(timeout=LONG)
    rows = cluster.quotas.describe(client_id=[kn.DEFAULT, client]).to_arrow().to_pylist()
    assert [row["value"] for row in rows] == [1e6, 1e6]
    stage.discard()
    stage.remove_quota(KEY, client_id=kn.DEFAULT)
    stage.plan("a test").apply(allow=KEY).raise_for_errors()
