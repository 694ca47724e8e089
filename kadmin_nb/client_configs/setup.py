"""The topics and rights of dynamic client configs: looked at, made, checked; and all that is open about them.

Only the admin writes entries: whoever may write them can set `acks=0` for any application. Clients read the entries
and write the other two topics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from ..admin import acls, error_codes, topics
from ..admin.acls import Acl
from ..admin.compacted_topic import CONFIGS, CompactedTopic, configs_on, replicas_on
from ..admin.configs import WireConfigs
from ..admin.kafka import WireKafka
from ..admin.wire import Wire
from ..errors import Invalid, KadminError, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Listing, Page
from ..frames.schema_metadata import stamped
from ..hints import Hint, Option, sentence, terminal
from ..model import rights
from ..model.changes import Refusal
from ..model.client_configs import CONFIGS_TOPIC
from ..model.configurable import AclResource
from ..model.findings import ABSENT, FAILED, OK, WARNING, Finding
from ..model.resources import Resource
from ..model.rights import Right
from .records import REGISTRATIONS_TOPIC, STATUS_TOPIC
from .topic import TOMBSTONES_STAY, TOPIC_CONFIGS

_WRITTEN_BY_CLIENTS: Mapping[str, str] = {
    **CONFIGS,
    "cleanup.policy": "compact,delete",  # clients come and go under new names for ever
    "retention.ms": str(7 * 86_400_000),  # both records of a client that is alive are sent again before that
    "retention.bytes": str(1 << 27),  # below what is read at most: nobody can write so much that it is refused
    "max.message.bytes": str(1 << 16),
}

SETTINGS: Mapping[str, Mapping[str, str]] = {
    CONFIGS_TOPIC: TOPIC_CONFIGS,
    REGISTRATIONS_TOPIC: _WRITTEN_BY_CLIENTS,
    STATUS_TOPIC: _WRITTEN_BY_CLIENTS,
}
"""The configs of each topic; the replicas, and how many of them must be in sync, depend on the cluster."""

CREATING = 30.0
"""Seconds for a topic to be made and to have a leader."""

_UNKNOWN_TOPIC = 3


@dataclass(frozen=True, slots=True)
class TopicShape:
    """A topic as brokers have it."""

    partitions: int
    replicas: int
    configs: Mapping[str, str]

    @property
    def is_compacted(self) -> bool:
        """True if the newest record of each key stays: without that entries are lost."""
        return self.partitions == 1 and "compact" in self.configs.get("cleanup.policy", "")


def _shape(wire: Wire, name: str) -> TopicShape | None:
    doing = f"looking for the topic {name}"
    (described,) = topics.metadata(wire, [name], doing=doing).topics
    if described.error_code == _UNKNOWN_TOPIC:
        return None
    error_codes.raise_for_error(described.error_code, None, doing, rights.on_topic("DESCRIBE", name))
    fewest = min((len(partition.replica_nodes) for partition in described.partitions), default=0)
    return TopicShape(len(described.partitions), fewest, _configs_of_topic(wire, name))


def _configs_of_topic(wire: Wire, name: str) -> dict[str, str]:
    keys = [*SETTINGS[name], "min.insync.replicas"]
    rows = WireConfigs(wire).describe([Resource("TOPIC", name)], keys, synonyms=False).to_pylist()
    for row in rows:
        if row["error"] is not None:
            needed = rights.to_describe(Resource("TOPIC", name))
            raise error_codes.error(Refusal(row["error"], row["message"]), f"reading {name}", needed)
    return {row["key"]: row["value"] for row in rows}


# --- topics and rights ---


EVERYBODY = "User:*"
"""All principals that a broker lets in."""

THERE, MISSING, DIFFERS, MADE = "there", "missing", "differs", "made"
"""The words of the column `state`."""

_TO_WRITE_ENTRIES = rights.on_topic("WRITE", CONFIGS_TOPIC)

_OF_ADMIN = (
    rights.on_topic("READ", CONFIGS_TOPIC),
    _TO_WRITE_ENTRIES,
    Right("WRITE", AclResource("transactional-id", CONFIGS_TOPIC)),
    rights.on_topic("READ", REGISTRATIONS_TOPIC),
    rights.on_topic("WRITE", REGISTRATIONS_TOPIC),
    rights.on_topic("READ", STATUS_TOPIC),
)
_OF_CLIENTS = (
    rights.on_topic("READ", CONFIGS_TOPIC),
    rights.on_topic("WRITE", REGISTRATIONS_TOPIC),
    rights.on_topic("WRITE", STATUS_TOPIC),
)

Grant = tuple[str, Right]


@dataclass(frozen=True, slots=True)
class Setup:
    """The three topics, and the rights that are needed and that there are; no rights where nobody checks them."""

    brokers: int
    topics: dict[str, TopicShape | None]
    grants: Sequence[Grant]
    acls: Sequence[Acl] | None

    @classmethod
    def of(cls, kafka: WireKafka, admin: str | None, clients: Iterable[str]) -> Self:
        """The setup as the cluster has it."""
        existing = acls.all_acls(kafka.wire)
        of_admin = [(admin, right) for right in _OF_ADMIN] if admin else []
        of_clients = [(principal, right) for principal in clients for right in _OF_CLIENTS]
        grants = [] if existing is None else [*dict.fromkeys([*of_admin, *of_clients])]
        return cls(len(kafka.brokers()), {name: _shape(kafka.wire, name) for name in SETTINGS}, grants, existing)

    @property
    def missing_topics(self) -> list[str]:
        """The topics that are not there."""
        return [name for name, shape in self.topics.items() if shape is None]

    @property
    def missing_grants(self) -> list[Grant]:
        """The rights that no ACL grants; a super user needs none, and nobody can see who is one."""
        allowing = [(acl.principal, acl) for acl in self.acls or ()]
        return [
            (who, right) for who, right in self.grants if not any(w == who and a.allows(right) for w, a in allowing)
        ]

    def differences(self, name: str) -> list[str]:
        """The settings of a topic that are not as they are to be, in words."""
        shape = self.topics[name]
        return [] if shape is None else [*_differences(name, shape, self.brokers)]

    def other_writers(self, admin: str | None) -> list[str]:
        """The principals that may write entries and are not the admin."""
        writers = {acl.principal for acl in self.acls or () if acl.allows(_TO_WRITE_ENTRIES)}
        return sorted(writers - {admin})

    @property
    def is_guarded(self) -> bool:
        """True if some ACL is about the topic of entries: without one, a broker's setting decides for everybody."""
        return any(acl.is_about(_TO_WRITE_ENTRIES.on) for acl in self.acls or ())

    def rows(self) -> Iterator[dict[str, object]]:
        """CLIENT_CONFIG_SETUP."""
        for name, shape in self.topics.items():
            differences = self.differences(name)
            state = MISSING if shape is None else DIFFERS if differences else THERE
            yield {"subject": f"topic {name}", "state": state, "note": "; ".join(differences) or None}
        missing = set(self.missing_grants)
        for grant in self.grants:
            principal, right = grant
            state = MISSING if grant in missing else THERE
            yield {"subject": f"{principal}: {right}", "state": state, "note": None}


