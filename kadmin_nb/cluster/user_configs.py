"""All that is set on a user, as kafka-configs shows it: quotas, client configs, and the credentials to log in with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from ..client_configs.kafka import LiveKafka
from ..client_configs.verbs import ClientConfigs, supported_keys, without_default
from ..errors import Invalid, KadminError, NotAuthorized
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.schema_metadata import mark, stamped
from ..hints import did_you_mean
from ..model.client_configs import CLIENT_KEYS
from ..model.grammar import ANY, LEFT_OUT
from ..model.quota_keys import USER_CLIENT_KEYS, text_of
from ..model.scram import MECHANISMS, ScramUser
from .quotas import Quotas
from .scram import Scram

_ConfigRow = dict[str, object]
_NO_CREDENTIAL = "RESOURCE_NOT_FOUND"
SUPPORTED = "supported"
"""The kind of the rows that say which keys a version of a software follows."""

BESIDE_QUOTAS = 10.0
"""Seconds for a topic of client configs: what else is set on a user is shown without it."""

_KEYS = (*USER_CLIENT_KEYS, *CLIENT_KEYS, *MECHANISMS)


def user_configs(
    kafka: LiveKafka, user: Any, client_id: Any = None, keys: Collection[str] | None = None, *, only_set: bool = False
) -> Answer:
    """The quotas and client configs of these users, alone and with a client-id; the keys that their clients support;
    and, unless a client-id is asked for, their SCRAM credentials. See `Configs.of_users`.
    """
    notes: list[str] = []
    rows = [*_quota_rows(kafka, user, client_id), *_client_rows(kafka, user, client_id, notes)]
    if client_id is None:
        rows += _read_or_failed("SCRAM credentials", "scram", lambda: _credential_rows(kafka, user))
    _refuse_misspelt(keys or (), rows)
    chosen = [row for row in rows if keys is None or _is_about(row, keys)]
    if only_set:
        chosen = [row for row in chosen if row.get("kind") != SUPPORTED]
    answer = Answer(stamped(schemas.table(schemas.USER_CONFIGS, chosen), kafka.id))
    answer.hint = " ".join(notes) or None
    return answer


def _refuse_misspelt(keys: Collection[str], rows: Iterable[_ConfigRow]) -> None:
    """Refuse a key that we do not know, unless it is set here: a Kafka to come may have more."""
    known = [*_KEYS, *(str(row["key"]) for row in rows if "key" in row)]
    if key := next((key for key in keys if key not in known), None):
        near = did_you_mean(key, known, f"One of {', '.join(_KEYS)}.")
        raise Invalid(f"users have no key {key}", code="INVALID_CONFIG", hint=near)


def _is_about(row: _ConfigRow, keys: Collection[str]) -> bool:
    """True of a row of one of these keys, of a version that supports one, and of what may not be seen."""
    if "error" in row:
        return True
    supported = str(row["value"]).split(", ") if row["kind"] == SUPPORTED else ()
    return row["key"] in keys or any(key in keys for key in supported)


def _read_or_failed(resource: str, kind: str, rows: Callable[[], Iterable[_ConfigRow]]) -> list[_ConfigRow]:
    """The rows; where they cannot be read, one that says so: anybody may have made a topic of such a name."""
    try:
        return [*rows()]
    except KadminError as exc:
        return [_failed(resource, kind, exc)]


def _client_rows(kafka: LiveKafka, user: Any, client_id: Any, notes: list[str]) -> list[_ConfigRow]:
    """The client configs, and the keys that clients support; where the first cannot be read, that is one row."""
    configs = _read_or_failed(
        "client configs", "client-config", lambda: _client_config_rows(kafka, user, client_id, notes)
    )
    if any("error" in row for row in configs):
        return configs
    supported = _read_or_failed("supported configs", SUPPORTED, lambda: _supported_rows(kafka, user, client_id))
    return [*configs, *supported]


def _client_config_rows(kafka: LiveKafka, user: Any, client_id: Any, notes: list[str]) -> Iterator[_ConfigRow]:
    client_ids = None if client_id is None else without_default("client-id", client_id)
    users = without_default("user", user)
    answer = ClientConfigs(kafka).describe(user=users, client_id=client_ids, timeout=BESIDE_QUOTAS)
    if answer.hint and mark(answer.to_arrow(), schemas.PASSED_OVER):
        notes.append(str(answer.hint))
    for row in answer.to_arrow().to_pylist():
        yield {"resource": row["entity"], "kind": "client-config", "key": row["key"], "value": row["value"]}


def _supported_rows(kafka: LiveKafka, user: Any, client_id: Any) -> Iterator[_ConfigRow]:
    """For each software and version that registered under an entity, the keys that it supports."""
    client_ids = ANY if client_id is None else client_id
    supported = supported_keys(kafka, user, client_ids, BESIDE_QUOTAS)
    for (entity, software), keys in supported.items():
        yield {"resource": str(entity), "kind": SUPPORTED, "key": " ".join(software), "value": ", ".join(keys)}


def _quota_rows(kafka: LiveKafka, user: Any, client_id: Any) -> Iterator[_ConfigRow]:
    client_ids = LEFT_OUT if client_id is None else client_id
    for row in Quotas(kafka).describe(user=user, client_id=client_ids).to_arrow().to_pylist():
        yield {"resource": row["entity"], "kind": "quota", "key": row["key"], "value": text_of(row["value"])}


def _credential_rows(kafka: LiveKafka, user: Any) -> Iterator[_ConfigRow]:
    for row in Scram(kafka).describe(user=without_default("user", user)).to_arrow().to_pylist():
        names = {"resource": str(ScramUser(row["user"])), "kind": "scram"}
        if row["mechanism"] is not None:
            yield {**names, "key": row["mechanism"], "value": f"iterations={row['iterations']}"}
        elif row["error"] != _NO_CREDENTIAL:
            yield {**names, "error": row["error"], "message": row["message"]}


def _failed(resource: str, kind: str, exc: KadminError) -> _ConfigRow:
    """The right that is missing, or else what went wrong and what would work."""
    is_right = isinstance(exc, NotAuthorized) and exc.hint
    message = exc.hint if is_right else exc.in_one_line()
    return {"resource": resource, "kind": kind, "error": exc.code, "message": message}
