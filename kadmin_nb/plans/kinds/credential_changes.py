"""SCRAM credentials as a kind of change (KIP-554): no broker validates one, and nobody reads one back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, cast

from ...admin.ports import CredentialChange, Kafka, Scram
from ...errors import NotAuthorized, kind_of
from ...model.changes import DELETE, SET, Change, Edit, Fallback, Refusal, Target
from ...model.configurable import Configurable
from ...model.findings import WARNING, Finding
from ...model.scram import MECHANISMS, Credential, ScramUser
from ...secrets import Secret
from ..change_words import SCRAM_VERBS, scram_edits
from ..observed_state import LookOptions, ObservedState, ObservedValue
from .change_kind import ChangeKind

_NO_USER = "RESOURCE_NOT_FOUND"


class ScramChanges(ChangeKind):
    """Credentials of users: a plan has the reference of a password and its iterations, brokers show iterations only."""

    resources = ScramUser
    verbs: ClassVar = {op: f"scram {verb}" for verb, op in SCRAM_VERBS.items()}
    can_validate: ClassVar = False
    tool_deletes_absent = False

    def line_edits(self, verb: str, words: Sequence[str], allow_unknown: Collection[str]) -> list[Edit]:
        return scram_edits(verb, words)

    def check_values(self, change: Change) -> None:
        if change.after is not None:
            Credential.parse(change.after)

    def read(self, kafka: Kafka, targets: Collection[Target], state: ObservedState, look: LookOptions) -> None:
        users = dict.fromkeys(_user(resource) for resource, _ in targets)
        for row in kafka.scram.describe(users, node=look.node, timeout=look.time_left()).to_pylist():
            user = ScramUser(row["user"])
            if row["mechanism"] is not None:
                state.values[user, row["mechanism"]] = ObservedValue(is_known=False, shown=str(row["iterations"]))
            elif row["error"] != _NO_USER:
                state.errors[user] = Refusal(row["error"], row["message"])

    def fallback(self, change: Change, state: ObservedState) -> Fallback:
        return Fallback("not set")

    def may_be_secret(self, resource: Configurable) -> bool:
        return True

    def is_secret(self, edit: Edit, state: ObservedState) -> bool:
        return edit.op == SET

    def notes(self, edit: Edit, now: ObservedValue, state: ObservedState) -> Iterable[str]:
        if now.shown is not None:
            yield f"its iterations are {now.shown}"

    def after(self, edit: Edit, state: ObservedState) -> str | None:
        return str(Credential.parse(edit.text or "")) if edit.op == SET else None

    def agrees(self, now: ObservedValue, change: Change) -> bool:
        return now.shown == str(_credential(change).iterations)

    def waves(self, changes: Sequence[Change]) -> list[list[Change]]:
        """Kafka takes one change of a user in a request. Deletions come last: who gets another login keeps one."""
        keys = dict.fromkeys([*MECHANISMS, *(change.key for change in changes)])
        waves = [[c for c in changes if (c.op, c.key) == (op, key)] for op in (SET, DELETE) for key in keys]
        return [wave for wave in waves if wave]

    def order_key(self, change: Change) -> ScramUser:
        """The user: who did not get the new login keeps the old one."""
        return _user(change.resource)

    def port(self, kafka: Kafka) -> Scram:
        return kafka.scram

    def wish(self, changes: Sequence[Change], secrets: Mapping[str, Secret]) -> CredentialChange:
        (change,) = changes
        if change.op == DELETE:
            return CredentialChange(change.key)
        return CredentialChange(change.key, secrets[change.reference or ""], _credential(change).iterations)

    def refusal_of_right(self, kafka: Kafka, resource: Configurable) -> Refusal | None:
        """Kafka looks at the right first, and then refuses to delete a credential of a user without a name."""
        nobody = ScramUser("")
        refusal = kafka.scram.alter({nobody: CredentialChange(MECHANISMS[0])})[nobody]
        return refusal if refusal and kind_of(refusal.code) is NotAuthorized else None

    def warnings(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        """One warning of what cannot be restored, on the first row that it is about."""
        if deleted := next((change for change in changes if change.op == DELETE and not change.is_done), None):
            text = "a deleted credential cannot be restored: it cannot be read, so no rollback restores it"
            yield Finding.about(deleted, WARNING, "lost", text)


def _user(resource: Configurable) -> ScramUser:
    return cast(ScramUser, resource)


def _credential(change: Change) -> Credential:
    return Credential.parse(change.wanted or "")


CREDENTIALS = ScramChanges()
