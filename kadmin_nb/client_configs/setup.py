"""The topics and rights of dynamic client configs: checked, and the topics created.

Only the admin writes entries: whoever may write them can set `acks=0` for any application. Clients read the entries
and write the other two topics.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..admin import acls, error_codes, topics
from ..admin.compacted_topic import CONFIGS, CompactedTopic, configs_on, replicas_on
from ..admin.wire import Wire
from ..admin.wire_kafka import WireKafka
from ..admin.wire_kinds import WireConfigs
from ..errors import Invalid, KadminError, PlanRefused
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Block, Page
from ..model import rights
from ..model.changes import Refusal
from ..model.client_configs import CONFIGS_TOPIC
from ..model.findings import FAILED, OK, WARNING, Finding
from ..model.resources import Resource
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
_TO_WRITE_ENTRIES = rights.on_topic("WRITE", CONFIGS_TOPIC)
_CHECK = "client configs"
_MISSING = {"is_missing": True}
"""The evidence of a finding on a topic that `apply` creates."""

_NOT_GRANTED = {"is_granted": False}
"""The evidence of a finding on a right that is to be granted before a topic is created."""


class SetupAnswer(Findings):
    """CHECKS of the topics and rights as they are; `apply` creates the topics that are missing."""

    schema = schemas.CHECKS
    _is_frame = False

    def __init__(self, kafka: WireKafka) -> None:
        self._kafka = kafka
        super().__init__(_checks(kafka), kafka.id)

    def apply(self) -> SetupAnswer:
        """Create the topics that are missing; everything is read again, before and after.

        Raises
        ------
        Invalid
            A topic exists with other settings: nothing is changed.
        PlanRefused
            No ACL covers the topic of entries on a cluster with an authorizer: nothing is created.
        NotAuthorized
            CREATE on a topic is missing.
        """
        self._kafka.wire.settings.refuse_unplanned("these topics are")
        checks = {str(check.target): check for check in _checks(self._kafka)}
        missing = [name for name in SETTINGS if checks[name].evidence == _MISSING]
        for name in SETTINGS:
            if checks[name].severity != OK and name not in missing:
                raise _other_settings(name, checks[name].message)
        grant = next((check.fix for check in checks.values() if check.evidence == _NOT_GRANTED), None)
        if missing and grant:
            raise PlanRefused(
                f"no ACL covers the topic {CONFIGS_TOPIC}, which may then be open to all: nothing was created",
                code="TOPIC_AUTHORIZATION_FAILED",
                hint=f"Grant the right first: {grant}",
            )
        for name in missing:
            CompactedTopic(self._kafka.wire, name, SETTINGS[name]).ensure(time.monotonic() + CREATING)
        return SetupAnswer(self._kafka)

    def _title(self) -> str:
        in_order = sum(check.severity == OK for check in self.findings)
        return f"{in_order} of {len(self)} topics and rights of dynamic client configs are in order."

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if any(check.evidence == _MISSING for check in self.findings):
            yield "Nothing is changed yet: --apply, or .apply(), creates the topics that are missing."

    def _error(self, row: dict[str, object]) -> KadminError:
        return _other_settings(str(row["subject"]), str(row["note"]))


def _checks(kafka: WireKafka) -> Iterator[Finding]:
    """The findings on the topics, and on the principals that may write entries."""
    existing = acls.all_acls(kafka.wire)
    for name in SETTINGS:
        yield _topic_check(kafka, name)
    yield _writers_check(existing, kafka.wire.settings.principal)


def _writers_check(existing: Sequence[acls.Acl] | None, admin: str | None) -> Finding:
    subject = "who may write entries"
    if existing is None:
        return Finding(_CHECK, OK, "the brokers have no authorizer: everyone can write to these topics", subject)
    if not any(acl.is_about(_TO_WRITE_ENTRIES.on) for acl in existing):
        note = "no ACL covers it: with allow.everyone.if.no.acl.found=true everyone can write to it"
        fix = _TO_WRITE_ENTRIES.granting_line(admin or "User:NAME")
        return Finding(_CHECK, WARNING, note, subject, fix=fix, evidence=_NOT_GRANTED)
    writers = {acl.principal for acl in existing if acl.allows(_TO_WRITE_ENTRIES)}
    if others := sorted(writers - {admin}):
        note = f"ACLs let these write too: {', '.join(others)}"
        fix = "Anyone who can write there can set acks=0 for any application: remove the ACL unless it is intended."
        return Finding(_CHECK, WARNING, note, subject, fix=fix)
    return Finding(_CHECK, OK, "only our ACL, and super users", subject)


def _topic_check(kafka: WireKafka, name: str) -> Finding:
    """Whether the topic is there, with the settings that it needs."""
    doing = f"looking for the topic {name}"
    (described,) = topics.metadata(kafka.wire, [name], doing=doing).topics
    if described.error_code == _UNKNOWN_TOPIC:
        fix = "kadmin-nb client-configs init --apply creates it."
        return Finding(_CHECK, WARNING, "the topic is missing", name, fix=fix, evidence=_MISSING)
    error_codes.raise_for_error(described.error_code, None, doing, rights.on_topic("DESCRIBE", name))
    replicas = min((len(partition.replica_nodes) for partition in described.partitions), default=0)
    configs, brokers = _configs_of_topic(kafka.wire, name), len(kafka.brokers())
    differences = [*_differences(name, len(described.partitions), replicas, configs, brokers)]
    if not differences:
        return Finding(_CHECK, OK, f"compacted, {replicas} replica{'s' * (replicas != 1)}", name)
    is_compacted = len(described.partitions) == 1 and "compact" in configs.get("cleanup.policy", "")
    fix = f"kadmin-nb config set KEY=VALUE topic={name} changes its configs."
    return Finding(_CHECK, WARNING if is_compacted else FAILED, "; ".join(differences), name, fix=fix)


def _configs_of_topic(wire: Wire, name: str) -> dict[str, str]:
    keys = [*SETTINGS[name], "min.insync.replicas"]
    rows = WireConfigs(wire).describe([Resource("TOPIC", name)], keys, synonyms=False).to_pylist()
    for row in rows:
        if row["error"] is not None:
            needed = rights.to_describe(Resource("TOPIC", name))
            raise error_codes.error(Refusal(row["error"], row["message"]), f"reading {name}", needed)
    return {row["key"]: row["value"] for row in rows}


def _differences(name: str, partitions: int, replicas: int, configs: Mapping[str, str], brokers: int) -> Iterator[str]:
    """The settings of a topic that are not as they are to be, in words."""
    if partitions != 1:
        yield f"{partitions} partitions instead of 1"
    if replicas < (wanted := replicas_on(brokers)):
        yield f"{replicas} replicas instead of {wanted}"
    for key, value in configs_on(brokers, SETTINGS[name]).items():
        if (current := configs.get(key)) is not None and not _does(key, current, value):
            yield f"{key}={current} instead of {value}"


def _does(key: str, current: str, value: str) -> bool:
    """True of the same value, and of tombstones that stay longer; brokers keep a list in the order it was set in."""
    if key == TOMBSTONES_STAY:
        return int(current) >= int(value)
    return {*current.split(",")} == {*value.split(",")}


def _other_settings(topic: str, differences: str) -> Invalid:
    return Invalid(
        f"the topic {topic} has other settings: {differences}; nothing was changed",
        code="INVALID_CONFIG",
        hint="If it is kadmin_nb's, set these configs; otherwise it cannot be used.",
    )
