"""Changes as requests: in the safe order, merged so that nothing is named twice, in batches that the controller takes.

At the end: the broker's answer for each row when it only validates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..admin.ports import LARGEST_ALTER, UNSIGNED, Kafka, Signature
from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, NotAuthorized, Unsupported
from ..model.changes import NOT_POSSIBLE, OK, Change, Refusal
from ..model.configurable import Configurable
from ..secrets import asks_somebody
from .kinds import by_kind, kind_of
from .kinds.change_kind import Answers, Groups
from .planning import judged_by_kind
from .secret_resolver import MISSING, Resolver, found, nowhere, scrubbed

UNKNOWN_OUTCOME = "REQUEST_TIMED_OUT"
_DOUBTFUL = frozenset({UNKNOWN_OUTCOME, "NOT_CONTROLLER", "UNKNOWN_SERVER_ERROR", "NETWORK_EXCEPTION"})
_CERTAIN: dict[type[KadminError], str] = {
    NotAuthorized: "CLUSTER_AUTHORIZATION_FAILED",
    AuthenticationFailed: "SASL_AUTHENTICATION_FAILED",
    ConnectionFailed: "BROKER_NOT_AVAILABLE",
    Unsupported: "UNSUPPORTED_VERSION",
}
"""Errors of a request that never reached a broker, or that a broker refused as a whole."""


def is_doubtful(code: str | None) -> bool:
    """True if after this answer it is not known whether the change was made."""
    return code in _DOUBTFUL


NOT_SENT = "NOT_SENT"
"""The code of rows whose request was announced in the journal, and not sent as the lease was lost."""


def is_certain(code: str) -> bool:
    """True if after this answer it is certain that the row was not changed: its request never left, or had no right."""
    return code in (NOT_SENT, MISSING) or is_of_the_whole(code)


def is_of_the_whole(code: str) -> bool:
    """True if the next request would end the same way."""
    return code in _CERTAIN.values()


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one kind for one request, by entity or resource; none of these is in two batches."""

    groups: Groups

    @property
    def changes(self) -> list[Change]:
        """The changes, group by group."""
        return [change for group in self.groups.values() for change in group]

    def only(self, resources: Collection[Configurable]) -> Batch:
        """The batch of these alone."""
        return Batch({resource: group for resource, group in self.groups.items() if resource in resources})

    def without(self, changes: Sequence[Change]) -> Batch:
        """The batch without these changes."""
        rows = {change.row for change in changes}
        return Batch(grouped(change for change in self.changes if change.row not in rows))

    def send(
        self,
        kafka: Kafka,
        *,
        validate_only: bool = False,
        resolver: Resolver = nowhere,
        signature: Signature = UNSIGNED,
    ) -> Answers:
        """The broker's word on each entity or resource; UNKNOWN_OUTCOME after any error that is not certain.

        A secret is looked up here, and known nowhere else: not to the answers either.
        """
        try:
            secrets = found(self.changes, resolver)
        except KadminError as exc:
            return dict.fromkeys(self.groups, Refusal(MISSING, str(exc)))
        try:
            kind = kind_of(next(iter(self.groups)))
            wishes = {whose: kind.wish(changes, secrets) for whose, changes in self.groups.items()}
            answers = kind.alter(kafka, signature)(wishes, validate_only=validate_only)
        except KadminError as exc:
            code = next((code for kind, code in _CERTAIN.items() if isinstance(exc, kind)), UNKNOWN_OUTCOME)
            answers = dict.fromkeys(self.groups, Refusal(code, str(exc)))
        return {whom: scrubbed(refusal, secrets) for whom, refusal in answers.items()} if secrets else answers


def batches(changes: Iterable[Change], largest: int = LARGEST_ALTER) -> Iterator[Batch]:
    """The changes in batches, in their order, each kind in its own; an atomic kind has one batch."""
    for kind, mine in by_kind(changes).items():
        yield from _filled(grouped(mine), len(mine) if kind.is_atomic else largest)


def _filled(groups: Groups, largest: int) -> Iterator[Batch]:
    """Groups in batches of at most `largest` changes; a larger group has one of its own."""
    batch: dict[Configurable, Sequence[Change]] = {}
    size = 0
    for resource, group in groups.items():
        if batch and size + len(group) > largest:
            yield Batch(batch)
            batch, size = {}, 0
        batch[resource] = group
        size += len(group)
    if batch:
        yield Batch(batch)


def grouped(changes: Iterable[Change]) -> dict[Configurable, list[Change]]:
    """The changes of each entity or resource together."""
    groups: dict[Configurable, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.resource, []).append(change)
    return groups


@dataclass(frozen=True, slots=True)
class Wave:
    """Changes to be sent together, and how many seconds to wait before the next wave.

    A step on the way is the plan's row as a `set` of an intermediate value, under the same row number.
    """

    changes: tuple[Change, ...]
    pause: float = 0.0


def waves(changes: Iterable[Change]) -> list[list[Change]]:
    """The changes in waves, each to be sent, and answered, before the next; rows keep their order within one.

    A row that is sent on its own could be the one that leaves clients between two limits. Each kind has its own order.
    An entity with several keys is in one wave, unless two of them wait for others. A row whose old value is unknown
    counts as a lower.
    """
    return [wave for kind, mine in by_kind(changes).items() for wave in kind.waves(mine)]


# -- only validated


def validated(kafka: Kafka, changes: Sequence[Change], resolver: Resolver = nowhere) -> list[Change]:
    """The changes with `validated` filled in, row by row.

    A broker answers for a whole entity or resource, which is changed as a whole or not at all: where one of several
    keys is refused, each of its rows has that refusal, and its words name the key. A row that is refused already is not
    asked about.

    Raises
    ------
    NotFound, Unsupported, UsageError
        A secret that cannot be looked up; nothing was asked.
    """
    changes = [judged_by_kind(change) for change in changes]
    open_rows = [change for change in changes if not change.is_refused]
    # nobody types a secret for a row that no broker validates
    found((c for c in open_rows if kind_of(c).can_validate or not asks_somebody(c.reference)), resolver)
    askable = [c for kind, mine in by_kind(open_rows).items() if kind.can_validate for c in mine]
    answers: Answers = {}
    for batch in batches(askable):
        answers |= batch.send(kafka, validate_only=True, resolver=resolver)
    judged = {c.row: _with_verdict(c, answers.get(c.resource, _NO_ANSWER)) for c in askable}
    return [c if c.is_refused else judged.get(c.row) or c.with_(validated=NOT_POSSIBLE) for c in changes]


def refusals(kafka: Kafka, changes: Sequence[Change], resolver: Resolver = nowhere) -> list[Change]:
    """The changes that the broker would refuse us now, whatever it said to whoever planned them."""
    unjudged = [c.with_(validated=NOT_POSSIBLE) if c.has_refusal else c for c in changes]
    return [c for c in validated(kafka, unjudged, resolver) if c.has_refusal]


def _with_verdict(change: Change, refused: Refusal | None) -> Change:
    verdict = OK if refused is None else NOT_POSSIBLE if refused.code == UNKNOWN_OUTCOME else refused
    return change if change.validated is verdict else change.with_(validated=verdict)


_NO_ANSWER = Refusal("UNKNOWN_SERVER_ERROR", "the broker did not answer for it")
