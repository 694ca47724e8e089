"""The scalar rule: which quota binds one client, and why. Standard library only.

Kafka resolves each quota key on its own, from the most specific level that has a quota, whatever its
value; values never combine (KIP-55, KIP-546). The levels are data, `model.levels.LEVELS`; here they are
read. The vectorised form of the same rule is `resolution.kernel`; both are proven equal to Kafka's own
`ClientQuotaManager`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import quote_plus

from ..model.entity import ARGUMENTS, Entity
from ..model.grammar import DEFAULT
from ..model.levels import DEFAULT_IP, IP, LEVELS, LEVELS_BY_NAME, SHARED, SHARERS, Level
from ..model.quota_keys import USER_CLIENT_KEYS, readable

Name = str | None
"""The name of a client as the rules read it: "" is a client without that name, None each that no quota names."""

Stored = Mapping[tuple[Entity, str], float]
"""The quotas of a cluster: (entity, key) to value, in the unit of the key."""

_DEFAULT_USER = LEVELS_BY_NAME["DEFAULT_USER"]
_OF_DEFAULT_USER = tuple(level for level in LEVELS if level.user == "default" and level.client_id)


@dataclass(frozen=True, slots=True)
class Overridden:
    """A quota that also fits the client, and loses to a more specific one."""

    level: str
    entity: Entity
    value: float


@dataclass(frozen=True, slots=True)
class Effective:
    """The quota of one key that binds one client, and the reason it does.

    The names of the client, and so of its bucket, may be None: each that no quota names. `value` is in the unit of its
    key, per broker; None means unlimited, and then `level`, `entity` and `bucket` are None too. `level` is the rule
    that won, `entity` the quota it is stored on, and `bucket` the user and client-id that share the allowance, "" where
    that part is not in it. `overridden` are the quotas that would bind next, most specific first.
    """

    user: Name
    client_id: Name
    key: str
    value: float | None = None
    level: str | None = None
    entity: Entity | None = None
    bucket: tuple[Name, Name] | None = None
    overridden: tuple[Overridden, ...] = ()

    @property
    def why(self) -> str:
        """The reason in words: the entity that binds, who draws from the same limit, and what lost."""
        return "" if self.level is None else f"set on {self.entity}; {SHARED[self.level]}{self._overriding}"

    @property
    def origin(self) -> str:
        """The entity that binds, and what it overrides."""
        return "" if self.level is None else f"set on {self.entity}{self._overriding}"

    @property
    def _overriding(self) -> str:
        lost = ", ".join(f"{o.entity} ({readable(self.key, o.value)})" for o in self.overridden)
        return f"; overrides {lost}" if lost else ""

    @property
    def is_shared(self) -> bool:
        """True where other clients draw from the same limit."""
        return self.level in SHARERS


def entity_at(level: Level, user: str, client_id: str) -> Entity:
    """The entity that carries this level's quota for this client."""
    named = (("user", level.user, user), ("client-id", level.client_id, client_id))
    return Entity(tuple((kind, DEFAULT if part == "default" else name) for kind, part, name in named if part))


def next_entities(entity: Entity, levels: Container[str] = LEVELS_BY_NAME) -> tuple[Entity, ...]:
    """The entities whose quotas bind the clients of this one where it has none, the first that is set before others.

    The clients are those that send a client-id, and have no quota of their own; `levels` are those that have quotas.
    """
    if entity.level == IP:
        return (Entity.of({"ip": DEFAULT}),)
    own = LEVELS_BY_NAME.get(entity.level)
    names = [name if isinstance(name := entity.get(kind), str) else None for kind in ("user", "client-id")]
    lower = LEVELS[own.number + 1 :] if own else ()
    return tuple(
        entity_at(level, names[0] or "", names[1] or "")
        for level in lower
        if level.name in levels and reaches(level, *names)
    )


def reaches(level: Level, user: Name, client_id: Name) -> bool:
    """Can quotas of this level be of this client, as far as its names go?"""
    parts = ((level.user, user), (level.client_id, client_id))
    return all(part is None or (name != "" if part == "default" else bool(name)) for part, name in parts)


def bucket_at(level: Level, user: Name, client_id: Name) -> tuple[Name, Name]:
    """The names that share the allowance: the client's own names, "" for a part that the level does not speak of."""
    return user if level.user else "", client_id if level.client_id else ""


