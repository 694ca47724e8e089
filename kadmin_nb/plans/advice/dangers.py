"""Rows that weaken durability, security or everybody's limits, judged by what holds now; and their confirmation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...admin.ports import Kafka
from ...errors import Dangerous, UsageError
from ...frames import schemas
from ...hints import Hint, nearest, sentence
from ...model.changes import Change
from ...model.configurable import Configurable
from ...model.findings import DANGER, WARNING, Finding
from .. import sending
from ..kinds.registry import by_kind, kind_of
from ..observed_state import ObservedState
from ..secret_resolver import Resolver
from . import REASON, Advice, allowing, answer, in_order, lifted
from .config_dangers import QUOTA
from .warnings import several

if TYPE_CHECKING:
    from ..journal.replay import JournalState
    from ..plan import Plan


def found(
    kafka: Kafka,
    changes: Sequence[Change],
    resolver: Resolver | None = None,
    state: ObservedState | None = None,
) -> tuple[Finding, ...]:
    """The dangers of these rows on the cluster as it is; most plans have none, and then nobody is asked.

    A row that the broker refuses changes nothing, and so has none.

    Parameters
    ----------
    resolver
        Looks secrets up, so that a login module in one can be named; the secret is not repeated.
    state
        What was read just now; what is missing in it is added.

    Raises
    ------
    NotAuthorized, TimedOut, ConnectionFailed
        What holds now could not be read.
    """
    state = ObservedState() if state is None else state
    for kind, mine in by_kind(change for change in changes if not change.is_refused).items():
        kind.read_for_dangers(kafka, mine, state)
    return judged(changes, state, resolver)


def judged(changes: Iterable[Change], state: ObservedState, resolver: Resolver | None = None) -> tuple[Finding, ...]:
    """The dangers of these rows by what was read."""
    groups = by_kind(change for change in changes if not change.is_refused)
    return in_order(danger for kind, mine in groups.items() for danger in kind.dangers(mine, state, resolver))


def certain(changes: Iterable[Change]) -> tuple[Finding, ...]:
    """The dangers that the rows tell by themselves: both values are set, or the old one is hidden."""
    groups = by_kind(change for change in changes if not change.is_refused)
    return tuple(danger for kind, mine in groups.items() for danger in kind.certain_dangers(mine))


@dataclass(frozen=True)
class Gate:
    """The last check before the first request of a plan: dangers need their keys allowed."""

    kafka: Kafka
    plan: Plan
    resolver: Resolver
    allow: Collection[str] = ()
    told: Collection[Finding] = ()
    """The dangers that a usage or a team's rules tell of: the cluster does not."""

    def pass_(self, pending: Sequence[Change], before: JournalState) -> Mapping[str, object]:
        """The journal's note on the dangers among the rows to be sent; `before` is what the journal has by now.

        What an earlier run of the plan has let through needs no further word.

        Raises
        ------
        Dangerous
            A row weakens something, and its key is not allowed; the plan was rolled back, and that it is applied all
            the same is not allowed. Nothing was sent.
        UsageError
            A key is allowed that the plan does not have; a dangerous plan without a reason.
        """
        if not pending:
            return {}
        _refuse_undone(self.plan, before, self.allow)
        dangers = (*found(self.kafka, self.plan.changes, self.resolver), *self.told)
        allow = [key for key in self.allow if not any(map(partial(_names, key), before.undoings))]
        _refuse_strange(allow, self.plan.changes, dangers)
        ahead = [*_ahead(dangers, pending, self.plan.changes)] if dangers else []
        _refuse_dangers([danger for danger in ahead if danger.key not in {*allow, *before.allowed}], self.plan)
        if ahead and not self.plan.reason:
            raise UsageError(
                "a dangerous plan needs a reason, which its journal keeps",
                hint=Hint("Nothing was sent.", sentence("Plan again with {}.", REASON)),
            )
        if not ahead:
            return {}
        let_through = {
            "allowed": sorted({danger.key for danger in ahead}),
            "dangers": [danger.line for danger in ahead],
        }
        return {**let_through, "reason": self.plan.reason}


