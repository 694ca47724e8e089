"""The editor: a sheet over a stage in a grid, with a toolbar above it, the chosen cell in words below, and the plan.

Quotas and configs of a cluster are edited in it, or those of a frame, such as a snapshot's or a file's.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError
from ..frames import schemas
from ..frames.blocks import NOTEBOOK, Block, Page, Title
from ..frames.frame import Frame
from ..frames.given_frames import arrow_table, fitted
from ..hints import did_you_mean
from ..model.changes import Change
from ..model.entity import TYPES, Entity
from ..model.grammar import LEFT_OUT
from ..model.resources import Resource
from ..plans.stage import Stage, edits_of
from ..resolution.input_columns import CLUSTER, QUOTAS_LABEL, non_null_column
from .config_cells import ConfigCell, config_details, config_lines
from .config_sheet import ConfigSheet
from .config_table import ConfigReader, ConfigTable, plain_text
from .panel import Panel
from .quota_sheet import QuotaCell, QuotaSheet, advice, quota_lines
from .quota_table import Peaks, StoredQuotas, peaks_of
from .sheet import Result
from .staged_sheet import StagedSheet

if TYPE_CHECKING:
    from ..plans.plan import Plan

SheetType = TypeVar("SheetType", bound=StagedSheet[Any, Any])

CONFIGS_LABEL = "the configs"
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
    def _say(self, cell: Any) -> Sequence[str]:
        """A cell in two lines, as far as plans can say before they are made."""

    @abstractmethod
    def _explain(self, cell: Any) -> list[Block]:
        """All that is to be said of a cell."""

    def lines(self) -> Sequence[str]:
        """The cell in focus in two lines."""
        return [CHOOSE] if (cell := self._chosen()) is None else self._say(cell)

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
        self._is_explained = False
        self._toolbar = self._bar()
        self._background = Latest(self._describe, lambda exc: controls.rewrite_failed(self._remarks, exc))
        self.sheet.watch(self._background.ask)
        edits_of(self.stage).watch_applied(self._applied)
        self._background.ask()
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
        def arrange() -> None:
            self._grid.arrange(**arrangement)
            self._grid.notify(Result(f"rows: {len(self.sheet):,}"))

        self._try(arrange)

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
        if moved := self.sheet.changed_since_read(self.plan.changes):
            self._grid.notify(Result(_moved_text(moved), ok=False))

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
        self._background.ask()

    def _why(self) -> None:
        """Show all that is to be said of the cell in focus, or hide it."""
        self._is_explained = not self._is_explained
        self._background.ask()

    def _describe(self) -> None:
        """Say how much is staged, and what the cell in focus means."""
        self._choice.show(self._choices(self._choice.value))
        staged = len(self.sheet.changes())
        self._planned.description = f"Plan {staged:,}" if staged else "Plan"
        self._grid.formula = [*self.lines()]
        self._controls.rewrite(self._remarks, *(self.remarks() if self._is_explained else ()))

    def _choices(self, chosen: str = "all") -> list[tuple[str, str]]:
        """The rows that one can look at alone, with their number; those of which there are some."""
        counts = self.sheet.counts()
        shown = ("all", "staged", chosen, *(kind for kind, count in counts.items() if count))
        return [(f"{kind.capitalize()} {counts[kind]:,}", kind) for kind in counts if kind in shown]


def _moved_text(moved: Sequence[Change]) -> str:
    first, *more = moved
    others = f", and {len(more):,} more" if more else ""
    return f"{first.key} of {first.resource} was changed on the cluster since it was read{others}: see the plan"


class QuotaEditor(Editor[QuotaSheet]):
    """Quotas as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    read
        Gives the quotas as they are stored now.
    stage
        Takes the edits.
    why
        Gives the answer why a user's client-id is limited; None where no cluster is there to ask.
    """

    def __init__(
        self,
        read: Callable[[], StoredQuotas],
        stage: Stage,
        why: Callable[[str, str], Any] | None = None,
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
        locked = {editor.column for editor in self.sheet.page(position, 1).editors}
        columns = [column.name for n, column in enumerate(self.sheet.columns) if n and n not in locked]
        self._new.value = ""
        self._grid.move_to(position, columns[0])
        self._grid.notify(Result(f"{entity}: type a limit"))

    def _say(self, cell: QuotaCell) -> Sequence[str]:
        stored = self.sheet.stored
        return quota_lines(cell, advice(cell, stored.quotas, self.sheet.changes(), stored.brokers))

    def _explain(self, cell: QuotaCell) -> list[Block]:
        said: list[Block] = [Title(f"{cell.key} of {cell.entity}"), "\n".join(self._say(cell))]
        user, client_id = cell.entity.get("user"), cell.entity.get("client-id") or ""
        if self._answer is None or not isinstance(user, str) or not isinstance(client_id, str):
            return said
        return [*said, *self._answer(user, client_id)._blocks(NOTEBOOK)]


class ReadsConfigs(Protocol):
    """The source of a table of configs: `config_table.ConfigReader` of a cluster, or a frame."""

    def read(self) -> ConfigTable:
        """The configs as they are now."""

    def documentation(self, resource: Resource, key: str) -> str | None:
        """Kafka's description of a key, as plain text."""


