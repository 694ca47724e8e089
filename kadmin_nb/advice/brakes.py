"""What slows a client, a topic, a broker or a group now: rules over facts that somebody read.

A finding's target is the culprit, its edit the smallest change that lifts the brake. Its evidence has `state`: it
`bites` as far as anything was seen, it `may bite`, it is `not known` for rows that are missing, or it `stands` and
slows nothing now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..model import figures
from ..model.changes import DELETE, SET, Edit
from ..model.client_configs import ACKS, ALL_REPLICAS, ClientEntity
from ..model.config_units import exact_number
from ..model.config_values import BrokerConfigs, ConfigValue
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.findings import NOT_KNOWN, OK, WARNING, Coverage, Finding
from ..model.grammar import DEFAULT, format_word
from ..model.group_configs import applied, has_effect
from ..model.quota_keys import CALLBACK, on_all_brokers, readable, text_of, typed
from ..model.resources import Partition, Resource, Source
from ..model.throttles import BETWEEN_DISKS, RATES, THROTTLES
from ..resolution.rules import Effective, Stored, is_host_name
from ..resolution.rules import address as one_spelling
from ..resolution.shadows import TIMES, Quota, closest, lifts
from .config_rules import fixing_line

BITES, MAY_BITE, STANDS = "bites", "may bite", "stands"
STATES = (BITES, MAY_BITE, NOT_KNOWN, STANDS)
"""The states of a brake, those that slow most first."""

BRAKES = {
    "unseen": "anything",
    "earlier-limit": "an earlier limit",
    "shared-bucket": "a neighbour in a shared limit",
    "blank-client-id": "its blank client-id",
    "shadowing-default": "a default that comes before its own quota",
    "stale-override": "an override below what it overrides",
    "share-group": "a limit that counts its share group, too",
    "leaders": "leaders on one broker",
    "request-quota": "a request quota",
    "client-quota": "a quota",
    "quota-callback": "a custom quota callback",
    "connection-limit": "a connection limit",
    "request-queue": "a full request queue",
    "share-locks": "few locks of its share group",
    "client-config": "a dynamic client config",
    "unread-partitions": "partitions without a leader, or with too few replicas in sync",
    "no-leader": "partitions without a leader",
    "few-in-sync": "too few replicas in sync",
    "slow-follower": "a slow follower",
    "unlike-peers": "a config that its peers do not have",
    "unreached-quota": "a quota of clients with a client-id",
    "idle": "a limit",
    "replication-throttle": "a replication throttle",
    "tiered-storage": "a limit of tiered storage",
}
"""The brakes in words."""

REMOTE_STORE = "remote.log.storage.system.enable"
TIERED = ("remote.log.manager.copy.max.bytes.per.second", "remote.log.manager.fetch.max.bytes.per.second")
PER_ADDRESS = "max.connections.per.ip"
OVERRIDES = "max.connections.per.ip.overrides"
CONNECTIONS = ("max.connections", PER_ADDRESS, OVERRIDES, "max.connection.creation.rate")
MIN_IN_SYNC = "min.insync.replicas"

BROKER_KEYS = (CALLBACK, REMOTE_STORE, *TIERED, *CONNECTIONS, *RATES)
"""The configs of brokers that are judged."""

NEAR = 50.0
"""Percent of its limit that a bucket used in a throttled window, at least, if that limit throttled it: what is less was
throttled by another one."""

NEAR_REQUESTS = 25.0
"""The same of request_percentage: a request log has the time of I/O threads alone, half of the whole or more."""

IDLE = 0.1
"""The share of the windows in which a client moves bytes up to which it is idle."""

WAITED_MS = 500.0
"""Milliseconds that a PRODUCE waits for other replicas from which one of them is slow: a follower asks that often."""

WAITED = 1 / 3
"""The share of the seconds with such a PRODUCE from which it was no hiccup."""

SLOW_MS = 300.0
"""Milliseconds between an answer and the next fetch from which a follower is slow: it asks again at once."""

SLOWER = 2.0
"""So much longer than the next one's are the pauses of the follower that is slow."""

MOST = 0.9
"""The share of a client's use on one broker from which its leaders are all there."""

USED_UP = 0.8
"""The share of a limit of new connections from which it is used up; of open ones, idle ones may be the rest."""

IO_THREADS = "num.io.threads"
"""The threads that take requests out of a broker's queue."""

QUEUED_MS = 20.0
"""Milliseconds that requests of a window wait on average from which the queue is full."""

QUEUED = 0.5
"""The share of the windows from which a full queue was no hiccup."""

BUSY = 0.5
"""The share of the threads' time from which one client makes others wait."""

LOCKS = "share.partition.max.record.locks"
"""The records of a partition that a share group may have in work."""

_BYTES = ("producer_byte_rate", "consumer_byte_rate")
REQUESTS = "request_percentage"


@dataclass(frozen=True, slots=True)
class Load:
    """What one client used of a key on one broker, as far as it was seen."""

    user: str
    client_id: str
    key: str
    broker: int
    used: float | None

    @property
    def client(self) -> tuple[str, str]:
        return self.user, self.client_id


@dataclass(frozen=True, slots=True)
class Throttling:
    """The throttles of a bucket that were seen, and the most that it used in a throttled window, in percent of the
    limit of that time.

    `own_ms` is the longest of the client's own requests; None where nothing tells. `is_now` is whether the limit of
    that time is the one of now, and `then` its value if it is not; None where that is not known, as without a history.
    `grew`: more was used later, without a throttle. `same_limit` is whether the limit never changed.
    """

    longest_ms: float
    share: float | None
    since: datetime | None
    utilisation: float | None
    has_unknown: bool
    is_of_share: bool = False
    until: datetime | None = None
    own_ms: float | None = None
    is_now: bool | None = None
    then: float | None = None
    grew: bool = False
    same_limit: bool | None = None

    def is_near(self, key: str) -> bool:
        """True if the limit of now can have throttled that much."""
        least = NEAR_REQUESTS if key == REQUESTS else NEAR
        is_known = self.is_now is True or not self.grew
        return self.is_now is not False and is_known and (self.has_unknown or (self.utilisation or 0.0) >= least)

    def __str__(self) -> str:
        share = "" if self.share is None else f", in {figures.share(self.share)} of the windows"
        since = "" if self.since is None else f", first at {figures.utc(self.since)}"
        return f"throttled for up to {figures.milliseconds(self.longest_ms)}{share}{since}"


