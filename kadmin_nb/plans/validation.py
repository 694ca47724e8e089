"""The broker's answer for each row when it only validates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..admin.ports import Kafka
from ..model.changes import NOT_POSSIBLE, OK, Change, Refusal, Verdict
from ..secrets import asks_somebody
from .kinds.change_kind import Answers
from .kinds.registry import by_kind, kind_of
from .planning import judged_by_kind
from .secret_resolver import Resolver, found, nowhere
from .sending import UNKNOWN_OUTCOME, batches, grouped


def validated(kafka: Kafka, changes: Sequence[Change], resolver: Resolver = nowhere) -> list[Change]:
    """The changes with `validated` filled in, row by row.

    A broker answers for a whole entity or resource. Where one with several keys is refused, its keys are asked
    one by one, so that the row at fault is named and its neighbours are not. The keys that pass alone are then asked
    together: where the broker refuses the combination, each of them has that refusal. A row that is refused already is
    not asked about.

    Raises
    ------
    NotFound, Unsupported, UsageError
        A secret that cannot be looked up; nothing was asked.
    """
    changes = [judged_by_kind(change) for change in changes]
    open_rows = [change for change in changes if not change.is_refused]
    found(filter(_is_looked_up, open_rows), resolver)
    askable = [c for kind, mine in by_kind(open_rows).items() if kind.can_validate for c in mine]
    answers = _ask(kafka, askable, resolver)
    doubtful = _doubtful(askable, answers)
    alone = _ask_singly(kafka, doubtful, resolver)
    together = _ask(kafka, [c for c in doubtful if alone[c.row] is None], resolver)
    judged = {c.row: _judged(c, answers, alone, together) for c in askable}
    return [c if c.is_refused else judged.get(c.row) or c.with_(validated=NOT_POSSIBLE) for c in changes]


def _doubtful(changes: Iterable[Change], answers: Answers) -> list[Change]:
    """The rows of each entity or resource that is refused, where it has several."""
    refused = grouped(change for change in changes if answers.get(change.resource))
    return [change for group in refused.values() if len(group) > 1 for change in group]


def _is_looked_up(change: Change) -> bool:
    """True if its secret is looked up now: nobody types one for a row that no broker validates."""
    return kind_of(change).can_validate or not asks_somebody(change.reference)


def refusals(kafka: Kafka, changes: Sequence[Change], resolver: Resolver = nowhere) -> list[Change]:
    """The changes that the broker would refuse us now, whatever it said to whoever planned them."""
    unjudged = [c.with_(validated=NOT_POSSIBLE) if c.has_refusal else c for c in changes]
    return [c for c in validated(kafka, unjudged, resolver) if c.has_refusal]


_COMBINATION = "accepted alone, but refused together with the other keys of {}"


def _judged(change: Change, answers: Answers, alone: Mapping[int, Refusal | None], together: Answers) -> Change:
    if change.row not in alone:
        return _with_verdict(change, answers.get(change.resource, _NO_ANSWER))
    if (refused := alone[change.row]) is not None:
        return _with_verdict(change, refused)
    judged = _with_verdict(change, together.get(change.resource, _NO_ANSWER))
    return judged.noted(_COMBINATION.format(change.resource)) if judged.is_refused else judged


def _with_verdict(change: Change, refused: Refusal | None) -> Change:
    verdict = _verdict(refused)
    return change if change.validated is verdict else change.with_(validated=verdict)


_NO_ANSWER = Refusal("UNKNOWN_SERVER_ERROR", "the broker did not answer for it")


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
        askable = [group[turn] for group in rounds if turn < len(group)]
        refusals = _ask(kafka, askable, resolver)
        answers |= {c.row: refusals.get(c.resource, _NO_ANSWER) for c in askable}
    return answers


def _verdict(refused: Refusal | None) -> Refusal | Verdict:
    if refused is None:
        return OK
    return NOT_POSSIBLE if refused.code == UNKNOWN_OUTCOME else refused
