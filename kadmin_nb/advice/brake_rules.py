"""What slows a client, a topic or a broker now, as far as it is a limit: rules over facts that somebody read.

A finding's target is the culprit, its edit the smallest change that lifts the brake. Its evidence has `state`: it
`bites` as far as anything was seen, it `may bite`, it is `not known` for rows that are missing, or it `stands` and
slows nothing now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..model import figures
from ..model.changes import DELETE, Edit
from ..model.config_units import exact_number
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.findings import NOT_KNOWN, OK, WARNING, Coverage, Finding, Throttling
from ..model.quota_keys import CALLBACK, HEADS, readable
from ..model.resources import BETWEEN_DISKS, THROTTLE_RATES, THROTTLES, Partition, Resource, Source
from ..resolution.rules import Effective, Stored
from ..resolution.shadows import closest, lifts, setting, words_of
from .config_rules import fixing_line

BITES, MAY_BITE, STANDS = "bites", "may bite", "stands"

STATES = (BITES, MAY_BITE, NOT_KNOWN, STANDS)
"""The states of a brake, those that slow most first."""

BRAKES = {
    "unseen": "anything",
    "earlier-limit": "an earlier limit",
    "shared-bucket": "a neighbour in a shared limit",
    "request-quota": "a request quota",
    "client-quota": "a quota",
    "quota-callback": "a custom quota callback",
    "replication-throttle": "a replication throttle",
}
"""The brakes in words."""

BROKER_KEYS = (CALLBACK, *THROTTLE_RATES)
"""The configs of brokers that are judged."""

NEAR = 50.0
"""Percent of its limit that a bucket used in a throttled window, at least, if that limit throttled it: what is less was
throttled by another one."""

NEAR_REQUESTS = 25.0
"""The same of request_percentage: a request log has the time of I/O threads alone, half of the whole or more."""

REQUESTS = "request_percentage"


def in_order(found: Iterable[Finding]) -> list[Finding]:
    """Those that bite first."""
    return sorted(found, key=lambda finding: STATES.index(finding.evidence["state"]))


def brake(
    code: str, culprit: Configurable, key: str, message: str, edit: Edit | None = None, *,
    state: str = BITES, fix: str | None = None,
) -> Finding:  # fmt: skip
    """A brake in one of the states in which it is known."""
    severity = OK if state == STANDS else WARNING
    return Finding(code, severity, message, culprit, key, evidence={"state": state}, edit=edit, fix=fix)


def not_known(
    code: str, culprit: Configurable, key: str, missing: str, fix: str | None, coverage: Coverage | None = None
) -> Finding:
    """One whose rule lacks the rows that it needs, with the line that shows them."""
    return Finding.not_known(code, missing, fix, culprit, key, coverage).with_(state=NOT_KNOWN)


def callbacks(configs: Iterable[ConfigValue], unread: Iterable[int] = ()) -> Iterator[Finding]:
    for value in configs:
        if value.key == CALLBACK and value.text:
            message = f"{value.text} decides quotas there, by a rule of its own: what is stored may not apply"
            how = f"remove {CALLBACK} from the server.properties of {value.resource}, and restart it"
            yield brake("quota-callback", value.resource, CALLBACK, message, state=MAY_BITE, fix=how)
    yield from (not_read("quota-callback", broker, CALLBACK) for broker in sorted(unread))


def not_read(code: str, broker: int, key: str) -> Finding:
    """One that depends on the configs of a broker that were not read."""
    where = Resource("BROKER", str(broker))
    return not_known(code, where, key, f"the configs of {where} were not read", f"config why {where}")


# --- a client ---


@dataclass(frozen=True)
class ClientFacts:
    """What was read about one client. `limits` are its own.

    `coverage` is how much of the whole the usage is, its `rows` those of the client, None without usage; `is_measured`:
    brokers measured its buckets, and no row names it. `request_use` is the most of its request_percentage that was
    used. `unread` are the brokers that serve, and whose configs could not be read. `throttled_s` is for how many
    seconds a connection of the client was throttled, by key and broker: the one that was longest.
    """

    limits: Sequence[Effective]
    stored: Stored
    brokers: int
    configs: Sequence[ConfigValue] = ()
    throttles: Mapping[str, Throttling] = field(default_factory=dict)
    sharing: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    unread: Collection[int] = ()
    coverage: Coverage = field(default_factory=Coverage)
    is_measured: bool = False
    throttled_s: Mapping[tuple[str, int], float] = field(default_factory=dict)
    request_use: float | None = None

    @property
    def client(self) -> tuple[str, str]:
        return self.limits[0].user or "", self.limits[0].client_id or ""

    @property
    def entity(self) -> Entity:
        """The client, as a quota of its own would name it."""
        return _client_entity(self.client)

    def ask(self, options: str) -> str:
        """The line that asks about this client again, with these options."""
        return f"quota why {self.entity} {options}"


def of_client(facts: ClientFacts) -> list[Finding]:
    """The brakes of a client; what bites comes first."""
    of_class = [*callbacks(facts.configs, facts.unread)]
    is_unseen = facts.coverage.rows == 0 and not facts.is_measured
    of_quotas = [_unseen(facts)] if is_unseen else [*_quotas(facts)]
    if any(one.severity == WARNING for one in of_class):  # what throttles may be its limit, and no quota
        of_quotas = [one.with_(state=MAY_BITE) if one.evidence["state"] == BITES else one for one in of_quotas]
    return in_order([*of_class, *of_quotas])


def inactive(facts: ClientFacts) -> Iterator[str]:
    """The brakes that were looked for in all rows that can show them, and do not slow it; in words."""
    if facts.coverage.rows and not facts.coverage.missing:
        limited = (limit.key for limit in facts.limits if limit.value is not None and limit.key != _MUTATIONS)
        yield from (f"a {HEADS[key].removesuffix(' %')} quota" for key in limited if key not in facts.throttles)
    if not any(callbacks(facts.configs, facts.unread)):
        yield BRAKES["quota-callback"]


_MUTATIONS = "controller_mutation_rate"
"""The key of which no usage shows a throttle."""


def _unseen(facts: ClientFacts) -> Finding:
    """The answer about a client of which there is no row."""
    missing = f"sent nothing ({facts.coverage})"
    found = not_known("unseen", facts.entity, "", missing, facts.ask("--for 1min"), facts.coverage)
    return found.with_(unseen=missing)


def _quotas(facts: ClientFacts) -> Iterator[Finding]:
    limits = {limit.key: limit for limit in facts.limits}
    limited = {key for key, limit in limits.items() if limit.value is not None}
    are_requests_near = REQUESTS in limited and (facts.request_use or 0.0) >= NEAR_REQUESTS
    throttling, unexplained = list[str](), list[str]()
    for key, seen in facts.throttles.items():
        if key in limited and _is_near(key, seen):
            throttling.append(key)
        elif are_requests_near:
            throttling.append(REQUESTS)
        else:
            unexplained.append(key)
    yield from (_of_limit(facts, limits[key]) for key in dict.fromkeys(throttling))
    yield from (_earlier(facts, limits[key]) for key in unexplained)


def _is_near(key: str, seen: Throttling) -> bool:
    """True if the limit of now can have throttled that much."""
    is_used = (seen.utilisation or 0.0) >= (NEAR_REQUESTS if key == REQUESTS else NEAR)
    return seen.has_unknown or is_used


def _earlier(facts: ClientFacts, limit: Effective) -> Finding:
    """A throttle that no limit of now explains: an earlier one may have."""
    seen = facts.throttles[limit.key]
    now = "it is unlimited" if limit.value is None else f"{_limit_text(limit)} applies"
    most = "" if seen.utilisation is None else f", and at most {figures.percent(seen.utilisation)} of it was used then"
    missing = f"{now}{most}: the limit may have been another then; {seen}"
    culprit, fix = limit.entity or closest(limit), facts.ask("--for 1min")
    return _as_seen(not_known("earlier-limit", culprit, limit.key, missing, fix), facts, seen)


def _of_limit(facts: ClientFacts, limit: Effective) -> Finding:
    found = _noisy_neighbour(facts, limit) or _plain(facts, limit)
    seen = facts.throttles.get(limit.key) or max(facts.throttles.values(), key=lambda one: one.longest_ms)
    found = replace(found, message=f"{found.message}; {seen}")
    is_bucket_alone = seen.own_ms == 0 or (not facts.coverage.rows and facts.is_measured)
    if is_bucket_alone and found.evidence["state"] == BITES:
        of_itself = "; of its own requests none was seen throttled"
        found = replace(found, message=found.message + of_itself).with_(state=MAY_BITE)
    return _as_seen(found, facts, seen)


def _as_seen(found: Finding, facts: ClientFacts, seen: Throttling) -> Finding:
    """The finding with the throttles that it is of, and how much of the whole was read."""
    found = replace(found, coverage=facts.coverage)
    return found.with_(throttle_ms=seen.longest_ms, share_throttled=seen.share, since=seen.since)


def _noisy_neighbour(facts: ClientFacts, limit: Effective) -> Finding | None:
    """The neighbour in a shared limit that used most of it; which one that is, usage of all brokers tells."""
    others = [pair for pair in facts.sharing.get(limit.key, ()) if pair != facts.client]
    if not limit.is_shared or closest(limit) == limit.entity:
        return None
    if facts.coverage.missing:
        brokers = ", ".join(map(str, sorted(facts.coverage.missing)))
        missing = (
            f"{_limit_text(limit)} is shared and used up; which client uses most of it is not seen: usage of broker "
            f"{brokers} is missing"
        )
        ask = facts.ask("--usage NAME, with the usage of all brokers")
        return not_known("shared-bucket", _entity(limit), limit.key, missing, ask)
    used = facts.throttles[limit.key].used if limit.key in facts.throttles else {}
    noisy = max(others, key=lambda pair: used.get(pair, 0.0), default=facts.client)
    if used.get(noisy, 0.0) <= used.get(facts.client, 0.0):
        return None
    neighbour = _client_entity(noisy)
    message = f"{_limit_text(limit)} is shared with {neighbour}, which used most of it"
    return _by_quota("shared-bucket", neighbour, limit.key, message, setting(closest(limit), limit.key, limit.value))


def _plain(facts: ClientFacts, limit: Effective) -> Finding:
    code = "request-quota" if limit.key == REQUESTS else "client-quota"
    lift = next((lift.edit for lift in lifts(facts.stored, limit)), None)
    return _by_quota(code, _entity(limit), limit.key, f"{_limit_text(limit)} is used up", lift)


def _by_quota(code: str, culprit: Configurable, key: str, message: str, edit: Edit | None) -> Finding:
    """One that a change of a quota lifts."""
    return brake(code, culprit, key, message, edit, fix=None if edit is None else f"quota {words_of(edit)}")


def _limit_text(limit: Effective) -> str:
    assert limit.value is not None
    return f"{limit.key} of {limit.entity} ({readable(limit.key, limit.value)})"


def _entity(limit: Effective) -> Entity:
    assert limit.entity is not None
    return limit.entity


def _client_entity(client: tuple[str, str]) -> Entity:
    """The entity of one client; without a client-id that of its user."""
    return Entity.of({kind: name for kind, name in zip(("user", "client-id"), client, strict=True) if name})


# --- a topic, or a broker ---


@dataclass(frozen=True)
class ConfigFacts:
    """What was read about a topic or a broker: its configs, and the configs of the brokers that are involved.

    `brokers` are all of the cluster; those that are `down` serve nothing, and the configs of those that are `unread`
    could not be read.
    """

    configs: Sequence[ConfigValue]
    partitions: Sequence[Partition] = ()
    brokers: Collection[int] = ()
    reassigning: bool | None = None
    down: Collection[int] = ()
    unread: Collection[int] = ()

    def own(self, *keys: str) -> list[ConfigValue]:
        """The values of these keys that are set, and not Kafka's defaults."""
        return [value for value in self.configs if value.key in keys and value.text and value.source != Source.BUILT_IN]

    @property
    def behind(self) -> list[Partition]:
        """The partitions with a replica that is not in sync, on a broker that is up."""
        return [one for one in self.partitions if {*one.replicas} - {*one.in_sync, *self.down}]

    @property
    def coverage(self) -> Coverage:
        """The brokers whose configs were read, of all that serve."""
        serving = frozenset(self.brokers) - {*self.down}
        return Coverage(serving - {*self.unread}, serving) if serving else Coverage()