@dataclass(frozen=True, slots=True)
class Address:
    """The connections of one address to one broker, of all clients there: new ones a second, those seen in the time
    observed, and how many of these were open at the same time, at least: an idle one is not seen."""

    ip: str
    broker: int
    opened: float
    seen: int
    at_once: int


@dataclass(frozen=True, slots=True)
class Queue:
    """What requests of the client waited for on one broker: means in milliseconds, the share of the windows in which
    its queue was full, the first of them, and the client with most of the I/O threads' time, with its share of that."""

    broker: int
    queue_ms: float
    io_ms: float
    full: float
    since: datetime | None
    busiest: tuple[str, str]
    busiest_share: float


@dataclass(frozen=True, slots=True)
class ReplicaWaits:
    """How long a PRODUCE of the client waited for other replicas on one leader: the longest in milliseconds, and the
    share of the seconds in which one waited as long as WAITED_MS."""

    longest_ms: float
    share: float


@dataclass(frozen=True, slots=True)
class Follower:
    """The longest time in milliseconds that a broker let pass between an answer of a leader and its next fetch."""

    leader: int
    broker: int
    longest_ms: float


@dataclass(frozen=True)
class ClientFacts:
    """What was read about one client. `limits` and `others` are its own, and those of clients with a client-id.

    `coverage` is how much of the whole the usage is, its `rows` those of the client, None without usage; `is_measured`:
    brokers measured its buckets, and no row names it. `loads` are of the windows in which its bucket was throttled,
    `active` is the share of windows in which it moved bytes, `request_use` the most of its request_percentage that was
    used. `leaders` are the brokers that lead its topics by the metadata of the cluster; None where `no_leaders` says
    what is missing. `followers` is None where the requests have no fetches of followers. `seen` are clients that were
    seen and have a name like its own, `elsewhere` quotas of such names. `host_limits` are quotas on host names, of
    which only brokers know the addresses; `no_ip_limits` says why quotas of addresses were not read. `unread` are the
    brokers that serve, and whose configs could not be read.
    """

    limits: Sequence[Effective]
    others: Sequence[Effective]
    stored: Stored
    brokers: int
    configs: Sequence[ConfigValue] = ()
    entries: Mapping[tuple[ClientEntity, str], str] = field(default_factory=dict)
    throttles: Mapping[str, Throttling] = field(default_factory=dict)
    sharing: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    loads: Sequence[Load] = ()
    addresses: Sequence[Address] = ()
    ip_limits: Mapping[str, tuple[Entity, float]] = field(default_factory=dict)
    host_limits: Mapping[Entity, float] = field(default_factory=dict)
    no_ip_limits: str = ""
    unread: Collection[int] = ()
    waits_ms: float | None = None
    queues: Sequence[Queue] = ()
    coverage: Coverage = field(default_factory=Coverage)
    is_measured: bool = False
    active: float | None = None
    request_use: float | None = None
    leaders: frozenset[int] | None = None
    no_leaders: str = "usage does not name the topics that it uses"
    replica_waits: Mapping[int, ReplicaWaits] = field(default_factory=dict)
    followers: Sequence[Follower] | None = None
    seen: Sequence[tuple[str, str]] = ()
    elsewhere: Sequence[Quota] = ()

    @property
    def client(self) -> tuple[str, str]:
        return self.limits[0].user or "", self.limits[0].client_id or ""

    @property
    def entity(self) -> Entity:
        """The client, as a quota of its own would name it."""
        return _client_entity(self.client)

    @property
    def is_unseen(self) -> bool:
        """True if there is usage, and none of it can be the client's."""
        return self.coverage.rows == 0 and not self.is_measured

    @property
    def missing_brokers(self) -> str:
        """The brokers without usage, in words; empty where there are none."""
        missing = ", ".join(map(str, sorted(self.coverage.missing)))
        return missing and f"broker{'s' if len(self.coverage.missing) > 1 else ''} {missing}"

    def ask(self, options: str) -> str:
        """The line that asks about this client again, with these options."""
        return f"quota why {self.entity} {options}"

    def used(self, client: tuple[str, str], key: str) -> float:
        """What a client used of a key, on all brokers."""
        return sum(load.used or 0.0 for load in self.loads_of(client, key))

    def loads_of(self, client: tuple[str, str], key: str) -> list[Load]:
        """What a client used of a key, broker by broker."""
        return [load for load in self.loads if (load.client, load.key) == (client, key)]


def of_client(facts: ClientFacts) -> list[Finding]:
    """The brakes of a client, those that bite first."""
    of_quotas = [_unseen(facts)] if facts.is_unseen else [*_quotas(facts)]
    of_requests = (replace(one, coverage=facts.coverage) for one in (*_queues(facts), *_connections(facts)))
    beside = (*of_requests, *_client_configs(facts), *_slow_follower(facts), *_unreached(facts))
    found = [*_callbacks(facts.configs, facts.unread), *of_quotas, *beside]
    if not any(one.evidence["state"] == BITES for one in found):
        found += _idle(facts)
    return _in_order(found)


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    return sorted(found, key=lambda finding: STATES.index(finding.evidence["state"]))


def _brake(
    code: str, culprit: Configurable, key: str, message: str, edit: Edit | None = None, *,
    state: str = BITES, fix: str | None = None,
) -> Finding:  # fmt: skip
    severity = OK if state == STANDS else WARNING
    return Finding(code, severity, message, culprit, key, evidence={"state": state}, edit=edit, fix=fix)


def _not_known(
    code: str, culprit: Configurable, key: str, missing: str, fix: str | None, coverage: Coverage | None = None
) -> Finding:
    """One whose rule lacks the rows that it needs, with the line that shows them."""
    return Finding.not_known(code, missing, fix, culprit, key, coverage).with_(state=NOT_KNOWN)


