"""What slows a client now: the limit that a throttle is of and why that limit applies, and what slows beside quotas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..model import figures
from ..model.changes import DELETE, SET, Edit
from ..model.client_configs import ACKS, ALL_REPLICAS, ClientEntity
from ..model.config_units import exact_number
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.findings import WARNING, Coverage, Finding
from ..model.grammar import DEFAULT
from ..model.quota_keys import HEADS, on_all_brokers, readable, text_of
from ..model.resources import Resource, Source
from ..resolution.rules import Effective, Stored, is_host_name
from ..resolution.rules import address as one_spelling
from ..resolution.shadows import TIMES, Quota, closest, lifts, setting, words_of
from .config_brakes import (
    BITES,
    BRAKES,
    MAY_BITE,
    OVERRIDES,
    PER_ADDRESS,
    STANDS,
    brake,
    by_reset,
    callbacks,
    config_brake,
    in_order,
    not_known,
    not_read,
)
from .config_rules import fixing_line

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

_BYTES = ("producer_byte_rate", "consumer_byte_rate")
REQUESTS = "request_percentage"


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
        if self.is_of_share:  # an estimate is no measure of how near it was
            return self.is_now is not False
        is_known = self.is_now is True or not self.grew
        return self.is_now is not False and is_known and (self.has_unknown or (self.utilisation or 0.0) >= least)

    def __str__(self) -> str:
        share = "" if self.share is None else f", in {figures.share(self.share)} of the windows"
        since = "" if self.since is None else f", first at {figures.utc(self.since)}"
        return f"throttled for up to {figures.milliseconds(self.longest_ms)}{share}{since}"


@dataclass(frozen=True, slots=True)
class Address:
    """The connections of one address to one broker, of all clients at it: new ones per second, how many were seen in
    the time observed, and how many of these were open at the same time, at least: an idle one is not seen."""

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


@dataclass(frozen=True)
class ClientFacts:
    """What was read about one client. `limits` are its own, `others` the limits of clients with a client-id.

    `coverage` is how much of the whole the usage is, its `rows` those of the client, None without usage; `is_measured`:
    brokers measured its buckets, and no row names it. `loads` has what each user and client-id used of a key on each
    broker in the windows in which the bucket was throttled, `active` is the share of windows in which it moved bytes,
    `request_use` the most of its request_percentage that was used. `leaders` are the brokers that lead its topics by
    the metadata of the cluster; None where `no_leaders` says what is missing. `followers` has the longest time in
    milliseconds between an answer of a leader and the next fetch of a broker, by both; it is None where the requests
    have no fetches of followers. `seen` are clients that were seen and have a name like its own, `elsewhere` quotas of
    such names. `host_limits` are quotas on host names, of
    which only brokers know the addresses; `no_ip_limits` says why quotas of addresses were not read. `unread` are the
    brokers that serve, and whose configs could not be read. `entries` is None where dynamic client configs could not be
    read. `throttled_s` is for how many seconds a connection of the client was throttled, by key and broker: the one
    that was longest.
    """

    limits: Sequence[Effective]
    others: Sequence[Effective]
    stored: Stored
    brokers: int
    configs: Sequence[ConfigValue] = ()
    entries: Mapping[tuple[ClientEntity, str], str] | None = field(default_factory=dict)
    throttles: Mapping[str, Throttling] = field(default_factory=dict)
    sharing: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    loads: Mapping[str, Mapping[tuple[str, str, int], float]] = field(default_factory=dict)
    addresses: Sequence[Address] = ()
    ip_limits: Mapping[str, tuple[Entity, float]] = field(default_factory=dict)
    host_limits: Mapping[Entity, float] = field(default_factory=dict)
    no_ip_limits: str = ""
    unread: Collection[int] = ()
    waits_ms: float | None = None
    queues: Sequence[Queue] = ()
    coverage: Coverage = field(default_factory=Coverage)
    is_measured: bool = False
    throttled_s: Mapping[tuple[str, int], float] = field(default_factory=dict)
    active: float | None = None
    request_use: float | None = None
    leaders: frozenset[int] | None = None
    no_leaders: str = "usage does not name the topics that it uses"
    replica_waits: Mapping[int, ReplicaWaits] = field(default_factory=dict)
    followers: Mapping[tuple[int, int], float] | None = None
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
        """True if usage was given, and none of it can be the client's."""
        return self.coverage.rows == 0 and not self.is_measured

    @property
    def missing_brokers(self) -> str:
        """The brokers without usage, in words; empty where all have some."""
        missing = ", ".join(map(str, sorted(self.coverage.missing)))
        return missing and f"broker{'s' if len(self.coverage.missing) > 1 else ''} {missing}"

    def ask(self, options: str) -> str:
        """The line that asks about this client again, with these options."""
        return f"quota why {self.entity} {options}"

    def used(self, client: tuple[str, str], key: str) -> dict[int, float]:
        """What a client used of a key, broker by broker."""
        return {broker: used for (*names, broker), used in self.loads.get(key, {}).items() if tuple(names) == client}


