"""Dynamic client configs (KIP-649): whose they are, which keys there are, and which values a client may take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ..errors import Invalid, UsageError
from ..hints import did_you_mean
from .configurable import AclResource, Configurable
from .grammar import format_word, parse_word, split

CONFIGS_TOPIC = "__kadmin_client_configs"
"""The entries that admins set; only they may write it."""

ACKS, SESSION_TIMEOUT, HEARTBEAT_INTERVAL = "acks", "session.timeout.ms", "heartbeat.interval.ms"

PRODUCER_KEYS = (ACKS,)
CONSUMER_KEYS = (SESSION_TIMEOUT, HEARTBEAT_INTERVAL)
CLIENT_KEYS = (*PRODUCER_KEYS, *CONSUMER_KEYS)
"""All that can be set, ever: never a security key, an address or a class."""

ALL_REPLICAS = ("-1", "all")
"""The two names of the same `acks`."""

_ACKS = (*ALL_REPLICAS, "0", "1")
_LARGEST_INTEGER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ClientEntity(Configurable):
    """A user, or one client-id of a user: `user=alice client-id=app`. Without a client-id it is the user's own."""

    kind: ClassVar[str] = "client-config"
    scope: ClassVar[str] = "CLIENT_CONFIGS"
    describe_operation: ClassVar[str] = "READ"
    alter_operation: ClassVar[str] = "WRITE"
    user: str
    client_id: str | None = None

    @classmethod
    def of(cls, user: object, client_id: object = None) -> ClientEntity:
        """The entity of these names.

        Raises
        ------
        Invalid
            No user, or a name that stands for several: client configs have no `<default>`.
        """
        if not isinstance(user, str) or not user:
            whose = (
                "a client config belongs to one user" if user in (None, "") else f"user={user} has no client configs"
            )
            raise Invalid(whose, code="INVALID_REQUEST", hint="For example user=alice client-id=app.")
        if client_id is not None and (not isinstance(client_id, str) or not client_id):
            raise Invalid(
                f"client-id={client_id} has no client configs",
                code="INVALID_REQUEST",
                hint="Name one client-id; or none, to set it on the user.",
            )
        return cls(user, client_id)

    @classmethod
    def parse(cls, text: str) -> ClientEntity:
        parts = {word.name: word.value for word in map(parse_word, split(text))}
        if strange := parts.keys() - {"user", "client-id"}:
            raise UsageError(f"{min(strange)}=… has no client configs", hint="For example user=alice client-id=app.")
        return cls.of(parts.get("user"), parts.get("client-id"))

    @property
    def names(self) -> tuple[str, str]:
        return self.user, self.client_id or ""

    @property
    def levels(self) -> tuple[ClientEntity, ...]:
        """The entities whose entries hold for its clients, the narrowest first."""
        return (self,) if self.client_id is None else (self, ClientEntity(self.user))

    @property
    def authorized_on(self) -> AclResource:
        """The topic: no broker knows its entries."""
        return AclResource("topic", CONFIGS_TOPIC)

    def __str__(self) -> str:
        words = [format_word("user", self.user)]
        if self.client_id is not None:
            words.append(format_word("client-id", self.client_id))
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A value that an entry is to have, and the one that it was judged by; None is unset."""

    old: str | None
    new: str | None


def stored_value(key: str, text: str) -> str:
    """The value as it is stored: `all` is `-1`, an integer has no leading zeros.

    Raises
    ------
    Invalid
        A key beyond the three, or a value that its clients cannot take.
    """
    refuse_unknown_key(key)
    if key == ACKS:
        if text not in _ACKS:
            raise Invalid(f"acks={text} is not one of {', '.join(_ACKS)}", code="INVALID_CONFIG")
        return ALL_REPLICAS[0] if text in ALL_REPLICAS else text
    is_integer = text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST_INTEGER))
    if not is_integer or not 0 < int(text) <= _LARGEST_INTEGER:
        raise Invalid(f"{key}={text} is not a number of milliseconds, from 1", code="INVALID_CONFIG")
    return str(int(text))


def refuse_unknown_key(key: str) -> None:
    """Refuse a key beyond the three, as Invalid."""
    if key not in CLIENT_KEYS:
        raise Invalid(
            f"unknown client config {key}",
            code="INVALID_CONFIG",
            hint=did_you_mean(key, CLIENT_KEYS, f"One of {', '.join(CLIENT_KEYS)}."),
        )


Value = TypeVar("Value")


def merged(levels: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    """The entries that hold where these levels are the narrowest first: key by key, the narrowest wins."""
    values: dict[str, Value] = {}
    for level in levels:
        values |= {key: value for key, value in level.items() if key not in values}
    return values


def timeouts_contradict(values: Mapping[str, str]) -> bool:
    """True if both timeouts are set and no heartbeat fits into a session, so that a client takes neither."""
    if not values.keys() >= {SESSION_TIMEOUT, HEARTBEAT_INTERVAL}:
        return False
    return int(values[HEARTBEAT_INTERVAL]) >= int(values[SESSION_TIMEOUT])
