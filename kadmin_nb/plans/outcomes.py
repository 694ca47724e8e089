"""Outcomes: what became of every row of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ExitState, PartlyFailed, PlanRefused, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Folded, Page
from ..frames.schemas import now, stamped
from ..frames.views import counted_nouns
from ..hints import Hint, Syntax, Verb, plan_verb, python, sentence, short_id
from ..model import rights
from ..model.changes import FAILED, SKIPPED, UNCHANGED, UNKNOWN, UNVERIFIED, VERIFIED, Outcome, Target
from .kinds import KINDS
from .plan_file import columns_of

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from .journal import Journal


@dataclass(frozen=True)
class Left:
    """What a rollback has left: how many rows are not seen to be undone and can be, and the sentences about all."""

    rows: int
    hint: Hint


@dataclass(frozen=True)
class ApplyResult:
    """The outcome of every row, in the plan's order; the lock's note.

    `unwritten` is why the journal does not have all of it; `overtaken` says who took the lease while rows were sent;
    `left` is what a rollback left on the cluster.
    """

    outcomes: list[Outcome]
    note: str | None = None
    unwritten: PlanRefused | None = None
    overtaken: str | None = None
    left: Left | None = None


class Outcomes(Answer):
    """OUTCOMES as a frame. A row is good if it is verified on every broker, or needed no change.

    Its schema metadata has `kadmin.plan_id`, `kadmin.journal` (where it is), `kadmin.chain_head` (the hash of its
    last line) and `kadmin.lock` (why other editors were not prevented, or who took the lease meanwhile), each where
    there is one.
    """

    _is_frame = False
    _is_raised = True

    def __init__(
        self,
        table: pa.Table | Callable[[], pa.Table],
        rows: Sequence[Outcome] | None = None,
        left: Left | None = None,
    ) -> None:
        self._source, self._rows, self._left = table, rows, left
        self._syntax: Syntax = python

    def _at(self, syntax: Syntax) -> Outcomes:
        self._syntax = syntax
        return self

    @cached_property
    def _table(self) -> pa.Table:
        """The table, made when it is first asked for."""
        return self._source() if callable(self._source) else self._source

    @property
    def ok(self) -> bool:
        """True if no row failed, and a rollback has left nothing that it could undo."""
        is_good = super().ok if self._rows is None else all(outcome.ok for outcome in self._rows)
        return is_good and not (self._left and self._left.rows)

    @property
    def in_force(self) -> set[Target]:
        """The targets of good rows."""
        return {outcome.change.target for outcome in self._rows or () if outcome.ok}

    @classmethod
    def of(cls, plan_id: str, cluster_id: str, done: ApplyResult, journal: Journal | None = None) -> Outcomes:
        """The outcomes of a plan for a cluster."""
        marks = {"plan_id": plan_id, "lock": done.note}
        if journal is not None and journal.is_written:
            marks |= {"journal": str(journal.place), "chain_head": journal.head}
        metadata = {f"kadmin.{name}": text for name, text in marks.items() if text}
        at = now()

        def table() -> pa.Table:
            columns = {name: list(map(attrgetter(name), done.outcomes)) for name in _OWN}
            changed = columns_of([outcome.change for outcome in done.outcomes])
            words = zip(changed["change"], columns["state"], strict=True)
            columns["change"] = [FAILED if state == FAILED else word for word, state in words]
            made = schemas.from_columns(schemas.OUTCOMES, changed | columns)
            return stamped(made, cluster_id, metadata, at=at)

        return cls(table, done.outcomes, done.left)

    @property
    def plan_id(self) -> str:
        """The plan's id."""
        return self._mark("plan_id") or ""

    @property
    def journal(self) -> str | None:
        """The path of the journal; None if nothing of the plan was ever sent."""
        return self._mark("journal")

    @property
    def chain_head(self) -> str | None:
        """The hash of the journal's last line; keep it elsewhere to prove the journal."""
        return self._mark("chain_head")

    def _mark(self, name: str) -> str | None:
        text = (self._table.schema.metadata or {}).get(f"kadmin.{name}".encode())
        return text.decode() if text else None

    def raise_for_errors(self) -> Outcomes:
        """Itself when every row is good.

        Raises
        ------
        PartlyFailed
            Some rows failed, or could not be verified on every broker.
        """
        if self._left and self._left.rows and not len(self.failed):
            raise PartlyFailed(
                f"plan {short_id(self.plan_id)} was applied, and of the plan that it rolls back "
                f"{counted_nouns(self._left.rows, 'row is', 'rows are')} not seen to be undone",
                outcomes=self,
                hint=self._left.hint,
            )
        if not self.ok:
            first = self.failed.to_arrow().slice(0, 1).to_pylist()[0]
            about = KINDS[first["kind"]].resources.parse(first["resource"])
            raise PartlyFailed(
                f"{len(self.failed)} of {len(self)} changes are not verified; the first, {first['resource']} "
                f"{first['key']}, is {first['state']}: {first['message'] or first['error'] or ''}",
                outcomes=self,
                code=first["error"],
                targets=[(about, first["key"])],
                hint=rights.hint(first["error"], rights.to_alter(about)) or self._ways_on(),
            )
        return self

    def _ways_on(self) -> Hint:
        """The ways to go on where rows are not good."""
        begun, plan_id = self.journal is not None, short_id(self.plan_id)
        again = Verb(f"plan verify {plan_id if begun else 'PLAN'}", "cluster.verify(plan)")
        may_come = not {UNVERIFIED, UNKNOWN}.isdisjoint(self._table["state"].to_pylist())
        return Hint(
            "Applied rows stay.",
            *[sentence("Check again with {}.", again)] * may_come,
            *[sentence("Continue with {}.", plan_verb("apply", plan_id))] * begun,
        )

    def _exit_state(self, detailed: bool = False) -> ExitState:
        if self.ok:
            return ExitState.DONE
        return ExitState.PARTLY if self._anything_changed else ExitState.FAILED

    @property
    def _anything_changed(self) -> bool:
        """True if the cluster may differ from before."""
        return not {UNCHANGED, FAILED, SKIPPED}.issuperset(self._table["state"].to_pylist())

    def _failing(self) -> pa.Array:
        return pc.invert(pc.is_in(self._table["state"], _GOOD_STATES))

    @cached_property
    def _listed(self) -> pa.Table:
        """The rows that were to change something, or did, or could be sent again; the others are counted."""
        if self._rows is None:
            return self._table
        changes = ((outcome.change, outcome.state == UNCHANGED) for outcome in self._rows)
        shown = [change.is_same_store or not (is_same and change.is_done) for change, is_same in changes]
        return self._table.filter(pa.array(shown, pa.bool_()))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """In the plan's order; in a window the rows that are not good come first."""
        brief = self._listed
        for name in ("brokers_agreeing", "brokers") if self._agreeing else ():
            nothing = pa.nulls(len(brief), brief[name].type)
            brief = brief.set_column(brief.column_names.index(name), name, nothing)
        if page.rows is not None and not self.ok:
            is_good = pc.is_in(brief["state"], _GOOD_STATES)
            brief = pa.concat_tables([brief.filter(pc.invert(is_good)), brief.filter(is_good)])
        return [*self.left_lines(page.syntax or self._syntax), brief]

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The proof of what was done."""
        if not self.journal:
            return []
        proof = f"journal {self.journal}, chain head {(self.chain_head or '')[:12]}"
        details = sentence("details: {}", plan_verb("log", self.plan_id)).at(page.syntax or self._syntax)
        return [Folded(details, [printable(proof)])]

    @cached_property
    def _agreeing(self) -> int | None:
        """The number of brokers, where each of them holds every row that is listed, and the title says so."""
        counts = {n for name in ("brokers", "brokers_agreeing") for n in self._listed[name].unique().to_pylist()}
        return counts.pop() if len(counts) == 1 else None

    def _title(self) -> str:
        on_each = f" on {counted_nouns(self._agreeing, 'broker', 'brokers')}" if self._agreeing else ""
        listed, same = self._listed, len(self._table) - len(self._listed)
        rows = self._rows or ()
        is_nothing = bool(rows) and all(o.state == UNCHANGED and not o.change.is_same_store for o in rows)
        of_each = ", ".join(f"{n:,} {state}" for state, n in Counter(listed["state"].to_pylist()).items())
        states = f"{of_each or 'no rows'}{on_each}" if len(listed) or not same else ""
        counts = filter(None, ["nothing to change" * is_nothing, states, f"{same:,} unchanged" * bool(same)])
        lines = [f"plan {short_id(self.plan_id)}: {', '.join(counts)}", self._mark("lock")]
        return "\n".join(map(printable, filter(None, lines)))

    def left_lines(self, syntax: Syntax) -> list[str]:
        """What a rollback has left, where it has, with the line that deals with it."""
        return [] if self._left is None else [printable(self._left.hint.at(syntax))]


_GOOD_STATES = pa.array([UNCHANGED, VERIFIED], pa.string())
_OWN = ("state", "error", "message", "brokers_agreeing", "brokers", "lag_ms")