def _by_quota(code: str, culprit: Configurable, key: str, message: str, edit: Edit | None) -> Finding:
    """One that a change of a quota lifts."""
    return _brake(code, culprit, key, message, edit, fix=None if edit is None else quota_line(edit))


def _by_reset(code: str, whose: Configurable, key: str, message: str, state: str) -> Finding:
    """One that the removal of a config lifts."""
    edit = Edit(DELETE, whose, key)
    return _brake(code, whose, key, message, edit, state=state, fix=fixing_line(edit))


def quota_line(edit: Edit) -> str:
    """The line that changes a quota, after `kadmin-nb`."""
    if edit.text is None:
        return f"quota remove {edit.key} {edit.resource}"
    return f"quota set {format_word(edit.key, typed(edit.key, float(edit.text)))} {edit.resource}"


# --- quotas of users and client-ids: a throttle that was seen, and why that limit is the one ---


def _unseen(facts: ClientFacts) -> Finding:
    """The answer about a client of which there is no row: the nearest that were seen, and quotas of such names."""
    missing = f"no request of it was seen ({facts.coverage})"
    if facts.seen:
        missing += f"; seen were {', '.join(str(_client_entity(client)) for client in facts.seen)}"
    if facts.elsewhere:
        quotas = (f"{quota.key} of {quota}" for quota in facts.elsewhere)
        missing += f"; quotas of another name do not apply to it: {', '.join(quotas)}"
    fix = f"quota why {_client_entity(facts.seen[0])}" if facts.seen else facts.ask("--for 1min")
    return _not_known("unseen", facts.entity, "", missing, fix, facts.coverage)


def _quotas(facts: ClientFacts) -> Iterator[Finding]:
    limits = {limit.key: limit for limit in facts.limits}
    causes = {key: _key_that_throttles(facts, limits, key, seen) for key, seen in facts.throttles.items()}
    for key in dict.fromkeys(filter(None, causes.values())):
        yield _of_limit(facts, limits[key])
    yield from (_earlier(facts, limits[key]) for key, cause in causes.items() if cause is None)


def _key_that_throttles(facts: ClientFacts, limits: Mapping[str, Effective], key: str, seen: Throttling) -> str | None:
    """The key whose limit of now a throttle is of: its own where that was near, else the one for all requests where
    that was; None where the throttle is of neither."""
    if limits[key].value is not None and seen.is_near(key):
        return key
    has_requests = REQUESTS in limits and limits[REQUESTS].value is not None and seen.is_now is not False
    return REQUESTS if has_requests and (facts.request_use or 0.0) >= NEAR_REQUESTS else None


def _earlier(facts: ClientFacts, limit: Effective) -> Finding:
    """A throttle that no limit of now explains: an earlier one did, or that is not known."""
    seen, key = facts.throttles[limit.key], limit.key
    culprit = limit.entity or closest(limit)
    coverage = _coverage(facts, seen)
    now = "it is unlimited" if limit.value is None else f"{_limit_text(limit)} applies"
    if seen.is_now is False:
        then = "" if seen.then is None else f" of {readable(key, seen.then)}"
        until = "" if seen.until is None else f", last at {figures.utc(seen.until)}"
        message = f"the {key}{then} of that time throttled it{until}, and {now} since; {seen}"
        found = _brake("earlier-limit", culprit, key, message, state=STANDS)
        return replace(found, coverage=coverage).with_(**_figures_of(seen))
    grew = ", and more was used later without a throttle" if seen.grew else ""
    most = "" if seen.utilisation is None else f", and at most {figures.percent(seen.utilisation)} of it was used then"
    why = "the history has the same limit at that time" if seen.is_now else "the limit may have been another then"
    missing = f"{now}{most}{grew}: {why}; {seen}"
    fix = facts.ask("--for 1min" if seen.is_now else "--usage NAME --history WHERE")
    found = _not_known("earlier-limit", culprit, key, missing, fix, coverage)
    return found.with_(**_figures_of(seen))


def _of_limit(facts: ClientFacts, limit: Effective) -> Finding:
    causes = (_noisy_neighbour, _blank, _shadowed, _stale, _share_group, _leaders)
    found = next(filter(None, (cause(facts, limit) for cause in causes)), None) or _plain(facts, limit)
    seen = facts.throttles.get(limit.key) or max(facts.throttles.values(), key=lambda one: one.longest_ms)
    found = replace(found, message=f"{found.message}; {seen}", coverage=_coverage(facts, seen))
    is_bucket_alone = seen.own_ms == 0 or (not facts.coverage.rows and facts.is_measured)
    if is_bucket_alone and found.evidence["state"] == BITES:
        of_itself = "; of its own requests none was seen throttled"
        found = replace(found, message=found.message + of_itself).with_(state=MAY_BITE)
    return found.with_(**_figures_of(seen))


def _coverage(facts: ClientFacts, seen: Throttling) -> Coverage:
    return replace(facts.coverage, same_limit=seen.same_limit)


def _figures_of(seen: Throttling) -> dict[str, object]:
    return {"throttle_ms": seen.longest_ms, "share_throttled": seen.share, "since": seen.since}


def _noisy_neighbour(facts: ClientFacts, limit: Effective) -> Finding | None:
    others = [pair for pair in facts.sharing.get(limit.key, ()) if pair != facts.client]
    if not limit.is_shared or closest(limit) == limit.entity:
        return None
    if facts.missing_brokers:
        missing = (
            f"{_limit_text(limit)} is shared and used up; which client uses most of it is not seen: usage of "
            f"{facts.missing_brokers} is missing"
        )
        return _not_known("shared-bucket", _entity(limit), limit.key, missing, facts.ask(_ALL_BROKERS))
    if not others:
        return None
    noisy = max(others, key=lambda pair: facts.used(pair, limit.key))
    if facts.used(noisy, limit.key) <= facts.used(facts.client, limit.key):
        return None
    neighbour = _client_entity(noisy)
    message = f"{_limit_text(limit)} is shared with {neighbour}, which used most of it"
    return _by_quota("shared-bucket", neighbour, limit.key, message, _own(limit, limit.value))


