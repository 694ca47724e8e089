"""SCRAM credentials on the wire (KIP-554, APIs 50 and 51).

Over kafka-python's messages only: confluent-kafka's describe ends the Python process when DESCRIBE on the
cluster is missing, and a describe with null users is never answered (broker-facts 0).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import pbkdf2_hmac
from typing import Any

import pyarrow as pa
from kafka.protocol.admin.users import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest

from ..frames import schemas
from ..model import rights
from ..model.changes import Refusal
from ..model.scram import ScramUser
from ..secrets import Secret
from . import error_codes
from .ports import CredentialChange
from .wire import Wire, understood

_MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
_MECHANISM_NAMES = {number: name for name, (number, _) in _MECHANISMS.items()}
_UNKNOWN = Refusal("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")
_SALT_BYTES = 24
ScramRow = dict[str, object]


class WireScram:
    """`ports.Scram` over a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def describe(
        self, users: Iterable[ScramUser] = (), *, node: int | None = None, timeout: float | None = None
    ) -> pa.Table:
        """SCRAM of these users, of all when none is named; one that has none is a row with RESOURCE_NOT_FOUND.

        Raises
        ------
        NotAuthorized
            DESCRIBE on the cluster is missing.
        """
        kind, doing = DescribeUserScramCredentialsRequest.UserName, "describing SCRAM users"
        names = sorted({user.name for user in users})
        answer = self._wire.ask(
            lambda: DescribeUserScramCredentialsRequest(users=[kind(name=name) for name in names]),
            node=node,
            doing=doing,
            timeout=timeout,
        )
        error_codes.raise_for_error(answer.error_code, answer.error_message, doing, rights.on_cluster("DESCRIBE"))
        rows = understood(lambda: [row for result in answer.results for row in _of_user(result)], doing)
        return schemas.table(schemas.SCRAM, sorted(rows, key=lambda row: (row["user"], row.get("mechanism") or "")))

    def alter(
        self, wishes: Mapping[ScramUser, CredentialChange], *, validate_only: bool = False
    ) -> dict[ScramUser, Refusal | None]:
        """The broker's answer for each user. There is no validate-only: asked for it, nothing is sent or refused.

        Raises
        ------
        TimedOut
            No answer: it may have happened.
        """
        if validate_only:
            return dict.fromkeys(wishes)
        sendable = {user: change for user, change in wishes.items() if change.mechanism in _MECHANISMS}
        refusals = self._altered(sendable) if sendable else {}
        return {user: refusals.get(user, error_codes.UNNAMED) if user in sendable else _UNKNOWN for user in wishes}

    def _altered(self, wishes: Mapping[ScramUser, CredentialChange]) -> dict[ScramUser, Refusal | None]:
        doing, request = "altering SCRAM users", _alter_request(wishes)
        answer = self._wire.tell(lambda: request, doing=doing)
        return understood(lambda: _refusals(answer), doing, may_have_happened=True)


def _of_user(result: Any) -> Iterable[ScramRow]:
    if refused := error_codes.refusal(result.error_code, result.error_message):
        yield {"user": result.user, "error": refused.code, "message": refused.message}
    for credential in result.credential_infos:
        name = _MECHANISM_NAMES.get(credential.mechanism, f"UNKNOWN_{credential.mechanism}")
        yield {"user": result.user, "mechanism": name, "iterations": credential.iterations}


def _alter_request(wishes: Mapping[ScramUser, CredentialChange]) -> Any:
    """A password is salted and hashed here: it never leaves this machine."""
    kind = AlterUserScramCredentialsRequest
    deletions = [
        kind.ScramCredentialDeletion(name=user.name, mechanism=_MECHANISMS[change.mechanism][0])
        for user, change in wishes.items()
        if change.password is None
    ]
    upsertions = [
        kind.ScramCredentialUpsertion(name=user.name, iterations=change.iterations, **_salted(change, change.password))
        for user, change in wishes.items()
        if change.password is not None
    ]
    return kind(deletions=deletions, upsertions=upsertions)


def _salted(change: CredentialChange, password: Secret) -> dict[str, object]:
    number, digest = _MECHANISMS[change.mechanism]
    salt = os.urandom(_SALT_BYTES)
    salted = pbkdf2_hmac(digest, password.reveal().encode(), salt, change.iterations)
    return {"mechanism": number, "salt": salt, "salted_password": salted}


def _refusals(answer: Any) -> dict[ScramUser, Refusal | None]:
    return {ScramUser(r.user): error_codes.refusal(r.error_code, r.error_message) for r in answer.results}
