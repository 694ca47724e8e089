"""The grid in a real JupyterLab: keys, scrolling, the kernel's end, accessibility."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.frames import EVERY, MANY
from tests.browser.lab import Lab, Notebook
from tests.hostile_names import HOSTILE
from tests.waiting import eventually

pytestmark = pytest.mark.slow


def opened(open_notebook: Open, rows: str, **size: Any) -> Notebook:
    """A notebook with an editor over a frame; its third cell prints what is staged."""
    staged = (
        "from kadmin_nb.plans.stage import edits_of\n"
        "print(sorted((str(edit.resource), edit.value) for edit in edits_of(stage).staged().values()))"
    )
    notebook = open_notebook([MANY, f"editor({rows})", staged], **size)
    notebook.run(0)
    notebook.run(1)
    notebook.page.locator(".kadmin-grid [role=rowheader]").first.wait_for()
    return notebook


def test_keys_belong_to_the_grid_and_not_to_the_notebook(open_notebook: Open) -> None:
    """I typed dd into a cell of the table, and JupyterLab deleted the cell of my notebook."""
    notebook = opened(open_notebook, "numbered(50)")
    page = notebook.page
    page.get_by_role("gridcell", name="1 MB/s", exact=True).click()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("F2")
    page.keyboard.press("Control+a")
    page.keyboard.type("7MB/s")
    page.keyboard.press("Escape")
    page.keyboard.type("dd")
    page.keyboard.press("Escape")
    page.keyboard.type("3MB/s")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="3 MB/s was 1.002 MB/s").wait_for()
    page.keyboard.press("Control+z")
    page.get_by_role("gridcell", name="1.002 MB/s", exact=True).wait_for()
    page.keyboard.press("Control+y")
    page.get_by_role("gridcell", name="3 MB/s was 1.002 MB/s").wait_for()
    assert page.locator(".jp-Notebook .jp-CodeCell").count() == 3
    assert notebook.output(2).endswith("[('user=u0000002', '3000000')]")


def test_letters_are_keys_only_where_nothing_is_typed(open_notebook: Open) -> None:
    """I went to the filter, to Plan and to Undo by the mouse, for each of forty edits; a letter must not eat a text."""
    notebook = open_notebook([MANY, "editor(numbered(50))"])
    notebook.run(0)
    notebook.run(1)
    page, keyboard = notebook.page, notebook.page.keyboard
    page.get_by_role("gridcell", name="1.002 MB/s", exact=True).click()
    keyboard.type("3MB/s")
    keyboard.press("Enter")
    edited = page.get_by_role("gridcell", name="3 MB/s was 1.002 MB/s")
    edited.wait_for()
    keyboard.press("u")
    edited.wait_for(state="detached")
    keyboard.press("Shift+U")
    edited.wait_for()
    keyboard.press("p")
    page.locator(".kg-status", has_text="no cluster is here").wait_for()  # *Plan* was pressed
    keyboard.press("Shift+?")
    said = page.locator(".kg-line").all_inner_texts()
    assert said[0].startswith("Enter or F2 edit · / filter · u undo · U redo · p plan · ")
    keyboard.press("ArrowDown")
    eventually(lambda: page.locator(".kg-line").first.inner_text(), "user=u0000004, producer: 1.004 MB/s")
    keyboard.press("F2")
    keyboard.press("Control+a")
    keyboard.type("up/?")  # into the editor of a cell
    assert page.locator(".kg-editor").input_value() == "up/?"
    keyboard.press("Escape")
    keyboard.press("/")
    keyboard.type("u0000042")
    page.get_by_text("rows: 1").wait_for()
    assert page.locator("input[placeholder^='filter:']").input_value() == "u0000042"


@pytest.mark.long
def test_a_value_of_a_config_may_begin_with_any_letter(open_notebook: Open) -> None:
    """I typed *producer* over the value of a config, and my plan opened."""
    notebook = open_notebook([EVERY[0], "hostile_configs('gzip')"])
    notebook.run(0)
    notebook.run(1)
    page, keyboard = notebook.page, notebook.page.keyboard
    page.get_by_role("row").filter(has_text="leader.replication.throttled.replicas").locator(
        "[aria-colindex='2']"
    ).click()
    keyboard.type("up")
    keyboard.press("Enter")
    keyboard.press("Enter")
    page.get_by_role("gridcell", name="up was not set").wait_for()


@pytest.mark.long
def test_four_keys_are_in_sight_beside_the_list_of_files(open_notebook: Open) -> None:
    """At 1000 pixels I saw two limits of a client, and scrolled for each of the others."""
    notebook = opened(open_notebook, SEEDED, width=1000)
    page = notebook.page
    page.get_by_role("button", name="more keys (4)").click()
    page.get_by_role("gridcell", name="1.001 MB/s", exact=True).click()
    keyboard = page.keyboard
    keyboard.type("3MB/s")
    keyboard.press("Enter")
    page.get_by_role("gridcell", name="3 MB/s was 1.001 MB/s").wait_for()
    box = page.locator(".kg-scroll").bounding_box()
    right = box["x"] + box["width"]
    heads = {head.inner_text(): head.bounding_box() for head in page.get_by_role("columnheader").all()}
    in_sight = [name for name, place in heads.items() if place["x"] + place["width"] <= right + 1]
    assert in_sight == ["who", "producer", "consumer", "request %", "mutations"]
    assert page.get_by_role("rowheader").first.inner_text() == "user=CN=a…T=Berlin"
    assert page.get_by_role("rowheader", name="user=team-07").inner_text() == "user=team-07"


@pytest.mark.long
def test_a_million_rows_scroll_to_their_end(open_notebook: Open) -> None:
    """Browsers limit the height of an element, and the last rows could not be reached."""
    notebook = opened(open_notebook, "numbered(1_000_000)")
    page = notebook.page
    page.locator(".kadmin-grid [role=gridcell]").first.click()
    page.keyboard.press("Control+End")
    page.get_by_role("rowheader", name="user=u0999999").wait_for()
    page.keyboard.press("Control+Home")
    page.get_by_role("rowheader", name="user=u0000000").wait_for()
    page.locator(".kg-scroll").evaluate("scroller => { scroller.scrollTop = scroller.scrollHeight / 2 }")
    page.locator(".kadmin-grid [role=rowheader]", has_text="user=u0500").first.wait_for()


@pytest.mark.parametrize("rows", [pytest.param("numbered(50)", marks=pytest.mark.long), "numbered(1_000_000)"])
def test_a_click_lands_on_the_row_that_was_just_scrolled_to(open_notebook: Open, rows: str) -> None:
    """The machine was busy, and the rows moved on after I had scrolled: I clicked one limit and set another."""
    notebook = opened(open_notebook, rows, width=800)
    page = notebook.page
    cell = page.get_by_role("gridcell", name="1.006 MB/s")
    at_once = cell.evaluate(SCROLLED_TO)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    later = cell.bounding_box()
    assert at_once == [later["x"], later["y"], True]
    page.mouse.click(later["x"] + 8, later["y"] + 8)
    assert page.locator(".kg-active").inner_text() == "1.006 MB/s"


SCROLLED_TO = """cell => {
  cell.scrollIntoView({ block: "start" });
  const { x, y } = cell.getBoundingClientRect();
  return [x, y, document.elementFromPoint(x + 8, y + 8) === cell];
}"""
"""Where a cell is right after it was scrolled to, before anything is drawn, and whether a click there is on it."""


@pytest.mark.long
@pytest.mark.parametrize("rows", [pytest.param("numbered(50)", marks=pytest.mark.long), "numbered(1_000_000)"])
def test_an_editor_stays_on_its_cell_while_the_table_scrolls(open_notebook: Open, rows: str) -> None:
    """I scrolled to compare two limits, and what I was typing stood on the row of somebody else."""
    notebook = opened(open_notebook, rows)
    page = notebook.page
    cell = page.get_by_role("gridcell", name="1.006 MB/s")
    cell.dblclick()
    before = cell.bounding_box()["y"]
    page.mouse.wheel(0, 84)
    eventually(lambda: before - cell.bounding_box()["y"], 84)
    assert page.locator(".kg-editor").bounding_box()["y"] == before - 84


def test_names_are_text_and_never_markup(open_notebook: Open) -> None:
    """A client called itself <script>, and everybody who looked at the quotas ran it."""
    notebook = opened(open_notebook, f"quotas({[*HOSTILE]!r})", height=1400)
    page = notebook.page
    page.locator(".kadmin-grid [role=rowheader]").first.click()
    for _ in range(14):
        page.keyboard.press("PageDown")
    assert (
        page.evaluate("document.querySelectorAll('.kadmin-grid img, .kadmin-grid script, .kadmin-grid b').length") == 0
    )
    assert page.evaluate("window.alerted") is None


@pytest.mark.long
def test_the_table_of_a_dead_kernel_says_so(open_notebook: Open) -> None:
    """I restarted the kernel, typed into the table, and nothing happened."""
    notebook = opened(open_notebook, "numbered(50)")
    page = notebook.page
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Restart Kernel…").click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    page.locator(".kg-status", has_text="run the cell again.").wait_for()
    page.evaluate("document.querySelectorAll('.jp-InputPrompt').forEach(prompt => { prompt.innerText = '' })")
    notebook.run(0)
    notebook.run(1)
    page.get_by_role("gridcell", name="1 MB/s", exact=True).wait_for()


@pytest.mark.long
def test_a_saved_notebook_shows_the_table_without_a_kernel(open_notebook: Open, lab: Lab) -> None:
    """I opened yesterday's notebook, and it said: Error displaying widget: model not found."""
    notebook = opened(open_notebook, "numbered(50)")
    page = notebook.page
    page.keyboard.press("Escape")
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1500)
    saved = next(lab.home.glob("test_a_saved_notebook*.ipynb"))
    document = json.loads(saved.read_text())
    assert "widgets" not in document["metadata"]
    (lab.home / "yesterday.ipynb").write_text(json.dumps(document))
    again = Notebook(page.context.new_page(), f"{lab.url}/lab/tree/yesterday.ipynb?reset")
    again.page.get_by_text("user=u0000007").first.wait_for()
    assert again.page.get_by_text("model not found").filter(visible=True).count() == 0
    again.picture("yesterday")