def _blank(facts: ClientFacts, limit: Effective) -> Finding | None:
    beside = next((other for other in facts.others if other.key == limit.key), None)
    if beside is None or beside.entity in (None, limit.entity) or not _is_higher(beside.value, limit):
        return None
    message = f"{_limit_text(limit)} holds for clients without a client-id; with one it would be {_limit_text(beside)}"
    edit = _set(_entity(limit), limit.key, beside.value)
    return _by_quota("blank-client-id", _entity(limit), limit.key, message, edit)


def _shadowed(facts: ClientFacts, limit: Effective) -> Finding | None:
    closer = (lost for lost in limit.overridden if _named(lost.entity) - _named(_entity(limit)))
    meant = next((lost for lost in closer if _is_higher(lost.value, limit)), None)
    if meant is None:
        return None
    message = f"{_limit_text(limit)} comes before {meant.entity} ({readable(limit.key, meant.value)}), which names it"
    return _by_quota("shadowing-default", _entity(limit), limit.key, message, _own(limit, meant.value))


def _stale(facts: ClientFacts, limit: Effective) -> Finding | None:
    beneath = next(iter(limit.overridden), None)
    if beneath is None or _entity(limit) != closest(limit) or not _is_higher(beneath.value, limit):
        return None
    message = f"{_limit_text(limit)} overrides {beneath.entity}, which has {readable(limit.key, beneath.value)}"
    return _by_quota("stale-override", _entity(limit), limit.key, message, Edit(DELETE, _entity(limit), limit.key))


def _share_group(facts: ClientFacts, limit: Effective) -> Finding | None:
    seen = facts.throttles.get(limit.key)
    if seen is None or not (seen.has_unknown or seen.is_of_share):
        return None
    so = "a request log does not have these bytes" if seen.has_unknown else "these bytes are an estimate"
    message = f"{_limit_text(limit)} counts what share consumers fetch, too; {so}"
    return _by_quota("share-group", _entity(limit), limit.key, message, _first_lift(facts, limit))


def _leaders(facts: ClientFacts, limit: Effective) -> Finding | None:
    own = {load.broker: load.used or 0.0 for load in facts.loads_of(facts.client, limit.key)}
    busiest = max(own, key=lambda broker: own[broker], default=None)
    if limit.key not in _BYTES or facts.brokers < 2 or busiest is None or own[busiest] < MOST * sum(own.values()):
        return None
    if facts.leaders is not None and facts.leaders != {busiest}:
        return None
    culprit = Resource("BROKER", str(busiest))
    if facts.missing_brokers or facts.leaders is None:
        why = f"usage of {facts.missing_brokers} is missing" if facts.missing_brokers else facts.no_leaders
        missing = f"{_limit_text(limit)} is used up on {culprit}; whether all its leaders are there is not seen: {why}"
        fix = facts.ask(_ALL_BROKERS) if facts.missing_brokers else "config why topic=NAME"
        return _not_known("leaders", culprit, limit.key, missing, fix)
    assert limit.value is not None
    everywhere = on_all_brokers(limit.key, limit.value, facts.brokers)
    message = (
        f"{_limit_text(limit)} holds on each of {facts.brokers} brokers, {readable(limit.key, everywhere)} in all, "
        f"and its leaders are all on broker {busiest}; spread the leaders, or raise the limit"
    )
    return _by_quota("leaders", culprit, limit.key, message, _own(limit, everywhere))


_ALL_BROKERS = "--usage NAME, with the usage of all brokers"


def _plain(facts: ClientFacts, limit: Effective) -> Finding:
    code = "request-quota" if limit.key == REQUESTS else "client-quota"
    message = f"{_limit_text(limit)} is used up"
    return _by_quota(code, _entity(limit), limit.key, message, _first_lift(facts, limit))


def _first_lift(facts: ClientFacts, limit: Effective) -> Edit | None:
    return next((lift.edit for lift in lifts(facts.stored, limit)), None)


def _limit_text(limit: Effective) -> str:
    assert limit.value is not None
    return f"{limit.key} of {limit.entity} ({readable(limit.key, limit.value)})"


def _entity(limit: Effective) -> Entity:
    assert limit.entity is not None
    return limit.entity


def _own(limit: Effective, value: float | None) -> Edit:
    return _set(closest(limit), limit.key, value)


def _set(entity: Entity, key: str, value: float | None) -> Edit:
    return Edit(DELETE, entity, key) if value is None else Edit(SET, entity, key, text_of(value))


def _is_higher(value: float | None, limit: Effective) -> bool:
    return value is not None and limit.value is not None and value > limit.value


def _client_entity(client: tuple[str, str]) -> Entity:
    """The entity of one client; without a client-id that of its user."""
    return Entity.of({kind: name for kind, name in zip(("user", "client-id"), client, strict=True) if name})


def _named(entity: Entity) -> set[str]:
    """The parts that an entity names, and does not leave to a default."""
    return {kind for kind in ("user", "client-id") if entity.get(kind) not in (None, DEFAULT)}


# --- beside the quotas ---


def _callbacks(configs: Iterable[ConfigValue], unread: Iterable[int] = ()) -> Iterator[Finding]:
    for value in configs:
        if value.key == CALLBACK and value.text:
            message = f"{value.text} decides quotas there, by a rule of its own: what is stored may not apply"
            how = f"remove {CALLBACK} from the server.properties of {value.resource}, and restart it"
            yield _brake("quota-callback", value.resource, CALLBACK, message, state=MAY_BITE, fix=how)
    yield from (_unread("quota-callback", broker, CALLBACK) for broker in sorted(unread))


def _unread(code: str, broker: int, key: str, seen: str = "") -> Finding:
    """One that depends on the configs of a broker that were not read."""
    where = Resource("BROKER", str(broker))
    return _not_known(code, where, key, f"{seen}the configs of {where} were not read", f"config why {where}")


