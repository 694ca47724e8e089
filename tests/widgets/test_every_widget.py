"""What all widgets promise their hosts: small messages, a file of their own, and a table where nobody can click."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from kadmin_nb.frames.blocks import NOTEBOOK
from kadmin_nb.widgets import grid
from kadmin_nb.widgets.panel import Panel
from tests.hostile_names import HOSTILE
from tests.widgets.every_widget import WIDGETS

Make = Callable[..., Panel]
NAMES = [name for name in HOSTILE if "\x00" not in name]

every_widget = pytest.mark.parametrize("make", WIDGETS.values(), ids=WIDGETS.keys())


def parts(widget: Any) -> Iterator[Any]:
    """A widget, and those in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from parts(child)


@every_widget
def test_no_message_of_a_widget_is_larger_than_hosts_take(make: Make) -> None:
    """Databricks drops what is larger than 100 kB or so, and the table stayed empty."""
    widgets = [*parts(make(*(f"user-{n}-{'x' * 150}" for n in range(2000))).widget)]
    sizes = {type(part).__name__: len(json.dumps(part.get_state(), default=str)) for part in widgets}
    assert {name: size for name, size in sizes.items() if size > 100_000} == {}
    assert sizes


@every_widget
def test_a_widget_asks_nobody_else_for_anything(make: Make) -> None:
    """Our cluster has no way out, and the widget loaded a font from elsewhere."""
    for part in parts(make("alice").widget):
        text = json.dumps(part.get_state(), default=str)
        assert not re.search(r"https?:|//cdn|@import|url\(|import\(|fetch\(|XMLHttpRequest|\beval\(|innerHTML", text)


@every_widget
def test_every_part_is_of_ipywidgets_or_brings_its_own_file(make: Make) -> None:
    """VS Code and Databricks have ipywidgets and anywidget; a third package would be loaded from a CDN."""
    modules = {part.get_state()["_model_module"] for part in parts(make("alice").widget)}
    assert modules <= {"@jupyter-widgets/base", "@jupyter-widgets/controls", "anywidget"}
    assert isinstance(make("alice").widget, ipywidgets.Widget)


@every_widget
def test_the_static_table_is_text(make: Make) -> None:
    """Somebody called `<script>` was in the page of last night's report, and ran."""
    assert "&lt;script&gt;alert(1)" in make("<script>alert(1)</script>").as_html(NOTEBOOK)
    assert not re.search(r"<(script|img|b onclick)", make(*NAMES).as_html(NOTEBOOK))


@every_widget
def test_the_note_below_the_static_table_names_what_works(make: Make) -> None:
    """It said that .to_pandas() has all of it, and there was no such method."""
    panel = make(*(f"user-{n}" for n in range(200)))
    assert ".to_pandas() has all of it" in make(*(f"user-{n}-{'x' * 99}" for n in range(200))).as_html(NOTEBOOK)
    assert len(panel.to_pandas()) == panel.to_arrow().num_rows > 0


def test_all_javascript_of_the_wheel_is_small() -> None:
    """The page waited for a library of which we use a hundredth."""
    files = (Path(grid.__file__).parent / "browser").glob("*.js")
    assert 0 < sum(file.stat().st_size for file in files) < 60_000
