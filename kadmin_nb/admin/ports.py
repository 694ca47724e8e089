"""The port: everything kadmin_nb needs of a cluster, and nothing about how it is done.

A double of `Cluster` may stand in for the broker in tests, if the conformance suite passes on both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from ..model.changes import Refusal, Target
from ..model.client_configs import ClientEntity, Replacement
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.resources import Resource
from ..model.scram import FEWEST_ITERATIONS, ScramUser
from ..secrets import Secret, revealed


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as the controller knows it; a fenced one is registered and does not serve."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False

    @property
    def resource(self) -> Resource:
        """The broker as configs are set on it."""
        return Resource("BROKER", str(self.id))


def not_locked(why: str) -> str:
    """The note of a run without the lease: another editor may overwrite its rows, and it ends before it sees that."""
    return f"not locked ({why}); run `plan verify` afterwards"


RETRIED_ONCE = frozenset({"NOT_CONTROLLER", "THROTTLING_QUOTA_EXCEEDED"})
"""Refusals that say a request was not carried out and may be sent again, once."""

LARGEST_ALTER = 5_000
"""Records in one alter request; the controller takes 10,000 and refuses a larger one whole (kafka-facts 1.4)."""

LONGEST_TRANSACTION = 10.0
"""Seconds until the broker gives up a transaction whose writer died: it keeps nobody waiting for longer."""

EXACT, DEFAULT_MATCH, SPECIFIED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Component:
    """One component of KIP-546's filter: match exactly `name`, the default, or any specified name."""

    entity_type: str
    match: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigOperation:
    """One operation of KIP-339 on one key: set, delete, append or subtract."""

    op: str
    key: str
    value: str | Secret | None = None

    @property
    def text(self) -> str | None:
        """The value as the broker takes it."""
        return revealed(self.value)


@dataclass(frozen=True, slots=True)
class CredentialChange:
    """A new password of one mechanism; without a password the credential is deleted."""

    mechanism: str
    password: Secret | None = None
    iterations: int = FEWEST_ITERATIONS


Whose = TypeVar("Whose", bound=Configurable)
Wishes = TypeVar("Wishes", contravariant=True)


class Alterable(Protocol[Whose, Wishes]):
    """The changing half of each kind's port: what is wished of each entity or resource, in one request a broker."""

    def alter(self, wishes: Mapping[Whose, Wishes], *, validate_only: bool = False) -> dict[Whose, Refusal | None]:
        """The broker's answer for each of them; None is success. With `validate_only` nothing changes.

        A lost answer is TimedOut, raised, or REQUEST_TIMED_OUT of those that it was about: it may have happened.
        """


class Quotas(Alterable[Entity, Mapping[str, float | None]], Protocol):
    """Client quotas (APIs 48 and 49): numbers by key, a None removes the key."""

    def describe(
        self,
        components: Sequence[Component] = (),
        *,
        strict: bool = False,
        node: int | None = None,
        timeout: float | None = None,
    ) -> pa.Table:
        """QUOTAS for the entities that match every component, as that broker's metadata has them now."""

    def describe_each(self, filters: Iterable[tuple[Sequence[Component], bool]]) -> list[pa.Table]:
        """QUOTAS for each filter, its components and whether it is strict; any brokers answer, side by side."""


class Configs(Alterable[Resource, Sequence[ConfigOperation]], Protocol):
    """Configs of resources (APIs 32 and 44): operations, several on one resource."""

    def describe(
        self,
        resources: Iterable[Resource],
        keys: Sequence[str] | None = None,
        *,
        synonyms: bool = True,
        documentation: bool = False,
        node: int | None = None,
        timeout: float | None = None,
    ) -> pa.Table:
        """CONFIGS, a failed resource as one row with a null key."""


