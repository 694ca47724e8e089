"""What is read of a cluster to name the brakes of a client, a topic, a broker or a group; and the answer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..admin.ports import SPECIFIED, Broker, Component
from ..admin.wire import PATIENCE
from ..advice import brakes as rules
from ..advice import client_brakes
from ..advice.brakes import BITES, BROKER_KEYS, MIN_IN_SYNC, OVERRIDES, PER_ADDRESS, STANDS, ConfigFacts
from ..advice.client_brakes import IO_THREADS, QUEUED_MS, Address, ClientFacts, Queue
from ..advice.config_rules import findings
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, NotFound, printable
from ..frames import relational, schemas
from ..frames.answer import Answer, Findings
from ..frames.meanings import client
from ..frames.schema_metadata import noted
from ..frames.views import counted_nouns
from ..model import figures
from ..model.changes import Edit
from ..model.client_configs import ClientEntity
from ..model.config_values import ConfigValue
from ..model.entity import Entity
from ..model.findings import UNKNOWN, Finding, Row
from ..model.grammar import DEFAULT
from ..model.levels import DEFAULT_IP
from ..model.quota_keys import CALLBACK
from ..model.resources import THROTTLES, Partition, Resource
from ..resolution.rules import Stored, on_host_names, resolve_ip, stored_of
from ..state.snapshots import UnreadPart
from ..state.taking import client_configs_of
from ..usage.usage_windows import in_windows
from .config_audit import is_reassigning
from .groups import bounds_of, group_types
from .observation import notes_left_on
from .resolving import broker_rows, values_of
from .resolving import unread as unread_brokers

if TYPE_CHECKING:
    from ..state import History

Read = TypeVar("Read")

NOTHING = "nothing found that slows {}"


class BrakesAnswer(Findings):
    """BRAKES: what slows a client, a topic, a broker or a group, those that bite first. Its title names the first. A
    brake of which nothing is known is an answer, too: it does not fail. `unread` are the parts of the cluster that
    could not be read, so that nothing is said about them."""

    schema = schemas.BRAKES
    failing = ()

    def __init__(
        self,
        whose: str,
        found: Iterable[Finding],
        cluster_id: str | None = None,
        notes: Iterable[str] = (),
        unread: Iterable[UnreadPart] = (),
    ) -> None:
        self.whose, self.unread = whose, tuple(unread)
        super().__init__((one.with_(number=number) for number, one in enumerate(found, 1)), cluster_id)
        self._table = noted(self._table, notes)

    def edit(self, number: int) -> Edit:
        """The change that lifts the brake of that number, from 1.

        Raises
        ------
        NotFound
            There is no such brake, or no change of ours lifts it.
        """
        if not 1 <= number <= len(self.findings):
            raise NotFound(f"no brake {number} here", hint=f"There are {len(self.findings)}.")
        found = self.findings[number - 1]
        if found.edit is None:
            raise NotFound(f"no change of a quota or config lifts brake {number}", hint=found.fix)
        return found.edit

    def _title(self) -> str:
        """The first brake in a line: what it is, the culprit, and the change that lifts it."""
        if not self.findings:
            return printable(NOTHING.format(self.whose))
        others = sum(one.evidence["state"] != STANDS for one in self.findings[1:])
        more = f" ({counted_nouns(others, 'more brake', 'more brakes')} below)" if others else ""
        return printable(verdict(self.whose, self.findings[0]) + more)


_VERDICTS = {
    BITES: "is slowed by",
    rules.MAY_BITE: "may be slowed by",
    STANDS: "is not slowed now by",
}


def verdict(whose: str, found: Finding) -> str:
    """A brake in a line."""
    brake, is_known = rules.BRAKES[found.code], found.severity != UNKNOWN
    how = "" if found.fix is None else f". To {'lift' if is_known else 'know'} it: {found.fix}"
    if str(found.target) != whose:
        brake += f", {found.target}" + ("" if is_known else ",")
    if not is_known:
        return f"whether {whose} is slowed by {brake} is {found.message}{how}"
    return f"{whose} {_VERDICTS[found.evidence['state']]} {brake}: {found.message}{how}"


# --- a topic, a broker or a group ---


def of_config(kafka: LiveKafka, resource: Resource, history: History | None = None) -> BrakesAnswer:
    """The brakes of a topic, a broker or a group; see `Configs.why`."""
    notes = list[str]()
    if resource.type == "GROUP":
        values: Sequence[ConfigValue] = _values(kafka, resource, None)
        found = rules.of_group(values, group_types(kafka).get(resource.name), bounds_of(kafka))
    elif resource.type == "TOPIC":
        facts, notes = _facts_of_topic(kafka, resource)
        values, found = facts.configs, rules.of_topic(resource, facts)
    else:
        facts, notes = _facts_of_broker(kafka, resource)
        values, found = facts.configs, rules.of_broker(resource, facts)
    dated = found if history is None else [*_dated(found, values, history, kafka.id)]
    return BrakesAnswer(str(resource), dated, kafka.id, [*notes, *notes_left_on(kafka)])


def _facts_of_topic(kafka: LiveKafka, topic: Resource) -> tuple[ConfigFacts, list[str]]:
    """What was read of a topic and of all brokers, and what could not be."""
    own, brokers = _values(kafka, topic, _TOPIC_KEYS), kafka.brokers()
    rows = broker_rows(kafka, [broker for broker in brokers if not broker.is_fenced], BROKER_KEYS)
    partitions, why_not = _partitions(kafka, topic)
    facts = _facts([*own, *values_of(rows)], kafka, brokers, rows, partitions=partitions, no_partitions=why_not)
    return facts, [*unread_brokers(brokers, rows).values(), *filter(None, [why_not])]


def _partitions(kafka: LiveKafka, topic: Resource) -> tuple[list[Partition] | None, str]:
    """The partitions of a topic; None, and why, where they were not read."""
    not_read = f"the partitions of {topic} were not read"
    try:
        found = kafka.partitions([topic.name])
    except KadminError as error:
        return None, f"{not_read}: {error}"
    return (found, "") if found else (None, f"{not_read}: that needs DESCRIBE on it")


def _facts_of_broker(kafka: LiveKafka, broker: Resource) -> tuple[ConfigFacts, list[str]]:
    """What was read of a broker, and of all others: a config that they do not have may slow it."""
    values, brokers = _values(kafka, broker, BROKER_KEYS), kafka.brokers()
    table = kafka.configs.describe([one.resource for one in brokers if not one.is_fenced], timeout=PATIENCE)
    differing = [one for one in findings(table) if broker.name in one.evidence.get("brokers", ())]
    rows = table.to_pylist()
    return _facts(values, kafka, brokers, rows, differing=differing), [*unread_brokers(brokers, rows).values()]


def _facts(
    values: Sequence[ConfigValue], kafka: LiveKafka, brokers: Sequence[Broker], rows: Iterable[Row], **more: Any
) -> ConfigFacts:
    """The facts, of rows of the brokers' configs: which of them are down, and which were not read."""
    down = {broker.id for broker in brokers if broker.is_fenced}
    unread = {*unread_brokers(brokers, rows)} - down
    ids = [broker.id for broker in brokers]
    return ConfigFacts(values, brokers=ids, reassigning=is_reassigning(kafka), down=down, unread=unread, **more)


