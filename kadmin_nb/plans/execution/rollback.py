"""Undoing what was verified as done by us: an ordinary plan, whose expected values are what we left there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import count

from ...errors import PlanRefused
from ...hints import Hint, Verb, sentence
from ...model.changes import DELETE, SET, Change
from ..journal.replay import JournalState
from ..kinds.registry import kind_of
from ..plan import Plan


def refuse_unsettled(state: JournalState, seconds: float) -> None:
    """Refuse while an alter whose answer was lost may still land: it would overtake the rollback.

    Raises
    ------
    PlanRefused
        With `UNSETTLED`.
    """
    if seconds > 0:
        raise PlanRefused(
            f"{len(state.in_doubt)} rows of the plan are in doubt: requests may still take effect for {seconds:.0f} s",
            code="UNSETTLED",
            hint=Hint(sentence("{} checks until it is known.", Verb("plan resume ID", "cluster.resume(plan_id)"))),
        )


def changes(plan: Plan, done: Collection[int]) -> list[Change]:
    """The rows that take `done` rows of a plan back, last first; those that cannot be are left out.

    Raises
    ------
    PlanRefused
        Nothing of the plan can be taken back.
    """
    numbers = count(1)
    undone = [_undone(next(numbers), c) for c in reversed(plan.changes) if c.row in done and c.is_visible]
    if not undone:
        raise PlanRefused(
            "there is nothing to roll back: no row was verified as done by this plan, or none can be restored",
            code="NOTHING_TO_UNDO",
            hint="; ".join(left_out(plan, done)) or None,
        )
    return undone


def left_out(plan: Plan, done: Collection[int]) -> list[str]:
    """The changes that cannot be taken back, with the reason, a line each."""
    return [line for change in plan.changes for line in _why_not(change, done)]


def _why_not(change: Change, done: Collection[int]) -> Iterable[str]:
    row_text = f"row {change.row}, {change.resource} {change.key}"
    if change.row not in done:
        yield f"{row_text}: not verified as done by the plan, so left as it is"
    elif not change.old_known:
        yield f"{row_text}: its old value is sensitive and was never seen"
    elif change.is_again:
        yield f"{row_text}: its value was the same before"


def _undone(row: int, change: Change) -> Change:
    back = DELETE if change.old is None else SET
    return Change(
        row=row,
        op=back,
        resource=change.resource,
        key=change.key,
        old=None if change.is_secret else change.after,
        wanted=change.old,
        after=change.old,
        old_known=not change.is_secret,
        level=change.level,
        note="; ".join([f"undoes row {change.row}", *kind_of(change).undo_notes(change)]),
        topic_id=change.topic_id,
    )
