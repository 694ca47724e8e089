"""What Kafka says to SCRAM credentials: rows of mechanisms and iterations, and what it refuses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import pyarrow as pa

from kadmin_nb.admin.ports import CredentialChange
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Refusal
from kadmin_nb.model.configurable import Configurable
from kadmin_nb.model.scram import MECHANISMS, ScramUser

Values = Mapping[Configurable, Mapping[str, float | str]]


def described(values: Values, asked: Collection[ScramUser]) -> pa.Table:
    """SCRAM of these users, of all when none is named."""
    users = asked or [whose for whose in values if isinstance(whose, ScramUser)]
    return schemas.table(schemas.SCRAM, (row for user in sorted(users, key=str) for row in _rows(values, user)))


def _rows(values: Values, user: ScramUser) -> Iterator[dict[str, object]]:
    if user not in values:
        words = f"Attempt to describe a user credential that does not exist: {user.name}"
        yield {"user": user.name, "error": "RESOURCE_NOT_FOUND", "message": words}
    for mechanism, iterations in sorted(values.get(user, {}).items()):
        yield {"user": user.name, "mechanism": mechanism, "iterations": int(iterations)}


def refusal(values: Values, user: ScramUser, change: CredentialChange) -> Refusal | None:
    """The controller's answer to one change."""
    if change.mechanism not in MECHANISMS:
        return Refusal("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")
    if not user.name:
        return Refusal("UNACCEPTABLE_CREDENTIAL", "Username must not be empty")
    if change.password is None:
        is_there = change.mechanism in values.get(user, {})
        return None if is_there else Refusal("RESOURCE_NOT_FOUND", _MISSING)
    if not 4096 <= change.iterations <= 16384:
        return Refusal("UNACCEPTABLE_CREDENTIAL", f"Too {'few' if change.iterations < 4096 else 'many'} iterations")
    return None


_MISSING = "Attempt to delete a user credential that does not exist"
