"""Changes as requests: merged so that nothing is named twice, in batches the controller takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..admin.ports import ConfigOperation, Kafka, QuotaAlteration
from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, NotAuthorized, Unsupported
from ..model.changes import DELETE, Change
from ..model.entity import Entity
from ..model.refusal import Refusal
from ..model.resources import Resource
from ..secrets import Hidden
from .secret_resolver import MISSING, Resolver, found, nowhere, scrubbed

LARGEST_BATCH = 5_000
"""Records in one request: half of what a controller takes at once (kafka-facts 1.4)."""

Answers = dict[Entity | Resource, Refusal | None]
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
    """Whether after this answer nobody knows if the change was made."""
    return code in _DOUBTFUL


def is_of_the_whole(code: str) -> bool:
    """Whether the next request would end the same way."""
    return code in _CERTAIN.values()


Groups = Mapping[Entity | Resource, Sequence[Change]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one kind for one request, by whom they are about; nobody is in two batches."""

    groups: Groups

    @property
    def changes(self) -> list[Change]:
        """The changes, group by group."""
        return [change for group in self.groups.values() for change in group]

    def only(self, resources: Collection[Entity | Resource]) -> Batch:
        """The batch of these alone."""
        return Batch({resource: group for resource, group in self.groups.items() if resource in resources})

    def without(self, changes: Sequence[Change]) -> Batch:
        """The batch without these changes."""
        if not changes:
            return self
        rows = {change.row for change in changes}
        groups = {resource: [c for c in group if c.row not in rows] for resource, group in self.groups.items()}
        return Batch({resource: group for resource, group in groups.items() if group})

    def send(self, kafka: Kafka, *, validate_only: bool = False, resolver: Resolver = nowhere) -> Answers:
        """The broker's word on each entity or resource; UNKNOWN_OUTCOME after any error that is not certain.

        A secret is looked up here, and known nowhere else: not to the answers either.
        """
        try:
            secrets = {} if self._is_of_quotas else found(self.changes, resolver)
        except KadminError as exc:
            return dict.fromkeys(self.groups, Refusal(MISSING, str(exc)))
        answers = self._answers(kafka, validate_only, secrets)
        return {whom: scrubbed(refusal, secrets) for whom, refusal in answers.items()} if secrets else answers

    def _answers(self, kafka: Kafka, validate_only: bool, secrets: Mapping[str, Hidden]) -> Answers:
        try:
            if self._is_of_quotas:
                return dict(kafka.quotas.alter(_alterations(self.groups), validate_only=validate_only).items())
            return dict(kafka.configs.alter(_operations(self.groups, secrets), validate_only=validate_only).items())
        except KadminError as exc:
            code = next((code for kind, code in _CERTAIN.items() if isinstance(exc, kind)), UNKNOWN_OUTCOME)
            return dict.fromkeys(self.groups, Refusal(code, str(exc)))

    @property
    def _is_of_quotas(self) -> bool:
        return isinstance(next(iter(self.groups)), Entity)


def batches(changes: Iterable[Change], largest: int = LARGEST_BATCH) -> Iterator[Batch]:
    """The changes in batches, in their order, quotas and configs apart."""
    groups = grouped(changes)
    for kind in (Entity, Resource):
        yield from _filled(
            {resource: group for resource, group in groups.items() if isinstance(resource, kind)}, largest
        )


def _filled(groups: Groups, largest: int) -> Iterator[Batch]:
    """Groups in batches of at most `largest` changes; a larger group has one of its own."""
    batch: dict[Entity | Resource, Sequence[Change]] = {}
    size = 0
    for resource, group in groups.items():
        if batch and size + len(group) > largest:
            yield Batch(batch)
            batch, size = {}, 0
        batch[resource] = group
        size += len(group)
    if batch:
        yield Batch(batch)


def grouped(changes: Iterable[Change]) -> dict[Entity | Resource, list[Change]]:
    """The changes of each entity or resource together."""
    groups: dict[Entity | Resource, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.resource, []).append(change)
    return groups


def _alterations(groups: Groups) -> list[QuotaAlteration]:
    return [
        QuotaAlteration(entity, {c.key: None if c.op == DELETE else float(c.after or "nan") for c in group})
        for entity, group in groups.items()
        if isinstance(entity, Entity)
    ]


def _operations(groups: Groups, secrets: Mapping[str, Hidden]) -> Mapping[Resource, list[ConfigOperation]]:
    return {
        resource: [
            ConfigOperation(c.op, c.key, secrets.get(c.wanted or "") if c.is_secret else c.wanted) for c in group
        ]
        for resource, group in groups.items()
        if isinstance(resource, Resource)
    }