def _queues(facts: ClientFacts) -> Iterator[Finding]:
    full = [queue for queue in facts.queues if queue.full >= QUEUED]
    for queue in sorted(full, key=lambda queue: -queue.queue_ms):
        broker = Resource("BROKER", str(queue.broker))
        message = (
            f"a request waits {figures.milliseconds(queue.queue_ms)} in its request queue, and is worked on for "
            f"{figures.milliseconds(queue.io_ms)}{_busiest(facts, queue)}"
        )
        threads = next((one.text for one in facts.configs if (one.resource, one.key) == (broker, IO_THREADS)), None)
        number = exact_number(threads)
        edit = None if number is None else Edit(SET, broker, IO_THREADS, text_of(TIMES * float(number)))
        fix = f"raise {IO_THREADS} of {broker}" if edit is None else fixing_line(edit)
        found = _brake("request-queue", broker, IO_THREADS, message, edit, fix=fix)
        yield found.with_(since=queue.since)


def _busiest(facts: ClientFacts, queue: Queue) -> str:
    """The other client that has half of the threads' time, or more."""
    if queue.busiest == facts.client or queue.busiest_share < BUSY:
        return ""
    whose = _client_entity(queue.busiest)
    share = figures.share(queue.busiest_share)
    return f"; {whose} has {share} of the time of its I/O threads, and a request_percentage for it would help, too"


def _connections(facts: ClientFacts) -> Iterator[Finding]:
    by_ip = defaultdict[str, list[Address]](list)
    for address in sorted(facts.addresses, key=lambda one: -one.at_once):
        by_ip[address.ip].append(address)
    for addresses in by_ip.values():
        yield from _new_connections(max(addresses, key=lambda one: one.opened), facts)
        open_ones = (found for one in addresses for found in _open_connections(one, facts))
        yield from {(found.target, found.key): found for found in reversed([*open_ones])}.values()


def _new_connections(address: Address, facts: ClientFacts) -> Iterator[Finding]:
    """Of the quota on new connections of an address, on the broker where it opens most."""
    key, opened = "connection_creation_rate", f"{address.ip} opened {address.opened:.3g} connections a second"
    if facts.no_ip_limits:
        missing = f"{opened} on broker {address.broker}; {facts.no_ip_limits}"
        yield _not_known("connection-limit", facts.entity, key, missing, f"quota resolve {_ip(address)}")
    entity, limit = facts.ip_limits.get(address.ip, (None, None))
    hosts = {host: accepted for host, accepted in facts.host_limits.items() if address.opened >= USED_UP * accepted}
    if entity is not None and limit is not None and address.opened >= USED_UP * limit:
        so = f"; {_NAMES_ALONE.format(_words(facts.host_limits))}" if facts.host_limits else ""
        edit = _set(entity, key, float(round(TIMES * limit)))
        message = f"{opened} on broker {address.broker}, and {readable(key, limit)} are accepted{so}"
        found = _by_quota("connection-limit", entity, key, message, edit)
        yield found.with_(state=MAY_BITE) if so else found
    elif hosts:
        missing = f"{opened} on broker {address.broker}; {_NAMES_ALONE.format(_words(hosts))}"
        yield _of_host(next(iter(hosts)), str(next(iter(hosts)).get("ip")), key, missing)


_NAMES_ALONE = "whether it is {} only brokers know, as they look the name up"


def _words(limits: Mapping[Entity, float]) -> str:
    """Quotas on host names: `ip=build (2/s)`."""
    return " or ".join(f"{host} ({readable('connection_creation_rate', limit)})" for host, limit in limits.items())


def _ip(address: Address) -> Entity:
    return Entity.of({"ip": address.ip})


def _of_host(target: Configurable, host: str, key: str, missing: str) -> Finding:
    return _not_known("connection-limit", target, key, missing, f"getent hosts {host}, on a broker")


@dataclass(frozen=True, slots=True)
class _Bound:
    """The most connections that a broker takes of an address, and the config that says so."""

    most: int
    value: ConfigValue


def _open_connections(address: Address, facts: ClientFacts) -> Iterator[Finding]:
    """Of the connections that this broker takes of an address: an override's, or those that each address may have."""
    broker = Resource("BROKER", str(address.broker))
    values = {value.key: value for value in facts.configs if value.resource == broker and value.text}
    entries = _entries_of(values[OVERRIDES]) if OVERRIDES in values else {}
    own = next((name for name in entries if one_spelling(name) == one_spelling(address.ip)), None)
    bound = _Bound(entries[own], values[OVERRIDES]) if own is not None else _bound_of_each(values)
    at_once = f"at least {address.at_once} of the connections of {address.ip} to {broker} were open at the same time"
    hosts = {name: most for name, most in entries.items() if is_host_name(name) and address.at_once >= most}
    if address.broker in facts.unread:
        yield _unread("connection-limit", address.broker, PER_ADDRESS, f"{at_once}; ")
    elif bound is not None and address.at_once >= bound.most:
        yield _all_taken(address, bound, own)
    elif own is None and hosts:
        named = " or ".join(f"{name} ({most} connections)" for name, most in hosts.items())
        yield _of_host(broker, next(iter(hosts)), OVERRIDES, f"{at_once}; {_NAMES_ALONE.format(named)}")
    elif bound is not None and address.seen >= USED_UP * bound.most:
        missing = f"{at_once}, of {address.seen} seen in the time observed, and it takes {bound.most}"
        fix = f"grep 'Rejected connection from /{address.ip}' server.log, on {broker}"
        yield _not_known("connection-limit", broker, bound.value.key, missing, fix)


def _bound_of_each(values: Mapping[str, ConfigValue]) -> _Bound | None:
    """The bound of every address without an override; None where it was never set."""
    each = values.get(PER_ADDRESS)
    number = None if each is None or each.source == Source.BUILT_IN else exact_number(each.text)
    return None if each is None or number is None else _Bound(int(number), each)


