"""What the broker says of each row when it is only asked."""

from __future__ import annotations

from collections.abc import Sequence

from ..admin.ports import Kafka, Refusal
from ..model.changes import Change
from .secrets import Resolver, found, nowhere
from .sending import UNKNOWN_OUTCOME, Answers, batches, grouped

OK, NOT_POSSIBLE = "ok", "not possible"


def validated(kafka: Kafka, changes: Sequence[Change], resolver: Resolver = nowhere) -> list[Change]:
    """The changes with `validated` filled in, row by row.

    A broker answers for a whole entity or resource. Where one with several keys is refused, its keys are asked
    one by one, so that the row at fault is named and its neighbours are not.

    Raises
    ------
    NotFound, Unsupported, UsageError
        A secret that cannot be looked up; nothing was asked.
    """
    found(changes, resolver)
    answers = _ask(kafka, changes, resolver)
    doubtful = [
        c for group in grouped(changes).values() if len(group) > 1 and answers.get(group[0].resource) for c in group
    ]
    single = _ask_singly(kafka, doubtful, resolver)
    return [_judged(c, _verdict(single.get(c.row, answers.get(c.resource, _SILENT)))) for c in changes]


def refusals(kafka: Kafka, changes: Sequence[Change], resolver: Resolver = nowhere) -> list[Change]:
    """The changes that the broker would refuse now."""
    return [c for c in validated(kafka, changes, resolver) if c.validated not in (OK, NOT_POSSIBLE)]


def _judged(change: Change, verdict: str) -> Change:
    return change if change.validated == verdict else change.with_(validated=verdict)


_SILENT = Refusal("UNKNOWN_SERVER_ERROR", "the broker did not answer for it")


def _ask(kafka: Kafka, changes: Sequence[Change], resolver: Resolver) -> Answers:
    answers: Answers = {}
    for batch in batches(changes):
        answers |= batch.send(kafka, validate_only=True, resolver=resolver)
    return answers


def _ask_singly(kafka: Kafka, changes: Sequence[Change], resolver: Resolver) -> dict[int, Refusal | None]:
    """The answer for each row alone: in every round, one key of each entity."""
    answers: dict[int, Refusal | None] = {}
    rounds = list(grouped(changes).values())
    for turn in range(max(map(len, rounds), default=0)):
        asked = [group[turn] for group in rounds if turn < len(group)]
        said = _ask(kafka, asked, resolver)
        answers |= {c.row: said.get(c.resource, _SILENT) for c in asked}
    return answers


def _verdict(refused: Refusal | None) -> str:
    if refused is None:
        return OK
    if refused.code == UNKNOWN_OUTCOME:
        return NOT_POSSIBLE
    return str(refused)