def of_client(facts: ClientFacts) -> list[Finding]:
    """The brakes of a client; what bites comes first."""
    of_class = [*callbacks(facts.configs, facts.unread)]
    of_quotas = [_unseen(facts)] if facts.is_unseen else [*_quotas(facts)]
    if any(one.severity == WARNING for one in of_class):  # what throttles may be its limit, and no quota
        of_quotas = [one.with_(state=MAY_BITE) if one.evidence["state"] == BITES else one for one in of_quotas]
    of_requests = (replace(one, coverage=facts.coverage) for one in (*_queues(facts), *_connections(facts)))
    beside = (*of_requests, *_client_configs(facts), *_slow_follower(facts), *_unreached(facts))
    found = [*of_class, *of_quotas, *beside]
    if not any(one.evidence["state"] == BITES for one in found):
        found += _idle(facts)
    return in_order(found)


def inactive(facts: ClientFacts, found: Collection[Finding]) -> Iterator[str]:
    """The brakes that were looked for in all rows that can show them, and are not among those found; in words."""
    is_whole = bool(facts.coverage.rows) and not facts.missing_brokers
    limited = (limit.key for limit in facts.limits if limit.value is not None and limit.key in (*_BYTES, REQUESTS))
    if is_whole:
        yield from (f"a {HEADS[key].removesuffix(' %')} quota" for key in limited if key not in facts.throttles)
    is_looked_for = {
        "quota-callback": not facts.unread,
        "client-config": bool(facts.client[0]) and facts.entries is not None,
        "unreached-quota": bool(facts.others),
        "connection-limit": is_whole and bool(facts.addresses) and not (facts.no_ip_limits or facts.unread),
        "request-queue": is_whole and bool(facts.queues),
        "slow-follower": is_whole and bool(facts.replica_waits),
    }
    codes = {one.code for one in found}
    yield from (BRAKES[code] for code, is_it in is_looked_for.items() if is_it and code not in codes)


def _by_quota(code: str, culprit: Configurable, key: str, message: str, edit: Edit | None) -> Finding:
    """One that a change of a quota lifts."""
    return brake(code, culprit, key, message, edit, fix=None if edit is None else f"quota {words_of(edit)}")


def _unseen(facts: ClientFacts) -> Finding:
    """The answer about a client of which there is no row: the nearest that were seen, and quotas of such names."""
    missing = f"sent nothing ({facts.coverage})"
    if facts.seen:
        missing += f"; seen: {', '.join(str(_client_entity(client)) for client in facts.seen)}"
    if facts.elsewhere:
        quotas = (f"{quota.key} of {quota}" for quota in facts.elsewhere)
        missing += f"; quotas of another name do not apply to it: {', '.join(quotas)}"
    fix = f"quota why {_client_entity(facts.seen[0])}" if facts.seen else facts.ask("--for 1min")
    return not_known("unseen", facts.entity, "", missing, fix, facts.coverage).with_(unseen=missing)


