"""`cluster.client_configs`: the dynamic configs of clients, who follows them, and who would follow a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from ..admin.compacted_topic import appended_at
from ..errors import Invalid
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.frame import Frame
from ..frames.schemas import NOTES, mark, stamped
from ..model.client_configs import CLIENT_KEYS, ClientEntity, merged, refuse_unknown_key
from ..model.grammar import ANY, DEFAULT, Selector, matcher, selector
from .kafka import LiveKafka
from .registry import RegisteredClient, Registry, entries_for, entries_of
from .setup import SetupAnswer

FOLLOWS, REFUSES, BEHIND, STATIC, SILENT = "follows", "refuses", "behind", "static", "silent"
"""The words of the column `state` of STATUS."""

_Row = dict[str, Any]


class ClientConfigs:
    """The dynamic client configs of a cluster (KIP-649), in a topic of kadmin_nb's, and the clients that follow them.

    They are advice to clients; and of themselves clients say what they like: any may claim any user.
    """

    def __init__(self, kafka: LiveKafka) -> None:
        self._kafka = kafka

    def describe(
        self,
        *,
        user: Any,
        client_id: Any = None,
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
        strict
            Only entities of exactly these parts: without a client-id the users' own.
        timeout
            Seconds for the topic to be read; 30 unless said.

        Raises
        ------
        Invalid
            No user, or `kn.DEFAULT`.
        NotAuthorized
            READ on the topic is missing.
        TimedOut
            The topic has no leader, or is not read in time.
        """
        users = _chosen_names("user", user)
        names = [name for name in users if isinstance(name, str)]
        table = self._kafka.client_configs.describe(names if len(names) == len(users) else None, timeout=timeout)
        is_user, is_client = matcher(users), _client_filter(client_id, strict)
        entities = zip(table["user"].to_pylist(), table["client_id"].to_pylist(), strict=True)
        chosen = pa.array([is_user(user) and is_client(client_id) for user, client_id in entities], pa.bool_())
        return self._answer(table.filter(chosen), table)

    def resolve(self, user: str, client_id: str = "") -> Answer:
        """CLIENT_CONFIGS: the entries that a client follows, its client-id's before its user's.

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
        entries: dict[ClientEntity, dict[str, _Row]] = defaultdict(dict)
        for row in table.to_pylist():
            entries[ClientEntity(row["user"], row["client_id"])][row["key"]] = row
        in_force = merged(entries[level] for level in entity.levels)
        rows = [in_force[key] for key in sorted(in_force)]
        return self._answer(schemas.table(schemas.CLIENT_CONFIGS, rows), table)

    def status(self, *, user: object = ANY, client_id: object = ANY) -> Answer:
        """STATUS: the values that each of these clients says it runs with, and why it refuses others.

        Arguments and errors as of `clients`; READ on the topic of the entries is needed, too.
        """
        registry = self._kafka.client_registry.describe()
        clients = _selected_clients(registry.clients, user, client_id)
        entries = entries_of(self._kafka.client_configs.describe({client.entity.user for client in clients}))
        rows = (row for client in clients for row in _status_rows(client, entries_for(client, entries)))
        return self._registry_answer(schemas.STATUS, rows, registry)

    def clients(self, key: str | None = None, *, user: object = ANY, client_id: object = ANY) -> Answer:
        """FOLLOWERS: each registered instance that is alive, and whether it would follow a new value of a key.

        One row per instance and key: `acks` of producers, the timeouts of consumers; `keys` are all that it supports.

        Parameters
        ----------
        key
            Only the clients that have this key.
        user, client_id
            A name, `kn.Pattern("team-*")` or a list of them: only these.

        Raises
        ------
        Invalid
            An unknown key.
        NotAuthorized
            READ on a topic of the registry is missing.
        """
        if key is not None:
            refuse_unknown_key(key)
        registry = self._kafka.client_registry.describe()
        clients = _selected_clients(registry.clients, user, client_id)
        rows = (row for client in clients for row in _follower_rows(client, CLIENT_KEYS if key is None else (key,)))
        return self._registry_answer(schemas.FOLLOWERS, rows, registry)

    def forget(self, user: str, client_id: str | None = None) -> int:
        """The number of registrations that were removed: of an entity, or of all client-ids of a user.

        Those of clients that are alive come back, each within its interval: what remains away was of a client that is
        gone. KIP-649 has it as the removal of `supported.configs`.

        Raises
        ------
        Invalid
            No user.
        NotAuthorized
            READ or WRITE on the topic of registrations is missing.
        """
        self._kafka.wire.settings.refuse_unplanned("registrations are")
        entity = ClientEntity.of(user, client_id)
        names = [client.name for client in self._kafka.client_registry.describe().clients if client.is_below(entity)]
        self._kafka.client_registry.forget(names)
        return len(names)

    def setup(self, *, clients: Sequence[str] = ()) -> SetupAnswer:
        """CHECKS of the topics and rights as they are; its `apply()` creates the topics that are missing.

        Only the admin may write entries; clients read them, and write the two topics about themselves.

        Parameters
        ----------
        clients
            The principals of applications, such as `User:app`: the rights that they need are checked, too.

        Raises
        ------
        NotAuthorized
            DESCRIBE on the cluster or DESCRIBE_CONFIGS on a topic is missing.
        """
        return SetupAnswer(self._kafka, clients)

    def _answer(self, rows: pa.Table, described: pa.Table) -> Answer:
        """An answer that says what of the topic could not be read."""
        passed_over = mark(described, schemas.PASSED_OVER)
        answer = Answer(stamped(rows, self._kafka.id, {schemas.PASSED_OVER: passed_over} if passed_over else None))
        if topic := mark(described, schemas.TOPIC_MISSING):
            answer.hint = f"There is no topic {topic}: no client config was ever set."
        if passed_over:
            answer.hint = f"{passed_over} records of the topic cannot be read and were skipped."
        return answer

    def _registry_answer(self, frame: type[Frame], rows: Iterable[_Row], registry: Registry) -> Answer:
        notes = "\n".join(_notes_on(registry))
        return Answer(stamped(schemas.table(frame, rows), self._kafka.id, {NOTES: notes}))


def _chosen_names(kind: str, value: Any) -> Selector:
    if value is None or DEFAULT in (chosen := selector(kind, value)):
        problem = f"{kind} is required" if value is None else f"{kind}=<default> has no client configs"
        raise Invalid(problem, code="INVALID_REQUEST", hint=f"For example {kind}=alice; {kind}=<any> for all.")
    return chosen


def _client_filter(client_id: Any, strict: bool) -> Any:
    if client_id is None:
        return (lambda name: name is None) if strict else (lambda name: True)
    fits = matcher(_chosen_names("client-id", client_id))
    return lambda name: name is not None and fits(name)


# --- clients ---


def matcher_of(user: object, client_id: object) -> Callable[[str, str], bool]:
    """Tells whether a client is one of those asked about."""
    is_user, is_client = (matcher(selector(kind, value)) for kind, value in (("user", user), ("client-id", client_id)))
    return lambda name, id_of_client: is_user(name) and is_client(id_of_client)


def without_default(kind: str, value: Any) -> Selector:
    """The names of these that clients may have: no default has any."""
    return tuple(part for part in selector(kind, value) if part is not DEFAULT)


def supported_keys(
    kafka: LiveKafka, user: Any, client_id: Any, timeout: float
) -> dict[tuple[ClientEntity, tuple[str, str]], list[str]]:
    """KIP-649's EntityCompatibility: the keys that each registered software and version supports."""
    is_chosen = matcher_of(without_default("user", user), without_default("client-id", client_id))
    keys: dict[tuple[ClientEntity, tuple[str, str]], set[str]] = defaultdict(set)
    for client in kafka.client_registry.describe(timeout=timeout).clients:
        name = client.name
        if is_chosen(name.user, name.client_id):
            keys[client.entity, (name.software, name.version)].update(client.registration.keys)
    return {whose: [key for key in CLIENT_KEYS if key in supported] for whose, supported in keys.items()}