@pytest.mark.long
def test_a_page_that_is_opened_again_shows_the_live_tables_alone(open_notebook: Open) -> None:
    """After a reload each table stood there twice: above as it was saved, and I read that plan as one never applied."""
    notebook = open_notebook([*EVERY, "panel = quota_editor('carol'); panel", "panel"], height=2000)
    for number in range(len(EVERY) + 2):
        notebook.run(number)
    page = notebook.page
    page.get_by_role("button", name="Plan again").click()  # its table is another one from now on
    page.get_by_role("button", name="Back to plan").wait_for()
    page.keyboard.press("Control+s")
    notebook.wait_for_text("Saving completed")
    page.reload()
    page.get_by_role("button", name="Back to plan").wait_for()
    grids = len(EVERY)  # a plan of two rows has none
    page.wait_for_function("count => document.querySelectorAll('.kadmin-grid').length === count", arg=grids)
    saved = page.locator(".kadmin-static")
    assert (saved.count(), saved.filter(visible=True).count()) == (len(EVERY) + 1, 0)
    saved.first.evaluate("table => { table.outerHTML = table.outerHTML }")  # a slow Lab draws it after the live one
    assert saved.filter(visible=True).count() == 0
    notebook.picture("opened-again")


def test_axe_finds_nothing(open_notebook: Open) -> None:
    """A colleague who uses a screen reader could not tell rows from columns."""
    from axe_playwright_python.sync_playwright import Axe

    notebook = opened(open_notebook, "numbered(50)", width=1280)
    page = notebook.page
    page.get_by_role("gridcell", name="1 MB/s", exact=True).dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("5 apples")
    page.keyboard.press("Enter")
    page.locator(".kg-refused").wait_for()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    page.locator(".kg-danger").wait_for()
    for theme in ("light", "dark"):
        notebook.picture(f"grid-{theme}")
        found = Axe().run(page, context=".kadmin-grid")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found.response["violations"]] == [], theme
        notebook.change_theme()


