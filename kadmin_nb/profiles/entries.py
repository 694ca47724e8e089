"""The entries of one source of connection settings, not yet interpreted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..model.java_text import trimmed
from ..secrets import Secret
from . import java_keys


@dataclass(frozen=True, slots=True)
class Login:
    """A user and a password."""

    username: str
    password: Secret


@dataclass(frozen=True, slots=True)
class Entries:
    """Java keys with their values, `source` in words; `login` stands in for `sasl.jaas.config`.

    `policy` is the path of the rules that plans are to keep.
    """

    values: Mapping[str, str | Secret]
    source: str
    login: Login | None = None
    policy: str | None = None

    def under(self, upper: Entries) -> Entries:
        """These entries with `upper` on top, named after `upper`. The later login wins, in either form."""
        lower = {k: v for k, v in self.values.items() if not (upper.login and k == "sasl.jaas.config")}
        login = None if "sasl.jaas.config" in upper.values else self.login
        policy = upper.policy or self.policy
        return Entries({**lower, **upper.values}, upper.source, upper.login or login, policy)

    def text(self, key: str) -> str | None:
        """The value as Kafka reads it, trimmed as Java trims; None when the key is not there."""
        value = self.values.get(key)
        revealed = value.reveal() if isinstance(value, Secret) else value
        return None if revealed is None else trimmed(revealed)


def covered(values: Mapping[str, str]) -> dict[str, str | Secret]:
    """`values` with the secret ones in a `Secret`, so that nothing prints them from here on."""
    return {k: Secret(v) if k in java_keys.SECRET else v for k, v in values.items()}
