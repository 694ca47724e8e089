"""Preflight: is a row done, still as the plan saw it, sent by us, or changed by another editor; is a danger allowed?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...admin.ports import Kafka
from ...errors import Conflict, Dangerous, UsageError
from ...frames import schemas
from ...frames.answer import Answer
from ...frames.meanings import in_unit
from ...hints import Hint, Sentence, sentence, short_id
from ...model.changes import Change
from ...model.findings import DANGER, Finding
from .. import SHORTEST_ID
from ..advice import REASON, allowing, answer, dangers, lifted
from ..advice.config_dangers import QUOTA
from ..journal.replay import JournalState, SentLately
from ..observed_state import ObservedState, ObservedValue
from ..plan import Plan
from .verification import holds, is_as_before

Ours = Mapping[int, Collection[str | None]]
"""Values that we have sent for a row, on its way to the last one or in doubt."""

HIDDEN = "a sensitive value"
"""The placeholder of a secret, which no broker shows."""


@dataclass(frozen=True)
class MovedRow:
    """A row that is not as the plan saw it."""

    change: Change
    now: ObservedValue

    def columns(self) -> dict[str, object]:
        """The row of CONFLICTS."""
        names = {"row": self.change.row, "resource": str(self.change.resource), "key": self.change.key}
        return {**names, "old": self.change.old, "now": _value_text(self.now), "wanted": self.change.after}

    def __str__(self) -> str:
        key = self.change.key
        return f"{_in_words(key, self.change.old)} → {_in_words(key, _value_text(self.now))}"


@dataclass
class ComparedRows:
    """Rows of a plan beside one observed state."""

    done: list[Change] = field(default_factory=list)
    pending: list[Change] = field(default_factory=list)
    moved: list[MovedRow] = field(default_factory=list)

    def reopen(self, rows: Collection[int]) -> None:
        """Count these rows that seemed to be done as pending."""
        self.pending += [change for change in self.done if change.row in rows]
        self.done = [change for change in self.done if change.row not in rows]


def classed(
    changes: Iterable[Change], state: ObservedState, ours: Ours, verified: Collection[int] = ()
) -> ComparedRows:
    """The rows as done, pending or moved.

    A secret that we have set is done for as long as its key has a value; a value that was the same before, once we have
    sent it.

    Raises
    ------
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        A resource could not be read.
    """
    rows, changes = ComparedRows(), list(changes)
    state.refuse_unreadable(change.target for change in changes)
    for change in changes:
        now = state.of(change.target)
        if holds(now, change) and _is_made(now, change, verified):
            rows.done.append(change)
        elif is_as_before(now, change):
            rows.pending.append(change)
        elif change.row in ours and _value_text(now) in ours[change.row]:
            rows.pending.append(change.with_(old=now.value))
        else:
            rows.moved.append(MovedRow(change, now))
    return rows


def _is_made(now: ObservedValue, change: Change, verified: Collection[int]) -> bool:
    """True if the value that was read shows that the change was made, or our journal has it."""
    if now.is_known and not change.is_again:
        return True
    return (change.is_secret or change.is_again) and change.row in verified


def only_seem_done(done: Sequence[Change], state: ObservedState, sent: SentLately) -> set[int]:
    """The rows that are done only because the broker has yet to show what another plan has sent."""
    on_the_way = sent([change.target for change in done])
    return {
        change.row
        for change in done
        if not change.is_secret
        and any(is_as_before(state.of(change.target), other) for other in on_the_way.get(change.target, ()))
    }


def conflict(moved: Sequence[MovedRow], of: int) -> Conflict:
    """The error that shows old, now and wanted of every row that moved."""
    first, more = moved[0].change, f" and {len(moved) - 1:,} more of {of:,} rows" if len(moved) > 1 else ""
    text = f"{first.resource} {first.key}{more} changed since the plan: {moved[0]}"
    error = Conflict(text, hint="Nothing was sent. Plan again and review.")
    error.rows = conflict_rows(moved)
    return error


def conflict_rows(moved: Iterable[MovedRow]) -> Answer:
    """CONFLICTS, of these rows."""
    return Answer(schemas.table(schemas.CONFLICTS, (row.columns() for row in moved)))


def _in_words(key: str, value: str | None) -> str:
    """A value as a sentence has it."""
    return "not set" if value is None else in_unit(key, value)


def _value_text(now: ObservedValue) -> str | None:
    """The value of a target, as far as it may be seen."""
    return now.value if now.is_known else HIDDEN


def gate(
    kafka: Kafka,
    plan: Plan,
    pending: Sequence[Change],
    before: JournalState,
    *,
    allow: Collection[str] = (),
    reason: str | None = None,
    told: Collection[Finding] = (),
) -> Mapping[str, object]:
    """The journal's note on the dangers among the rows to be sent: the last check before the first request.

    Each danger is allowed by its key and whose it is. What an earlier run of the plan has let through, as its journal
    has it in `before`, needs no further word.

    Parameters
    ----------
    reason
        The reason for what is dangerous.
    told
        The dangers that a usage or a team's rules tell of: the cluster does not.

    Raises
    ------
    Dangerous
        A row weakens something and is not allowed; the plan was rolled back, and that it is applied all the same is not
        allowed. Nothing was sent.
    UsageError
        A dangerous plan without a reason.
    """
    if not pending:
        return {}
    _refuse_undone(plan, before, allow)
    judged = (*dangers.found(kafka, plan.changes), *told)
    ahead = [*_ahead(judged, pending, plan.changes)] if judged else []
    if not ahead:
        return {}
    let_through = {*allow, *before.allowed}
    if refused := [danger for danger in ahead if danger.allowed_by not in let_through]:
        raise _dangerous(refused, "DANGEROUS", lifted(refused, reason))
    if not reason:
        raise UsageError(
            "a dangerous plan needs a reason, which its journal keeps",
            hint=Hint("Nothing was sent.", sentence("Add {}.", REASON)),
        )
    allowed = sorted({danger.allowed_by for danger in ahead})
    return {"allowed": allowed, "dangers": [danger.line for danger in ahead], "reason": reason}


def _ahead(dangers: Iterable[Finding], pending: Sequence[Change], changes: Iterable[Change]) -> Iterable[Finding]:
    """Those of rows that are to be sent; what quotas do to everyone, their rows do together."""
    rows, keys = {change.row for change in pending}, {(change.kind, change.key) for change in pending}
    kinds = {change.row: change.kind for change in changes}
    return (d for d in dangers if d.row in rows or (d.code == QUOTA and (kinds[d.row], d.key) in keys))


def _refuse_undone(plan: Plan, before: JournalState, allow: Collection[str]) -> None:
    """Refuse a plan that was rolled back and not applied since, unless the plan that did so is named."""
    undone_by = before.undone_by
    if undone_by is None or any(len(word) >= SHORTEST_ID and undone_by.startswith(word) for word in allow):
        return
    text = f"plan {short_id(plan.id)} was rolled back by plan {short_id(undone_by)}, and would be applied again"
    found = Finding("rolled back", DANGER, text, key=short_id(undone_by))
    raise _dangerous([found], "ROLLED_BACK", sentence("To apply it all the same: {}.", allowing([found])))


def _dangerous(dangers: Sequence[Finding], code: str, way: Sentence) -> Dangerous:
    """The error that names the first of these dangers, shows all, and says how to go on."""
    more = f"; and {len(dangers) - 1:,} more" if len(dangers) > 1 else ""
    error = Dangerous(f"{dangers[0].line}{more}", code=code, hint=Hint("Nothing was sent.", way))
    error.rows = answer(schemas.DANGERS, dangers)
    return error