@pytest.mark.long
def test_who_stays_in_view_where_the_limits_are_scrolled(open_notebook: Open) -> None:
    """Beside the list of files the table is narrow: I scrolled to a limit, and could not see whose it is."""
    notebook = opened(open_notebook, "numbered(50)", width=800)
    page = notebook.page
    who = page.get_by_role("rowheader", name="user=u0000003")
    left = who.bounding_box()["x"]
    page.get_by_role("gridcell", name="1.003 MB/s").click()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    scroller = page.locator(".kg-scroll")
    for _ in range(30):
        page.keyboard.press("Alt+ArrowRight")  # a column that is wider than the page
    assert scroller.evaluate("scroller => { scroller.scrollLeft = 200; return scroller.scrollLeft }") > 50
    notebook.picture("narrow-grid")
    assert who.bounding_box()["x"] == left
    beside_names = page.locator(".kg-head").evaluate("head => getComputedStyle(head).backgroundColor")
    assert beside_names == "rgb(255, 255, 255)"  # a row that is scrolled below them is not seen there


@pytest.mark.long
def test_a_column_is_as_wide_as_one_drags_it(open_notebook: Open) -> None:
    """The name was longer than its column, and nothing could be done about it."""
    notebook = opened(open_notebook, "numbered(50)", width=1400)
    page = notebook.page
    head = page.get_by_role("columnheader", name="producer")
    place, before = head.locator(".kg-grip").bounding_box(), head.bounding_box()["width"]
    page.mouse.move(place["x"] + 3, place["y"] + 10)
    page.mouse.down()
    page.mouse.move(place["x"] + 83, place["y"] + 10, steps=4)
    page.mouse.up()
    assert abs(head.bounding_box()["width"] - before - 80) < 2
    cells = page.get_by_role("gridcell", name="1.003 MB/s")
    assert cells.bounding_box()["width"] == head.bounding_box()["width"]
    head.locator(".kg-grip").dblclick()
    assert head.bounding_box()["width"] == before