def _entries_of(overrides: ConfigValue) -> dict[str, int]:
    """The connections by address or host name, of `host:100,127.0.0.1:200`; what is no such entry is not there."""
    parts = (entry.strip().rpartition(":") for entry in (overrides.text or "").split(","))
    return {name.strip("[] "): int(most) for name, _, most in parts if name and most.strip().isdecimal()}


def _all_taken(address: Address, bound: _Bound, override: str | None) -> Finding:
    """More than the bound may have been open, before it was lowered: what can be said is that all are taken."""
    place = Resource("BROKER", str(address.broker))
    message = (
        f"at least {bound.most} connections of {address.ip} to {place} were open at the same time, and it takes no more"
    )
    if override is None:
        return _config_brake("connection-limit", bound.value, message, MAY_BITE)
    most, value = round(TIMES * bound.most), bound.value
    if value.source == Source.FILE:
        how = f"raise {override} in {OVERRIDES} in the server.properties of {place}, and restart it"
        return _brake("connection-limit", place, OVERRIDES, message, state=MAY_BITE, fix=how)
    raised = {**_entries_of(value), override: most}
    where = Resource("BROKER", "") if value.source == Source.ALL_BROKERS else value.resource
    edit = Edit(SET, where, OVERRIDES, ",".join(f"{name}:{number}" for name, number in raised.items()))
    return _brake("connection-limit", where, OVERRIDES, message, edit, state=MAY_BITE, fix=fixing_line(edit))


def _client_configs(facts: ClientFacts) -> Iterator[Finding]:
    user, client_id = facts.client
    levels = ClientEntity(user, client_id or None).levels if user else ()
    entity = next((level for level in levels if (level, ACKS) in facts.entries), None)
    if entity is None or facts.entries[entity, ACKS] not in ALL_REPLICAS:
        return
    waits = "" if facts.waits_ms is None else f"; a PRODUCE waits {figures.milliseconds(facts.waits_ms)} for them"
    message = f"acks={facts.entries[entity, ACKS]}: a producer that follows it waits for all replicas in sync{waits}"
    state = MAY_BITE if facts.waits_ms is None else BITES
    yield _by_reset("client-config", entity, ACKS, message, state)


def _slow_follower(facts: ClientFacts) -> Iterator[Finding]:
    """The follower that a PRODUCE with `acks=-1` waits for: on each leader it pauses far longer than the others."""
    slow = {leader: waits for leader, waits in facts.replica_waits.items() if waits.share >= WAITED}
    if not slow:
        return
    longest_wait = max(waits.longest_ms for waits in slow.values())
    waits = f"a PRODUCE waits up to {figures.milliseconds(longest_wait)} for replicas in sync (acks=-1)"
    pauses: dict[int, float] = {}
    for one in facts.followers or ():
        pauses[one.broker] = min(one.longest_ms, pauses.get(one.broker, one.longest_ms))
    (broker, longest), (_, next_one) = sorted([*pauses.items(), (-1, 0.0), (-1, 0.0)], key=lambda one: -one[1])[:2]
    if longest < SLOW_MS or longest < SLOWER * next_one:
        why = "no follower is much slower than the others" if facts.followers else "there are no fetches of followers"
        missing = f"{waits}; which follower is slow the requests do not show: {why}"
        yield _not_known("slow-follower", facts.entity, ACKS, missing, facts.ask("--for 1min"), facts.coverage)
        return
    culprit = Resource("BROKER", str(broker))
    message = f"{waits}, and {culprit} lets up to {figures.milliseconds(longest)} pass until it fetches again"
    found = _brake(
        "slow-follower", culprit, "", message, fix=f"look at the load of {culprit}, and config why {culprit}"
    )
    yield replace(found, coverage=facts.coverage)


def _unreached(facts: ClientFacts) -> Iterator[Finding]:
    """Quotas of clients with a client-id that leave it without a limit, as it sends none."""
    unlimited = {limit.key for limit in facts.limits if limit.value is None}
    for other in facts.others:
        if other.entity is None or other.entity.get("client-id") is None or other.key not in unlimited:
            continue
        message = f"{_limit_text(other)} does not reach it, as it sends no client-id: it is unlimited"
        fix = "send a client-id"
        yield _brake("unreached-quota", other.entity, other.key, message, state=STANDS, fix=fix)


def _idle(facts: ClientFacts) -> Iterator[Finding]:
    """A client that asks for little: no limit keeps it."""
    if not facts.coverage.rows or facts.active is None or facts.active > IDLE or facts.throttles:
        return
    message = f"it moved bytes in {figures.share(facts.active)} of the windows, and nothing throttled it"
    if facts.missing_brokers:
        missing = f"{message}; usage of {facts.missing_brokers} is missing"
        yield _not_known("idle", facts.entity, "", missing, facts.ask(_ALL_BROKERS), facts.coverage)
        return
    found = _brake("idle", facts.entity, "", f"it is idle: {message}", state=STANDS)
    yield replace(found, coverage=facts.coverage)


# --- topics and brokers ---


@dataclass(frozen=True)
class ConfigFacts:
    """What was read about a topic, or a broker: its configs and those of the brokers that are involved.

    `brokers` are all of the cluster; those that are `down` serve nothing, and the configs of those that are `unread`
    could not be read. `partitions` is None where `no_partitions` says why they were not read. `differing` are the
    findings about a broker whose configs are not those of its peers.
    """

    configs: Sequence[ConfigValue]
    partitions: Sequence[Partition] | None = ()
    brokers: Collection[int] = ()
    reassigning: bool | None = None
    down: Collection[int] = ()
    unread: Collection[int] = ()
    no_partitions: str = ""
    differing: Sequence[Finding] = ()

    def own(self, *keys: str) -> list[ConfigValue]:
        """The values of these keys that somebody has set."""
        return [value for value in self.configs if value.key in keys and value.text and value.source != Source.BUILT_IN]

    @property
    def behind(self) -> list[Partition]:
        """The partitions with a replica that is not in sync, on a broker that is up."""
        return [one for one in self.partitions or () if {*one.replicas} - {*one.in_sync, *self.down}]

    @property
    def coverage(self) -> Coverage:
        """The brokers whose configs were read, of those that serve."""
        serving = frozenset(self.brokers) - {*self.down}
        return Coverage(serving - {*self.unread}, serving) if serving else Coverage()

    @property
    def of_partitions(self) -> Coverage:
        """The coverage of what the metadata tells of the partitions."""
        return Coverage(rows=len(self.partitions or ()))