def _dated(
    found: Iterable[Finding], values: Iterable[ConfigValue], history: History, cluster_id: str
) -> Iterator[Finding]:
    """The brakes, each with the first snapshot that has its config as it is now; none where a history lacks it."""
    intervals = history.intervals("configs", cluster_id)
    now = defaultdict[str, set[str | None]](set)
    for value in values:
        now[value.key].add(value.text)
    for one in found:
        since = _since(intervals, cast(Resource, one.target), one.key, now[one.key])
        if since is None:
            yield one
        else:
            yield replace(one, message=f"{one.message}; so since {figures.utc(since)} or before").with_(since=since)


def _since(intervals: relational.Frame, resource: Resource, key: str, now: Collection[str | None]) -> datetime | None:
    """The beginning of the intervals without a gap in which a config was as it is now, up to now."""
    column = relational.words_of(intervals).column
    is_it = (column("resource_type") == resource.type) & (column("resource_name") == resource.name)
    names = ("value", "valid_from", "valid_to")
    own = relational.select(relational.where(intervals, is_it & (column("key") == key)), names)
    rows: list[Row] = relational.in_arrow(own, task="Spark reads the history of a config").to_pylist()
    since, end = None, None
    for row in sorted(rows, key=itemgetter("valid_from"), reverse=True):
        if row["valid_to"] != end or row["value"] not in now:
            break
        since = end = row["valid_from"]
    return since


