"""All that is set on a user, as kafka-configs shows it: quotas, and the credentials to log in with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import KadminError, NotAuthorized
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.schema_metadata import stamped
from ..model.grammar import DEFAULT
from ..model.quota_keys import text_of
from ..model.scram import ScramUser
from .filters import selector

if TYPE_CHECKING:
    from . import Cluster

_Row = dict[str, object]
_NO_CREDENTIAL = "RESOURCE_NOT_FOUND"


def user_configs(cluster: Cluster, user: Any) -> Answer:
    """USER_CONFIGS: the quotas of these users, alone and with a client-id, and their SCRAM credentials.

    Parameters
    ----------
    user
        As of `Quotas.describe`.

    Raises
    ------
    NotAuthorized
        Neither may be seen.
    """
    rows = [*_quota_rows(cluster, user), *_credential_rows(cluster, user)]
    return Answer(stamped(schemas.table(schemas.USER_CONFIGS, rows), cluster.id))


def _quota_rows(cluster: Cluster, user: Any) -> Iterator[_Row]:
    for row in cluster.quotas.describe(user=user).to_arrow().to_pylist():
        yield {"resource": row["entity"], "kind": "quota", "key": row["key"], "value": text_of(row["value"])}


def _credential_rows(cluster: Cluster, user: Any) -> Iterator[_Row]:
    """The credentials of these users; where they may not be seen, one row that says so. The default has none."""
    chosen = tuple(part for part in selector("user", user) if part is not DEFAULT)
    try:
        rows = cluster.scram.describe(user=chosen).to_arrow().to_pylist()
    except NotAuthorized as exc:
        yield _failed("SCRAM credentials", exc)
        return
    for row in rows:
        names = {"resource": str(ScramUser(row["user"])), "kind": "scram"}
        if row["mechanism"] is not None:
            yield {**names, "key": row["mechanism"], "value": f"iterations={row['iterations']}"}
        elif row["error"] != _NO_CREDENTIAL:
            yield {**names, "error": row["error"], "message": row["message"]}


def _failed(resource: str, exc: KadminError) -> _Row:
    return {"resource": resource, "kind": "scram", "error": exc.code, "message": exc.hint or str(exc)}