def of_topic(topic: Resource, facts: ConfigFacts) -> list[Finding]:
    """The brakes of a topic, those that bite first."""
    is_tiered = any(value.key == "remote.storage.enable" and value.text == "true" for value in facts.configs)
    tiered = (*_tiered(facts), *_unread_limits(facts)) if is_tiered else ()
    rules = _without_leader, _few_in_sync, _one_leader
    of_partitions = [_unread_partitions(topic, facts)] if facts.partitions is None else [
        replace(one, coverage=facts.of_partitions) for rule in rules for one in rule(topic, facts)
    ]  # fmt: skip
    of_brokers = (replace(one, coverage=facts.coverage) for one in (*_throttled_replicas(topic, facts), *tiered))
    return _in_order([*of_partitions, *of_brokers])


def of_broker(broker: Resource, facts: ConfigFacts) -> list[Finding]:
    """The brakes of a broker, those that bite first."""
    rates = (*_rates(facts), *_tiered(facts))
    return _in_order([*_callbacks(facts.configs), *rates, *_connection_bounds(facts), *_unlike_peers(broker, facts)])


def of_group(values: Sequence[ConfigValue], group_type: str | None, bounds: BrokerConfigs) -> list[Finding]:
    """The brakes of a group: the locks of a share group that are fewer than they would be without a config.

    Parameters
    ----------
    values
        All configs of the group.
    group_type
        None where it is not known.
    bounds
        The brokers' bounds of group configs.
    """
    locks = next((value for value in values if value.key == LOCKS), None)
    if locks is None or locks.source == Source.BUILT_IN:
        return []
    otherwise = locks.inherited_text if locks.is_own else locks.built_in
    number, usual = exact_number(locks.text), exact_number(otherwise)
    if number is None or usual is None or number >= usual:
        return []
    group, is_of_type = locks.resource, has_effect(LOCKS, group_type)
    state = STANDS if is_of_type is False else MAY_BITE
    in_use = applied(LOCKS, locks.text, None, bounds) or locks.text
    clamped = (
        f", or what broker {', '.join(bounds.unread)} makes of it, whose bounds were not read" if bounds.unread else ""
    )
    so = f"; it is a {group_type} group, which has none" if state == STANDS else ""
    message = (
        f"its members may have {in_use} records of a partition in work at a time{clamped}, and {usual} without it: "
        f"while all are taken, others get nothing{so}"
    )
    if is_of_type is None:
        missing = f"if it is a share group, {message}; no broker told its type"
        return [_not_known("share-locks", group, LOCKS, missing, f"kafka-groups.sh --list, which has {group}")]
    if locks.is_own:
        return [_by_reset("share-locks", locks.resource, LOCKS, message, state)]
    how = "raise group.share.partition.max.record.locks in the server.properties of the brokers, and restart them"
    return [_brake("share-locks", locks.resource, LOCKS, message, state=state, fix=how)]


def _unread_partitions(topic: Resource, facts: ConfigFacts) -> Finding:
    """The answer of all rules about partitions where these were not read."""
    fix = f"config why {topic}, as one who may DESCRIBE it"
    return _not_known("unread-partitions", topic, "", facts.no_partitions, fix)


