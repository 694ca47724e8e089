"""Plan: reviewed changes with what was seen before them, as a value under a hash (its file: `plan_file`)."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

import pyarrow as pa
from msgspec import structs

from .. import documents, files, hints
from ..errors import ExitState, Invalid, KadminError, UsageError, printable
from ..frames import schemas
from ..frames.blocks import NOTEBOOK, Aside, Page
from ..frames.schemas import stamped
from ..hints import Hint, Option, Sentence, Syntax, sentence, short_id
from ..model.changes import FAILED, SET, Change, Edit, Target, refuse_secret_text
from ..model.figures import utc
from ..model.findings import DANGER, Finding
from . import advice, plan_file
from .advice import Advice, answer, several
from .apply_options import ApplyOptions, shows_options, with_arguments
from .execution.progress import Progress, Stopped, never, silent
from .formats import PrintFormats
from .kinds import remedy, rights_to_apply
from .plan_file import PlanHead, columns_of, row_of

if TYPE_CHECKING:
    from ..frames.answer import Answer
    from ..frames.blocks import Block
    from ..frames.display import Display
    from ..usage.backtesting import ImpactAnswer
    from .outcomes import Outcomes


@contextmanager
def at_rest() -> Iterator[None]:
    """No collection of garbage in this block, unless it was off before; reference counting goes on.

    A plan of 10,000 changes makes some 400,000 small objects that all stay alive and form no cycles. The collector
    walks them again and again as they grow: planned and applied they take 1.04 s of CPU, and took 1.41 s. (Mercurial
    does the same, as `util.nogc`.)
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Follower(Protocol):
    """Whoever shows a plan while others may apply it."""

    plan: Plan

    def told(self, plan: Plan, outcomes: Outcomes) -> None:
        """The plan, or another one that rolls it back, was applied or verified, by whoever did it."""


class LiveCluster(Protocol):
    """The cluster that a plan may be bound to: it carries the plan out, and goes on from it."""

    target: str
    """The word by which another session reaches it."""

    def quotas(self) -> pa.Table:
        """QUOTAS as they are now."""

    def brokers(self) -> list[int]:
        """The ids of its brokers, fenced ones included."""

    def apply(self, plan: Plan, options: ApplyOptions, progress: Progress, stop: Stopped) -> Outcomes:
        """Carry out a plan."""

    def review(self, plan: Plan, options: ApplyOptions) -> Display:
        """The widget to look at a plan and to apply it."""

    def verify(self, plan: Plan, *, progress: Progress, stop: Stopped) -> Outcomes:
        """The state of a plan's rows on every broker."""

    def rollback(self, plan: Plan) -> Plan:
        """The plan that takes another back."""

    def plan_again(
        self, plan: Plan, reason: str | None = None, instead: Mapping[Target, Edit | None] | None = None
    ) -> Plan:
        """The plan of the same changes on the cluster as it is now, of some with other edits, or left out."""

    def states_so_far(self, plan: Plan) -> Mapping[int, str] | None:
        """The states of rows by the plan's journal; None where it was not begun here."""

    def follow(self, follower: Follower) -> None:
        """Tell it what became of its plan whenever this process has applied or verified that, as long as it lives."""


_AT_HAND: WeakValueDictionary[str, Plan] = WeakValueDictionary()
"""The plans that somebody in this process still has, by their ids: their journals need not be read row by row."""

_CHANGED = {"kind", "op", "resource", "key", "wanted", "until", "is_again"}