class ConfigEditor(Editor[ConfigSheet]):
    """Configs as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    reader
        Reads the configs.
    stage
        Takes the edits.
    """

    def __init__(self, reader: ReadsConfigs, stage: Stage) -> None:
        super().__init__(ConfigSheet(reader.read(), stage), stage)
        self._reader = reader

    def read_again(self) -> Result:
        return self.sheet.read(self._reader.read())

    def _say(self, cell: ConfigCell) -> Sequence[str]:
        return config_lines(cell, self._documentation(cell))

    def _explain(self, cell: ConfigCell) -> list[Block]:
        return config_details(cell, self._documentation(cell))

    def _documentation(self, cell: ConfigCell) -> str | None:
        return self._reader.documentation(cell.config.resource, cell.config.key)


# -- the editors of a cluster, and of a frame

_MAY_LACK = ("is_default", "synonyms", "documentation", "error", "message")
"""The columns of CONFIGS without which its table only says less."""


def edit_quotas(quotas: object, stage: Stage | None = None, *, usage: object = None, **entity: object) -> QuotaEditor:
    """A spreadsheet of the quotas of a cluster, or of a frame such as a snapshot's; edits are staged.

    Parameters
    ----------
    quotas
        A `Cluster`; or QUOTAS of one cluster, as anything with `__arrow_c_stream__`.
    stage
        The stage for the edits, of the cluster that plans them. Default: the session's of a cluster; of a frame a new
        one without a cluster, whose `to_cell()` has the edits as lines.
    usage
        USAGE: cells of exact names show how much of the limit that applies was used. Of a cluster only.
    entity
        `user`, `client_id`, `ip` or `entity`, as of `quotas.describe`: only these entities of a cluster.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, it is of several clusters, or an entity has a key twice.
    """
    if (cluster := _cluster_of(quotas)) is not None:
        peaks = {} if usage is None else peaks_of(cluster.quotas.utilisation(usage).to_arrow())
        return QuotaEditor(
            lambda: _stored(cluster, entity, peaks), stage or cluster.stage, partial(cluster.quotas.why, usage=usage)
        )
    if usage is not None:
        raise UsageError("usage is compared with a cluster's quotas", hint="Give edit_quotas the cluster.")
    stored = _rows_of(quotas, schemas.QUOTAS, QUOTAS_LABEL, ("entity", "key"))
    return QuotaEditor(lambda: StoredQuotas.of(stored), _stage_for(stage, "edit_quotas", QUOTAS_LABEL))


def edit_configs(configs: object, stage: Stage | None = None, **resources: object) -> ConfigEditor:
    """A spreadsheet of configs of a cluster, or of a frame such as a snapshot's; edits are staged.

    Fallbacks and Kafka's descriptions are shown as far as a frame has them, in `synonyms` and `documentation`.

    Parameters
    ----------
    configs
        A `Cluster`; or CONFIGS of one cluster, as anything with `__arrow_c_stream__`.
    stage
        The stage for the edits, of the cluster that plans them. Default: the session's of a cluster; of a frame a new
        one without a cluster, whose `to_cell()` has the edits as lines.
    resources
        `topic`, `broker`, `broker_logger`, `client_metrics` or `group`, as of `configs.describe`: of a cluster, the
        resources whose configs are shown.

    Raises
    ------
    UsageError
        Not a frame, a column is missing, it is of several clusters, or a resource has a key twice.
    """
    if (cluster := _cluster_of(configs)) is not None:
        words = ("topic", "broker", "broker_logger", "client_metrics", "group")
        chosen = cluster.configs.select(*(resources.get(word, LEFT_OUT) for word in words))
        return ConfigEditor(ConfigReader(cluster.port, chosen), stage or cluster.stage)
    stored = _rows_of(configs, schemas.CONFIGS, CONFIGS_LABEL, ("resource_type", "resource_name", "key"))
    return ConfigEditor(_FrameReader(stored), _stage_for(stage, "edit_configs", CONFIGS_LABEL))