def _quotas(facts: ClientFacts) -> Iterator[Finding]:
    limits = {limit.key: limit for limit in facts.limits}
    limited = {key for key, limit in limits.items() if limit.value is not None}
    are_requests_near = REQUESTS in limited and (facts.request_use or 0.0) >= NEAR_REQUESTS
    throttling, unexplained = list[str](), list[str]()
    for key, seen in facts.throttles.items():
        if key in limited and seen.is_near(key):
            throttling.append(key)
        elif are_requests_near and seen.is_now is not False:
            throttling.append(REQUESTS)
        else:
            unexplained.append(key)
    yield from (_of_limit(facts, limits[key]) for key in dict.fromkeys(throttling))
    yield from (_earlier(facts, limits[key]) for key in unexplained)


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
        found = brake("earlier-limit", culprit, key, message, state=STANDS)
        return replace(found, coverage=coverage).with_(**_figures_of(seen))
    grew = ", and more was used later without a throttle" if seen.grew else ""
    most = "" if seen.utilisation is None else f", and at most {figures.percent(seen.utilisation)} of it was used then"
    why = "the history has the same limit at that time" if seen.is_now else "the limit may have been another then"
    missing = f"{now}{most}{grew}: {why}; {seen}"
    fix = facts.ask("--for 1min" if seen.is_now else "--usage NAME --history WHERE")
    found = not_known("earlier-limit", culprit, key, missing, fix, coverage)
    return found.with_(**_figures_of(seen))


def _of_limit(facts: ClientFacts, limit: Effective) -> Finding:
    causes = (_noisy_neighbour, _blank, _shadowed, _stale, _share_group, _leaders, _plain)
    found = next(filter(None, (cause(facts, limit) for cause in causes)))
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
        return not_known("shared-bucket", _entity(limit), limit.key, missing, facts.ask(_ALL_BROKERS))
    if not others:
        return None
    used = {pair: sum(facts.used(pair, limit.key).values()) for pair in (*others, facts.client)}
    noisy = max(others, key=lambda pair: used[pair])
    if used[noisy] <= used[facts.client]:
        return None
    neighbour = _client_entity(noisy)
    message = f"{_limit_text(limit)} is shared with {neighbour}, which used most of it"
    return _by_quota("shared-bucket", neighbour, limit.key, message, setting(closest(limit), limit.key, limit.value))


def _blank(facts: ClientFacts, limit: Effective) -> Finding | None:
    beside = next((other for other in facts.others if other.key == limit.key), None)
    if beside is None or beside.entity in (None, limit.entity) or not _is_higher(beside.value, limit):
        return None
    message = f"{_limit_text(limit)} holds for clients without a client-id; with one it would be {_limit_text(beside)}"
    edit = setting(_entity(limit), limit.key, beside.value)
    return _by_quota("blank-client-id", _entity(limit), limit.key, message, edit)


def _shadowed(facts: ClientFacts, limit: Effective) -> Finding | None:
    closer = (lost for lost in limit.overridden if _named(lost.entity) - _named(_entity(limit)))
    meant = next((lost for lost in closer if _is_higher(lost.value, limit)), None)
    if meant is None:
        return None
    message = f"{_limit_text(limit)} comes before {meant.entity} ({readable(limit.key, meant.value)}), which names it"
    edit = setting(closest(limit), limit.key, meant.value)
    return _by_quota("shadowing-default", _entity(limit), limit.key, message, edit)


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
    own = facts.used(facts.client, limit.key)
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
        return not_known("leaders", culprit, limit.key, missing, fix)
    assert limit.value is not None
    everywhere = on_all_brokers(limit.key, limit.value, facts.brokers)
    message = (
        f"{_limit_text(limit)} holds on each of {facts.brokers} brokers, {readable(limit.key, everywhere)} in all, "
        f"and its leaders are all on broker {busiest}; spread the leaders, or raise the limit"
    )
    return _by_quota("leaders", culprit, limit.key, message, setting(closest(limit), limit.key, everywhere))


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


def _is_higher(value: float | None, limit: Effective) -> bool:
    return value is not None and limit.value is not None and value > limit.value


