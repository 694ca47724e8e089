"""Controls around a grid: buttons, boxes, forms and lines of text; texts are escaped by `frames.markup`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import Unsupported, printable_lines

try:
    import anywidget
    import ipywidgets
    import traitlets
except ImportError:
    raise Unsupported("ipywidgets is not installed", hint="pip install 'kadmin_nb[widgets]'.") from None

from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.markup import document
from ..version import OLDEST_WIDGETS
from .grid import in_order, source

if int(ipywidgets.__version__.partition(".")[0]) < OLDEST_WIDGETS:
    raise Unsupported(
        f"widgets need ipywidgets {OLDEST_WIDGETS}, and this is {ipywidgets.__version__}",
        hint="pip install 'kadmin_nb[widgets]'; lines do the same without widgets.",
    )


def button(label: str, act: Callable[[], None], *, style: str = "", hint: str = "") -> Any:
    """A button; `style` is one of ipywidgets' button styles."""
    made = in_order(ipywidgets.Button(description=label, button_style=style, tooltip=hint or label))
    made.layout.width = "auto"
    made.on_click(lambda _: act())
    return made


def text(
    placeholder: str,
    *,
    width: str = "auto",
    label: str = "",
    act: Callable[[str], None] | None = None,
    live: bool = False,
) -> Any:
    """A field of text; `act` is called with it when somebody leaves it or presses Enter, or after each letter."""
    made = in_order(ipywidgets.Text(placeholder=placeholder, description=label, continuous_update=live))
    made.layout.width, made.style.description_width = width, "initial"
    if act is not None:
        made.observe(lambda change: act(change["new"]), "value")
    return made


def paragraphs(*blocks: Block) -> Any:
    """Titles, sentences and tables."""
    made = ipywidgets.HTML()
    rewrite(made, *blocks)
    return made


def rewrite(place: Any, *blocks: Block, page: Page = NOTEBOOK) -> None:
    """Other titles, sentences and tables into `paragraphs`."""
    place.value = document(*blocks, page=page) if blocks else ""


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


def folded(title: str, content: Any) -> Any:
    """A part below a title that opens it."""
    return ipywidgets.Accordion((content,), titles=(title,))


def show(control: Any, is_shown: bool, *, enabled: bool = True) -> None:
    """Show or hide a control; one that is not enabled cannot be used."""
    control.layout.display = None if is_shown else "none"
    if hasattr(control, "disabled"):
        control.disabled = not enabled


class Choices:
    """Labelled values side by side, one of which is chosen; labels and values may change, the choice stays."""

    def __init__(self, options: Sequence[tuple[str, str]], act: Callable[[str], None]) -> None:
        self.value, self._act, self._is_renaming = options[0][1], act, False
        style = {"button_width": "auto"}
        self.widget = in_order(ipywidgets.ToggleButtons(options=options, style=style))
        self.widget.layout.width = "auto"
        self.widget.observe(lambda change: self._chosen(change["new"]), "value")

    def show(self, options: Sequence[tuple[str, str]]) -> None:
        """Other labels; the value that is chosen is among them."""
        if tuple(self.widget.options) != tuple(options):
            self._is_renaming = True
            with self.widget.hold_sync():
                self.widget.options = options
                self.widget.value = self.value
            self._is_renaming = False

    def _chosen(self, value: str) -> None:
        if value != self.value and not self._is_renaming:
            self.value = value
            self._act(value)


class StatusLine(anywidget.AnyWidget):
    """Lines of text; those that are not `ok` look like an error."""

    _esm = source("status.js")
    _css = source("status.css")
    text = traitlets.Unicode().tag(sync=True)
    ok = traitlets.Bool(True).tag(sync=True)

    def show(self, text: str, *, ok: bool = True) -> None:
        """Show other lines, in one message."""
        with self.hold_sync():
            self.text, self.ok = printable_lines(text), ok


class Confirmations:
    """A field for each dangerous row, by its key and its name. What is typed is allowed, and the executor judges it."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self.widget = row()

    def add(self, keys: Iterable[str]) -> None:
        """Ask for these keys too."""
        for key in keys:
            if key not in self._fields:
                self._fields[key] = text(key, width=f"min(100%, {len(key) + 20}ch)", label="type again")
                self._fields[key].tooltip = f"type {key} to allow this dangerous change"
        self.widget.children = tuple(self._fields.values())

    @property
    def typed(self) -> list[str]:
        """The keys that were typed."""
        return [field.value.strip() for field in self._fields.values() if field.value.strip()]
