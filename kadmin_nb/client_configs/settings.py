"""The configuration of a followed client: librdkafka's keys, ours, which it never sees, and the values of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from ..errors import Invalid, UsageError
from ..hints import did_you_mean
from ..model.client_configs import (
    ACKS,
    ALL_REPLICAS,
    CONSUMER_KEYS,
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    ClientEntity,
    merged,
    stored_value,
    timeouts_contradict,
)
from .records import Entry

USER = "kadmin.user"
REFRESH_INTERVAL = "kadmin.refresh.interval.ms"
INTERVAL_MS = 5 * 60_000
"""The refresh interval, unless the application says another."""

KEYS = (USER, REFRESH_INTERVAL)

_SAME = {"request.required.acks": ACKS}
"""librdkafka's other name of a key that entries are about."""

_UNNAMED = "rdkafka"
"""The client-id that librdkafka gives to a client without one."""

_SECURITY_PROTOCOL, _USERNAME = "security.protocol", "sasl.username"
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
    """The owner of a client, librdkafka's part of its configuration, and the seconds between two readings."""

    entity: ClientEntity
    config: dict[str, Any]
    refresh_interval: float

    @property
    def connection(self) -> dict[str, Any]:
        """The keys with which any client reaches the same brokers as the same user."""
        config = self.config.items()
        return {key: value for key, value in config if key in _CONNECTING or key.startswith(_CONNECTING_PREFIXES)}


def client_settings(config: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> ClientSettings:
    """The settings of a client that is made with these arguments, as confluent-kafka's are: keywords win.

    Raises
    ------
    UsageError
        An unknown key of ours, a time that is not one, or nobody can tell the user.
    """
    merged = {**(config or {}), **keywords}
    theirs = {_SAME.get(key, key): value for key, value in merged.items() if not key.startswith("kadmin.")}
    ours = {key: value for key, value in merged.items() if key.startswith("kadmin.")}
    for key in ours.keys() - set(KEYS):
        raise UsageError(f"unknown client setting {key}", hint=did_you_mean(key, KEYS, f"One of {', '.join(KEYS)}."))
    interval = str(ours.get(REFRESH_INTERVAL, INTERVAL_MS))
    if not (interval.isascii() and interval.isdecimal() and int(interval) > 0):
        raise UsageError(f"{REFRESH_INTERVAL}={interval} is not a number of milliseconds, from 1")
    return ClientSettings(_client_entity(ours, theirs), theirs, int(interval) / 1000)


def _client_entity(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> ClientEntity:
    user = ours.get(USER) or _login(theirs)
    if not user:
        raise UsageError(
            f"{USER} is required: this login does not name the user",
            hint=f"Add '{USER}': 'alice', the user that the client configs are set for.",
        )
    return ClientEntity.of(user, theirs.get("client.id") or _UNNAMED)


def _login(theirs: Mapping[str, Any]) -> str | None:
    """The user that a password belongs to; None where a certificate, a token or a ticket logs in, or nothing does."""
    mechanism = next((str(theirs[key]).upper() for key in _MECHANISMS if key in theirs), "")
    has_password = mechanism == "PLAIN" or mechanism.startswith("SCRAM-")
    uses_sasl = str(theirs.get(_SECURITY_PROTOCOL, "")).upper().startswith("SASL_")
    return theirs.get(_USERNAME) if uses_sasl and has_password else None


# --- the values that it takes, and the reason for each that it refuses ---


DEFAULTS = {ACKS: ALL_REPLICAS[0], SESSION_TIMEOUT: "45000", HEARTBEAT_INTERVAL: "3000"}
"""librdkafka's, where neither an entry nor the client's own configuration says otherwise."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The values that go before the client's own configuration, the reasons for those refused, the highest revision."""

    values: Mapping[str, str] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)
    revision: int = -1

    def refusing(self, reasons: Mapping[str, str], current: Mapping[str, str]) -> Self:
        """The same without the values of these keys: the current values stay."""
        values = {key: value for key, value in self.values.items() if key not in reasons}
        values |= {key: current[key] for key in reasons if key in current}
        return replace(self, values=values, rejected={**self.rejected, **reasons})


Static = Mapping[str, Any]
"""A client's own configuration, librdkafka's keys."""


def choose(
    levels: Sequence[Mapping[str, Entry]], static: Static, current: Mapping[str, str], keys: Sequence[str]
) -> Choice:
    """The values of these levels, the narrowest first, that a client of this configuration takes.

    Parameters
    ----------
    current
        The values that it runs with; a key that is refused stays as it is.
    keys
        PRODUCER_KEYS or CONSUMER_KEYS; others are not about it.
    """
    about_it = [{key: entry for key, entry in level.items() if key in keys} for level in levels]
    texts = merged({key: entry.value for key, entry in level.items()} for level in about_it)
    revision = max((entry.revision for level in about_it for entry in level.values()), default=-1)
    reasons = {key: reason for key, text in texts.items() if (reason := _reason_against(key, text))}
    values = {key: stored_value(key, text) for key, text in texts.items() if key not in reasons}
    refused = (_producer_refuses if ACKS in keys else _consumer_refuses)(values, static)
    return Choice(values, {}, revision).refusing({**reasons, **refused}, current)


def _reason_against(key: str, text: str) -> str | None:
    try:
        stored_value(key, text)
    except Invalid as exc:
        return str(exc)
    return None


def _producer_refuses(values: Mapping[str, str], static: Static) -> Mapping[str, str]:
    is_idempotent = str(static.get("enable.idempotence", "")).lower() == "true"
    because = "transactional.id" if static.get("transactional.id") else "enable.idempotence" if is_idempotent else None
    if because is None or values.get(ACKS, ALL_REPLICAS[0]) == ALL_REPLICAS[0]:
        return {}
    return {ACKS: f"acks={values[ACKS]} is ignored: {because} requires acks=all"}


def _consumer_refuses(values: Mapping[str, str], static: Static) -> Mapping[str, str]:
    if _takes_from_group(static):
        line = "group.protocol=consumer takes it from the group: kadmin-nb config set consumer.{}={} group={}"
        return {key: line.format(key, value, static.get("group.id", "")) for key, value in values.items()}
    in_force = running(static, values, CONSUMER_KEYS)
    if not timeouts_contradict(in_force):
        return {}
    times = f"{HEARTBEAT_INTERVAL}={in_force[HEARTBEAT_INTERVAL]} >= {SESSION_TIMEOUT}={in_force[SESSION_TIMEOUT]}"
    return dict.fromkeys(values, f"both timeouts are discarded: {times}")


def _takes_from_group(static: Static) -> bool:
    return str(static.get("group.protocol", "")).lower() == "consumer"


def running(static: Static, values: Mapping[str, str], keys: Sequence[str]) -> dict[str, str]:
    """The value of each key that a client of this configuration runs with, once these values go before it."""
    return {key: values.get(key) or _static_value(key, static) for key in keys}


def effective(static: Static, choice: Choice) -> dict[str, str]:
    """The values that a client runs with of the keys that entries are about, refused keys included.

    With the group's timeouts on the brokers (KIP-848) the client does not know them.
    """
    refused = [] if _takes_from_group(static) else [*choice.rejected]
    return {**running(static, choice.values, refused), **choice.values}


def _static_value(key: str, static: Static) -> str:
    text = str(static.get(key, DEFAULTS[key]))
    return text if _reason_against(key, text) else stored_value(key, text)
