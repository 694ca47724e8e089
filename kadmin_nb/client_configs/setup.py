"""The topics and rights of dynamic client configs: looked at, then made; and all that is open about them.

Only the admin writes entries: whoever may write them can set `acks=0` for any application. Clients read the entries
and write the other two topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from ..admin import acls
from ..admin.acls import Acl
from ..admin.compacted_topic import replicas_on
from ..admin.kafka import WireKafka
from ..errors import Invalid, KadminError, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import Block, Listing
from ..frames.pages import NOTEBOOK, Page
from ..frames.schema_metadata import stamped
from ..hints import Hint, Option, sentence
from ..model import rights
from ..model.configurable import AclResource
from ..model.connection_settings import Settings
from ..model.rights import Right
from . import topics as client_topics
from .nouns import CONFIGS_TOPIC
from .records import REGISTRATIONS_TOPIC, STATUS_TOPIC
from .topics import TopicShape

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
        grants = [] if existing is None else _grants(admin, clients)
        return cls(len(kafka.brokers()), client_topics.look(kafka.wire), grants, existing)

    @property
    def missing_topics(self) -> list[str]:
        """The topics that are not there."""
        return [name for name, shape in self.topics.items() if shape is None]

    @property
    def missing_grants(self) -> list[Grant]:
        """The rights that no ACL grants; a super user needs none, and nobody can see who is one."""
        return [grant for grant in self.grants if not self._is_granted(*grant)]

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

    def _is_granted(self, principal: str, right: Right) -> bool:
        return any(acl.principal == principal and acl.allows(right) for acl in self.acls or ())


class SetupAnswer(Answer):
    """CLIENT_CONFIG_SETUP: the topics and rights as they are; `apply` makes those that are missing."""

    def __init__(
        self, table: pa.Table, make: Callable[[], SetupAnswer] | None = None, lines: Sequence[str] = (), note: str = ""
    ) -> None:
        super().__init__(table)
        self._make, self._lines, self._note = make, lines, note

    is_frame = False

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

    def footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if self._note:
            yield self._note
        if self._make is None:
            return
        if self._lines:
            yield "The missing rights are those of:"
            yield Listing(self._lines, len(self._lines), "lines", types=True)
        if len(self.differing):
            yield "Nothing is changed yet: --apply, or .apply(), makes what is missing."

    def _failing(self) -> pa.Array:
        return pc.equal(self._states(), DIFFERS)

    def _states(self) -> pa.ChunkedArray:
        return self._table["state"].cast(pa.string())

    def _error(self, row: dict[str, Any]) -> KadminError:
        return _other_settings(row["subject"], row["note"])


NO_AUTHORIZER = "The brokers have no authorizer: anybody may write these topics."
TO_EVERYBODY = (
    f"{EVERYBODY} lets every principal read the entries of every user. To narrow it, name those of the applications: "
    "client-configs init --clients User:app --clients User:etl"
)


def look(kafka: WireKafka, settings: Settings, clients: Sequence[str], admin: str | None = None) -> SetupAnswer:
    """CLIENT_CONFIG_SETUP, and the making of what is missing; see `ClientConfigs.setup`."""
    principal = admin or settings.principal

    def make() -> SetupAnswer:
        before = Setup.of(kafka, principal, clients)
        _make(kafka, before)
        return _setup_answer(kafka, before, Setup.of(kafka, principal, clients))

    setup = Setup.of(kafka, principal, clients)
    if setup.acls is not None and principal is None:
        raise UsageError(
            "this login does not tell our principal",
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
        client_topics.create(kafka.wire, name)


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
        hint="If it is kadmin_nb's, set these configs; if it is somebody else's, it cannot be used.",
    )


def _grants(admin: str | None, clients: Iterable[str]) -> list[Grant]:
    of_admin = [(admin, right) for right in _OF_ADMIN] if admin else []
    return list(dict.fromkeys([*of_admin, *((principal, right) for principal in clients for right in _OF_CLIENTS)]))


def _differences(name: str, shape: TopicShape, brokers: int) -> Iterator[str]:
    if shape.partitions != 1:
        yield f"{shape.partitions} partitions instead of 1"
    if shape.replicas < (replicas := replicas_on(brokers)):
        yield f"{shape.replicas} replicas instead of {replicas}"
    for key, value in client_topics.settings_of(name, brokers).items():
        if (current := shape.configs.get(key)) is not None and not _is_same(current, value):
            yield f"{key}={current} instead of {value}"


def _is_same(current: str, value: str) -> bool:
    """True of the same value; brokers keep a list in the order in which it was set."""
    return {*current.split(",")} == {*value.split(",")}