_TOPIC_KEYS = (*THROTTLES["TOPIC"], "remote.storage.enable", MIN_IN_SYNC)


def _values(kafka: LiveKafka, resource: Resource, keys: Iterable[str] | None) -> list[ConfigValue]:
    """The values of one resource, which has to be there."""
    table = kafka.configs.describe([resource], keys if keys is None else [*keys], timeout=PATIENCE)
    return [ConfigValue.of(row) for row in Answer(table).raise_for_errors()]


# --- a client ---


KEYS_FOR_CLIENTS = (CALLBACK, PER_ADDRESS, OVERRIDES, IO_THREADS)
"""The configs of brokers that may slow a client."""


def of_client(kafka: LiveKafka, facts: ClientFacts, requests: relational.Frame | None) -> BrakesAnswer:
    """The brakes of a client, whose quotas, use and brokers' configs are in the facts; with what else is to be read.

    Parameters
    ----------
    requests
        REQUESTS of the time observed, where there are any: they tell addresses, connections and waits.
    """
    addresses, notes = [] if requests is None else _addresses(requests, facts.client), list[str]()
    ip_quotas: Stored = {}
    if addresses:
        described = partial(kafka.quotas.describe, [Component("ip", SPECIFIED)])
        ip_quotas = _read("quotas of addresses", lambda: stored_of(described().to_pylist()), {}, notes)
    unread: list[UnreadPart] = []
    ip_limits: dict[str, tuple[Entity, float]] = _read(
        "limits of addresses", lambda: _ip_limits(ip_quotas, {one.ip for one in addresses}), {}, notes
    )
    whole = replace(
        facts,
        entries=_entries(kafka, facts.client[0], unread),
        addresses=addresses,
        ip_limits=ip_limits,
        host_limits=on_host_names(ip_quotas),
        no_ip_limits="; ".join(notes),
        waits_ms=None if requests is None else _waits(requests, facts.client),
        queues=[] if requests is None else _queues(requests, facts.client),
    )
    return BrakesAnswer(client(*facts.client), client_brakes.of_client(whole), kafka.id, notes, unread)


def _read(what: str, read: Callable[[], Read], otherwise: Read, notes: list[str]) -> Read:
    """What is read, or `otherwise`, with a note: one part that fails leaves the others."""
    try:
        return read()
    except KadminError as error:
        notes.append(f"{what} were not read: {error}")
        return otherwise


def _entries(kafka: LiveKafka, user: str, unread: list[UnreadPart]) -> dict[tuple[ClientEntity, str], str]:
    """The dynamic client configs of a user; where they cannot be read, `unread` says so."""
    try:
        table = client_configs_of(kafka, [user]) if user else None
    except KadminError as error:
        unread.append(UnreadPart.of(ClientEntity.scope, error))
        return {}
    rows = [] if table is None else table.to_pylist()
    return {(ClientEntity(row["user"], row["client_id"] or None), row["key"]): row["value"] for row in rows}


def _ip_limits(stored: Stored, ips: Iterable[str]) -> dict[str, tuple[Entity, float]]:
    """The limit of new connections of each address that has one, and the entity that it is set on."""
    limits = {ip: resolve_ip(stored, ip) for ip in ips}
    return {
        ip: (Entity.of({"ip": DEFAULT if limit.level == DEFAULT_IP else ip}), limit.value)
        for ip, limit in limits.items()
        if limit.value is not None
    }


_REMOTE = re.compile(r"-(?P<ip>[^-]+):\d+-\d+(?:-\d+)?$")
"""The client's end of a connection, as the request log writes it: `10.0.0.1:9092-10.0.0.7:40312-0-5`."""

_AT_FIRST = timedelta(seconds=1)
"""Connections that are seen within this time are not counted as new: they may have been there."""


def _addresses(requests: relational.Frame, client: tuple[str, str]) -> list[Address]:
    """The connections of each address of a client to each broker, of all clients there."""
    span: dict[str, relational.Measure] = {"first": ("min", "time"), "last": ("max", "time")}
    by = ["user", "client_id", "broker", "connection"]
    rows: list[Row] = relational.in_arrow(
        relational.added_up(requests, by, span), task="Spark looks for connections"
    ).to_pylist()
    if not rows:
        return []
    begin, end = min(row["first"] for row in rows), max(row["last"] for row in rows)
    seconds = max((end - begin - _AT_FIRST).total_seconds(), 1.0)
    own = {_remote(row) for row in rows if (row["user"], row["client_id"]) == client} - {None}
    spans = defaultdict[tuple[str, int], dict[str, tuple[datetime, datetime]]](dict)
    for row in rows:
        if (ip := _remote(row)) in own and ip is not None:
            of_place, name = spans[ip, row["broker"]], row["connection"]
            first, last = of_place.get(name, (row["first"], row["last"]))
            of_place[name] = min(first, row["first"]), max(last, row["last"])
    return [
        Address(ip, broker, sum(first > begin + _AT_FIRST for first, _ in of_place.values()) / seconds, len(of_place),
                _at_once(of_place.values()))
        for (ip, broker), of_place in sorted(spans.items())
    ]  # fmt: skip


