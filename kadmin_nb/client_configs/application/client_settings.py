"""The configuration of a followed client: librdkafka's keys, and ours, which it never sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import UsageError
from ...hints import did_you_mean
from ..nouns import ClientEntity

USER = "kadmin.user"
REFRESH_INTERVAL = "kadmin.refresh.interval.ms"
FIRST_FETCH_TIMEOUT = "kadmin.first.fetch.timeout.ms"
FLUSH_TIMEOUT = "kadmin.flush.timeout.ms"

MILLISECONDS = {REFRESH_INTERVAL: 5 * 60_000, FIRST_FETCH_TIMEOUT: 3_000, FLUSH_TIMEOUT: 5_000}
"""Our keys that are times, with their defaults."""

KEYS = (USER, *MILLISECONDS)

_UNNAMED = "rdkafka"
"""The client-id that librdkafka gives to a client without one."""

_SECURITY_PROTOCOL, _USERNAME, _PASSWORD = "security.protocol", "sasl.username", "sasl.password"
_MECHANISMS = ("sasl.mechanism", "sasl.mechanisms")
_CONNECTING = (
    "bootstrap.servers",
    "metadata.broker.list",
    "client.id",
    "oauth_cb",
    "enable.ssl.certificate.verification",
)
_CONNECTING_PREFIXES = ("sasl.", "ssl.", "security.", "socket.", "broker.address.", "client.dns.", "reconnect.")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The owner of a client, librdkafka's part of its configuration, and our times in seconds."""

    entity: ClientEntity
    config: dict[str, Any]
    times: Mapping[str, float] = field(repr=False)

    @property
    def refresh_interval(self) -> float:
        return self.times[REFRESH_INTERVAL]

    @property
    def first_fetch_timeout(self) -> float:
        return self.times[FIRST_FETCH_TIMEOUT]

    @property
    def flush_timeout(self) -> float:
        return self.times[FLUSH_TIMEOUT]

    @property
    def connection(self) -> dict[str, Any]:
        """The keys with which any client reaches the same brokers as the same user."""
        return {key: value for key, value in self.config.items() if _is_connecting(key)}

    def log_in_as(self, username: str, password: str) -> None:
        """Use another login for every client that is made from now on."""
        self.config.update({_USERNAME: username, _PASSWORD: password})


def client_settings(config: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> ClientSettings:
    """The settings of a client that is made with these arguments, as confluent-kafka's are: keywords win.

    Raises
    ------
    UsageError
        An unknown key of ours, a time that is not one, or nobody can tell the user.
    """
    merged = {**(config or {}), **keywords}
    theirs = {key: value for key, value in merged.items() if not key.startswith("kadmin.")}
    ours = {key: value for key, value in merged.items() if key not in theirs}
    _refuse_unknown(ours)
    times = {key: _seconds(key, ours.get(key, default)) for key, default in MILLISECONDS.items()}
    return ClientSettings(_client_entity(ours, theirs), theirs, times)


def _refuse_unknown(ours: Mapping[str, Any]) -> None:
    for key in ours.keys() - set(KEYS):
        raise UsageError(f"unknown client setting {key}", hint=did_you_mean(key, KEYS, f"One of {', '.join(KEYS)}."))


def _seconds(key: str, value: object) -> float:
    text = str(value)
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise UsageError(f"{key}={value} is not a number of milliseconds, from 1")
    return int(text) / 1000


def _client_entity(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> ClientEntity:
    user = ours.get(USER) or _login(theirs)
    if not user:
        raise UsageError(
            f"{USER} is required: this login does not tell the user",
            hint=f"Add '{USER}': 'alice', the user that the client configs are set for.",
        )
    return ClientEntity.of(user, theirs.get("client.id") or _UNNAMED)


def _login(theirs: Mapping[str, Any]) -> str | None:
    """The user that a password belongs to; None where a certificate, a token or a ticket logs in, or nothing does."""
    mechanism = next((str(theirs[key]).upper() for key in _MECHANISMS if key in theirs), "")
    has_password = mechanism == "PLAIN" or mechanism.startswith("SCRAM-")
    uses_sasl = str(theirs.get(_SECURITY_PROTOCOL, "")).upper().startswith("SASL_")
    return theirs.get(_USERNAME) if uses_sasl and has_password else None


def _is_connecting(key: str) -> bool:
    return key in _CONNECTING or key.startswith(_CONNECTING_PREFIXES)