def _cluster_of(given: Any) -> Any:
    """The cluster that is given in place of a frame; None of a frame."""
    return given if hasattr(given, "port") else None


def _stored(cluster: Any, entity: Mapping[str, object], peaks: Peaks) -> StoredQuotas:
    """The quotas of a cluster, those of the entities that are shown, and what was used of them."""
    quotas = cluster.quotas.describe().to_arrow()
    shown = cluster.quotas.describe(**entity).to_arrow() if entity else quotas
    return StoredQuotas(quotas, shown, len(cluster.brokers), peaks)


class _FrameReader:
    """Reads the configs of a frame, which stay as they are, and the descriptions that it has."""

    def __init__(self, configs: pa.Table) -> None:
        self._configs = configs

    def read(self) -> ConfigTable:
        return ConfigTable(self._configs)

    def documentation(self, resource: Resource, key: str) -> str | None:
        is_of_type = pc.equal(self._configs["resource_type"].cast(pa.string()), resource.type)
        is_of_key = pc.and_(is_of_type, pc.equal(self._configs["key"], key))
        texts = self._configs["documentation"].filter(is_of_key).drop_null()
        return plain_text(texts[0].as_py()) if len(texts) else None


def _rows_of(given: object, frame: type[Frame], label: str, names: Sequence[str]) -> pa.Table:
    """The rows of a frame of one cluster, in which none has all these in common with another; the last is a key."""
    table = arrow_table(given, (CLUSTER, *frame.names), label)
    schemas.require_columns(label, [name for name in frame.names if name not in _MAY_LACK], table.column_names)
    table = fitted(table, frame.schema, label)
    if CLUSTER in table.column_names and len(pc.unique(table[CLUSTER])) > 1:
        raise UsageError(f"{label} are of several clusters", hint=f"Filter them by {CLUSTER} first.")
    columns = {field.name: pa.nulls(table.num_rows, field.type) for field in frame.schema}
    columns |= {name: table[name].cast(frame.schema.field(name).type) for name in columns if name in table.column_names}
    for field in (field for field in frame.schema if not field.nullable and field.name not in _MAY_LACK):
        non_null_column(columns[field.name], field.name, label)
    plain = pa.table({name: columns[name].cast(pa.string()) for name in names})
    counts = plain.group_by([*names]).aggregate([([], "count_all")])
    for double in counts.filter(pc.greater(counts["count_all"], 1)).to_pylist():
        *whose, key = (double[name] for name in names)
        raise UsageError(f"{' '.join(whose)} has {key} twice", hint="Keep one of the rows.")
    return pa.table(columns, schema=frame.schema)


def _stage_for(stage: Stage | None, editor: str, label: str) -> Stage:
    """The stage of whoever edits, or one that plans nothing."""

    def refuse(*_: Any) -> Any:
        hint = f"kn.widgets.{editor}(frame, stage=cluster.new_stage()) plans on a cluster."
        raise UsageError(f"{label.removeprefix('the ')} of a frame are bound to no cluster", hint=hint)

    return Stage(refuse) if stage is None else stage


# -- what is said of the chosen cell, in the background


QUIET = 0.25
"""Seconds without a request before the work begins: who types on is answered first."""


class Latest:
    """Does its work once there was no request for a while, in a thread of its own.

    `failed` is given what the work raised; the next request is worked on all the same.
    """

    def __init__(self, work: Callable[[], None], failed: Callable[[Exception], None], *, quiet: float = QUIET) -> None:
        self._work, self._failed, self._quiet = work, failed, quiet
        self._asking, self._working = threading.Lock(), threading.Lock()
        self._timer: threading.Timer | None = None

    def ask(self) -> None:
        """Have the work done, once more if it is being done just now."""
        with self._asking:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._quiet, self._run)
            self._timer.daemon = True
            self._timer.start()

    def wait(self) -> None:
        """Until what was asked for is done."""
        if self._timer is not None:
            self._timer.join()

    def _run(self) -> None:
        with self._working:
            try:
                self._work()
            except Exception as exc:  # nobody else would see it: a thread has no cell
                self._failed(exc)