class SetupAnswer(Answer):
    """CLIENT_CONFIG_SETUP: the topics and rights as they are; `apply` makes those that are missing."""

    def __init__(
        self, table: pa.Table, make: Callable[[], SetupAnswer] | None = None, lines: Sequence[str] = (), note: str = ""
    ) -> None:
        super().__init__(table)
        self._make, self._lines, self._note = make, lines, note

    _is_frame = False

    @property
    def differing(self) -> pa.Table:
        """The rows that are missing."""
        return self._table.filter(pc.equal(self._states(), MISSING))

    def apply(self) -> SetupAnswer:
        """Make the topics and grant the rights that are missing; all is looked at again first.

        Raises
        ------
        Invalid
            A topic is there with other settings: nothing is changed.
        NotAuthorized
            CREATE on a topic, or ALTER on the cluster, is missing.
        """
        if self._make is None:
            raise UsageError("these were made already")
        return self._make()

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if self._note:
            yield self._note
        if self._make is None:
            return
        if self._lines:
            yield "The missing rights are those of:"
            yield Listing(self._lines, len(self._lines), "lines", types=True)
        if len(self.differing):
            yield "Nothing is changed yet: --apply, or .apply(), creates what is missing."

    def _failing(self) -> pa.Array:
        return pc.equal(self._states(), DIFFERS)

    def _states(self) -> pa.ChunkedArray:
        return self._table["state"].cast(pa.string())

    def _error(self, row: dict[str, Any]) -> KadminError:
        return _other_settings(row["subject"], row["note"])


NO_AUTHORIZER = "The brokers have no authorizer: everyone can write to these topics."
TO_EVERYBODY = (
    f"{EVERYBODY} lets every principal read the entries of every user. To narrow it, name the principals of the "
    "applications: "
    "client-configs init --clients User:app --clients User:etl"
)


def look(kafka: WireKafka, clients: Sequence[str], admin: str | None = None) -> SetupAnswer:
    """CLIENT_CONFIG_SETUP, and the making of what is missing; see `ClientConfigs.setup`."""
    principal = admin or kafka.wire.settings.principal

    def make() -> SetupAnswer:
        before = Setup.of(kafka, principal, clients)
        _make(kafka, before)
        return _setup_answer(kafka, before, Setup.of(kafka, principal, clients))

    setup = Setup.of(kafka, principal, clients)
    if setup.acls is not None and principal is None:
        raise UsageError(
            "this login does not name our principal",
            hint=Hint(sentence("{} is who may write entries.", Option("admin", "User:NAME"))),
        )
    lines = [right.granting_line(whose) for whose, right in setup.missing_grants]
    return SetupAnswer(_table(kafka, setup.rows()), make, lines, _note_on(setup))