def _remote(row: Row) -> str | None:
    found = _REMOTE.search(row["connection"])
    return found["ip"] if found else None


def _at_once(spans: Iterable[tuple[datetime, datetime]]) -> int:
    """How many were open at the same time, at least: from its first to its last request a connection was open.

    One that ends where another begins may have been closed before; one with a single request was open then.
    """
    ends, begins, single_ends = range(3)
    times = sorted(
        event
        for first, last in spans
        for event in ((first, begins, 1), (last, ends if last > first else single_ends, -1))
    )
    return max(accumulate(step for _, _, step in times), default=0)


def _waits(requests: relational.Frame, client: tuple[str, str]) -> float | None:
    """Milliseconds that a PRODUCE of the client waited on average, for other replicas most of all; None without any."""
    words = relational.words_of(requests)
    column = words.column
    is_produce = (column("api") == "PRODUCE") & (column("user") == client[0]) & (column("client_id") == client[1])
    waits = {"waited": column("total_ms") - column("io_ms")}
    rows = relational.with_further(relational.where(requests, is_produce), waits)
    sums: dict[str, relational.Measure] = {"waited": ("sum", "waited"), "requests": ("count", "waited")}
    total: list[Row] = relational.in_arrow(relational.added_up(rows, ["api"], sums)).to_pylist()
    return total[0]["waited"] / total[0]["requests"] if total and total[0]["requests"] else None


def _queues(requests: relational.Frame, client: tuple[str, str]) -> list[Queue]:
    """What requests of the client waited for, broker by broker; nothing where the requests do not tell."""
    if "queue_ms" not in relational.names_of(requests):
        return []
    words = relational.words_of(requests)
    is_client = (words.column("user") == client[0]) & (words.column("client_id") == client[1])
    sums: dict[str, relational.Measure] = {
        **{name: ("sum", name) for name in ("queue_ms", "io_ms")},
        "requests": ("count", "queue_ms"),
    }
    windows = relational.added_up(in_windows(relational.where(requests, is_client), _SECOND), ["broker", "start"], sums)
    of_all = relational.added_up(requests, ["broker", "user", "client_id"], {"io_ms": ("sum", "io_ms")})
    own, everyone = defaultdict[int, list[Row]](list), defaultdict[int, list[Row]](list)
    for rows, frame in ((own, windows), (everyone, of_all)):
        for row in relational.in_arrow(frame, task="Spark looks for waiting requests").to_pylist():
            rows[row["broker"]].append(row)
    asked = ([row for row in own[broker] if row["requests"]] for broker in sorted(own))
    return [_queue(rows, everyone[rows[0]["broker"]]) for rows in asked if rows]


_SECOND = 1_000_000
"""The windows in which waiting requests are looked at, in microseconds."""


def _queue(windows: Sequence[Row], everyone: Sequence[Row]) -> Queue:
    """Out of the client's windows on a broker, and of what each client took of its threads."""
    requests = sum(row["requests"] for row in windows)
    full = [row["start"] for row in windows if row["queue_ms"] / row["requests"] >= QUEUED_MS]
    busiest = max(everyone, key=lambda row: row["io_ms"] or 0.0)
    all_io = sum(row["io_ms"] or 0.0 for row in everyone)
    return Queue(
        broker=windows[0]["broker"],
        queue_ms=sum(row["queue_ms"] for row in windows) / requests,
        io_ms=sum(row["io_ms"] or 0.0 for row in windows) / requests,
        full=len(full) / len(windows),
        since=datetime.fromtimestamp(min(full) / _SECOND, UTC) if full else None,
        busiest=(busiest["user"], busiest["client_id"]),
        busiest_share=(busiest["io_ms"] or 0.0) / all_io if all_io else 0.0,
    )
