"""The review of a plan in a real JupyterLab over a real Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.widgets.plan_review import REFUSED
from tests.browser.conftest import Open
from tests.browser.lab import Lab
from tests.dangerous_plans import applied
from tests.hostile_names import HOSTILE

pytestmark = [pytest.mark.broker, pytest.mark.slow]

KEY = "producer_byte_rate"
LONG = 120_000


def _click(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).last.click()


@pytest.mark.long
def test_a_line_that_applies_the_plan_shows_in_its_review(
    kafka: LocalKafka, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """I applied the plan by a line; the review above it offered Apply as before."""
    notebook = open_notebook(
        [
            f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}",
            f"who = {unique('app')!r}\n%kquota set {KEY}=2MB/s client-id={{who}}",
            "%kquota plan --review",
            "_ = %kquota apply",
        ]
    )
    for number in range(3):
        notebook.run(number)
    page = notebook.page
    apply = page.get_by_role("button", name="Apply", exact=True)
    apply.wait_for()
    notebook.picture("review-before-a-line")
    notebook.run(3)
    notebook.wait_for_text("1 verified on 1 broker")
    apply.wait_for(state="hidden")
    page.get_by_role("cell", name="verified").wait_for()
    page.get_by_role("button", name="Roll back", exact=True).wait_for()
    notebook.picture("review-applied-by-a-line")


def test_a_danger_is_confirmed_and_taken_back(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """What everybody may send was lifted by one click."""
    client = unique("app")
    stage = cluster.new_stage()
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
    page.get_by_role("button", name="Apply", exact=True).wait_for()
    _click(page, "Allow…")
    page.get_by_label("type again").wait_for()
    _click(page, "Apply")
    notebook.wait_for_text(REFUSED)
    assert notebook.text().count("with no other limit behind it") == 1
    notebook.picture("review-danger")
    page.get_by_label("reason").fill("the default is too low")
    _click(page, "Plan again")
    notebook.wait_for_text("reason: the default is too low")
    _click(page, "Allow…")
    page.get_by_label("type again").last.fill(f"{KEY} client-id=<default>")
    _click(page, "Apply")
    page.get_by_role("cell", name="verified").first.wait_for(timeout=LONG)
    assert cluster.quotas.describe(client_id=kn.DEFAULT, strict=True).to_arrow().num_rows == 0
    notebook.wait_for_text("2 verified")
    notebook.picture("review-verified")
    _click(page, "Roll back")
    notebook.wait_for_text("reason: roll back")
    notebook.picture("review-rollback")
    _click(page, "Apply")
    page.get_by_role("cell", name="verified").first.wait_for(timeout=LONG)
    rows = cluster.quotas.describe(client_id=[kn.DEFAULT, client], strict=True).to_arrow().to_pylist()
    assert [row["value"] for row in rows] == [1e6, 1e6]
    stage.discard()
    stage.remove_quota(KEY, client_id=kn.DEFAULT)
    applied(stage.plan("a test")).raise_for_errors()


@pytest.mark.long
def test_the_value_that_was_meant_is_used_by_a_click(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """It asked whether 5 MB/s were meant, and I had to type the line again."""
    client, other = unique("app"), unique("other")
    load = f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}"
    staged = f"%kquota set {KEY}=5 client-id={client}\n%kquota set {KEY}=7 client-id={other}\n%kquota plan --review"
    notebook = open_notebook([load, staged])
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    page.get_by_role("button", name="Use 5 MB/s", exact=True).click()
    page.get_by_role("button", name="Use 5 MB/s", exact=True).wait_for(state="detached", timeout=LONG)
    page.get_by_role("button", name="Leave out", exact=True).click()
    notebook.wait_for_text("1 to set.")
    notebook.picture("review-corrected")
    _click(page, "Apply")
    page.get_by_role("cell", name="verified").first.wait_for(timeout=LONG)
    rows = cluster.quotas.describe(client_id=[client, other], strict=True).to_arrow().to_pylist()
    assert [(row["client_id"], row["value"]) for row in rows] == [(client, 5e6)]


def test_a_key_typed_again_and_apply_clicked_at_once(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """I typed the key, clicked *Apply*, and for two minutes nothing happened."""
    client = unique("app")
    stage = cluster.new_stage()
    stage.set_quota(KEY, "1MB/s", client_id=client)
    stage.plan().apply().raise_for_errors()
    load = f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}\nimport threading; gate = threading.Event()"
    staged = f"%kquota set {KEY}=5 client-id={client} --reason low\n%kquota plan --review"
    notebook = open_notebook([load, staged, "print('waits'); gate.wait(150)"])
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    _click(page, "Apply")
    page.get_by_role("status").get_by_text(REFUSED).wait_for(timeout=LONG)
    notebook.begin(2)  # the kernel's main thread has no time for messages now
    page.locator(".jp-OutputArea-output").get_by_text("waits").wait_for()
    page.get_by_label("type again").last.fill(f"{KEY} client-id={client}")
    _click(page, "Apply")
    page.get_by_role("cell", name="verified").first.wait_for(timeout=LONG)


MANY = """
import threading
import kadmin_nb as kn
cluster = kn.connect({bootstrap!r})
alter, gate, sent = cluster.port.quotas.alter, threading.Event(), []
def held_back(*words, **options):
    answer = alter(*words, **options)
    if not options.get("validate_only"):
        sent.append(words)
        if len(sent) == 2:  # after the answer: before it, a request has a bound on its time
            gate.wait(600)
    return answer
