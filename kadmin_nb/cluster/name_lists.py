"""The names that a cluster knows, for completion: users, client-ids, topics, groups and brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import pyarrow.compute as pc

from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..model.connection_settings import Settings

ANSWER_WITHIN = 5.0
"""Seconds that a cluster has to answer."""

_MOST_NAMES = 50_000
"""Names of one kind that are listed."""

Lister = Callable[[LiveKafka], Iterable[str]]


def names_of(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The names by the word that they stand behind, each sorted; those that we may not list are left out.

    Over a connection of its own, so that it may be asked beside others.

    Raises
    ------
    KadminError
        The cluster cannot be reached.
    """
    kafka = LiveKafka(settings, ANSWER_WITHIN)
    try:
        return {word: _listed(kafka, lister) for word, lister in LISTERS.items()}
    finally:
        kafka.close()


def _listed(kafka: LiveKafka, lister: Lister) -> tuple[str, ...]:
    with suppress(KadminError):
        return tuple(sorted(lister(kafka))[:_MOST_NAMES])
    return ()


def _of_quotas(column: str) -> Lister:
    return lambda kafka: pc.unique(kafka.quotas.describe()[column]).drop_null().to_pylist()


def _brokers(kafka: LiveKafka) -> Iterable[str]:
    return (str(broker.id) for broker in kafka.brokers())


def _users(kafka: LiveKafka) -> Iterable[str]:
    """The users that quotas are set on, and, where we may see them, those with SCRAM credentials."""
    credentials: set[str] = set()
    with suppress(KadminError):
        credentials.update(kafka.scram.describe()["user"].to_pylist())
    return credentials.union(_of_quotas("user")(kafka))


LISTERS: dict[str, Lister] = {
    "user": _users,
    "client-id": _of_quotas("client_id"),
    "ip": _of_quotas("ip"),
    "topic": LiveKafka.topics,
    "broker": _brokers,
    "broker-logger": _brokers,
    "group": LiveKafka.groups,
    "client-metrics": lambda kafka: (r.name for r in kafka.configs.resources(["CLIENT_METRICS"])),
}
"""The listing of the names behind each word."""
