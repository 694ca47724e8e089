"""The topics and rights of dynamic client configs: checked, created, and what is open about them.

Only the admin writes entries: whoever may write them can set `acks=0` for any application. Clients read the entries
and write the other two topics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ..admin import acls, error_codes, topics
from ..admin.acls import Acl
from ..admin.compacted_topic import CONFIGS, CompactedTopic, configs_on, replicas_on
from ..admin.wire import Wire
from ..admin.wire_kafka import WireKafka
from ..admin.wire_kinds import WireConfigs
from ..errors import Invalid, KadminError, UsageError
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.views import counted_nouns
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


EVERYONE = "User:*"
"""All principals that a broker lets in."""

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

CHECK = "client configs"
_MISSING = {"is_missing": True}
"""The evidence of a finding on a topic or right that `apply` creates."""

_CREATED = {"is_created": True}
"""The evidence of a finding on what `apply` has just created."""

_CREATE = "kadmin-nb client-configs init --apply creates what is missing."

Grant = tuple[str, Right]


@dataclass(frozen=True, slots=True)
class Setup:
    """The three topics, the rights that are needed and the ACLs; no rights where the brokers have no authorizer."""

    admin: str | None
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
        shapes = {name: _shape(kafka.wire, name) for name in SETTINGS}
        return cls(admin, len(kafka.brokers()), shapes, grants, existing)

    @property
    def missing_topics(self) -> list[str]:
        """The names of the topics that the cluster does not have."""
        return [name for name, shape in self.topics.items() if shape is None]

    @property
    def missing_grants(self) -> list[Grant]:
        """The rights that no ACL grants; a super user needs none, and ACLs do not show who is one."""
        return [
            (who, right)
            for who, right in self.grants
            if not any(acl.principal == who and acl.allows(right) for acl in self.acls or ())
        ]

    def differences(self, name: str) -> str:
        """The settings of a topic that are not as they are to be, in words; empty where all are."""
        shape = self.topics[name]
        return "" if shape is None else "; ".join(_differences(name, shape, self.brokers))

    def topic_checks(self) -> Iterator[Finding]:
        """The findings on the topics, and on the principals that may write entries."""
        for name, shape in self.topics.items():
            yield self._topic_check(name, shape)
        if self.topics[CONFIGS_TOPIC] or self.acls is None:
            yield self._writers_check()

    def checks(self) -> Iterator[Finding]:
        """The findings on the topics, on the rights, and on the principals that may read entries."""
        yield from self.topic_checks()
        missing = set(self.missing_grants)
        for principal, right in self.grants:
            granted = Finding(CHECK, OK, "granted", f"{principal}: {right}")
            if (principal, right) in missing:
                fix = right.granting_line(principal)
                yield replace(granted, severity=WARNING, message="no ACL grants it", fix=fix, evidence=_MISSING)
            else:
                yield granted
        if any(principal == EVERYONE for principal, _ in self.grants):
            note = f"{EVERYONE} lets every principal read the entries of every user"
            fix = "client-configs init --clients User:app --clients User:etl names the principals of applications."
            yield Finding(CHECK, WARNING, note, "who may read entries", fix=fix)

    def _topic_check(self, name: str, shape: TopicShape | None) -> Finding:
        if shape is None:
            return Finding(CHECK, WARNING, "the topic is missing", name, fix=_CREATE, evidence=_MISSING)
        if not (differences := self.differences(name)):
            return Finding(CHECK, OK, f"compacted, {shape.replicas} replica{'s' * (shape.replicas != 1)}", name)
        severity = WARNING if shape.is_compacted else FAILED
        fix = f"kadmin-nb config set KEY=VALUE topic={name} changes its configs."
        return Finding(CHECK, severity, differences, name, fix=fix)

    def _writers_check(self) -> Finding:
        subject = "who may write entries"
        if self.acls is None:
            return Finding(CHECK, OK, "the brokers have no authorizer: everyone can write to these topics", subject)
        if not any(acl.is_about(_TO_WRITE_ENTRIES.on) for acl in self.acls):
            note = "no ACL covers it: with allow.everyone.if.no.acl.found=true everyone can write to it"
            return Finding(CHECK, WARNING, note, subject, fix=_CREATE)
        writers = {acl.principal for acl in self.acls if acl.allows(_TO_WRITE_ENTRIES)}
        if others := sorted(writers - {self.admin}):
            note = f"ACLs let these write too: {', '.join(others)}"
            fix = "Anyone who can write there can set acks=0 for any application: remove the ACL unless it is intended."
            return Finding(CHECK, WARNING, note, subject, fix=fix)
        return Finding(CHECK, OK, "only our ACL, and super users", subject)


class SetupAnswer(Findings):
    """CHECKS of the topics and rights as they are; `apply` creates what is missing."""

    schema = schemas.CHECKS
    _is_frame = False

    def __init__(self, checks: Iterable[Finding], cluster_id: str, make: Callable[[], SetupAnswer]) -> None:
        super().__init__(checks, cluster_id)
        self._make = make

    @property
    def missing(self) -> list[Finding]:
        """The findings on what `apply` creates."""
        return [check for check in self.findings if check.evidence.get("is_missing")]

    def apply(self) -> SetupAnswer:
        """Create the topics and grant the rights that are missing; everything is read again first.

        Raises
        ------
        Invalid
            A topic exists with other settings: nothing is changed.
        NotAuthorized
            CREATE on a topic, or ALTER on the cluster, is missing.
        """
        return self._make()

    def _title(self) -> str:
        if created := [check for check in self.findings if check.evidence == _CREATED]:
            topics = sum(check.target in SETTINGS for check in created)
            counts = {("topic created", "topics created"): topics,
                      ("right granted", "rights granted"): len(created) - topics}  # fmt: skip
            return ", ".join(counted_nouns(count, *nouns) for nouns, count in counts.items() if count)
        in_order = sum(check.severity == OK for check in self.findings)
        return f"{in_order} of {len(self)} topics and rights of dynamic client configs are in order."

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if self.missing:
            yield "Nothing is changed yet: --apply, or .apply(), creates what is missing."

    def _error(self, row: dict[str, Any]) -> KadminError:
        return _other_settings(row["subject"], row["note"])


def look(kafka: WireKafka, clients: Sequence[str], admin: str | None = None) -> SetupAnswer:
    """CHECKS of the topics and rights, and the making of what is missing; see `ClientConfigs.setup`."""
    principal = admin or kafka.wire.settings.principal

    def make() -> SetupAnswer:
        kafka.wire.settings.refuse_unplanned("these topics and rights are")
        before = Setup.of(kafka, principal, clients)
        _make(kafka, before)
        made = {*before.missing_topics, *(f"{who}: {right}" for who, right in before.missing_grants)}
        after = Setup.of(kafka, principal, clients).checks()
        return SetupAnswer((_as_made(check, made) for check in after), kafka.id, make)

    setup = Setup.of(kafka, principal, clients)
    if setup.acls is not None and principal is None:
        raise UsageError(
            "this login does not name our principal",
            hint=Hint(sentence("{} is who may write entries.", Option("admin", "User:NAME"))),
        )
    return SetupAnswer(setup.checks(), kafka.id, make)


def _as_made(check: Finding, made: Collection[str]) -> Finding:
    if check.severity != OK or check.target not in made:
        return check
    return replace(check, message="created now", evidence=_CREATED)


def _make(kafka: WireKafka, setup: Setup) -> None:
    """The rights first: a topic must not be open before it is closed."""
    for name in setup.topics:
        if differences := setup.differences(name):
            raise _other_settings(name, differences)
    if setup.missing_grants:
        acls.create(kafka.wire, setup.missing_grants)
    for name in setup.missing_topics:
        CompactedTopic(kafka.wire, name, SETTINGS[name]).ensure(time.monotonic() + CREATING)


def _other_settings(topic: str, differences: str) -> Invalid:
    return Invalid(
        f"the topic {topic} has other settings: {differences}; nothing was changed",
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


def checks_of(kafka: WireKafka) -> Iterator[Finding]:
    """The findings of `doctor`: on the topics, and on the ACLs of the entries; one where no topic exists."""
    try:
        setup = Setup.of(kafka, kafka.wire.settings.principal, ())
    except KadminError as error:
        error.syntax = terminal
        yield Finding(CHECK, WARNING, str(error), "its topics", fix=error.hint)
        return
    if len(setup.missing_topics) == len(setup.topics):
        yield Finding(
            CHECK, ABSENT, "dynamic client configs are not set up", fix="kadmin-nb client-configs init --apply"
        )
        return
    checks = [*setup.topic_checks()]
    if any(check.severity != OK for check in checks):
        yield from checks
    else:
        yield Finding(CHECK, OK, f"{len(setup.topics)} topics with the settings they need; {checks[-1].message}")
