"""`cluster.client_configs`: the dynamic configs of clients, as stored and as a client follows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..errors import Invalid
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.arrays import flag_array
from ..frames.schema_metadata import mark, stamped
from ..model.filters import Selector, matcher, selector
from ..model.grammar import DEFAULT
from .nouns import CLIENT_KEYS, ClientEntity, refuse_unknown_key
from .registry_verbs import ClientRegistry

_EntryRow = dict[str, Any]


class ClientConfigs(ClientRegistry):
    """The dynamic client configs of a cluster (KIP-649), in a topic of kadmin_nb's. They are advice to clients."""

    def describe(
        self,
        *,
        user: Any,
        client_id: Any = None,
        keys: Sequence[str] | None = None,
        strict: bool = False,
        timeout: float | None = None,
    ) -> Answer:
        """CLIENT_CONFIGS as stored, sorted by user, client-id and key.

        Parameters
        ----------
        user
            A name, `kn.ANY`, `kn.Pattern("team-*")` or a list of them.
        client_id
            The same. Left out, the users' own entries and those of their client-ids.
        keys
            Only these of the three keys.
        strict
            Only entities of exactly these parts: without a client-id the users' own.
        timeout
            Seconds for the topic to be read; 30 unless said.

        Raises
        ------
        Invalid
            No user, `kn.DEFAULT`, or an unknown key.
        NotAuthorized
            READ on the topic is missing.
        TimedOut
            The topic has no leader, or is not read in time.
        """
        for key in keys or ():
            refuse_unknown_key(key)
        users = _chosen_names("user", user)
        names = [name for name in users if isinstance(name, str)]
        table = self._kafka.client_configs.describe(names if len(names) == len(users) else None, timeout=timeout)
        chosen = table.filter(_rows_of(table, users, client_id, keys, strict))
        return self._answer(chosen, table)

    def resolve(self, user: str, client_id: str = "") -> Answer:
        """EFFECTIVE_CLIENT_CONFIGS: the entries that a client follows, and those of its user that they override.

        A blank client-id is a client that sends none: it follows its user's. What is not set here, the client's own
        configuration says.

        Raises
        ------
        Invalid
            No user.
        NotAuthorized
            READ on the topic is missing.
        """
        entity = ClientEntity.of(user, client_id or None)
        table = self._kafka.client_configs.describe([entity.user])
        rows = schemas.table(schemas.EFFECTIVE_CLIENT_CONFIGS, _effective(entity, table.to_pylist()))
        return self._answer(rows, table)

    def _answer(self, rows: pa.Table, described: pa.Table) -> Answer:
        """An answer that says what of the topic could not be read."""
        passed_over = mark(described, schemas.PASSED_OVER)
        answer = Answer(stamped(rows, self._kafka.id, {schemas.PASSED_OVER: passed_over} if passed_over else None))
        if topic := mark(described, schemas.TOPIC_MISSING):
            answer.hint = f"There is no topic {topic}: no client config was ever set."
        if passed_over:
            answer.hint = f"{passed_over} records of the topic cannot be read and were passed over."
        return answer


def _chosen_names(kind: str, value: Any) -> Selector:
    if value is None:
        raise Invalid(f"{kind} is required", code="INVALID_REQUEST", hint="Such as user=alice; user=<any> for all.")
    chosen = selector(kind, value)
    if DEFAULT in chosen:
        raise Invalid(
            f"{kind}=<default> has no client configs: they have no default {kind}",
            code="INVALID_REQUEST",
            hint="Name one, or <any>.",
        )
    return chosen


def _rows_of(table: pa.Table, users: Selector, client_id: Any, keys: Sequence[str] | None, strict: bool) -> pa.Array:
    is_user = matcher(users)
    is_client = _client_filter(client_id, strict)
    columns = (table[name].to_pylist() for name in ("user", "client_id", "key"))
    allowed = CLIENT_KEYS if keys is None else keys
    rows = zip(*columns, strict=True)
    return flag_array(is_user(u) and is_client(c) and k in allowed for u, c, k in rows)


def _client_filter(client_id: Any, strict: bool) -> Any:
    if client_id is None:
        return (lambda name: name is None) if strict else (lambda name: True)
    fits = matcher(_chosen_names("client-id", client_id))
    return lambda name: name is not None and fits(name)


def _effective(entity: ClientEntity, rows: Sequence[_EntryRow]) -> Iterator[_EntryRow]:
    """The rows of the keys that are set on one of the entity's levels."""
    by_target = {(ClientEntity(row["user"], row["client_id"]), row["key"]): row for row in rows}
    for key in CLIENT_KEYS:
        levels = [by_target[level, key] for level in entity.levels if (level, key) in by_target]
        for row in levels[:1]:
            overridden = levels[1]["value"] if levels[1:] else None
            yield {**row, "client_id": entity.client_id or "", "overridden": overridden}