def _make(kafka: WireKafka, setup: Setup) -> None:
    """The rights first: a topic must not be open before it is closed."""
    for name in setup.topics:
        if differences := setup.differences(name):
            raise _other_settings(f"topic {name}", "; ".join(differences))
    if setup.missing_grants:
        acls.create(kafka.wire, setup.missing_grants)
    for name in setup.missing_topics:
        CompactedTopic(kafka.wire, name, SETTINGS[name]).ensure(time.monotonic() + CREATING)


def _setup_answer(kafka: WireKafka, before: Setup, after: Setup) -> SetupAnswer:
    missing = {row["subject"] for row in before.rows() if row["state"] == MISSING}
    rows = ({**row, "state": MADE} if row["subject"] in missing and row["state"] == THERE else row
            for row in after.rows())  # fmt: skip
    return SetupAnswer(_table(kafka, rows), note=_note_on(after))


def _note_on(setup: Setup) -> str:
    """The sentence on principals that may do more than an admin may expect; blank where there are none."""
    if setup.acls is None:
        return NO_AUTHORIZER
    return TO_EVERYBODY if any(principal == EVERYBODY for principal, _ in setup.grants) else ""


def _table(kafka: WireKafka, rows: Iterable[dict[str, object]]) -> pa.Table:
    return stamped(schemas.table(schemas.CLIENT_CONFIG_SETUP, rows), kafka.id)


def _other_settings(subject: str, differences: str) -> Invalid:
    return Invalid(
        f"the {subject} has other settings: {differences}; nothing was changed",
        code="INVALID_CONFIG",
        hint="If it is kadmin_nb's, set these configs; otherwise it cannot be used.",
    )


def _differences(name: str, shape: TopicShape, brokers: int) -> Iterator[str]:
    if shape.partitions != 1:
        yield f"{shape.partitions} partitions instead of 1"
    if shape.replicas < (replicas := replicas_on(brokers)):
        yield f"{shape.replicas} replicas instead of {replicas}"
    for key, value in configs_on(brokers, SETTINGS[name]).items():
        if (current := shape.configs.get(key)) is not None and not _does(key, current, value):
            yield f"{key}={current} instead of {value}"


def _does(key: str, current: str, value: str) -> bool:
    """True of the same value, and of tombstones that stay longer; brokers keep a list in the order it was set in."""
    if key == TOMBSTONES_STAY:
        return int(current) >= int(value)
    return {*current.split(",")} == {*value.split(",")}


# --- `doctor` about them ---


_CHECK = "client configs"
_MAKE = "kadmin-nb client-configs init shows what is missing; with --apply it creates it."


def checks_of(kafka: WireKafka) -> Iterator[Finding]:
    """The checks of the three topics, and of the ACLs of the one with the entries; one where there is no topic."""
    admin = kafka.wire.settings.principal
    try:
        setup = Setup.of(kafka, admin, ())
    except KadminError as error:
        error.syntax = terminal
        yield Finding(_CHECK, WARNING, str(error), "its topics", fix=error.hint)
        return
    if len(setup.missing_topics) == len(setup.topics):
        yield Finding(_CHECK, ABSENT, "not set up: no client follows them", "its topics", fix=_MAKE)
        return
    for name, shape in setup.topics.items():
        yield _topic_check(setup, name, shape)
    if setup.topics[CONFIGS_TOPIC]:
        yield _writers_check(setup, admin)


def _topic_check(setup: Setup, name: str, shape: TopicShape | None) -> Finding:
    if shape is None:
        return Finding(_CHECK, WARNING, "the topic is missing", name, fix=_MAKE)
    if not (differences := setup.differences(name)):
        return Finding(_CHECK, OK, f"compacted, {shape.replicas} replicas", name)
    state = WARNING if shape.is_compacted else FAILED
    fix = f"kadmin-nb config set KEY=VALUE topic={name} changes its configs."
    return Finding(_CHECK, state, "; ".join(differences), name, fix=fix)


def _writers_check(setup: Setup, admin: str | None) -> Finding:
    subject = "who may write entries"
    if setup.acls is None:
        return Finding(_CHECK, OK, NO_AUTHORIZER.rstrip("."), subject)
    if not setup.is_guarded:
        note = "no ACL covers it: with allow.everyone.if.no.acl.found=true everyone can write to it"
        return Finding(_CHECK, WARNING, note, subject, fix=_MAKE)
    if others := setup.other_writers(admin):
        note = f"ACLs let these write too: {', '.join(others)}"
        fix = "Anyone who can write there can set acks=0 for any application: remove the ACL unless it is intended."
        return Finding(_CHECK, WARNING, note, subject, fix=fix)
    return Finding(_CHECK, OK, "only our ACL, and super users", subject)