SEEDED = """quotas(["CN=app-of-a-long-name,OU=Team,O=Shop,C=DE,ST=Berlin", *(f"team-{n:02}" for n in range(30))])"""


def test_a_row_is_one_line_and_twenty_are_in_sight(open_notebook: Open) -> None:
    """Beside the list of files each row took three lines, and of thirty teams I saw two."""
    notebook = opened(open_notebook, SEEDED, width=1400)
    page = notebook.page
    box = page.locator(".kg-scroll").bounding_box()
    for width in (1400, 1000, 700):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(300)
        heights = {row.bounding_box()["height"] for row in page.locator(".kg-row:not(.kg-head)").all()}
        assert heights == {26}, width
        assert page.locator(".kg-head").bounding_box()["height"] == 28
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert box["height"] >= 28 + 20 * 26
    long = page.get_by_role("rowheader", name="user=CN=app-of-a-long-name")
    scroller, who = page.locator(".kg-scroll"), page.locator(".kg-head > .kg-cell").first
    assert scroller.evaluate("box => box.scrollWidth <= box.clientWidth")  # the name gives way as long as all fit
    page.get_by_role("button", name="more keys (4)").click()
    assert who.bounding_box()["width"] <= scroller.bounding_box()["width"] / 2 + 1
    assert "…" in long.inner_text()
    assert long.get_attribute("title") == "user=CN=app-of-a-long-name,OU=Team,O=Shop,C=DE,ST=Berlin"


