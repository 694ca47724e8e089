"""The review of a plan: its rows, what is dangerous in it, and its way to the brokers, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import Dangerous, Hinted, printable
from ..frames.blocks import NOTEBOOK, Folded, Page, Title
from ..frames.meanings import in_unit
from ..hints import magic, short_id
from ..model.changes import SKIPPED, Change, Edit, Outcome, Target
from ..model.findings import row_words
from ..plans.advice import SHOWN
from ..plans.advice.quota_advice import meant
from ..plans.apply_options import ApplyOptions
from ..plans.execution.progress import Advance
from ..plans.outcomes import ApplyResult, Outcomes
from ..plans.plan import dangers_of, live_of, refused_line
from ..plans.planning import let_through
from ..plans.stage import edits_of, origin_of
from .panel import Panel

if TYPE_CHECKING:
    import pyarrow as pa

    from ..frames.blocks import Block
    from ..plans.plan import LiveCluster, Plan

_PAGE = replace(NOTEBOOK, rows=100, syntax=magic)
REFUSED = "Nothing was sent: the danger above must be allowed first."
STALE = "The staged changes differ from this plan; Plan again includes them."


class PlanReview(Panel):
    """A plan before it is applied, while it is, and afterwards.

    Nothing is applied that is not on the screen: a plan that is made again, or that rolls back, is shown for review in
    the same place. All that happens is kept here, so that a page that is opened again shows it as it is by then.

    Parameters
    ----------
    plan
        Bound to its cluster.
    options
        How it is applied; with `usage` its impact on these clients is shown.
    """

    def __init__(self, plan: Plan, options: ApplyOptions = ApplyOptions()) -> None:
        self.impact = None if options.usage is None else plan.impact(options.usage)
        self.plan = plan if self.impact is None else plan._with_impact(self.impact)
        self.options = options
        self.dangers = dangers_of(self.plan)
        self.outcomes: Outcomes | None = None
        self.next: PlanReview | None = None
        self._can_apply = not plan._refused and not all(change.is_done for change in plan.changes)
        self.origin = origin_of(plan)
        self.staged = None if self.origin is None else self.origin.staged
        self._work = Work(f"kadmin-nb plan {short_id(plan.id)}", self._failed, self._refresh)
        self._guard, self._is_failed = threading.RLock(), False
        self._advance: Advance | None = None
        self._text = self._undone_by = self.status = self.remark = ""
        if self.origin is not None:
            self.origin.show(self.plan)

    def to_arrow(self) -> pa.Table:
        """PLAN."""
        return self.plan.to_arrow()

    def _title(self) -> str:
        return self.plan._title()

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return self.plan._content(page)

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        yield from self.plan._footer(page)
        if self.impact is not None:
            first, _, more = self.impact._title().partition("\n")
            blocks = [more, *self.impact._content(page), *self.impact._footer(page)]
            yield Folded(f"impact: {first}", blocks)

    # -- the widget

    def build(self) -> Any:
        from . import controls
        from .controls import Confirmations, StatusLine

        self._controls = controls
        self.confirmations = Confirmations()
        self.buttons = self._make_buttons()
        self.reason = controls.text("kept in the journal", width="24em", label="reason")
        self._ways: list[Any] = []
        self._alerts = controls.column(*self._lines_with_ways())
        self._status, self._below = StatusLine(), StatusLine()
        self._rows, self._notes = controls.paragraphs(), controls.paragraphs()
        self._rows.layout = {"max_height": "600px", "overflow": "auto"}
        self._place = controls.column(
            controls.paragraphs(Title(self._title())),
            self._alerts,
            self._rows,
            self.confirmations.widget,
            controls.row(self.reason, *self.buttons),
            self._status,
            self._below,
            self._notes,
        )
        self.outcomes = self._outcomes_so_far()
        self._is_begun = self.outcomes is not None
        self._has_changed = self.outcomes is not None and self.outcomes._anything_changed
        if self.origin is not None:
            self.origin.staged.watch(self._refresh)
        self._live.follow(self)
        self._show_rows()
        self._refresh()
        self._frame = controls.column(self._place)
        return self._frame

    def _outcomes_so_far(self) -> Outcomes | None:
        """The outcomes by the plan's journal; None where it was not begun."""
        states = self._live.states_so_far(self.plan)
        if states is None:
            return None
        so_far = [Outcome(change, states.get(change.row, SKIPPED)) for change in self.plan.changes]
        return Outcomes.of(self.plan.id, self.plan.cluster_id, ApplyResult(so_far))

    def _show_rows(self) -> None:
        """Show the rows of the plan, or what became of them as soon as that is known."""
        outcomes = self.outcomes
        blocks = self.plan._rows_to_show() if outcomes is None else outcomes._content(_PAGE)
        self._controls.rewrite(self._rows, *blocks, page=_PAGE)
        proof = [] if outcomes is None else outcomes._footer(_PAGE)
        self._controls.rewrite(self._notes, *proof, *self._footer(_PAGE))

    def _lines_with_ways(self) -> Iterable[Any]:
        """What stands above the rows: each row that is refused or dangerous beside what can be done about it."""
        plan = self.plan
        rows = [(refused_line(change), change, "") for change in plan._refused]
        dangerous = ((f"! {danger.line}", plan.changes[danger.row - 1], danger.allowed_by) for danger in self.dangers)
        rows += [(printable(line), change, "" if plan._refused else allow) for line, change, allow in dangerous]
        for row in rows[:SHOWN]:
            yield self._line_with_ways(*row)
        if len(rows) > SHOWN:
            yield self._controls.paragraphs(f"! … and {len(rows) - SHOWN:,} more")

    def _line_with_ways(self, line: str, change: Change, allow: str) -> Any:
        button, ways = self._controls.button, _ways_out(change)
        made = [button(label, partial(self.plan_again, instead)) for label, instead in ways.items()]
        if allow and allow not in self.options.allowed:
            made.append(button("Allow…", lambda: self.confirmations.add([allow]), hint="type its key and its name"))
        self._ways += made
        said = self._controls.paragraphs(line)
        said.layout.flex = "1 1 30em"
        of_line = self._controls.row(said, self._controls.row(*made))
        return of_line.add_class("ks-bad")  # as a status line that is not well

    def _make_buttons(self) -> Sequence[Any]:
        button = self._controls.button
        self._apply = button("Apply", self.apply, style="warning", hint="send what is not applied to the brokers")
        self._stop = button("Stop", self.stop, hint="after the current request")
        self._verify = button("Verify", self.verify, hint="ask every broker again; nothing is sent")
        self._rollback = button("Roll back", self.rollback, hint="a plan that undoes this one, for review")
        self._again = button("Plan again", self.plan_again, hint="the same changes on the cluster as it is now")
        return self._apply, self._stop, self._verify, self._rollback, self._again

    def _refresh(self) -> None:
        """Show what can be done now, and what was done."""
        with self._guard:
            self._show_buttons(self._work.is_busy)
            self._show_progress()

    def _show_buttons(self, is_busy: bool) -> None:
        """Those that do something now."""
        show, begun, outcomes = self._controls.show, self._is_begun, self.outcomes
        is_done = outcomes is not None and outcomes.ok
        origin, is_undone = self.origin, bool(self._undone_by)
        is_staged = origin is not None and not origin.is_current and len(origin.stage) > 0
        self._apply.description = "Resume" if begun else "Apply"
        show(self._apply, (begun or self._can_apply) and not is_done, enabled=not is_busy)
        show(self._stop, is_busy, enabled=not self._work.is_stopping())
        show(self._verify, begun, enabled=not is_busy)
        show(self._rollback, self._has_changed and not is_undone, enabled=not is_busy)
        show(self._again, not is_done or is_undone or is_staged, enabled=not is_busy)
        show(self.reason, bool(self.dangers) and not self.plan.reason and not begun, enabled=not is_busy)
        show(self.confirmations.widget, not is_done)
        show(self._alerts, not is_done)
        for way in self._ways:
            way.disabled = is_busy

    def _show_progress(self) -> None:
        advance, is_busy = self._advance, self._work.is_busy
        stopping = "stopping after the current request; " if self._work.is_stopping() and is_busy else ""
        self.status = f"{stopping}{advance or 'looking'}" if is_busy else self._text
        self._status.show(self.status, ok=is_busy or not self._is_failed)
        is_stale = self.origin is not None and not self.origin.is_current and not self._is_begun
        self.remark = STALE if is_stale else ""
        self._below.show(self.remark)

    # -- what its buttons do, each in a thread of its own

    def apply(self) -> None:
        """Apply the plan, or carry it on."""
        self._begin(self._carry_out)

    def stop(self) -> None:
        """End after the request that is under way."""
        self._work.stop()

    def verify(self) -> None:
        """Ask every broker again."""
        self._begin(self._look_again)

    def rollback(self) -> None:
        """Show the plan that takes it back."""
        self._begin(lambda: self._open(self._live.rollback(self.plan)))

    def plan_again(self, instead: Mapping[Target, Edit | None] | None = None) -> None:
        """Show the plan of what is staged now, or of the same changes, on the cluster as it is now; of some targets
        with other edits, or left out."""
        self._begin(lambda: self._open(self._planned_again(instead or {})))

    def _begin(self, task: Callable[[], None]) -> None:
        def afresh() -> None:
            self._text, self._is_failed, self._advance = "", False, None
            task()

        self._work.start(afresh)

    def _carry_out(self) -> None:
        """Apply it. Who clicks is told at once who else is at work, and may click again."""
        is_measured = self.impact is not None and self.impact.backtest is not None  # not of names alone
        options = replace(
            self.options,
            allow=[*self.options.allowed, *self.confirmations.typed],
            reason=self.reason.value.strip() or self.options.reason,
            usage=self.options.usage if is_measured else None,
            wait_lease=self.options.wait_lease or 0.0,
        )
        outcomes = self.plan.apply(options, progress=self._advanced, stop=self._work.is_stopping)
        self._take(outcomes)
        self._settle(outcomes)
        outcomes.raise_for_errors()

    def _look_again(self) -> None:
        self._take(self._live.verify(self.plan, progress=self._advanced, stop=self._work.is_stopping))

    def _settle(self, outcomes: Outcomes) -> None:
        if self.origin is not None:
            self.origin.applied(outcomes)
        elif self.staged is not None:
            self.staged.tell_applied()

    def _planned_again(self, instead: Mapping[Target, Edit | None]) -> Plan:
        reason, stage = self.reason.value.strip() or self.plan.reason, self.origin and self.origin.stage
        if stage:
            edits_of(stage).put(instead)
        if not stage:  # nothing is staged, or is any more
            return self._live.plan_again(self.plan, reason, instead)
        again = any(change.is_again for change in self.plan.changes)
        return stage.plan(reason, allow_unknown=let_through(self.plan.changes), again=again)

    def _open(self, plan: Plan) -> None:
        """Show another plan in the same place, and the way back."""
        same = {(change.target, change.old, change.after) for change in self.plan.changes}
        rows = {row_words(c.key, c.resource): (c.target, c.old, c.after) in same for c in plan.changes}
        typed = [words for words in self.confirmations.typed if rows.get(words)]
        allow = [*typed, *(words for words in self.options.allowed if words in rows)]
        self.next = PlanReview(plan, replace(self.options, allow=allow))
        self.next.staged = self.staged
        frame, before = self._frame, self._frame.children
        back = self._controls.button(
            f"Back to plan {short_id(self.plan.id)}", lambda: frame.set_trait("children", before)
        )
        frame.children = (self._controls.row(back), *self.next.widget.children)
        self.next._frame = frame

    @property
    def _live(self) -> LiveCluster:
        live = live_of(self.plan)
        assert live is not None  # only a bound plan is reviewed
        return live

    # -- what becomes known

    def _advanced(self, advance: Advance) -> None:
        self._advance = advance
        self._refresh()

    def _take(self, outcomes: Outcomes) -> None:
        self.outcomes, self._text = outcomes, _told(outcomes)
        self._is_begun = self._live.states_so_far(self.plan) is not None
        self._has_changed |= outcomes._anything_changed
        self._show_rows()

    def told(self, plan: Plan, outcomes: Outcomes) -> None:
        """Show what a line or a program made of the plan, or that it was rolled back; what it does itself it shows
        anyhow."""
        if self._work.is_busy:
            return
        if plan.id == self.plan.id:
            self._take(outcomes)
        else:
            self._undone_by = plan.id if outcomes.ok else ""
            self._text = f"rolled back: {_told(outcomes)}"
        self._is_failed = not outcomes.ok
        self._refresh()

    def _failed(self, exc: BaseException) -> None:
        """Show what went wrong, in a line, and what to do; the rows that it is about say so too."""
        outcomes = getattr(exc, "outcomes", None)
        if outcomes is not None and outcomes is not self.outcomes:
            self._take(outcomes)
            self._settle(outcomes)
        lines = _lines_of(exc)
        if isinstance(exc, Dangerous) and exc.rows is not None:
            rows = exc.rows.to_arrow().select(["row", "allow"]).to_pylist()
            self.confirmations.add(row["allow"] for row in rows[:SHOWN])
            lines = [REFUSED] if {row["row"] for row in rows} <= {danger.row for danger in self.dangers} else lines
        self._is_begun, self._is_failed = self._live.states_so_far(self.plan) is not None, True
        self._text = "\n".join([*([_told(outcomes)] if outcomes is not None else []), *lines])


