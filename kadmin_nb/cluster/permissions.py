"""Our rights on a cluster: each is found out by a request that changes nothing.

Brokers do not tell a user's rights: the authorised operations of the cluster are empty for whoever lacks DESCRIBE on
it, even for one that may alter quotas. So configs are read, and alters are sent to be validated only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import paths
from ..client_configs.kafka import LiveKafka
from ..errors import ConnectionFailed, KadminError, NotAuthorized, TimedOut, kind_of
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Listing, Page
from ..frames.schemas import stamped
from ..frames.spark import active_session
from ..model import rights
from ..model.changes import DELETE, SET, Change, Edit, Refusal
from ..model.configurable import Configurable
from ..model.connection_settings import Settings
from ..model.entity import Entity
from ..model.findings import NOT_KNOWN, Row
from ..model.resources import Resource
from ..model.scram import ScramUser
from ..plans.approval import PLATFORM
from ..plans.kinds import by_kind, rights_to_apply, take
from ..plans.kinds import kind_of as change_kind_of
from ..plans.plan import Plan
from ..plans.sending import validated
from .changing import secret

NOBODY = "User:NAME"
"""The principal of a granting line where nobody knows what the broker calls us."""

_ANYONE = Entity.of({"user": "kadmin-nb-may-i"})
_ALL_BROKERS = Resource("BROKER", "")
GENERAL = (
    Edit(SET, _ANYONE, "producer_byte_rate", "1000000"),
    Edit(DELETE, _ALL_BROKERS, "message.max.bytes"),
)
"""The changes that are validated where none is asked about; none is ever made."""


class PermissionsAnswer(Answer):
    """PERMISSIONS. Below it are the lines that grant what is missing."""

    _shows_failures = True

    def _title(self) -> str:
        """The finding in a sentence."""
        unknown = self._table["allowed"].null_count
        missing = len(self.failed) - unknown
        finding = f"{missing} of {len(self)} rights are missing" if missing else "No right is missing"
        if not unknown:
            return f"{finding}."
        rights_unknown = f"{unknown} of {len(self)} rights are {NOT_KNOWN}: no broker answered"
        return f"{finding}; {rights_unknown}." if missing else f"{rights_unknown}."

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if lines := list(dict.fromkeys(self._table["grant"].drop_null().to_pylist())):
            yield "Someone who may alter ACLs can grant the missing rights with:"
            yield Listing(lines)

    def _failing(self) -> pa.Array:
        return pc.invert(pc.fill_null(self._table["allowed"], False))

    def _error(self, row: dict[str, Any]) -> KadminError:
        right = f"{row['operation']} on {row['resource']}, to {row['action']}"
        if row["allowed"] is None:
            return TimedOut(f"{NOT_KNOWN} whether we have the right: {right}; {row['note']}")
        return NotAuthorized(f"missing right: {right}")


def permissions(kafka: LiveKafka, settings: Settings, wanted: Plan | Iterable[Edit]) -> PermissionsAnswer:
    """PERMISSIONS to read what changes are judged by, and to make them; see `Cluster.permissions`."""
    edits: Iterable[Edit] = wanted if not isinstance(wanted, Plan) else [
        Edit(DELETE, change.resource, change.key)  # for each right; it removes: then no secret is looked up
        for change in rights_to_apply(wanted.changes).values()
    ]  # fmt: skip
    wished = [*edits] or GENERAL
    changes = [Change(n, e.op, e.resource, e.key, wanted=e.text, after=e.text) for n, e in enumerate(wished, 1)]
    principal = user_in_words(settings) or NOBODY
    rows = [*_reading(kafka, changes, principal), *_altering(kafka, changes, principal)]
    return PermissionsAnswer(stamped(schemas.table(schemas.PERMISSIONS, rows), kafka.id))


def _reading(kafka: LiveKafka, changes: Sequence[Change], principal: str) -> Iterator[Row]:
    refused: dict[Configurable, Refusal | None] = {}
    for mine in by_kind(changes).values():
        targets = [change.target for change in mine]
        refused |= _asked(lambda: take(kafka, targets).errors, [change.resource for change in mine])  # noqa: B023
    for resource in dict.fromkeys(change.resource for change in changes):
        right = rights.to_describe(resource)
        yield row_of(f"read {_things_of(resource)}", right, refused.get(resource), principal)


def _altering(kafka: LiveKafka, changes: Sequence[Change], principal: str) -> Iterator[Row]:
    judged = validated(kafka, [change for change in changes if change_kind_of(change).can_validate], secret)
    refused: dict[int, Refusal | None] = {change.row: change.refusal for change in judged if change.has_refusal}
    for change in changes:
        kind, resource = change_kind_of(change), change.resource
        if not kind.can_validate:  # asked for a change that the broker can never make
            refusal = _asked(lambda: {resource: kind.refusal_of_right(kafka, resource)}, [resource])  # noqa: B023
            refused[change.row] = refusal[resource]
        yield row_of(f"change {_things_of(resource)}", rights.to_alter(resource), refused.get(change.row), principal)


def _asked(
    ask: Callable[[], Mapping[Configurable, Refusal | None]], resources: Iterable[Configurable]
) -> Mapping[Configurable, Refusal | None]:
    """The broker's refusals. It checks rights first: any other one says that the right is there, if it is an answer."""
    try:
        return ask()
    except (NotAuthorized, TimedOut, ConnectionFailed) as exc:
        code = "CLUSTER_AUTHORIZATION_FAILED" if isinstance(exc, NotAuthorized) else "REQUEST_TIMED_OUT"
        return dict.fromkeys(resources, Refusal(exc.code or code, str(exc)))


_NOUNS = {ScramUser.kind: "credentials"}


def _things_of(resource: Configurable) -> str:
    """The things that are read or changed, in words: quotas, configs of the topic orders."""
    things = _NOUNS.get(resource.kind, f"{resource.kind}s")
    return things if resource in (_ANYONE, _ALL_BROKERS) else f"{things} of {resource}"


def row_of(action: str, right: rights.Right, refused: Refusal | None, principal: str) -> Row:
    """One row of PERMISSIONS: a right, what it is for, and the refusal of a request that needs it; None where the
    broker allows it."""
    is_unknown = refused is not None and refused.code in _UNANSWERED
    is_missing = refused is not None and kind_of(refused.code) is NotAuthorized
    return {
        "action": action,
        "operation": right.operation,
        "resource": str(right.on),
        "allowed": None if is_unknown else not is_missing,
        "note": None if refused is None else str(refused),
        "grant": right.granting_line(principal) if is_missing else None,
    }


_UNANSWERED = ("REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "BROKER_NOT_AVAILABLE", "NOT_CONTROLLER")
"""Errors of requests that no broker has judged: whether the right is there is not known."""


def user_in_words(settings: Settings) -> str | None:
    """`databricks:alice@example.com` on Databricks, else `User:alice` for a login that the broker checked; else None.

    What a broker calls the owner of a certificate is its own affair, and Kafka has no request that asks.
    """
    if paths.is_databricks() and (session := active_session()):
        return f"{PLATFORM}{session.sql('SELECT current_user()').first()[0]}"  # type: ignore[index]
    return settings.principal