def _without_leader(topic: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    """Of partitions that no broker leads."""
    offline = [one for one in facts.partitions or () if one.leader is None]
    if offline:
        message = f"{_of_all(offline, facts)} no leader, and can be neither read nor written"
        last_in_sync = {id for one in offline for id in one.in_sync or one.replicas}
        yield _of_replicas("no-leader", topic, "", last_in_sync, facts, message)


def _few_in_sync(topic: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    """Of partitions with fewer replicas in sync than a write with acks=all needs."""
    asked = next((one.text for one in facts.configs if (one.resource, one.key) == (topic, MIN_IN_SYNC)), None)
    least = float(exact_number(asked) or 0)
    few = [one for one in facts.partitions or () if one.leader is not None and len(one.in_sync) < least]
    if few:
        message = f"{_of_all(few, facts)} fewer replicas in sync than {MIN_IN_SYNC}={asked}; writes with acks=all fail"
        behind = {id for one in few for id in one.replicas if id not in one.in_sync}
        yield _of_replicas("few-in-sync", topic, MIN_IN_SYNC, behind, facts, message)


def _of_all(partitions: Sequence[Partition], facts: ConfigFacts) -> str:
    return f"{len(partitions)} of {facts.of_partitions.rows} partitions {'has' if len(partitions) == 1 else 'have'}"


def _of_replicas(
    code: str, topic: Resource, key: str, missing: Collection[int], facts: ConfigFacts, message: str
) -> Finding:
    """A brake of partitions that lack replicas; the culprit is the broker whose replicas they are, where it is one."""
    down = ", ".join(map(str, sorted({*missing} & {*facts.down})))
    brokers = ", ".join(map(str, sorted(missing)))
    if down:
        fix = f"start broker {down} again"
    elif missing:
        fix = f"bring the replicas on broker {brokers} back in sync"
    else:
        fix = f"give {topic} more replicas (kafka-reassign-partitions.sh)"
    culprit = Resource("BROKER", brokers) if len(missing) == 1 else topic
    return _brake(code, culprit, key, message, fix=fix)


def _unlike_peers(broker: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    """The configs of a broker that are not those of its peers. Without a change that makes it like them, it is not
    known which of them is unusual, where peers were not read."""
    missing = frozenset({*facts.down, *facts.unread})
    if 2 * len(missing) >= len(facts.brokers) > 0:
        peers = frozenset(facts.brokers)
        names = ", ".join(map(str, sorted(missing)))
        why = f"what most brokers have, as the configs of broker {names} were not read"
        yield _not_known(
            "unlike-peers", broker, "", why, f"config why {broker}, once these answer", Coverage(peers - missing, peers)
        )
        return
    for one in facts.differing:
        seen = (one.coverage or Coverage()).seen
        coverage = None if seen is None else Coverage(seen, seen | missing)
        fix = one.fix or "config audit --only differs"
        if one.edit is None and (missing or (one.coverage and one.coverage.missing)):
            yield _not_known("unlike-peers", broker, one.key, one.message, fix, coverage)
        else:
            found = _brake("unlike-peers", broker, one.key, one.message, one.edit, state=MAY_BITE, fix=fix)
            yield replace(found, coverage=coverage)


def _throttled_replicas(topic: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    rates = facts.own(*RATES)
    for value in facts.own(*THROTTLES["TOPIC"]):
        rate_key = value.key.replace(".replicas", ".rate")
        limited = [rate for rate in rates if rate.key == rate_key and _is_listed(value, rate.resource.name)]
        unread = [broker for broker in sorted(facts.unread) if _is_listed(value, str(broker))]
        message = _throttle_text(limited, unread, facts)
        if not limited and not unread:
            state = STANDS
        elif facts.partitions is None:
            yield _not_known("replication-throttle", topic, value.key, message, _unread_partitions(topic, facts).fix)
            continue
        elif facts.behind and not limited:
            fix = f"config why {Resource('BROKER', str(unread[0]))}"
            yield _not_known("replication-throttle", topic, value.key, message, fix)
            continue
        else:
            state = BITES if facts.behind else STANDS
        yield _by_reset("replication-throttle", value.resource, value.key, message, state)


def _is_listed(value: ConfigValue, broker: str) -> bool:
    """Is a broker one of the `partition:broker` of a list?"""
    listed = (value.text or "").split(",")
    return "*" in listed or any(part.partition(":")[2] == broker for part in listed)


def _throttle_text(limited: Sequence[ConfigValue], unread: Sequence[int], facts: ConfigFacts) -> str:
    if not limited and not unread:
        up = " that is up" if facts.down else ""
        return f"its replicas are listed to be throttled, and no broker of the list{up} has a rate"
    rates = ", ".join(f"{_rate(rate)} on {rate.resource}" for rate in limited)
    at_most = (
        f"catch up at {rates} at most{_REASSIGNING[facts.reassigning]}" if limited else "are listed to be throttled"
    )
    unknown = f"; the rate of broker {', '.join(map(str, unread))} was not read" if unread else ""
    return f"its replicas {at_most}{unknown}; {_in_sync(facts)}"


def _in_sync(facts: ConfigFacts) -> str:
    """How many partitions have replicas that catch up."""
    if facts.partitions is None:
        return f"whether they are in sync is not known: {facts.no_partitions}"
    if not facts.behind:
        up = " on brokers that are up" if facts.down else ""
        return f"all replicas{up} are in sync, and only those that are not are slowed"
    return f"{len(facts.behind)} of {len(facts.partitions)} partitions have replicas that are not in sync"


_REASSIGNING = {
    True: ", for a reassignment that is running",
    False: ", and no reassignment is running",
    None: "; whether a reassignment is running is not known",
}


def _one_leader(topic: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    partitions, serving = facts.partitions or (), {*facts.brokers} - {*facts.down}
    leaders = {partition.leader for partition in partitions}
    if len(partitions) < 2 or len(serving) < 2 or len(leaders) != 1 or None in leaders:
        return
    (leader,) = leaders
    are_preferred = {partition.replicas[0] for partition in partitions} == leaders
    tool = "kafka-reassign-partitions.sh" if are_preferred else "kafka-leader-election.sh --election-type preferred"
    message = f"broker {leader} leads all {len(partitions)} partitions: the limits of one broker hold for them"
    culprit = Resource("BROKER", str(leader))
    yield _brake("leaders", culprit, "", message, state=MAY_BITE, fix=f"{tool} spreads the leaders of {topic}")


def _rates(facts: ConfigFacts) -> Iterator[Finding]:
    for value in facts.own(*RATES):
        what = "moves between its disks" if value.key == BETWEEN_DISKS else "replicas that topics list"
        because = "" if value.key == BETWEEN_DISKS else _REASSIGNING[facts.reassigning]
        message = f"{what} get {_rate(value)} at most{because}"
        yield _config_brake("replication-throttle", value, message, MAY_BITE)


def _tiered(facts: ConfigFacts) -> Iterator[Finding]:
    is_on = any(value.key == REMOTE_STORE and value.text == "true" for value in facts.configs)
    off = "" if is_on else f"; nothing is tiered here, as {REMOTE_STORE} is false"
    for value in facts.own(*TIERED):
        way = "copied to" if value.key == TIERED[0] else "fetched from"
        message = f"{_rate(value)} at most are {way} the remote store{off}"
        yield _config_brake("tiered-storage", value, message, MAY_BITE if is_on else STANDS)


def _unread_limits(facts: ConfigFacts) -> Iterator[Finding]:
    """Of brokers whose limits of tiered storage were not read."""
    return (_unread("tiered-storage", broker, TIERED[0]) for broker in sorted(facts.unread))


def _connection_bounds(facts: ConfigFacts) -> Iterator[Finding]:
    for value in facts.own(*CONNECTIONS):
        yield _config_brake("connection-limit", value, f"{value.key} is {value.text}", MAY_BITE)


def _config_brake(code: str, value: ConfigValue, message: str, state: str) -> Finding:
    """One that the removal of a config lifts, where it was set; what stands in a broker's file is lifted there."""
    if value.source == Source.FILE:
        how = f"remove {value.key} from the server.properties of {value.resource}, and restart it"
        return _brake(code, value.resource, value.key, message, state=state, fix=how)
    where = Resource("BROKER", "") if value.source == Source.ALL_BROKERS else value.resource
    return _by_reset(code, where, value.key, message, state)


def _rate(value: ConfigValue) -> str:
    return f"{figures.exact_size(float(exact_number(value.text) or 0))}/s"