def of_topic(topic: Resource, facts: ConfigFacts) -> list[Finding]:
    """The brakes of a topic; what bites comes first."""
    found = _throttled_replicas(topic, facts)
    return in_order(replace(one, coverage=facts.coverage) for one in found)


def of_broker(facts: ConfigFacts) -> list[Finding]:
    """The brakes of a broker; what bites comes first."""
    rates = []
    for value in facts.own(*THROTTLE_RATES):
        what = "moves between its disks" if value.key == BETWEEN_DISKS else "replicas that topics list"
        because = "" if value.key == BETWEEN_DISKS else _REASSIGNING[facts.reassigning]
        message = f"{what} get {_rate(value)} at most{because}"
        rates.append(_config_brake("replication-throttle", value, message, MAY_BITE))
    return in_order([*callbacks(facts.configs), *rates])


def _throttled_replicas(topic: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    rates = facts.own(*THROTTLE_RATES)
    for value in facts.own(*THROTTLES["TOPIC"]):
        rate_key = value.key.replace(".replicas", ".rate")
        limited = [rate for rate in rates if rate.key == rate_key and _is_listed(value, rate.resource.name)]
        unread = [broker for broker in sorted(facts.unread) if _is_listed(value, str(broker))]
        message = _throttle_text(limited, unread, facts)
        if unread and not limited and facts.behind:
            fix = f"config why {Resource('BROKER', str(unread[0]))}"
            yield not_known("replication-throttle", topic, value.key, message, fix)
        else:
            state = BITES if limited and facts.behind else STANDS
            yield _config_brake("replication-throttle", value, message, state)


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
    if not facts.behind:
        up = " on brokers that are up" if facts.down else ""
        return f"all replicas{up} are in sync, and only those that are not are slowed"
    return f"{len(facts.behind)} of {len(facts.partitions)} partitions have replicas that are not in sync"


_REASSIGNING = {
    True: ", for a reassignment that is running",
    False: ", and no reassignment is running",
    None: "; whether a reassignment is running is not known",
}


def _config_brake(code: str, value: ConfigValue, message: str, state: str) -> Finding:
    """A brake that the removal of a config lifts, where it was set; a broker's file is edited by hand."""
    if value.source == Source.FILE:
        how = f"remove {value.key} from the server.properties of {value.resource}, and restart it"
        return brake(code, value.resource, value.key, message, state=state, fix=how)
    where = Resource("BROKER", "") if value.source == Source.ALL_BROKERS else value.resource
    edit = Edit(DELETE, where, value.key)
    return brake(code, where, value.key, message, edit, state=state, fix=fixing_line(edit))


def _rate(value: ConfigValue) -> str:
    return f"{figures.exact_size(float(exact_number(value.text) or 0))}/s"