def _ways_out(change: Change) -> dict[str, dict[Target, Edit | None]]:
    """What else can be done about a row, by the words of a button: what was probably meant, or nothing."""
    ways: dict[str, dict[Target, Edit | None]] = {}
    if (edit := meant(change)) is not None:
        ways[f"Use {in_unit(change.key, edit.text)}"] = {change.target: edit}
    if change.is_refused and change.meant:
        other = Edit(change.op, change.resource, change.meant, change.wanted)
        ways[printable(f"Use {change.meant}")] = {change.target: None, other.target: other}
    return {**ways, "Leave out": {change.target: None}}


def _told(outcomes: Outcomes) -> str:
    """What became of the rows, and what a rollback has left."""
    return "\n".join([outcomes._title(), *outcomes.left_lines(magic)])


def _lines_of(exc: BaseException) -> list[str]:
    if not isinstance(exc, Hinted):
        return [printable(f"{type(exc).__name__}: {exc}")]
    exc.syntax = magic
    return exc.lines()


# -- work in the background


class Work:
    """One task at a time: while one goes on, another is not begun, however often somebody clicks.

    Parameters
    ----------
    name
        Of the thread.
    failed
        Is given what a task raised, in its thread.
    changed
        Is called when a task begins, is asked to stop, or is over.
    """

    def __init__(self, name: str, failed: Callable[[BaseException], None], changed: Callable[[], None]) -> None:
        self._name, self._failed, self._changed = name, failed, changed
        self._busy, self._stop = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_busy(self) -> bool:
        """True while a task goes on."""
        return self._busy.locked()

    def is_stopping(self) -> bool:
        """True if the task under way was asked to stop."""
        return self._stop.is_set()

    def start(self, task: Callable[[], None]) -> None:
        """Begin a task; while one is under way, nothing is begun."""
        if not self._busy.acquire(blocking=False):
            return
        self._stop.clear()
        self._changed()
        self._thread = threading.Thread(target=self._run, args=(task,), name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask the task to stop where it next can."""
        self._stop.set()
        self._changed()

    def _run(self, task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as exc:  # nobody else would see it: a thread has no cell
            self._failed(exc)
        finally:
            self._busy.release()
            self._changed()
