"""The config editor in a real JupyterLab over a real Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.browser.conftest import Open
from tests.browser.lab import Lab
from tests.dangerous_plans import applied

pytestmark = [pytest.mark.broker, pytest.mark.slow]

SECRET = "canary-of-a-keystore"


@pytest.fixture
def topic(cluster: kn.Cluster, kafka: LocalKafka, unique: Callable[[str], str]) -> Iterator[str]:
    """A topic with a retention of its own."""
    from confluent_kafka.admin import AdminClient, NewTopic

    name = unique("orders")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(name, 1)])[name].result()
    stage = cluster.new_stage()
    stage.set_config("retention.ms", "1d", topic=name)
    stage.set_config("max.message.bytes", "2MiB", topic=name)
    applied(stage.plan("test")).raise_for_errors()
    yield name
    cluster.new_stage().discard()


def value_of(page: Any, key: str) -> Any:
    """The cell of a key's value."""
    named = [page.get_by_role(role, name=key, exact=True) for role in ("rowheader", "gridcell")]
    return page.get_by_role("row").filter(has=named[0].or_(named[1])).locator(".kg-cell[aria-readonly]")


def values(cluster: kn.Cluster, topic: str, *keys: str) -> dict[str, str]:
    table = cluster.configs.describe(topic=topic, keys=keys).to_arrow()
    return dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))


def test_configs_are_edited_by_their_types_planned_applied_and_verified(
    kafka: LocalKafka, cluster: kn.Cluster, topic: str, open_notebook: Open
) -> None:
    """I want to change a policy, a switch and a retention without knowing how Kafka writes them."""
    notebook = open_notebook(
        [f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}", f"%kconfig edit topic={topic}"], height=1500
    )
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    value_of(page, "retention.ms").dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("7d")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="604800000 (7 d) was 86400000 (1 d)").wait_for()
    value_of(page, "max.message.bytes").click()
    page.keyboard.press("Delete")
    page.get_by_role("gridcell", name="1048588 (about 1 MiB) was 2097152 (2 MiB)").wait_for()
    value_of(page, "cleanup.policy").dblclick()
    page.keyboard.type("delete,compact")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="delete,compact was delete").wait_for()
    notebook.picture("config-editor-staged")
    page.locator("input[placeholder^='filter:']").fill("preallocate")
    page.locator("input[placeholder^='filter:']").press("Enter")
    value_of(page, "preallocate").dblclick()
    page.get_by_label(f"value of topic={topic} preallocate").select_option("true")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="true was false").wait_for()
    notebook.picture("config-editor-all-staged")
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("cell", name="verified").nth(3).wait_for(timeout=60_000)
    assert values(cluster, topic, "retention.ms", "max.message.bytes", "cleanup.policy", "preallocate") == {
        "retention.ms": "604800000",
        "max.message.bytes": "1048588",
        "cleanup.policy": "delete,compact",
        "preallocate": "true",
    }


def test_a_secret_is_set_by_reference_and_never_shown(
    kafka: LocalKafka, cluster: kn.Cluster, lab: Lab, open_notebook: Open
) -> None:
    """I typed a password into the table of a broker, and it was in the page, and in the file of the notebook."""
    lab.set_theme("Dark")
    notebook = open_notebook(
        [f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}", "%kconfig edit broker=1 broker=<default>"]
    )
    lab.set_theme("Light")
    page = notebook.page
    page.keyboard.press("Control+b")  # without the list of files, as one works on a narrow page
    page.set_viewport_size({"width": 600, "height": 900})
    notebook.run(0)
    notebook.run(1)
    page.locator("input[placeholder^='filter:']").fill("broker=1 ssl.keystore.password")
    page.locator("input[placeholder^='filter:']").press("Enter")
    page.get_by_role("gridcell", name="ssl.keystore.password").wait_for()
    value_of(page, "ssl.keystore.password").dblclick()
    page.keyboard.type(SECRET)
    page.keyboard.press("Enter")
    page.get_by_text("what was typed is not kept").first.wait_for()
    notebook.picture("config-editor-secret-dark-600")
    assert SECRET not in page.content()
    value_of(page, "ssl.keystore.password").dblclick()
    page.keyboard.type("env:KEYSTORE")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="env:KEYSTORE").wait_for()
    page.locator("input[placeholder^='filter:']").fill("broker=1 node.id")
    page.locator("input[placeholder^='filter:']").press("Enter")
    page.get_by_role("gridcell", name="node.id").wait_for()
    value_of(page, "node.id").dblclick()
    page.get_by_text("value of broker=1 node.id cannot be edited: read-only").wait_for()
    notebook.picture("config-editor-locked-dark-600")
    page.keyboard.press("Control+s")
    page.get_by_role("button", name="Discard all").click()
    page.get_by_role("button", name="Staged 0").wait_for()
    assert SECRET not in page.content()
    assert not any(SECRET in path.read_text() for path in lab.home.glob("*.ipynb"))


def test_hostile_names_and_values_are_text(open_notebook: Open) -> None:
    """A config's value was `<img src=x onerror=…>`, and whoever looked at the table ran it."""
    make = "from tests.hostile_names import HOSTILE\nfrom tests.widgets.every_widget import hostile_configs"
    notebook = open_notebook([make, "hostile_configs(*HOSTILE)"], height=1400)
    page = notebook.page
    page.on("dialog", lambda dialog: notebook.complaints.errors.append(dialog.message))
    page.keyboard.press("Control+b")  # without the list of files, as one works on a narrow page
    notebook.run(0)
    notebook.run(1)
    table = page.get_by_role("grid", name="Configs")
    names = table.get_by_role("gridcell", name="compression.type", exact=True)
    names.first.wait_for(timeout=90_000)
    names.first.click()
    for _ in range(4):
        page.keyboard.press("PageDown")
        page.locator(".kg-line", has_text="compression.type: ").first.wait_for(timeout=90_000)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("F2")
    page.keyboard.press("Escape")
    assert page.locator(".jp-OutputArea :is(script, img, iframe, b)").count() == 0
    page.set_viewport_size({"width": 600, "height": 900})
    page.keyboard.press("ArrowLeft")
    key, scroller = page.locator(".kg-active").bounding_box(), page.locator(".kg-scroll").first.bounding_box()
    assert scroller["x"] <= key["x"] <= key["x"] + key["width"] <= scroller["x"] + scroller["width"] + 1
    for _ in range(2):
        page.set_viewport_size({"width": 1280, "height": 900})  # the menu needs more room than the table
        theme = notebook.change_theme()
        page.set_viewport_size({"width": 600, "height": 900})
        notebook.picture(f"config-editor-hostile-{theme}-600")