class Scram(Alterable[ScramUser, CredentialChange], Protocol):
    """SCRAM credentials (APIs 50 and 51): one change of a user in a request, as Kafka takes no two, none validated."""

    def describe(
        self, users: Iterable[ScramUser] = (), *, node: int | None = None, timeout: float | None = None
    ) -> pa.Table:
        """SCRAM of these users, of all when none is named; a user that has none is a row with RESOURCE_NOT_FOUND."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The author of a change, and the plan that it belongs to."""

    author: str
    plan_id: str


UNSIGNED = Signature("", "")
"""The signature of what changes nothing, such as a validation."""


class ClientConfigs(Alterable[ClientEntity, Mapping[str, Replacement]], Protocol):
    """Dynamic client configs (KIP-649), in a compacted topic: all entries of an alter are replaced, or none."""

    def describe(
        self, users: Collection[str] | None = None, *, node: int | None = None, timeout: float | None = None
    ) -> pa.Table:
        """CLIENT_CONFIGS of these users, or of all, as the leader has them that the broker `node` names.

        Its metadata has PASSED_OVER, the number of records that cannot be read, and TOPIC_MISSING where it is.
        """

    def alter(
        self,
        wishes: Mapping[ClientEntity, Mapping[str, Replacement]],
        *,
        validate_only: bool = False,
        signature: Signature = UNSIGNED,
    ) -> dict[ClientEntity, Refusal | None]:
        """The answer for each entity; where one is refused, nothing is written and the others say so.

        Old values are judged at the transaction's own offset. With `validate_only` they are not, nor the right to
        write, and each entity has an answer of its own.

        Raises
        ------
        TimedOut
            The commit got no answer: it has happened within LONGEST_TRANSACTION seconds, or never.
        """


class Lease(Protocol):
    """The right to be the only editor, as far as it could be had."""

    @property
    def note(self) -> str | None:
        """None when other editors are kept out, else one sentence: they are not, and why."""

    @property
    def left_by(self) -> str:
        """The plan of a process that died while it held the lease, which is now ours; else "".

        What it sent may still land, for as long as an alter takes.
        """

    def renew(self) -> None:
        """Before each batch. Raises PlanRefused FENCED when another has taken the lease, or had it since."""

    def release(self) -> Refusal | None:
        """Give it back; never raises. FENCED when another has it or had it since; else why that is not known."""


class Kafka(Protocol):
    """A cluster as plans and frames see it: a port for each kind of change, the brokers, the lease, the clock."""

    @property
    def id(self) -> str:
        """The cluster id."""

    @property
    def version(self) -> str:
        """Kafka's version, as the requests tell that a broker takes: `4.4`, or `4.4 or newer`."""

    @property
    def quotas(self) -> Quotas: ...

    @property
    def configs(self) -> Configs: ...

    @property
    def scram(self) -> Scram: ...

    @property
    def client_configs(self) -> ClientConfigs: ...

    def together(self, *questions: Callable[[], Any]) -> list[Any]:
        """The answers to questions that do not depend on each other, asked side by side; the first error is raised."""

    def brokers(self) -> list[Broker]:
        """Every registered broker, asked now, fenced ones included where the version can tell."""

    def groups(self) -> list[str]:
        """The groups that we may describe."""

    def throttling(self, throttles: Collection[Target]) -> dict[Target, str]:
        """Those of these throttles that hold back copies now, or of which that is not known, with the reason.

        They are configs for which `is_throttle` is true; never raises.
        """

    def lease(self, plan_id: str, holder: str, *, steal: bool = False) -> Lease:
        """The cluster's one lease. Raises Locked while another's is alive, unless `steal`."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""

    def boottime(self) -> float:
        """Seconds on a clock that never jumps and goes on while the machine sleeps."""

    def now(self) -> datetime:
        """The time of day, UTC, as a journal notes it."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


def serving(kafka: Kafka) -> list[Broker]:
    """The brokers that serve, asked now; a fenced one is only registered."""
    return [broker for broker in kafka.brokers() if not broker.is_fenced]