def _client_entity(client: tuple[str, str]) -> Entity:
    """The entity of one client; without a client-id that of its user."""
    return Entity.of({kind: name for kind, name in zip(("user", "client-id"), client, strict=True) if name})


def _named(entity: Entity) -> set[str]:
    """The parts that an entity names, and does not leave to a default."""
    return {kind for kind in ("user", "client-id") if entity.get(kind) not in (None, DEFAULT)}


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
        found = brake("request-queue", broker, IO_THREADS, message, edit, fix=fix)
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
    key, opened = "connection_creation_rate", f"{address.ip} opened {address.opened:.3g} connections per second"
    if facts.no_ip_limits:
        missing = f"{opened} on broker {address.broker}; {facts.no_ip_limits}"
        yield not_known(
            "connection-limit", facts.entity, key, missing, f"quota resolve {Entity.of({'ip': address.ip})}"
        )
    entity, limit = facts.ip_limits.get(address.ip, (None, None))
    hosts = {host: accepted for host, accepted in facts.host_limits.items() if address.opened >= USED_UP * accepted}
    if entity is not None and limit is not None and address.opened >= USED_UP * limit:
        so = f"; {_NAMES_ALONE.format(_words(facts.host_limits))}" if facts.host_limits else ""
        edit = setting(entity, key, float(round(TIMES * limit)))
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


def _of_host(target: Configurable, host: str, key: str, missing: str) -> Finding:
    return not_known("connection-limit", target, key, missing, f"getent hosts {host}, on a broker")


def _open_connections(address: Address, facts: ClientFacts) -> Iterator[Finding]:
    """Of the connections that this broker takes of an address: an override's, or those that each address may have."""
    broker = Resource("BROKER", str(address.broker))
    values = {value.key: value for value in facts.configs if value.resource == broker and value.text}
    entries = _entries_of(values[OVERRIDES]) if OVERRIDES in values else {}
    own = next((name for name in entries if one_spelling(name) == one_spelling(address.ip)), None)
    each, config = values.get(PER_ADDRESS), values.get(OVERRIDES)
    of_each = None if each is None or each.source == Source.BUILT_IN else exact_number(each.text)
    if own is not None:
        most = entries[own]
    else:
        most, config = (0, None) if of_each is None else (int(of_each), each)
    at_once = f"at least {address.at_once} of the connections of {address.ip} to {broker} were open at the same time"
    hosts = {name: most for name, most in entries.items() if is_host_name(name) and address.at_once >= most}
    if address.broker in facts.unread:
        yield not_read("connection-limit", address.broker, PER_ADDRESS, f"{at_once}; ")
    elif config is not None and address.at_once >= most:
        yield _all_taken(address, most, config, own)
    elif own is None and hosts:
        named = " or ".join(f"{name} ({most} connections)" for name, most in hosts.items())
        yield _of_host(broker, next(iter(hosts)), OVERRIDES, f"{at_once}; {_NAMES_ALONE.format(named)}")
    elif config is not None and address.seen >= USED_UP * most:
        missing = f"{at_once}, of {address.seen} seen in the time observed, and it takes {most}"
        fix = f"grep 'Rejected connection from /{address.ip}' server.log, on {broker}"
        yield not_known("connection-limit", broker, config.key, missing, fix)


def _entries_of(overrides: ConfigValue) -> dict[str, int]:
    """The connections by address or host name, of `host:100,127.0.0.1:200`; what is no such entry is not there."""
    parts = (entry.strip().rpartition(":") for entry in (overrides.text or "").split(","))
    return {name.strip("[] "): int(most) for name, _, most in parts if name and most.strip().isdecimal()}


