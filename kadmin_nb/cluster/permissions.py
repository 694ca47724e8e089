"""Our rights on a cluster: each is found out by a request that changes nothing.

Brokers do not tell a user's rights: the authorised operations of the cluster are empty for whoever lacks DESCRIBE on
it, even for one that may alter quotas. So configs are read, and alters are sent to be validated only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import databricks
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, NotAuthorized, kind_of
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Listing, Page
from ..frames.schema_metadata import stamped
from ..frames.spark import active_session
from ..model import rights
from ..model.changes import DELETE, SET, Change, Edit, Refusal
from ..model.configurable import Configurable
from ..model.connection_settings import Settings
from ..model.entity import Entity
from ..model.resources import Resource
from ..model.scram import ScramUser
from ..plans.approval import PLATFORM
from ..plans.kinds.registry import kind_of as change_kind_of
from ..plans.kinds.registry import take
from ..plans.validation import validated
from .changes import secret

NOBODY = "User:NAME"
"""The principal of a granting line where nobody knows what the broker calls us."""

_ANYONE = Entity.of({"user": "kadmin-nb-may-i"})
_ALL_BROKERS = Resource("BROKER", "")
GENERAL = (
    Edit(SET, _ANYONE, "producer_byte_rate", "1000000"),
    Edit(DELETE, _ALL_BROKERS, "message.max.bytes"),
)
"""The changes that are validated where none is asked about; none is ever made."""

_HARMLESS = {"TOPIC": "retention.ms", "GROUP": "consumer.session.timeout.ms"}
"""A key of each type of resource, whose reset is validated."""


class PermissionsAnswer(Answer):
    """PERMISSIONS. Below it stand the lines that grant what is missing."""

    def _title(self) -> str:
        """The finding in a sentence."""
        missing = self.failed.to_arrow().num_rows
        return f"{missing} of {len(self)} rights are missing." if missing else "No right is missing."

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if lines := list(dict.fromkeys(self._table["grant"].drop_null().to_pylist())):
            yield "Someone who may alter ACLs can grant the missing rights with:"
            yield Listing(lines, len(lines), "lines", types=True)

    def _complaint(self) -> str:
        """Nothing: the title says it, and the rows."""
        return ""

    def _failing(self) -> pa.Array:
        return pc.invert(self._table["allowed"])

    def _error(self, row: dict[str, Any]) -> KadminError:
        return NotAuthorized(f"missing right: {row['operation']} on {row['resource']}, to {row['action']}")


@dataclass(frozen=True)
class Probe:
    """One right, and a request that needs it: `ask` gives the broker's refusal, None where it allows."""

    action: str
    right: rights.Right
    ask: Callable[[], Refusal | None]


def may_i(kafka: LiveKafka, settings: Settings, edits: Sequence[Edit], on: Iterable[Resource]) -> PermissionsAnswer:
    """PERMISSIONS to read what changes are judged by, and to make them; see `Cluster.may_i`."""
    wished = [*edits, *map(_harmless_edit, on)] or GENERAL
    resources = dict.fromkeys(edit.resource for edit in wished)
    probes = [*(_reading(kafka, resource, wished) for resource in resources), *_altering(kafka, wished)]
    rows = list(_rows(probes, user_in_words(settings) or NOBODY))
    return PermissionsAnswer(stamped(schemas.table(schemas.PERMISSIONS, rows), kafka.id))


def _harmless_edit(resource: Resource) -> Edit:
    """A change of this resource that is validated only."""
    return Edit(DELETE, resource, _HARMLESS.get(resource.type, "message.max.bytes"))


def _reading(kafka: LiveKafka, resource: Configurable, edits: Iterable[Edit]) -> Probe:
    targets = [edit.target for edit in edits if edit.resource == resource]

    def ask() -> Refusal | None:
        return take(kafka, targets).errors.get(resource)

    return Probe(f"read {_things_of(resource)}", rights.to_describe(resource), ask)


def _altering(kafka: LiveKafka, edits: Iterable[Edit]) -> Iterator[Probe]:
    for number, edit in enumerate(edits, 1):
        change = Change(number, edit.op, edit.resource, edit.key, wanted=edit.value, after=edit.value)
        needed = change_kind_of(edit).needed_right(edit.resource)
        yield Probe(f"change {_things_of(edit.resource)}", needed, partial(_refusal, kafka, change))


def _refusal(kafka: LiveKafka, change: Change) -> Refusal | None:
    """The broker's refusal of a change that is validated, or, where none can be, of one that it can never make."""
    kind = change_kind_of(change)
    if not kind.can_validate:
        return kind.refusal_of_right(kafka, change.resource)
    (judged,) = validated(kafka, [change], secret)
    return judged.refusal if judged.is_refused else None


_NOUNS = {ScramUser.kind: "credentials"}


def _things_of(resource: Configurable) -> str:
    """The things that are read or changed, in words: quotas, configs of the topic orders."""
    things = _NOUNS.get(resource.kind, f"{resource.kind}s")
    return things if resource in (_ANYONE, _ALL_BROKERS) else f"{things} of {resource}"


def _rows(probes: Iterable[Probe], principal: str) -> Iterator[dict[str, object]]:
    for probe in probes:
        refused = _asked(probe)
        is_missing = refused is not None and kind_of(refused.code) is NotAuthorized
        yield {
            "action": probe.action,
            "operation": probe.right.operation,
            "resource": str(probe.right.on),
            "allowed": not is_missing,
            "note": None if refused is None else str(refused),
            "grant": probe.right.granting_line(principal) if is_missing else None,
        }


def _asked(probe: Probe) -> Refusal | None:
    """The broker's refusal. It checks rights first: any other refusal says that the right is there."""
    try:
        return probe.ask()
    except NotAuthorized as exc:
        return Refusal(exc.code or "CLUSTER_AUTHORIZATION_FAILED", str(exc))


def user_in_words(settings: Settings) -> str | None:
    """`databricks:alice@example.com` there, else `User:alice` for a login that the broker checked; else None.

    What a broker calls the owner of a certificate is its own affair, and Kafka has no request that asks.
    """
    if databricks.is_here() and (user := _platform_user()):
        return f"{PLATFORM}{user}"
    return settings.principal


def _platform_user() -> str | None:
    session = active_session()
    return None if session is None else str(session.sql("SELECT current_user()").first()[0])  # type: ignore[index]
