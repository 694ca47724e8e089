"""The editor: a sheet over a stage in a grid, with a toolbar above it, the chosen cell in words below, and the plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError
from ..frames.blocks import NOTEBOOK, Block, Page, Title
from ..hints import did_you_mean
from ..model.entity import TYPES, Entity
from ..model.grammar import LEFT_OUT
from ..plans.stage import Stage, edits_of
from .config_sheet import ConfigCell, ConfigSheet, ConfigTable
from .panel import Panel
from .quota_sheet import QuotaCell, QuotaSheet, StoredQuotas, peaks_of
from .sheet import Result
from .staged_sheet import StagedSheet

if TYPE_CHECKING:
    from ..plans.plan import Plan

SheetType = TypeVar("SheetType", bound=StagedSheet[Any, Any])

CHOOSE = "Choose a cell to see what applies."


class Editor(Panel, Generic[SheetType]):
    """A table over a stage: what is typed is staged, planned and applied as from a line."""

    sheet: SheetType

    def __init__(self, sheet: SheetType, stage: Stage) -> None:
        self.sheet, self.stage = sheet, stage
        self.plan: Plan | None = None
        self._focus: tuple[str, str] | None = None

    @abstractmethod
    def read_again(self) -> Result:
        """Show the rows as they are on the cluster now; what is staged stays."""

    @abstractmethod
    def _explain(self, cell: Any) -> list[Block]:
        """All that is to be said of a cell."""

    def lines(self) -> Sequence[str]:
        """The cell in focus in two lines."""
        return [CHOOSE] if (cell := self._chosen()) is None else cell.lines

    def remarks(self) -> list[Block]:
        """All that is to be said of the cell in focus."""
        return [CHOOSE] if (cell := self._chosen()) is None else self._explain(cell)

    def _chosen(self) -> Any:
        """The cell in focus; None where none is, or its row has moved."""
        return None if self._focus is None else self.sheet.cell(*self._focus)

    def to_arrow(self) -> pa.Table:
        """The rows as they were read, without what is staged."""
        return self.sheet.to_arrow()

    def _title(self) -> str:
        staged = f", {len(self.stage):,} staged" if len(self.stage) else ""
        return f"{self.to_arrow().num_rows:,} {self.sheet.what_rows_are}{staged}"

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """What is staged, then the rows as they were read, those that could not be read first."""
        rows = self.to_arrow()
        if "error" in rows.column_names:
            is_failed = pc.is_valid(rows["error"])
            rows = pa.concat_tables([rows.filter(is_failed), rows.filter(pc.invert(is_failed))])
        return [*(self.stage._blocks(page) if len(self.stage) else ()), rows]

    def _parts_below(self) -> Sequence[Any]:
        """Controls of its own below the grid."""
        return ()

    @property
    def grid(self) -> Any:
        """The table alone, an anywidget, for hosts without ipywidgets: `mo.ui.anywidget(editor.grid)` in marimo."""
        return self.widget.children[1]

    def build(self) -> Any:
        from . import controls
        from .grid import Grid

        self._controls = controls
        self._grid = Grid(self.sheet)
        self._grid.formula = [*self.lines()]  # from the beginning, so that nothing moves
        self._grid.focused, self._grid.why = self._focused, self._why
        self._remarks, self._below = controls.paragraphs(), controls.column()
        self._toolbar = self._bar()
        self.sheet.watch(self._describe)
        edits_of(self.stage).watch_applied(self._applied)
        self._describe()
        return controls.column(self._toolbar, self._grid, self._remarks, *self._parts_below(), self._below)

    def _bar(self) -> Any:
        words = f"filter: {self.sheet.filter_words}"
        self._filter = self._controls.text(words, width="15em", act=lambda words: self._arrange(words=words), live=True)
        self._choice = self._controls.Choices(self._choices(), lambda show: self._arrange(show=show))
        self._planned = self._button("Plan", self._plan, "what it means; nothing is sent", style="primary")
        discard = self._button("Discard all", self._discard, "unstage every row; undo brings them back")
        again = self._button("Read again", self._read_again, "the rows as they are on the cluster now")
        return self._controls.row(self._filter, self._choice.widget, discard, again, self._planned)

    # -- actions

    def _arrange(self, **arrangement: str) -> None:
        self.sheet.arrange(replace(self.sheet.arrangement, **arrangement))
        self._grid.notify(Result(f"rows: {len(self.sheet):,}"))

    def _read_again(self) -> None:
        self._grid.notify(self.read_again())

    def _discard(self) -> None:
        self._grid.notify(self.sheet.discard())

    def _button(self, label: str, act: Callable[[], None], hint: str, style: str = "") -> Any:
        """A button whose refusal is one line below the grid."""
        return self._controls.button(label, partial(self._try, act), style=style, hint=hint)

    def _plan(self) -> None:
        if refused := self.sheet.refused():
            (whose, key), *more = refused
            others = f" and {len(more):,} more cells are" if more else " is"
            raise UsageError(f"{key} of {whose}{others} invalid", hint=f"Fix or discard {'them' if more else 'it'}.")
        self.plan = self.stage.plan()
        review: Any = self.plan.review()
        self._below.children = [review.widget]

    def _applied(self) -> None:
        """Show what the cluster holds after a plan was applied, wherever that was."""
        if self._grid.is_seen:
            self._try(self._read_again)

    def _try(self, act: Callable[[], None]) -> None:
        """Do it; a refusal is one line below the grid."""
        try:
            act()
        except KadminError as exc:
            self._grid.notify(Result(exc.in_one_line(), ok=False))

    # -- the cell in focus

    def _focused(self, key: str, column: str) -> None:
        self._focus = key, column
        self._controls.rewrite(self._remarks)
        self._describe()

    def _why(self) -> None:
        """Show all that is to be said of the cell in focus, or hide it."""
        self._controls.rewrite(self._remarks, *(() if self._remarks.value else self.remarks()))

    def _describe(self) -> None:
        """Say how much is staged, and the cell in focus in two lines."""
        self._choice.show(self._choices())
        staged = len(self.stage)
        self._planned.description = f"Plan {staged:,}" if staged else "Plan"
        self._grid.formula = [*self.lines()]

    def _choices(self) -> list[tuple[str, str]]:
        """The rows that one can look at alone, with their number."""
        return [(f"{kind.capitalize()} {count:,}", kind) for kind, count in self.sheet.counts().items()]


class QuotaEditor(Editor[QuotaSheet]):
    """Quotas as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    read
        Gives the quotas as they are stored now.
    stage
        Takes the edits.
    why
        Gives the answer why a user's client-id is limited.
    """

    def __init__(
        self,
        read: Callable[[], StoredQuotas],
        stage: Stage,
        why: Callable[[str, str], Any],
    ) -> None:
        super().__init__(QuotaSheet(read(), stage), stage)
        self._read, self._answer = read, why

    def _parts_below(self) -> Sequence[Any]:
        add, example = (lambda words: self._try(self._add)), "user=alice client-id=<default>"
        self._new = self._controls.text(example, width="24em", label="add", act=add)
        return [self._new]

    def read_again(self) -> Result:
        return self.sheet.read_stored(self._read())

    def _add(self) -> None:
        """Add the row that was typed, and go to its first cell."""
        if not (words := self._new.value.strip()):
            return
        entity = Entity.parse(words)
        if strange := next((kind for kind, _ in entity.parts if kind not in TYPES), None):
            one_of = f"One of {', '.join(f'{kind}=…' for kind in TYPES)}."
            raise UsageError(f"{strange} is not a type of entity", hint=did_you_mean(strange, TYPES, one_of))
        position = self.sheet.add(entity)
        locked = {column for _, column, _ in self.sheet.page(position, 1).editors}
        columns = [column.name for n, column in enumerate(self.sheet.columns) if n and n not in locked]
        self._new.value = ""
        self._grid.move_to(position, columns[0])
        self._grid.notify(Result(f"{entity}: type a limit"))

    def _explain(self, cell: QuotaCell) -> list[Block]:
        said: list[Block] = [Title(f"{cell.key} of {cell.entity}"), "\n".join(cell.lines)]
        user, client_id = cell.entity.get("user"), cell.entity.get("client-id") or ""
        if not isinstance(user, str) or not isinstance(client_id, str):
            return said
        return [*said, *self._answer(user, client_id)._blocks(NOTEBOOK)]


class ConfigEditor(Editor[ConfigSheet]):
    """Configs as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    read
        Gives the configs as they are set now.
    stage
        Takes the edits.
    """

    def __init__(self, read: Callable[[], ConfigTable], stage: Stage) -> None:
        super().__init__(ConfigSheet(read(), stage), stage)
        self._read = read

    def read_again(self) -> Result:
        return self.sheet.read(self._read())

    def _explain(self, cell: ConfigCell) -> list[Block]:
        return cell.details


# -- the editors of a cluster


def edit_quotas(cluster: Any, stage: Stage | None = None, *, usage: object = None) -> QuotaEditor:
    """A spreadsheet of the quotas of a cluster; edits are staged.

    Parameters
    ----------
    cluster
        A `Cluster`.
    stage
        The stage for the edits. Default: the cluster's, of this session.
    usage
        USAGE: cells of exact names show how much of the limit that applies was used.
    """
    peaks = {} if usage is None else peaks_of(cluster.quotas.utilisation(usage).to_arrow())

    def read() -> StoredQuotas:
        return StoredQuotas(cluster.quotas.describe().to_arrow(), len(cluster.brokers), peaks)

    return QuotaEditor(read, stage or cluster.stage, partial(cluster.quotas.why, usage=usage))


def edit_configs(cluster: Any, stage: Stage | None = None, **resources: object) -> ConfigEditor:
    """A spreadsheet of configs of a cluster; edits are staged.

    Parameters
    ----------
    cluster
        A `Cluster`.
    stage
        The stage for the edits. Default: the cluster's, of this session.
    resources
        `topic`, `broker`, `broker_logger`, `client_metrics` or `group`, as of `configs.describe`: the resources whose
        configs are shown.
    """
    words = ("topic", "broker", "broker_logger", "client_metrics", "group")
    chosen = cluster.configs.select(*(resources.get(word, LEFT_OUT) for word in words))
    return ConfigEditor(partial(ConfigTable.read, cluster.port, chosen), stage or cluster.stage)
