"""Carrying out a plan: look again, refuse what moved, send, and ask every broker what it holds now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..admin.ports import RETRIED_ONCE, Broker, Kafka, Refusal
from ..errors import Conflict, PlanRefused, WrongCluster
from ..model.changes import FAILED, UNCHANGED, UNKNOWN, UNVERIFIED, VERIFIED, Change, Outcome
from . import VERIFY_TIMEOUT
from .picture import Picture, take
from .plan import Plan
from .sending import UNKNOWN_OUTCOME, Answers, Batch, batches
from .verification import Sighting, holds, verify

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many rows are, and of how many."""

_RETRY_PAUSE = 1.0


@dataclass
class _Sent:
    """What was sent: the broker's word on each row, and when its answer came."""

    answers: dict[int, Refusal | None] = field(default_factory=dict)
    at: dict[int, float] = field(default_factory=dict)


def apply(
    kafka: Kafka, plan: Plan, *, verify_timeout: float = VERIFY_TIMEOUT, progress: Progress | None = None
) -> list[Outcome]:
    """Carry out a plan and say of every row what became of it, in the plan's order.

    Raises
    ------
    WrongCluster, Conflict, PlanRefused
        Made for another cluster; the cluster moved since; the broker's validation refused a row. Nothing was sent.
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        The cluster could not be read. Nothing was sent.
    """
    report = progress or (lambda what, done, of: None)
    _refuse_other_cluster(kafka, plan)
    _refuse_invalid(plan)
    brokers = kafka.brokers()
    pending = _preflight(plan, take(kafka, [c.target for c in plan.changes]))
    sent = _send(kafka, pending, report)
    sightings = _verify(kafka, pending, sent, brokers, verify_timeout, report)
    return [_outcome(change, sent, sightings) for change in plan.changes]


def check(kafka: Kafka, plan: Plan, *, verify_timeout: float = VERIFY_TIMEOUT) -> list[Outcome]:
    """Whether every broker holds what the plan wanted; nothing is sent.

    Raises
    ------
    WrongCluster
        The plan is for another cluster.
    """
    _refuse_other_cluster(kafka, plan)
    sightings = verify(kafka, plan.changes, kafka.brokers(), verify_timeout)
    return [_seen(change, None, sightings[change.row], None) for change in plan.changes]


def _refuse_other_cluster(kafka: Kafka, plan: Plan) -> None:
    if plan.cluster_id != kafka.id:
        raise WrongCluster(
            f"the plan is for cluster {plan.cluster_id}, this is {kafka.id}",
            code="INCONSISTENT_CLUSTER_ID",
            hint="Connect to its cluster, or stage the changes anew here.",
        )


def _refuse_invalid(plan: Plan) -> None:
    if plan.refused:
        first = plan.refused[0]
        raise PlanRefused(
            f"the broker refuses {len(plan.refused)} of {len(plan)} rows; the first, {first.resource} {first.key}: "
            f"{first.validated}",
            code=first.validated.split(":")[0],
            hint="Nothing was sent. Mend or discard those rows and plan again.",
        )


def _preflight(plan: Plan, picture: Picture) -> list[Change]:
    """The rows still to be done; a row that is neither done nor as it was seen is a conflict."""
    picture.refuse_unreadable(c.target for c in plan.changes)
    moved = [c for c in plan.changes if not _is_done(c, picture) and not _is_pristine(c, picture)]
    if moved:
        first = moved[0]
        raise Conflict(
            f"{len(moved)} of {len(plan)} rows have moved since the plan; the first, {first.resource} {first.key}, was "
            f"{first.old}, is now {picture.of(first.target).value}, wanted {first.after}",
            hint="Nothing was sent. Plan again and look.",
        )
    return [c for c in plan.changes if not _is_done(c, picture)]


def _is_done(change: Change, picture: Picture) -> bool:
    now = picture.of(change.target)
    return now.is_known and holds(now, change)


def _is_pristine(change: Change, picture: Picture) -> bool:
    now = picture.of(change.target)
    return (now.value, now.is_known) == (change.old, change.old_known)


def _send(kafka: Kafka, pending: Sequence[Change], report: Progress) -> _Sent:
    sent, done = _Sent(), 0
    for batch in batches(pending):
        answers = batch.send(kafka)
        answers |= _again(kafka, batch, answers)
        now = kafka.monotonic()
        for change in batch.changes:
            sent.answers[change.row] = answers.get(change.resource, _SILENT)
            sent.at[change.row] = now
        done += len(batch.changes)
        report("sent", done, len(pending))
    return sent


_SILENT = Refusal(UNKNOWN_OUTCOME, "the broker's answer left it out")


def _again(kafka: Kafka, batch: Batch, answers: Answers) -> Answers:
    """What was certainly not carried out, because of throttling or a controller change, is sent once more."""
    passing = {r for r, refused in answers.items() if refused and refused.code in RETRIED_ONCE}
    if not passing:
        return {}
    kafka.sleep(_RETRY_PAUSE)
    return batch.only(passing).send(kafka)


def _verify(
    kafka: Kafka,
    pending: Sequence[Change],
    sent: _Sent,
    brokers: Sequence[Broker],
    timeout: float,
    report: Progress,
) -> dict[int, Sighting]:
    accepted = [c for c in pending if _may_hold(sent.answers[c.row])]
    if not accepted:
        return {}
    sightings = verify(kafka, accepted, brokers, timeout)
    report("verified", sum(s.is_complete for s in sightings.values()), len(accepted))
    return sightings


def _may_hold(refused: Refusal | None) -> bool:
    return refused is None or refused.code == UNKNOWN_OUTCOME


def _outcome(change: Change, sent: _Sent, sightings: dict[int, Sighting]) -> Outcome:
    if change.row not in sent.answers:
        return Outcome(change, UNCHANGED)
    refused, sighting = sent.answers[change.row], sightings.get(change.row)
    if sighting is None:
        return Outcome(change, FAILED, refused.code if refused else None, refused.message if refused else None)
    return _seen(change, refused, sighting, sent.at[change.row])


def _seen(change: Change, refused: Refusal | None, sighting: Sighting, sent_at: float | None) -> Outcome:
    """An answer that was lost is judged by what the brokers hold; without it, nothing is claimed."""
    state = VERIFIED if sighting.is_complete else UNKNOWN if refused else UNVERIFIED
    return Outcome(
        change,
        state,
        error=None if state == VERIFIED or refused is None else refused.code,
        message=None if sighting.is_complete else sighting.missing(),
        brokers_agreeing=len(sighting.seen & sighting.expected),
        brokers=len(sighting.expected),
        lag_ms=None if sighting.at is None or sent_at is None else max(0, round((sighting.at - sent_at) * 1000)),
    )