for number in range({count}):
    cluster.stage.set_quota({key!r}, 1000, user=f"{stem}-{{number}}")
review = cluster.stage.plan().review()
cluster.port.quotas.alter = held_back
"""


@pytest.mark.long
def test_a_large_apply_is_stopped_seen_again_and_carried_on(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], open_notebook: Open
) -> None:
    """I stopped it in the middle, closed the tab, opened it again, and did not know where it was."""
    stem, count = unique("many"), 12_000
    code = MANY.format(bootstrap=kafka.bootstrap, count=count, key=KEY, stem=stem)
    notebook = open_notebook([code, "review", "gate.set(); len(sent)"])
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    _click(page, "Apply")
    notebook.wait_for_text("sent 5,000 of 12,000")
    notebook.picture("review-applying")
    _click(page, "Stop")
    notebook.wait_for_text("stopping after the current request")
    page.keyboard.press("Control+s")
    notebook.wait_for_text("Saving completed")
    page.reload()
    notebook.wait_for_text("stopping after the current request")
    assert notebook.output(2).endswith("2")
    notebook.wait_for_text("Resume continues, Roll back undoes what was done.")
    page.get_by_role("gridcell", name="skipped").first.wait_for(timeout=LONG)  # what is not done stands first
    notebook.picture("review-stopped")
    _click(page, "Resume")
    notebook.wait_for_text("10,000 unchanged, 2,000 verified")
    assert notebook.output(2).endswith("3")
    names = cluster.quotas.describe().to_arrow()["user"].to_pylist()
    assert sum(str(name).startswith(f"{stem}-") for name in names) == count


@pytest.mark.long
def test_two_widgets_over_one_stage_stay_in_step_in_the_dark_and_narrow(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str], lab: Lab, open_notebook: Open
) -> None:
    """I edited in one cell, and applied in another what was no longer all of it."""
    user = unique("alice")
    stage = cluster.new_stage()
    stage.set_quota(KEY, "1MB/s", user=user)
    stage.plan().apply().raise_for_errors()
    code = f"import kadmin_nb as kn\ncluster = kn.connect({kafka.bootstrap!r})\n"
    code += "%load_ext kadmin_nb\n%kadmin use {cluster}"
    names = [name for name in HOSTILE if "\x00" not in name]
    code += f"\nfor name in {names!r}:\n    cluster.stage.set_quota({KEY!r}, 1000, user=name)"
    lab.set_theme("Dark")
    try:
        notebook = open_notebook([code, "%kquota plan --review", "%kquota edit"])
    finally:
        lab.set_theme("Light")
    page = notebook.page
    for number in range(3):
        notebook.run(number)
    page.keyboard.press("Control+b")  # without the list of files
    page.set_viewport_size({"width": 600, "height": 900})
    page.get_by_placeholder("filter: ").fill(user)
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="1 MB/s", exact=True).dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("2MB/s")
    page.keyboard.press("Enter")
    notebook.wait_for_text("The staged changes differ from this plan")
    page.get_by_role("button", name="Plan again").click()
    page.get_by_role("button", name="Back to plan").wait_for(timeout=LONG)
    notebook.picture("review-narrow-dark")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text(f"{len(names) + 1} verified").wait_for(timeout=LONG)
    notebook.picture("review-narrow-dark-verified")
    page.get_by_role("gridcell", name="2 MB/s", exact=True).first.wait_for(timeout=LONG)
    stage.discard()
    for name in names:
        stage.remove_quota(KEY, user=name)
    stage.plan("a test").apply().raise_for_errors()
