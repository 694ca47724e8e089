"""Changes that would lift the limit of one client, and whom else each of them reaches.

Values never combine (KIP-55): a limit is lifted by a quota on a more specific entity, by a higher one on the entity
that binds, or by its removal where what comes next is higher. Each is proven by resolving the client again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..model.changes import DELETE, SET, Edit
from ..model.entity import Entity
from ..model.grammar import format_word
from ..model.levels import LEVELS
from ..model.quota_keys import readable, text_of, typed
from .rules import Effective, Stored, entity_at, resolve_client
from .shadows import Quota, comes_first, only_without

TIMES = 2.0
"""The factor by which a limit is lifted, unless a value is asked for."""

REACH = {
    "CLIENT_OF_USER": "only this client",
    "DEFAULT_CLIENT_OF_USER": "every client-id of this user without a quota of its own",
    "USER": "all client-ids of this user together, where nothing closer binds",
    "CLIENT_OF_DEFAULT_USER": "this client-id of every user without a quota of its own",
    "DEFAULT_CLIENT_OF_DEFAULT_USER": "every client of every user without a quota of its own",
    "DEFAULT_USER": "every user without a quota of its own",
    "CLIENT": "this client-id, all its users together, where nothing closer binds",
    "DEFAULT_CLIENT": "every client-id without a quota of its own, where nothing closer binds",
}
"""The clients that a quota of a level binds, in words."""


Candidate = tuple[Entity, float | None]
"""A quota to set on an entity; None removes the one there."""


@dataclass(frozen=True, slots=True)
class Lift:
    """One change that lifts a limit: `value` is set on `entity`, None removes; `after` is the client's limit then.

    `reach` says whom the change binds, `consequence` what else comes of it. An `after` of None is unlimited.
    """

    entity: Entity
    key: str
    value: float | None
    after: float | None
    reach: str
    consequence: str

    @property
    def edit(self) -> Edit:
        """The change, to be staged."""
        return Edit(DELETE if self.value is None else SET, self.entity, self.key, self._text)

    @property
    def line(self) -> str:
        """The change as a line of the grammar, after `quota`."""
        if self.value is None:
            return f"remove {self.key} {self.entity}"
        return f"set {format_word(self.key, typed(self.key, self.value))} {self.entity}"

    @property
    def _text(self) -> str | None:
        return None if self.value is None else text_of(self.value)


def lifts(stored: Stored, now: Effective, to: float | None = None) -> tuple[Lift, ...]:
    """The changes that lift this limit, those that reach the fewest clients first; none where nothing binds.

    Parameters
    ----------
    stored
        The quotas that could bind the client.
    to
        The limit that is wanted; twice the present one unless said. Changes that do not reach it are left out.
    """
    if now.value is None or now.entity is None:
        return ()
    wanted = TIMES * now.value if to is None else to
    candidates = dict.fromkeys([(_closest(now), wanted), (now.entity, wanted), (now.entity, None)])
    tried = ((candidate, _after(stored, now, candidate)) for candidate in candidates)
    return tuple(
        _lift(candidate, now, then, _reach(stored, candidate[0], now.key))
        for candidate, then in tried
        if _is_enough(then, now.value, wanted)
    )


def _is_enough(then: Effective, was: float, wanted: float) -> bool:
    return then.value is None or (then.value > was and then.value >= wanted)


def _closest(now: Effective) -> Entity:
    """The most specific entity that can bind the client."""
    reaching = (level for level in LEVELS if bool(level.user) <= bool(now.user))
    closest = next(level for level in reaching if bool(level.client_id) <= bool(now.client_id))
    return entity_at(closest, now.user, now.client_id)


def _after(stored: Stored, now: Effective, candidate: Candidate) -> Effective:
    """The limit of the client once the change is made."""
    entity, value = candidate
    changed = {target: stored[target] for target in stored if target != (entity, now.key)}
    if value is not None:
        changed[entity, now.key] = value
    return resolve_client(changed, now.user, now.client_id, now.key)


def _lift(candidate: Candidate, now: Effective, then: Effective, reach: str) -> Lift:
    entity, value = candidate
    return Lift(entity, now.key, value, then.value, reach, "; ".join(_consequences(value, now, then)))


def _reach(stored: Stored, entity: Entity, key: str) -> str:
    """The clients that a quota of the entity binds; it binds one at least."""
    first = comes_first(stored, entity, key)
    return REACH[entity.level] if first is None else only_without(Quota(first, key, stored[first, key]))


def _consequences(value: float | None, now: Effective, then: Effective) -> Iterator[str]:
    if then.value is None:
        yield "nothing is behind it: unlimited then"
    elif value is None:
        yield f"{then.entity} binds then, {readable(now.key, then.value)}"
    if now.is_shared and then.bucket not in (now.bucket, None):
        yield "it no longer shares: the others keep their allowance"
