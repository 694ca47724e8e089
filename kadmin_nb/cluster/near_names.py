"""The names that a cluster lists, for completion; and of them the nearest to one that was not found, as a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import pyarrow.compute as pc

from ..admin.ports import SPECIFIED, Component
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..hints import nearest
from ..model.changes import Change
from ..model.configurable import Configurable
from ..model.connection_settings import Settings
from ..model.entity import Entity
from ..model.grammar import Selector, format_word
from ..model.resources import Resource

ANSWER_WITHIN = 5.0
"""Seconds that a cluster has to answer."""

_MOST_NAMES = 50_000
"""Names of one kind that are listed."""

Lister = Callable[[LiveKafka], Iterable[str]]


def names_of(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The names that may follow each word, sorted; what we may not list is left out.

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


def _with_credentials(kafka: LiveKafka) -> Iterable[str]:
    return {*kafka.scram.describe()["user"].to_pylist()}


def _users(kafka: LiveKafka) -> Iterable[str]:
    """The users that quotas are set on, and, where we may see them, those with SCRAM credentials."""
    return {*_listed(kafka, _with_credentials), *_of_quotas("user")(kafka)}


class Existing:
    """What is on a cluster, for patterns in lines of changes; it is reached when it is asked."""

    def __init__(self, reach: Callable[[], LiveKafka]) -> None:
        self._reach = reach

    def names(self, word: str) -> Iterable[str]:
        """The names of all resources of a type."""
        return LISTERS[word](self._reach())

    def entities(self, kinds: Sequence[str]) -> Iterable[Entity]:
        """The entities of exactly these types that have a quota."""
        quotas = self._reach().quotas.describe([Component(kind, SPECIFIED) for kind in kinds], strict=True)
        return map(Entity.parse, pc.unique(quotas["entity"]).to_pylist())


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


NOT_FOUND = ("UNKNOWN_TOPIC_OR_PARTITION", "BROKER_ID_NOT_REGISTERED")
COMPARED = 20_000
"""Names up to which the nearest is looked for: comparing takes longer than asking for them."""
SLIPS = 2
"""Letters that may be missing or too many."""


MISSING = 20
"""Resources that were not found for which the nearest is looked for."""


class NearName(NamedTuple):
    """A hint for a resource that does not exist, and the resource that was `meant`, where one is near."""

    hint: str
    meant: str | None = None

    def noted(self, change: Change) -> Change:
        """The change of a resource that does not exist, with the hint as its note."""
        return change.noted((self.hint[0].lower() + self.hint[1:]).rstrip(".")).with_(meant=self.meant)


def resources(kafka: LiveKafka, missing: Iterable[Configurable]) -> dict[Configurable, NearName]:
    """`Did you mean topic=orders?` for each of these that has a near one, or which brokers the cluster has."""
    some = list(islice(missing, MISSING))
    try:
        topics = kafka.topics() if any(resource.topic is not None for resource in some) else []
        ids = [str(broker.id) for broker in kafka.brokers()] if some else []
    except KadminError:
        return {}
    near = {resource: _near_resource(resource, topics, ids) for resource in some}
    return {resource: name for resource, name in near.items() if name}


def _near_resource(missing: Configurable, topics: list[str], ids: Sequence[str]) -> NearName | None:
    """The nearest topic, the brokers that there are, None for others."""
    if missing.topic is not None:
        near = _nearest(missing.topic, topics)
        meant = str(Resource("TOPIC", near or ""))
        return NearName(f"Did you mean {meant}?", meant) if near else None
    if missing.broker is None:
        return None
    return NearName(f"The cluster has {'broker' if len(ids) == 1 else 'brokers'} {', '.join(ids)}.")


def entities(kafka: LiveKafka, chosen: Mapping[str, Selector]) -> str | None:
    """`No quota is set on user=alcie; did you mean user=alice?` for the first name that no quota has."""
    try:
        quotas = kafka.quotas.describe()
    except KadminError:
        return None
    for kind, names in chosen.items():
        column = kind.replace("-", "_")
        stored = pc.unique(quotas[column]).drop_null().to_pylist() if column in quotas.column_names else []
        for name, near in _near([name for name in names if isinstance(name, str)], stored):
            return f"No quota is set on {format_word(kind, name)}; did you mean {format_word(kind, near)}?"
    return None


def _near(names: Iterable[str], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each of these names that is not known, with the nearest that is, where one is near."""
    for name in names:
        near = None if name in known else _nearest(name, known)
        if near:
            yield name, near


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """Names that are chosen freely are often alike, so that only a slip or two counts."""
    if len(known) > COMPARED:
        return None
    as_long = [other for other in known if abs(len(other) - len(name)) <= SLIPS]
    return nearest(name, as_long, likeness=0.8)
