"""Clients that follow dynamic client configs, by the records that they write about themselves."""

from __future__ import annotations

from dataclasses import dataclass

from .nouns import CONSUMER_KEYS, PRODUCER_KEYS, ClientEntity
from .records import Registration, RegistrationKey, Status, StatusKey

INTERVALS = 3
"""A registration that was not sent again in so many of its intervals has expired."""

SHORTEST_LIFE = 10_000
"""Milliseconds before a registration expires, however short its interval: one that is on its way may take so long."""

GROUP_ON_BROKERS = "consumer"
"""The group protocol (KIP-848) whose timeouts are the group's configs, on the brokers."""


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredClient:
    """One instance of a client. `seen` and `said` are when its registration and its status were appended, in ms."""

    name: RegistrationKey
    registration: Registration
    seen: int
    status: Status | None = None
    said: int | None = None

    @property
    def entity(self) -> ClientEntity:
        """The user and client-id that it belongs to."""
        return ClientEntity(self.name.user, self.name.client_id)

    @property
    def status_key(self) -> StatusKey:
        """The key of its status."""
        return StatusKey(self.name.user, self.name.client_id, self.name.instance)

    def is_alive(self, now: int) -> bool:
        """True until its registration has expired, at a time of the brokers in ms since 1970."""
        return self.seen + max(SHORTEST_LIFE, INTERVALS * self.registration.interval_ms) >= now

    def supports(self, key: str) -> bool:
        """True if its software can follow the key."""
        return key in self.registration.keys

    def is_of(self, key: str) -> bool:
        """True of a client that has such a config: a producer `acks`, a consumer its timeouts."""
        return self.supports(key) or key in (CONSUMER_KEYS if self._is_consumer else PRODUCER_KEYS)

    @property
    def _is_consumer(self) -> bool:
        return self.registration.group_id is not None or any(map(self.supports, CONSUMER_KEYS))

    def why_not(self, key: str) -> str | None:
        """The reason that it does not follow a key, None where it does."""
        if not self.supports(key):
            return f"{self.name.software} {self.name.version} does not support {key}"
        if self.registration.group_protocol == GROUP_ON_BROKERS and key in CONSUMER_KEYS:
            return f"its group {self.registration.group_id} takes {key} from the brokers: consumer.{key} of the group"
        return self.status.rejected.get(key) if self.status else None