def resolve_client(stored: Stored, user: Name, client_id: Name, key: str) -> Effective:
    """Walk the levels from most to least specific; the first quota present wins, the rest are overridden."""
    reaching = _reaching(stored, user, client_id, key)
    tried = ((level, entity_at(level, user or "", client_id or "")) for level in reaching)
    present = [(level, entity, stored[entity, key]) for level, entity in tried if (entity, key) in stored]
    if not present:
        return Effective(user, client_id, key)
    (level, entity, value), *lower = present
    lost = tuple(Overridden(level.name, entity, value) for level, entity, value in lower)
    return Effective(user, client_id, key, value, level.name, entity, bucket_at(level, user, client_id), lost)


def explain(
    stored: Stored, user: Name, client_id: Name = "", keys: Iterable[str] = USER_CLIENT_KEYS
) -> tuple[Effective, ...]:
    """The effective quotas of one client, key by key; a blank client-id is a client that sends none."""
    return tuple(resolve_client(stored, user, client_id, key) for key in keys)


def _reaching(stored: Stored, user: Name, client_id: Name, key: str) -> tuple[Level, ...]:
    """The levels that can bind this client at all.

    A blank client-id escapes every level with a client part (KAFKA-13341, KAFKA-15314). So does an empty
    user, which a certificate with an empty subject gives, every level with a user part; see `_is_silenced`.
    """
    if user == "" and _is_silenced(stored, client_id, key):
        return ()
    return tuple(level for level in LEVELS if reaches(level, user, client_id))


def _is_silenced(stored: Stored, client_id: Name, key: str) -> bool:
    """True if an empty user is unlimited because a default user quota exists.

    Kafka first picks the bucket: the default user's is ("", ""), and for it no quota is looked up. A client
    quota of the default user leads to the bucket ("", client-id) instead, and so to the client levels.
    """
    reaches_someone = any(
        (entity_at(level, "", client_id or ""), key) in stored
        for level in _OF_DEFAULT_USER
        if client_id or level.client_id == "default"
    )
    return not reaches_someone and (entity_at(_DEFAULT_USER, "", ""), key) in stored


def stored_of(rows: Iterable[Mapping[str, object]]) -> dict[tuple[Entity, str], float]:
    """QUOTAS rows (`level`, `user`, `client_id`, `ip`, `key`, `value`) as the rules read them.

    Rows of level OTHER, an entity type that this version does not know, are passed over: no rule is known.
    """
    entities = ((entity_of(row), row) for row in rows)
    return {(e, str(row["key"])): float(row["value"]) for e, row in entities if e}  # type: ignore[arg-type]


def entity_of(row: Mapping[str, object]) -> Entity | None:
    """The entity that the level and the names of a QUOTAS row tell; None of a level that no rule is known for."""
    user, client_id, ip = (str(row.get(name) or "") for name in ARGUMENTS)
    level = LEVELS_BY_NAME.get(str(row["level"]))
    if level:
        return entity_at(level, user, client_id)
    if row["level"] == IP:
        return Entity.of({"ip": ip})
    return Entity.of({"ip": DEFAULT}) if row["level"] == DEFAULT_IP else None


def address(text: str) -> str:
    """One spelling for each address; a host name stays as it is."""
    ip = _parsed(text)
    return text if ip is None else str(getattr(ip, "ipv4_mapped", None) or ip)


def is_host_name(text: str) -> bool:
    """True of the name of an ip that is not an address: only brokers know the addresses of a host."""
    return _parsed(text) is None


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def metric_tags(bucket_user: str, bucket_client_id: str) -> dict[str, str]:
    """The tags of a bucket's metrics in the broker's JMX.

    The user is percent-encoded as Kafka's `Sanitizer` does, the client-id is raw.

    Examples
    --------
    >>> metric_tags("CN=a b*", "app 1")
    {'user': 'CN%3Da%20b%2A', 'client-id': 'app 1'}
    """
    return {"user": sanitized(bucket_user), "client-id": bucket_client_id}


def sanitized(user: str) -> str:
    """`user` as Kafka's Sanitizer has it: Java's URLEncoder, with %20 for a space and %2A for a star."""
    return quote_plus(user, safe="").replace("~", "%7E").replace("+", "%20")