@dataclass(frozen=True, repr=False)
class Plan(PrintFormats):
    """Changes to one cluster, each with the value before. `id` is the SHA-256 of `head` and `changes`.

    `head` has its author, the times and the reason. `notes`, approvals among them, are beside what is hashed. Bound to
    a cluster, by `stage.plan()`, it can be applied; loaded from a file it is readable and comparable.
    """

    head: PlanHead
    changes: tuple[Change, ...]
    notes: tuple[Mapping[str, str], ...] = field(default=(), compare=False)
    _live: LiveCluster | None = field(default=None, compare=False, repr=False)
    _advice: Advice = field(default=Advice(), compare=False, repr=False)
    _syntax: Syntax = field(default=hints.python, compare=False, repr=False)
    _origin: object = field(default=None, compare=False, repr=False)  # the stage that it was made of
    _impact: ImpactAnswer | None = field(default=None, compare=False, repr=False)
    _applied_by: Sentence | None = field(default=None, compare=False, repr=False)
    _about: str = field(default="", compare=False, repr=False)  # its cluster, in a few words

    def __getstate__(self) -> dict[str, Any]:
        """All that it is as a value: a copy is bound to no cluster, as one that was loaded."""
        return {part.name: getattr(self, part.name) for part in fields(self)} | {"_live": None, "_origin": None}

    @cached_property
    def id(self) -> str:
        """The SHA-256 of the canonical body, in hexadecimal."""
        plan_id = documents.digest(self._body)
        _AT_HAND[plan_id] = self
        return plan_id

    @cached_property
    def _body(self) -> str:
        """All that the id is the hash of, as canonical JSON."""
        with at_rest():
            return plan_file.body(self.head, self._rows())

    @property
    def cluster_id(self) -> str:
        """The id of its cluster."""
        return self.head.cluster_id

    @property
    def reason(self) -> str | None:
        """The reason for it."""
        return self.head.reason

    @property
    def changes_id(self) -> str:
        """The SHA-256 of the changes alone: plans with the same changes have the same."""
        wanted = [{name: row[name] for name in _CHANGED & row.keys()} for row in self._rows()]
        return documents.digest(documents.to_json(wanted))

    @property
    def _refused(self) -> tuple[Change, ...]:
        """The rows that the broker's validation refused, whoever applies them."""
        return tuple(c for c in self.changes if c.is_refused)

    @property
    def _unauthorized(self) -> tuple[Change, ...]:
        """The rows that no broker validated, as the author has no right to make them; another may have it."""
        return tuple(c for c in self.changes if c.lacks_right)

    def raise_for_errors(self) -> Plan:
        """The plan itself if the brokers refuse no row of it; rows for which its author lacks a right are not judged.

        Raises
        ------
        Invalid
            They would refuse some rows.
        """
        if self._refused:
            raise Invalid(
                f"{len(self._refused)} of {len(self)} changes would be refused; nothing was sent",
                hint=remedy(self._refused[0]),
            )
        return self

    @shows_options
    def apply(
        self,
        options: ApplyOptions | None = None,
        *,
        progress: Progress = silent,
        stop: Stopped = never,
        **given: Any,
    ) -> Outcomes:
        """Apply it to its cluster; see `Cluster.apply`."""
        chosen = with_arguments(options, given)
        return self._on_cluster("cluster.apply(plan) applies it.").apply(self, chosen, progress, stop)

    @shows_options
    def review(
        self,
        options: ApplyOptions | None = None,
        **given: Any,
    ) -> Display:
        """A widget to review and apply it; a table where widgets cannot be shown.

        Parameters
        ----------
        options
            The options for applying it; their fields may also be given as keyword arguments. With `usage`, PAIRS or
            USAGE, the impact on these clients is shown.

        Raises
        ------
        UsageError
            It is bound to no cluster.
        """
        chosen = with_arguments(options, given)
        return self._on_cluster("cluster.plans.bind(plan).review() shows it.").review(self, chosen)

    def _on_cluster(self, hint: str) -> LiveCluster:
        """The cluster that it is bound to; the hint says what to do where that is none."""
        if self._live is None:
            raise UsageError("this plan is bound to no cluster", hint=hint)
        return self._live

    def quotas_after(self, before: Any = None) -> pa.Table:
        """QUOTAS after the plan.

        Parameters
        ----------
        before
            QUOTAS before it, of this cluster or several; default: read from its cluster.

        Raises
        ------
        UsageError
            `before` is missing, and the plan is bound to no cluster.
        """
        from ..frames.relational import of_cluster
        from ..resolution import input_columns
        from .observed_state import table_after

        quotas = input_columns.read_columns(self._before(before), schemas.QUOTAS.names, input_columns.QUOTAS_LABEL)
        return table_after(of_cluster(quotas, self.cluster_id), self.changes)

    def impact(self, clients: Any, *, quotas: Any = None) -> ImpactAnswer:
        """The known clients that it affects: limit, level and bucket before and after, counts first.

        Parameters
        ----------
        clients
            PAIRS, or USAGE, which also shows which clients the new limits would have throttled, and which would stall.
        quotas
            All QUOTAS before it; default: read from its cluster.

        Raises
        ------
        UsageError
            A column is missing; the quotas are missing, and the plan is bound to no cluster.
        """
        from .plan_impact import of_changes  # its kernels take as long to load as all else here

        brokers = None if self._live is None else self._live.brokers()
        return of_changes(self.changes, self.cluster_id, self._before(quotas), clients, brokers)

    def _before(self, quotas: Any) -> Any:
        instead = "Give it quotas=, or bind it: cluster.plans.bind(plan).impact(…)."
        return self._on_cluster(instead).quotas() if quotas is None else quotas

    def dangers(self) -> Answer:
        """DANGERS: the rows that weaken something. `apply` refuses them unless their keys are allowed.

        They are those of the moment it was made; `apply` judges anew, by what holds then.
        """
        return answer(schemas.DANGERS, self._advice.dangers)

    def _with_impact(self, impact: ImpactAnswer) -> Plan:
        """The same plan, shown with its impact below it, and with the dangers that only a usage tells of."""
        rows = {danger.row for danger in self._advice.dangers}
        told = self._advice.with_dangers(danger for danger in impact.dangers if danger.row not in rows)
        return replace(self, _advice=told, _impact=impact)

    def _with_warnings(self, more: Collection[Finding]) -> Plan:
        """The same plan, with warnings that only the clients tell of."""
        return replace(self, _advice=self._advice.with_warnings(more)) if more else self

    def warnings(self) -> Answer:
        """WARNINGS: consequences that the rows do not show, found when the plan was made; they refuse nothing."""
        return answer(schemas.WARNINGS, self._advice.warnings)

    def to_arrow(self) -> pa.Table:
        """PLAN. Its schema metadata has `kadmin.plan_id`, and `kadmin.expires` if the plan expires."""
        return self._table

    @cached_property
    def _table(self) -> pa.Table:
        expires = self.head.expires
        marks = {"kadmin.plan_id": self.id, **({"kadmin.expires": expires} if expires else {})}
        dangerous = {danger.row for danger in self._advice.dangers}
        columns = columns_of(self.changes)
        if self._impact is not None:
            columns["clients"] = [self._impact.of_rows.get(change.row) for change in self.changes]
        columns["change"] = [
            FAILED if c.is_refused else DANGER if c.row in dangerous else c.change for c in self.changes
        ]
        return stamped(schemas.from_columns(schemas.PLAN, columns), self.cluster_id, marks, at=self.head.created)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write it as canonical JSON with its id and notes, whole or not at all.

        Parameters
        ----------
        overwrite
            Replace another plan, or any other file. Without it, only a copy of this plan with fewer notes is replaced.

        Raises
        ------
        UsageError
            Another file is there, or a copy of this plan with notes that this one lacks.
        NotFound, Invalid
            It cannot be written there.
        """
        place = Path(path)
        if not overwrite:
            _refuse_to_replace(place, self)
        files.write(place, document_of(self) + "\n")
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a saved plan, unbound.

        Raises
        ------
        NotFound, Invalid
            The file does not exist, is not a plan, or was changed.
        UsageError
            Its reason has a secret in it.
        """
        missing = f"no such plan file: {path}"
        text = files.read_text(Path(path), "a plan file", _LARGEST_FILE, missing=missing)
        plan = read_plan(text, str(path))
        refuse_secret_text(f"the reason in {path}", plan.reason or "")
        return plan

    def _at(self, syntax: Syntax) -> Plan:
        return replace(self, _syntax=syntax)

    def _rows(self) -> list[dict[str, Any]]:
        return list(map(row_of, self.changes))

    def __len__(self) -> int:
        return len(self.changes)

    def _alerts(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """What is refused; the dangers, and what lets them through."""
        syntax, shown, can_apply = page.syntax or self._syntax, _shown_on(page), not self._refused
        dangers = self._advice.refusal_lines(self.reason, syntax, shown, is_applicable=can_apply)
        lines = [*map(refused_line, self._refused[:shown]), *dangers]
        return ["\n".join(lines)] if lines else []

    def _blocks(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """Its impact below it, where it is known."""
        yield from super()._blocks(page)
        if self._impact is not None:
            yield from ("", *self._impact._blocks(page))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The dangers first, then the rows that change something."""
        return [*self._alerts(page), *self._rows_to_show()]

    def _rows_to_show(self) -> Iterable[Block]:
        """The rows that change something, are refused, or could be sent again; the others are counted."""
        is_shown = [change.has_refusal or not change.is_done or change.is_same_store for change in self.changes]
        return [self.to_arrow().filter(pa.array(is_shown, pa.bool_()))] if any(is_shown) else []

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The rights that it needs, the warnings; of which cluster it is, whose and why; and what was noted."""
        reason = f"; reason: {self.reason}" if self.reason else ""
        author = self.head.author or "an unknown author"
        made = f"for cluster {self.cluster_id}, made by {author}, {utc(self.head.created)}"
        syntax = page.syntax or self._syntax
        remarks = [*self._rights_lines(), *self._advice.warning_lines(_shown_on(page))]
        lines = [self._counts, *remarks, *filter(None, [self._way_on(syntax)])]
        about = Aside("\n".join(map(printable, [made + self._end + reason, *self._noted])))
        return ["\n".join(lines), about]

    def _way_on(self, syntax: Syntax) -> str:
        """The line that applies it, where it is not begun and has something to do."""
        if self._refused or self.head.has_expired() or all(change.is_done for change in self.changes):
            return ""
        if self._applied_by is not None:
            return printable(self._applied_by.at(syntax))
        return "plan.apply() applies it." if self._live and syntax is hints.python else ""

    def _exit_state(self, detailed: bool = False) -> ExitState:
        if self._refused:
            return ExitState.FAILED
        is_change = any(not change.is_done for change in self.changes)
        return ExitState.DIFFERENCES if detailed and is_change else ExitState.DONE

    @property
    def _end(self) -> str:
        """Until when it may be started, or that it may no longer."""
        if self.head.expires is None:
            return ""
        until = utc(self.head.expires)
        is_over = self.head.has_expired()
        return f", expired {until}: it can no longer be started" if is_over else f", to be applied until {until}"

    def _rights_lines(self) -> list[str]:
        """Who may apply it, in a line, where its author may not."""
        rows = self._unauthorized
        if not rows:
            return []
        needed = several(rights_to_apply(rows))
        whose = f"its author, {self.head.author}, has" if self.head.author else "its author has"
        return [
            printable(
                f"not validated: {len(rows):,} of {len(self):,} rows, as {whose} no right to make them. "
                f"Whoever applies it needs {needed}; the broker validates it then."
            )
        ]

    @property
    def _noted(self) -> list[str]:
        """The notes, a line each, and what of its file no longer counts."""
        noted = [f"{note.get('kind')} by {note.get('author')}: {note.get('text')}" for note in self.notes]
        ends = [f"{change.row} ({change.until})" for change in self.changes if change.until]
        return [*noted, *[f"the end of a change is ignored: row {', '.join(ends)}"] * bool(ends)]

    def _title(self) -> str:
        about = f" ({self._about})" if self._about else ""
        return f"{self._name}{about}"

    @property
    def _name(self) -> str:
        target = self._live.target if self._live else ""
        return printable(f"Plan {short_id(self.id)}{f' for {target}' if target and os.sep not in target else ''}")

    def _short_form(self) -> str:
        return f"{self._name}: {self._counts}"

    @property
    def _counts(self) -> str:
        """The number of rows of each sort, and of clients that they touch, in sentences."""
        sorts = Counter("send again" if change.is_again else TO_DO.get(change.change, "") for change in self.changes)
        to_do = ", ".join(f"{sorts[sort]:,} to {sort}" for sort in (*TO_DO.values(), "send again") if sorts[sort])
        wants_a_look = {
            "dangerous": len({danger.row for danger in self._advice.dangers}),
            "refused by the broker": len(self._refused),
            "not validated": len(self._unauthorized),
        }
        looks = [f"{count:,} {what}" for what, count in wants_a_look.items() if count]
        sentences = ["; ".join([to_do or "nothing to change", *looks])]
        sentences += [self._impact.summary] if self._impact is not None else []
        sentences += [f"{sorts['']:,} unchanged"] * bool(sorts[""])
        return " ".join(f"{one}." for one in sentences)


TO_DO = {SET: "set", "changed": "change", "removed": "remove"}
"""The sorts of changes, in the order in which a plan counts them."""


def _shown_on(page: Page) -> int | None:
    """Lines of advice of a kind that a page shows."""
    return None if page.rows is None else advice.SHOWN


def refused_line(change: Change) -> str:
    """A row that the broker refuses, and its reason."""
    return printable(f"✗ {change.resource} {change.key}: {change.refusal.message or change.refusal}")


def applied_by(plan: Plan, way: Sentence) -> Plan:
    """The same plan, which says below it what applies it."""
    return replace(plan, _applied_by=way)


def unconfirmed(plan: Plan, reason: str) -> Plan:
    """The same plan where its dangers are said and not refused; `reason` is its reason where it has none."""
    return with_head(replace(plan, _advice=replace(plan._advice, needs_allowing=False)), reason=plan.reason or reason)


def with_head(plan: Plan, **fields: Any) -> Plan:
    """The same plan with other fields of its head."""
    return replace(plan, head=structs.replace(plan.head, **fields))


def bound(plan: Plan, live: LiveCluster, told: Advice | None = None, about: str = "") -> Plan:
    """The same plan, tied to a cluster, with the advice on it; `about` has what is known of the cluster."""
    return replace(plan, _live=live, _advice=told or plan._advice, _about=about or plan._about)


def live_of(plan: Plan) -> LiveCluster | None:
    """The cluster that a plan is bound to."""
    return plan._live


def dangers_of(plan: Plan) -> tuple[Finding, ...]:
    """The dangers of a plan as values."""
    return tuple(plan._advice.dangers)


def with_note(plan: Plan, text: str, *, author: str, at: str, kind: str = "note") -> Plan:
    """The same plan, of the same id, with a note beside it."""
    refuse_secret_text("the note", text)
    note = {"kind": kind, "author": author, "at": at, "text": text, "plan_id": plan.id}
    return replace(plan, notes=(*plan.notes, note))


_LARGEST_FILE = 1 << 29
"""Bytes of a plan file: more than a million changes."""


def _refuse_to_replace(place: Path, plan: Plan) -> None:
    """Refuse where another plan or file, or notes of this plan, would be lost; a file without content is none."""
    if not place.is_file() or not place.stat().st_size:
        return
    try:
        there = Plan.load(place)
        why = f"it holds another plan, {short_id(there.id)}" if there.id != plan.id else ""
        if not why and any(note not in plan.notes for note in there.notes):
            why = "the same plan there has notes that this one lacks"
    except KadminError:
        why = "it is not a plan that can be read"
    if why:
        replaces = sentence("{} replaces the file.", Option("overwrite", flag="--force"))
        hint = Hint("Save the plan under another name.", replaces)
        raise UsageError(f"{place} was not overwritten: {why}", hint=hint)


def document_of(plan: Plan) -> str:
    """The text that `Plan.save` writes."""
    of_rules = [*plan._advice.notes(), *plan_file.fallback_notes(plan.changes)]
    notes = [*plan.notes, *({**note, "plan_id": plan.id} for note in of_rules)]
    return plan_file.document(plan._body, plan.id, notes)


def changes_at_hand(plan_id: str) -> tuple[Change, ...] | None:
    """The changes of a plan by its id; None of one that this process no longer has."""
    plan = _AT_HAND.get(plan_id)
    return None if plan is None else plan.changes


@at_rest()
def read_plan(text: str, where: str, at_hand: plan_file.AtHand = plan_file.nothing_at_hand) -> Plan:
    """The plan of what `document_of` wrote; `where` is named when it is none."""
    plan_id, head, changes, notes, told = plan_file.content_of(text, where, at_hand)
    plan = Plan(head, changes, notes, _advice=told)
    if plan.id != plan_id:
        raise Invalid(f"{where} was changed after it was saved: its id does not match", code="CORRUPT_PLAN")
    return plan
