"""Changes as requests: in the safe order, merged so that nothing is named twice, in batches the controller takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..admin.ports import LARGEST_ALTER, UNSIGNED, Kafka, Signature
from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, NotAuthorized, Unsupported
from ..model.changes import Change, Refusal
from ..model.configurable import Configurable
from .kinds.change_kind import Answers, Groups
from .kinds.registry import by_kind, kind_of
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
    """True if after this answer nobody knows if the change was made."""
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
    """Changes of one kind for one request, by whom they are about; nobody is in two batches."""

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
        if not changes:
            return self
        rows = {change.row for change in changes}
        groups = {resource: [c for c in group if c.row not in rows] for resource, group in self.groups.items()}
        return Batch({resource: group for resource, group in groups.items() if group})

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
            answers = dict.fromkeys(self.groups, _refusal_of_all(exc))
        return {whom: scrubbed(refusal, secrets) for whom, refusal in answers.items()} if secrets else answers


def _refusal_of_all(exc: KadminError) -> Refusal:
    """The answer for each row that an error of the whole request is about."""
    code = next((code for kind, code in _CERTAIN.items() if isinstance(exc, kind)), UNKNOWN_OUTCOME)
    return Refusal(code, str(exc))


def batches(changes: Iterable[Change], largest: int = LARGEST_ALTER) -> Iterator[Batch]:
    """The changes in batches, in their order, those of each kind apart; those of an atomic kind in one."""
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


def waves(changes: Iterable[Change]) -> list[list[Change]]:
    """The changes in waves, each to be sent, and answered, before the next; rows keep their order within one.

    A row that is sent on its own could be the one that leaves clients between two limits. Each kind has its own order.
    An entity with several keys is in one wave, or in as few as the order allows. A row whose old value is unknown
    counts as a lower.
    """
    return [wave for kind, mine in by_kind(changes).items() for wave in kind.waves(mine)]


def divided(changes: Iterable[Change]) -> dict[Configurable, list[list[Change]]]:
    """The entities and resources that the order cannot keep in one wave, each with its changes wave by wave."""
    changes = list(changes)
    if len({change.resource for change in changes}) == len(changes):
        return {}
    parts: dict[Configurable, list[list[Change]]] = defaultdict(list)
    for wave in waves(changes):
        for resource, group in grouped(wave).items():
            parts[resource].append(group)
    return {resource: several for resource, several in parts.items() if len(several) > 1}