def _all_taken(address: Address, most: int, config: ConfigValue, override: str | None) -> Finding:
    """More than the bound may have been open, before it was lowered: what can be said is that all are taken."""
    place = Resource("BROKER", str(address.broker))
    message = f"at least {most} connections of {address.ip} to {place} were open at the same time, and it takes no more"
    if override is None:
        return config_brake("connection-limit", config, message, MAY_BITE)
    if config.source == Source.FILE:
        how = f"raise {override} in {OVERRIDES} in the server.properties of {place}, and restart it"
        return brake("connection-limit", place, OVERRIDES, message, state=MAY_BITE, fix=how)
    raised = {**_entries_of(config), override: round(TIMES * most)}
    where = Resource("BROKER", "") if config.source == Source.ALL_BROKERS else config.resource
    edit = Edit(SET, where, OVERRIDES, ",".join(f"{name}:{number}" for name, number in raised.items()))
    return brake("connection-limit", where, OVERRIDES, message, edit, state=MAY_BITE, fix=fixing_line(edit))


def _client_configs(facts: ClientFacts) -> Iterator[Finding]:
    user, client_id = facts.client
    levels = ClientEntity(user, client_id or None).levels if user else ()
    entries = facts.entries or {}
    entity = next((level for level in levels if (level, ACKS) in entries), None)
    if entity is None or entries[entity, ACKS] not in ALL_REPLICAS:
        return
    waits = "" if facts.waits_ms is None else f"; a PRODUCE waits {figures.milliseconds(facts.waits_ms)} for them"
    message = f"acks={entries[entity, ACKS]}: a producer that follows it waits for all replicas in sync{waits}"
    state = MAY_BITE if facts.waits_ms is None else BITES
    yield by_reset("client-config", entity, ACKS, message, state)


def _slow_follower(facts: ClientFacts) -> Iterator[Finding]:
    """The follower that a PRODUCE with `acks=-1` waits for: on each leader it pauses far longer than the others."""
    slow = {leader: waits for leader, waits in facts.replica_waits.items() if waits.share >= WAITED}
    if not slow:
        return
    longest_wait = max(waits.longest_ms for waits in slow.values())
    waits = f"a PRODUCE waits up to {figures.milliseconds(longest_wait)} for replicas in sync (acks=-1)"
    pauses: dict[int, float] = {}
    for (_, follower), pause in (facts.followers or {}).items():
        pauses[follower] = min(pause, pauses.get(follower, pause))
    (broker, longest), (_, next_one) = sorted([*pauses.items(), (-1, 0.0), (-1, 0.0)], key=lambda one: -one[1])[:2]
    if longest < SLOW_MS or longest < SLOWER * next_one:
        why = "no follower is much slower than the others" if facts.followers else "there are no fetches of followers"
        missing = f"{waits}; which follower is slow the requests do not show: {why}"
        yield not_known("slow-follower", facts.entity, ACKS, missing, facts.ask("--for 1min"), facts.coverage)
        return
    culprit = Resource("BROKER", str(broker))
    message = f"{waits}, and {culprit} lets up to {figures.milliseconds(longest)} pass until it fetches again"
    found = brake("slow-follower", culprit, "", message, fix=f"look at the load of {culprit}, and config why {culprit}")
    yield replace(found, coverage=facts.coverage)


def _unreached(facts: ClientFacts) -> Iterator[Finding]:
    """Quotas of clients with a client-id that leave it without a limit, as it sends none."""
    unlimited = {limit.key for limit in facts.limits if limit.value is None}
    for other in facts.others:
        if other.entity is None or other.entity.get("client-id") is None or other.key not in unlimited:
            continue
        message = f"{_limit_text(other)} does not reach it, as it sends no client-id: it is unlimited"
        fix = "send a client-id"
        yield brake("unreached-quota", other.entity, other.key, message, state=STANDS, fix=fix)


def _idle(facts: ClientFacts) -> Iterator[Finding]:
    """A client that asks for little: no limit keeps it."""
    if not facts.coverage.rows or facts.active is None or facts.active > IDLE or facts.throttles:
        return
    message = f"it moved bytes in {figures.share(facts.active)} of the windows, and nothing throttled it"
    if facts.missing_brokers:
        missing = f"{message}; usage of {facts.missing_brokers} is missing"
        yield not_known("idle", facts.entity, "", missing, facts.ask(_ALL_BROKERS), facts.coverage)
        return
    found = brake("idle", facts.entity, "", f"it is idle: {message}", state=STANDS)
    yield replace(found, coverage=facts.coverage)