def _ahead(dangers: Iterable[Finding], pending: Sequence[Change], changes: Iterable[Change]) -> Iterable[Finding]:
    """Those of rows that are to be sent; what quotas do to everyone, their rows do together."""
    rows, keys = {change.row for change in pending}, {(change.kind, change.key) for change in pending}
    kinds = {change.row: change.kind for change in changes}
    return (d for d in dangers if d.row in rows or (d.code == QUOTA and (kinds[d.row], d.key) in keys))


def _refuse_dangers(dangers: Sequence[Finding], plan: Plan) -> None:
    if not dangers:
        return
    more = f"; and {len(dangers) - 1:,} more" if len(dangers) > 1 else ""
    hint = Hint("Nothing was sent.", lifted(dangers, plan.reason))
    error = Dangerous(f"{dangers[0].line}{more}", code="DANGEROUS", hint=hint)
    error.rows = answer(schemas.DANGERS, dangers)
    raise error


_SHORTEST = 6
"""Characters of a plan's id that name it."""


def _names(word: str, plan_id: str) -> bool:
    """True if this word is the id of a plan, or its beginning."""
    return len(word) >= _SHORTEST and plan_id.startswith(word)


def _refuse_undone(plan: Plan, before: JournalState, allow: Collection[str]) -> None:
    """Refuse a plan that was rolled back and not applied since, unless the plan that did so is named."""
    undone_by = before.undone_by
    if undone_by is None or any(_names(word, undone_by) for word in allow):
        return
    text = f"plan {plan.id[:12]} was rolled back by plan {undone_by[:12]}, and would be applied again"
    found = Finding("rolled back", DANGER, text, key=undone_by[:12])
    error = Dangerous(
        text,
        code="ROLLED_BACK",
        hint=Hint("Nothing was sent.", sentence("To apply it all the same: {}.", allowing([found]))),
    )
    error.rows = answer(schemas.DANGERS, [found])
    raise error


def _refuse_strange(allow: Collection[str], changes: Iterable[Change], dangers: Sequence[Finding]) -> None:
    """An allowance of a key that no row has is a typo, or meant for another plan.

    One that a row has and does not need is let be: the second run of a job finds nothing dangerous any more.
    """
    if not allow:
        return
    keys = {change.key for change in changes}
    strange = next((key for key in allow if key not in keys), None)
    if strange is not None:
        dangerous_keys = list(dict.fromkeys(danger.key for danger in dangers))
        near = nearest(strange, dangerous_keys) or (dangerous_keys[0] if len(dangerous_keys) == 1 else None)
        instead = f"Did you mean {near}?" if near else f"Dangerous here: {', '.join(dangerous_keys) or 'nothing'}."
        raise UsageError(f"{strange} is allowed, but no row of the plan has it", hint=f"Nothing was sent. {instead}")


IN_PARTS = "in parts"


def advice_on(kafka: Kafka, changes: Sequence[Change], state: ObservedState | None, resolver: Resolver) -> Advice:
    """Dangers, judged now, and warnings, worked out when they are asked for; of rows that are not refused.

    Parameters
    ----------
    state
        What was read when the rows were planned, if they were just now.
    """
    changes = [change for change in changes if not change.is_refused]
    facts = ObservedState() if state is None else state
    groups = by_kind(changes)
    for kind, mine in groups.items():
        kind.read_for_warnings(kafka, mine, facts)

    def warn() -> list[Finding]:
        return [*(warned for kind, mine in groups.items() for warned in kind.warnings(mine, facts)), *in_parts(changes)]

    return Advice(found(kafka, changes, resolver, facts), warn)


def in_parts(changes: Iterable[Change]) -> Iterator[Finding]:
    """A warning for each reason to send an entity's or a resource's keys in several requests."""
    by_reason: dict[str, dict[Configurable, list[list[Change]]]] = {}
    for whose, parts in sending.divided(change for change in changes if not change.is_done).items():
        by_reason.setdefault(kind_of(whose).why_divided, {})[whose] = parts
    for reason, divided in by_reason.items():
        first = next(iter(divided.values()))[0][0]
        turns = {
            whose: [" and ".join(change.key for change in part) for part in parts] for whose, parts in divided.items()
        }
        shown = several([f"{whose} ({', then '.join(keys)})" for whose, keys in turns.items()])
        text = f"sent in several requests, {reason}: {shown}; if a later request fails, the earlier ones stay"
        yield Finding.about(first, WARNING, IN_PARTS, text)
