"""`cluster.client_configs`: the dynamic configs of clients, who follows them, and who would obey a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..admin.compacted_topic import appended_at
from ..errors import Invalid, UsageError
from ..frames import relational, schemas
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.frame import Frame
from ..frames.lazy_answer import SparkAnswer
from ..frames.schema_metadata import ENGINE, NOTES, mark, stamped
from ..model.client_configs import CLIENT_KEYS, PRODUCER_KEYS, ClientEntity, merged, refuse_unknown_key
from ..model.grammar import ANY, DEFAULT, Selector, matcher, selector
from .kafka import LiveKafka
from .registry import RegisteredClient, Registry, entries_for, entries_of
from .setup import EVERYONE, SetupAnswer, look

if TYPE_CHECKING:
    from ..usage.engines import Usage

FOLLOWS, REFUSES, BEHIND, STATIC, SILENT = "follows", "refuses", "behind", "static", "silent"
"""The words of the column `state` of STATUS."""

NEVER_REGISTERED = "was active, and never registered: it does not follow dynamic configs"

_Row = dict[str, Any]


class RegistryAnswer(Answer):
    """A frame about registered clients. Its `notes` are on topics that are missing, registrations that expired and
    records that cannot be read."""


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
        """EFFECTIVE_CLIENT_CONFIGS: the entries that a client follows, and the entries of its user that they override.

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

    def status(self, *, user: object = ANY, client_id: object = ANY) -> RegistryAnswer:
        """STATUS: the values that each of these clients says it runs with, and why it refuses others.

        Arguments and errors as of `clients`; READ on the topic of the entries is needed, too.
        """
        registry = self._kafka.client_registry.describe()
        clients = _selected_clients(registry.clients, user, client_id)
        entries = entries_of(self._kafka.client_configs.describe({client.entity.user for client in clients}))
        rows = (row for client in clients for row in _status_rows(client, entries_for(client, entries)))
        return self._registry_answer(schemas.STATUS, rows, registry)

    def clients(
        self, key: str | None = None, *, user: object = ANY, client_id: object = ANY, usage: object = None
    ) -> RegistryAnswer | SparkAnswer:
        """FOLLOWERS: each registered instance that is alive, and whether it would follow a new value of a key.

        One row per instance and key: `acks` of producers, the timeouts of consumers; `keys` are all that it supports.

        Parameters
        ----------
        key
            Only the clients that have this key.
        user, client_id
            A name, `kn.Pattern("team-*")` or a list of them: only these.
        usage
            USAGE, Arrow's or Spark's, for one key: its clients that never registered are rows too, of a producer's key
            those that produced, of a consumer's those that consumed. With Spark's the answer stays there.

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
        answer = self._registry_answer(schemas.FOLLOWERS, rows, registry)
        if usage is None:
            return answer
        if key is None:
            raise UsageError("a usage needs a key", hint="Those that produced have acks.")
        from ..usage.engines import Usage

        at_work = Usage.of(usage).of_cluster(self._kafka.id)
        if at_work.is_on_spark and (user, client_id) != (ANY, ANY):
            raise UsageError(
                "a usage in Spark is joined whole", hint="Leave out user and client_id; filter the answer."
            )
        everybody = sorted({(client.name.user, client.name.client_id) for client in registry.clients})
        pairs = schemas.table(schemas.PAIRS, [dict(zip(_BY_CLIENT, names, strict=True)) for names in everybody])
        return _with_unregistered(answer, at_work, pairs, key, matcher_of(user, client_id))

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

    def setup(self, *, clients: Sequence[str] = (EVERYONE,), admin: str | None = None) -> SetupAnswer:
        """CHECKS of the topics and rights as they are; its `apply()` creates what is missing.

        Only the admin may write entries; clients read them, and write the two topics about themselves.

        Parameters
        ----------
        clients
            The principals of applications, such as `User:app`; all that a broker lets in unless said.
        admin
            Our principal; the one of our login unless said.

        Raises
        ------
        NotAuthorized
            DESCRIBE on the cluster or DESCRIBE_CONFIGS on a topic is missing.
        UsageError
            There is an authorizer, and this login does not name our principal.
        """
        return look(self._kafka, clients, admin)

    def _answer(self, rows: pa.Table, described: pa.Table) -> Answer:
        """An answer that says what of the topic could not be read."""
        passed_over = mark(described, schemas.PASSED_OVER)
        answer = Answer(stamped(rows, self._kafka.id, {schemas.PASSED_OVER: passed_over} if passed_over else None))
        if topic := mark(described, schemas.TOPIC_MISSING):
            answer.hint = f"There is no topic {topic}: no client config was ever set."
        if passed_over:
            answer.hint = f"{passed_over} records of the topic cannot be read and were skipped."
        return answer

    def _registry_answer(self, frame: type[Frame], rows: Iterable[_Row], registry: Registry) -> RegistryAnswer:
        notes = "\n".join(_notes_on(registry))
        return RegistryAnswer(stamped(schemas.table(frame, rows), self._kafka.id, {NOTES: notes}))


def _chosen_names(kind: str, value: Any) -> Selector:
    if value is None:
        raise Invalid(f"{kind} is required", code="INVALID_REQUEST", hint="For example user=alice; user=<any> for all.")
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
    return pa.array([is_user(u) and is_client(c) and k in allowed for u, c, k in rows], pa.bool_())


def _client_filter(client_id: Any, strict: bool) -> Any:
    if client_id is None:
        return (lambda name: name is None) if strict else (lambda name: True)
    fits = matcher(_chosen_names("client-id", client_id))
    return lambda name: name is not None and fits(name)


def _effective(entity: ClientEntity, rows: Sequence[_Row]) -> Iterator[_Row]:
    """The rows of the keys that are set on one of the entity's levels."""
    of_level = [
        {row["key"]: row for row in rows if (row["user"], row["client_id"]) == (level.user, level.client_id)}
        for level in entity.levels
    ]
    in_force = merged(of_level)
    for key in filter(in_force.get, CLIENT_KEYS):
        lower = [level[key] for level in of_level[1:] if key in level and level[key] is not in_force[key]]
        overridden = lower[0]["value"] if lower else None
        yield {**in_force[key], "client_id": entity.client_id or "", "overridden": overridden}


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
    registration = client.registration
    for key in filter(client.is_of, keys):
        reason = client.why_not(key)
        yield {
            **asdict(client.name),
            "key": key,
            "follows": reason is None,
            "reason": reason,
            "group_id": registration.group_id,
            "group_protocol": registration.group_protocol,
            "keys": registration.keys,
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


# --- fleets ---


def _with_unregistered(
    answer: RegistryAnswer, usage: Usage, registered: pa.Table, key: str, fits: Callable[[str, str], bool]
) -> RegistryAnswer | SparkAnswer:
    """The answer, and a row for each client of the usage that has such a config and is not registered."""
    from ..usage.limits_used import known_clients

    quota_key = "producer_byte_rate" if key in PRODUCER_KEYS else "consumer_byte_rate"
    clients = known_clients(relational.equal(usage.frame, "key", quota_key))
    table, schema = answer.to_arrow(), schemas.FOLLOWERS.schema
    if usage.is_on_spark:
        registered, rows = (sparks.to_spark(each, clients.sparkSession) for each in (registered, table))
    else:
        pairs = zip(*(clients[name].to_pylist() for name in _BY_CLIENT), strict=True)
        clients, rows = clients.filter(pa.array([fits(*pair) for pair in pairs], pa.bool_())), table
    strangers = relational.others(clients, registered, _BY_CLIENT)
    literal = relational.words_of(strangers).literal
    known = {"key": key, "follows": False, "reason": NEVER_REGISTERED}
    columns = {
        name: literal(known.get(name), schema.field(name).type) for name in schema.names if name not in _BY_CLIENT
    }
    both = relational.appended(rows, relational.framed(relational.with_columns(strangers, columns), schema, _IN_ORDER))
    if usage.is_on_spark:
        marks = {name.decode(): text.decode() for name, text in table.schema.metadata.items()}
        return SparkAnswer(both, {**marks, ENGINE: usage.why})
    return RegistryAnswer(both)


_BY_CLIENT = ["user", "client_id"]
_IN_ORDER = [(name, "ascending") for name in _BY_CLIENT]