def _selected_clients(clients: Iterable[RegisteredClient], user: object, client_id: object) -> list[RegisteredClient]:
    fits = matcher_of(user, client_id)
    return [client for client in clients if fits(client.name.user, client.name.client_id)]


def _notes_on(registry: Registry) -> Iterator[str]:
    for topic in registry.missing:
        yield f"There is no topic {topic}: client-configs init creates it."
    if registry.expired:
        yield f"{registry.expired:,} more registrations have expired: they were not renewed in time."
    if registry.passed_over:
        yield f"{registry.passed_over:,} records cannot be read, and were skipped."


def _follower_rows(client: RegisteredClient, keys: Iterable[str]) -> Iterator[_Row]:
    """A row for each of these keys that such a client has."""
    for key in filter(client.is_of, keys):
        reason = client.why_not(key)
        yield {
            **asdict(client.name),
            **asdict(client.registration),
            "key": key,
            "follows": reason is None,
            "reason": reason,
            "seen_at": appended_at(client.seen),
        }


def _status_rows(client: RegisteredClient, entries: Mapping[str, tuple[str, int]]) -> Iterator[_Row]:
    """What it says of each key, beside the entries that it is to follow."""
    name, status = client.name, client.status
    row: _Row = {"user": name.user, "client_id": name.client_id, "instance": name.instance}
    if status is None or client.said is None:
        yield {**row, "state": SILENT}
        return
    row |= {"revision": status.revision, "at": appended_at(client.said)}
    keys = sorted({*status.effective, *status.rejected, *entries})
    for key in keys:
        value, reason = status.effective.get(key), status.rejected.get(key)
        behind = _behind(value, entries.get(key))
        state = REFUSES if reason is not None else BEHIND if behind else FOLLOWS
        yield {**row, "key": key, "value": value, "state": state, "reason": reason or behind}
    if not keys:
        yield {**row, "state": STATIC}


def _behind(value: str | None, entry: tuple[str, int] | None) -> str | None:
    """The entry that a client with this value does not follow, in words; None where it does."""
    if entry is None:
        return "no entry has it any more"
    wanted, revision = entry
    return None if value == wanted else f"the entry of revision {revision} is {wanted}"