@pytest.mark.long
def test_nothing_moves_when_a_cell_is_chosen(open_notebook: Open) -> None:
    """I clicked a cell, its explanation opened below the table, and the button that I wanted was elsewhere."""
    notebook = opened(open_notebook, "numbered(50)")
    page = notebook.page
    table, below, line = (page.locator(".kg-scroll"), page.locator(".kg-foot"), page.locator(".kg-line"))

    def places() -> tuple[float, ...]:  # of what is below the table, however far the page is scrolled
        add = page.get_by_label("add")
        return tuple(part.bounding_box()["y"] - table.bounding_box()["y"] for part in (below, add))

    before = places()
    page.get_by_role("gridcell", name="1.003 MB/s").click()
    page.get_by_text("user=u0000003, producer: 1.003 MB/s").wait_for()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    page.get_by_text("one request of 16 KiB would take").wait_for()
    assert (places(), line.count()) == (before, 2)
    page.get_by_role("button", name="why…").click()
    page.get_by_text("producer_byte_rate of user=u0000003").wait_for()
    page.get_by_role("button", name="why…").click()
    page.get_by_text("producer_byte_rate of user=u0000003").wait_for(state="detached")
    assert places() == before


def test_a_cell_has_a_bar_of_use_and_the_figure_where_it_is_near(open_notebook: Open) -> None:
    """I raised the limits of those who shouted, and not of the one who was at 93 %."""
    used = {3: 0.5, 4: 0.86, 5: 0.93, 6: 1e6}
    peaks = {("producer_byte_rate", f"u{n:07}", ""): (1e6 + n * 1000) * share for n, share in used.items()}
    table = f"numbered(50)\nread = lambda: StoredQuotas(table, 1, {peaks!r})"
    notebook = open_notebook([MANY, f"table = {table}", "QuotaEditor(read, stage, None)"])
    for number in range(3):
        notebook.run(number)
    cells = notebook.page.locator(".kg-row:not(.kg-head) .kg-number:has(.kg-bar)")
    cells.nth(3).wait_for()
    assert cells.all_inner_texts() == ["1.003 MB/s", "86 %1.004 MB/s", "93 %1.005 MB/s", ">999 %1.006 MB/s"]
    widths = [bar.bounding_box()["width"] for bar in notebook.page.locator(".kg-bar").all()]
    assert [round(width / widths[-1], 2) for width in widths] == [0.5, 0.86, 0.93, 1.0]


@pytest.mark.long
def test_keys_that_nobody_uses_wait_behind_a_button(open_notebook: Open) -> None:
    """Three of five columns were empty, and the one with limits had no room."""
    notebook = opened(open_notebook, "numbered(50)")
    page = notebook.page
    heads = page.get_by_role("columnheader")
    assert [text for text in heads.all_inner_texts() if text] == ["who", "producer"]
    page.get_by_role("button", name="more keys (4)").click()
    assert [text for text in heads.all_inner_texts() if text] == [
        *("who", "producer", "consumer", "request %", "mutations", "connections"),
    ]
    page.get_by_role("button", name="fewer keys").click()
    assert [text for text in heads.all_inner_texts() if text] == ["who", "producer"]


def test_the_filter_works_while_one_types(open_notebook: Open) -> None:
    """I typed a name, and nothing happened until I found out that it wants Enter."""
    notebook = opened(open_notebook, "numbered(50)")
    page = notebook.page
    page.locator("input[placeholder^='filter:']").press_sequentially("u0000042")
    page.get_by_text("rows: 1").wait_for()
    assert page.get_by_role("rowheader").count() == 1
