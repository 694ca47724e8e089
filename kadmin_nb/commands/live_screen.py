"""The full screen of `top`: a table that is looked at again and again, a filter, and the ladder of a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from ..errors import KadminError, printable, printable_lines
from ..frames import meanings
from ..frames.blocks import bar
from ..model.figures import milliseconds, percent

WIDTH = 16
"""Characters of a bar."""

Row = dict[str, Any]
ORDERS: dict[str, Callable[[Row], Any]] = {
    "use": lambda row: -(row["mean"] or 0.0),
    "share of the limit": lambda row: -(_share(row) or -1.0),
    "throttled": lambda row: -(row["throttle_ms"] or 0.0),
    "name": lambda row: meanings.client(row["user"], row["client_id"]),
}
"""What rows are sorted by, in turn."""


class Ladder(ModalScreen[None]):
    """The limits of one client, over the table."""

    CSS = "VerticalScroll {padding: 1 2; margin: 2 4; background: $surface; height: auto; max-height: 90%;}"
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter", "dismiss", "Back")]

    def __init__(self, lines: str) -> None:
        super().__init__()
        self.lines = lines

    def compose(self) -> ComposeResult:
        """The lines as `quota why` has them."""
        yield VerticalScroll(Static(self.lines, markup=False))


class Top(App[None]):
    """Who uses what: one row per client and key."""

    CSS = "DataTable {height: 1fr;} Input {display: none;} Input.shown {display: block;}"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "quit", "End"),
        ("s", "sort", "Sort"),
        ("slash", "filter", "Filter"),
    ]

    def __init__(
        self, again: Callable[[], tuple[list[Row], str]], ladder: Callable[[str, str], Any], refresh: float
    ) -> None:
        super().__init__()
        self.again, self.ladder_of, self.refresh_s = again, ladder, refresh
        self.rows: list[Row] = []
        self.watched = ""
        self.order = next(iter(ORDERS))

    def compose(self) -> ComposeResult:
        """The line of what was watched, the table, the filter, and the keys."""
        yield Static("looking …", id="said", markup=False)
        yield DataTable(cursor_type="row", zebra_stripes=True)
        yield Input(placeholder="any part of a client's name or of a key")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        self.query_one(DataTable).add_columns("client", "key", "use", "of its limit", "throttled")
        self.look()
        self.set_interval(self.refresh_s, self.look)

    def look(self) -> None:
        """Look again, unless a look is under way: an observation lasts for a while."""
        if not any(worker.group == "look" and not worker.is_finished for worker in self.workers):
            self.run_worker(self._look, thread=True, group="look", exit_on_error=False)

    def _look(self) -> None:
        try:
            rows, said = self.again()
        except KadminError as error:
            self.call_from_thread(self.say, "; ".join(error.lines()))
            return
        self.call_from_thread(self.show, rows, said)

    def say(self, line: str) -> None:
        """Show what was watched, or what went wrong; the rows stay as they were."""
        self.query_one("#said", Static).update(printable(line))

    def show(self, rows: list[Row], said: str) -> None:
        """Show these rows."""
        self.rows, self.watched = rows, said
        self.draw()

    def draw(self) -> None:
        """Draw the rows that the filter leaves, in their order; the cursor stays on its client."""
        self.say(f"{self.watched} Sorted by {self.order}; Enter shows the limits of a client.")
        table, wanted = self.query_one(DataTable), self.query_one(Input).value.lower()
        chosen = _name_of(table)
        table.clear()
        for row in sorted(self.rows, key=ORDERS[self.order]):
            name = f"{meanings.client(row['user'], row['client_id'])} {row['key']}"
            if wanted in name.lower():
                table.add_row(*_cells(row), key=f"{row['user']}\0{row['client_id']}\0{row['key']}")
        if chosen is not None and chosen in table.rows:
            table.move_cursor(row=table.get_row_index(chosen))

    def action_sort(self) -> None:
        """Sort by the next of the orders."""
        names = [*ORDERS]
        self.order = names[(names.index(self.order) + 1) % len(names)]
        self.draw()

    def action_filter(self) -> None:
        """Show the filter, to type into."""
        self.query_one(Input).add_class("shown").focus()

    def on_input_changed(self) -> None:
        """Filter by what is typed so far."""
        self.draw()

    def on_input_submitted(self) -> None:
        """Go back to the table; an empty filter is hidden again."""
        self.query_one(Input).set_class(bool(self.query_one(Input).value), "shown")
        self.query_one(DataTable).focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show the limits of the client in this row."""
        user, client_id, _ = str(event.row_key.value).split("\0")
        self.run_worker(lambda: self._ladder(user, client_id), thread=True, group="ladder", exclusive=True)

    def _ladder(self, user: str, client_id: str) -> None:
        try:
            lines = printable_lines(repr(self.ladder_of(user, client_id)))
        except KadminError as error:
            lines = "\n".join(error.lines())
        self.call_from_thread(self.push_screen, Ladder(lines))


def _name_of(table: DataTable[Any]) -> Any:
    """The key of the row that the cursor is on."""
    return table.coordinate_to_cell_key(table.cursor_coordinate).row_key if table.row_count else None


def _share(row: Row) -> float | None:
    """The percent of the limit that the client used at most."""
    return None if not row["limit"] or row["peak"] is None else 100 * row["peak"] / row["limit"]


def _cells(row: Row) -> Iterable[Text]:
    share, throttled = _share(row), row["throttle_ms"] or 0.0
    tone = "bold red" if throttled else ""
    gauge = "no limit" if share is None else f"{bar(share, WIDTH)} {percent(share)}"
    texts = (
        meanings.client(row["user"], row["client_id"]), row["key"], meanings.used(row["key"], row["mean"]), gauge,
        milliseconds(throttled) if throttled else "",
    )  # fmt: skip
    return [Text(printable(text), style=tone) for text in texts]
