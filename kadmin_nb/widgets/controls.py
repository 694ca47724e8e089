"""Controls around a grid: buttons, boxes and lines of text, from ipywidgets; texts are escaped by `frames.markup`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import KadminError, Unsupported, printable

try:
    import ipywidgets
except ImportError:
    raise Unsupported("ipywidgets is not installed", hint="pip install 'kadmin_nb[widgets]'.") from None

from ..frames.blocks import Block
from ..frames.markup import document
from .hosts import in_order


def button(label: str, act: Callable[[], None], *, style: str = "", hint: str = "") -> Any:
    """A button; `style` is one of ipywidgets' button styles."""
    made = in_order(ipywidgets.Button(description=label, button_style=style, tooltip=hint or label))
    made.layout.width = "auto"
    made.on_click(lambda _: act())
    return made


def text(placeholder: str, *, width: str = "auto", label: str = "", act: Callable[[str], None] | None = None) -> Any:
    """A field of text; `act` is called with it when somebody leaves it or presses Enter."""
    made = in_order(ipywidgets.Text(placeholder=placeholder, description=label, continuous_update=False))
    made.layout.width = width
    if act is not None:
        made.observe(lambda change: act(change["new"]), "value")
    return made


def choice(options: list[tuple[str, Any]], act: Callable[[Any], None] | None = None, *, label: str) -> Any:
    """A choice of labelled values, with its own label beside it: without one a screen reader calls it nothing."""
    made = in_order(ipywidgets.Dropdown(options=options, description=label, style={"description_width": "initial"}))
    made.layout.width = "auto"
    if act is not None:
        made.observe(lambda change: act(change["new"]), "value")
    return made


def paragraphs(*blocks: Block) -> Any:
    """Titles, sentences and tables."""
    made = ipywidgets.HTML()
    rewrite(made, *blocks)
    return made


def rewrite(place: Any, *blocks: Block) -> None:
    """Other titles, sentences and tables into `paragraphs`."""
    place.value = document(*blocks) if blocks else ""


def rewrite_failed(place: Any, exc: Exception) -> None:
    """An error, in a line, into `paragraphs`."""
    rewrite(place, exc.in_one_line() if isinstance(exc, KadminError) else printable(f"{type(exc).__name__}: {exc}"))


def style(text: str) -> Any:
    """A style of the page, there as long as it is shown; it takes no room."""
    made = ipywidgets.HTML(text)
    made.layout.display = "none"
    return made


def row(*children: Any) -> Any:
    """Side by side; on a narrow page below each other."""
    return ipywidgets.Box(children, layout=ipywidgets.Layout(flex_flow="row wrap", align_items="center"))


def column(*children: Any) -> Any:
    """Below each other."""
    return ipywidgets.VBox(children)


def progress() -> Any:
    """A bar of how much is done."""
    return ipywidgets.IntProgress(min=0, max=1, layout=ipywidgets.Layout(width="100%", max_width="40em"))


def show(control: Any, is_shown: bool, *, enabled: bool = True) -> None:
    """Show or hide a control; one that is not enabled cannot be used."""
    control.layout.display = None if is_shown else "none"
    if hasattr(control, "disabled"):
        control.disabled = not enabled


def beside(wide: Any, narrow: Any) -> Any:
    """A wide part and a narrow one beside it; on a narrow page below it."""
    wide.layout.flex, wide.layout.min_width = "3 1 640px", "0"
    narrow.layout.flex, narrow.layout.min_width = "1 1 260px", "0"
    layout = ipywidgets.Layout(flex_flow="row wrap", align_items="flex-start", width="100%", grid_gap="12px")
    return ipywidgets.Box([wide, narrow], layout=layout)


def folded(title: str, content: Any) -> Any:
    """A part that a button of that title opens and closes."""
    opener = in_order(ipywidgets.ToggleButton(description=title, value=False))
    opener.layout.width, opener.layout.align_self = "auto", "flex-start"
    content.layout.display = "none"
    opener.observe(lambda change: setattr(content.layout, "display", "flex" if change["new"] else "none"), "value")
    return ipywidgets.VBox([opener, content])


def combobox(label: str, options: Sequence[str], value: str, act: Callable[[], None]) -> Any:
    """A field of text that offers names; any other can be typed."""
    offered = {"options": [*options], "ensure_option": False, "continuous_update": False}
    made = in_order(ipywidgets.Combobox(description=label, value=value, **offered))
    made.observe(lambda _: act(), "value")
    return made
