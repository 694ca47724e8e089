"""What slows a topic, a broker or a group now: rules over facts that somebody read; and what all brakes are made of.

A finding's target is the culprit, its edit the smallest change that lifts the brake. Its evidence has `state`: it
`bites` as far as anything was seen, it `may bite`, it is `not known` for rows that are missing, or it `stands` and
slows nothing now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..model import figures
from ..model.changes import DELETE, Edit
from ..model.config_units import exact_number
from ..model.config_values import BrokerConfigs, ConfigValue, applied, has_effect
from ..model.configurable import Configurable
from ..model.findings import NOT_KNOWN, OK, WARNING, Coverage, Finding
from ..model.quota_keys import CALLBACK
from ..model.resources import BETWEEN_DISKS, THROTTLE_RATES, THROTTLES, Partition, Resource, Source
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

BROKER_KEYS = (CALLBACK, REMOTE_STORE, *TIERED, *CONNECTIONS, *THROTTLE_RATES)
"""The configs of brokers that are judged."""

LOCKS = "share.partition.max.record.locks"
"""The records of a partition that a share group may have in work."""


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


def by_reset(code: str, whose: Configurable, key: str, message: str, state: str) -> Finding:
    """One that the removal of a config lifts."""
    edit = Edit(DELETE, whose, key)
    return brake(code, whose, key, message, edit, state=state, fix=fixing_line(edit))


def callbacks(configs: Iterable[ConfigValue], unread: Iterable[int] = ()) -> Iterator[Finding]:
    for value in configs:
        if value.key == CALLBACK and value.text:
            message = f"{value.text} decides quotas there, by a rule of its own: what is stored may not apply"
            how = f"remove {CALLBACK} from the server.properties of {value.resource}, and restart it"
            yield brake("quota-callback", value.resource, CALLBACK, message, state=MAY_BITE, fix=how)
    yield from (not_read("quota-callback", broker, CALLBACK) for broker in sorted(unread))


def not_read(code: str, broker: int, key: str, seen: str = "") -> Finding:
    """One that depends on the configs of a broker that were not read."""
    where = Resource("BROKER", str(broker))
    return not_known(code, where, key, f"{seen}the configs of {where} were not read", f"config why {where}")


@dataclass(frozen=True)
class ConfigFacts:
    """What was read about a topic or a broker: its configs, and the configs of the brokers that are involved.

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
        """The values of these keys that are set, and not Kafka's defaults."""
        return [value for value in self.configs if value.key in keys and value.text and value.source != Source.BUILT_IN]

    @property
    def behind(self) -> list[Partition]:
        """The partitions with a replica that is not in sync, on a broker that is up."""
        return [one for one in self.partitions or () if {*one.replicas} - {*one.in_sync, *self.down}]

    @property
    def coverage(self) -> Coverage:
        """The brokers whose configs were read, of all that serve."""
        serving = frozenset(self.brokers) - {*self.down}
        return Coverage(serving - {*self.unread}, serving) if serving else Coverage()

    @property
    def of_partitions(self) -> Coverage:
        """The coverage of what the metadata tells of the partitions."""
        return Coverage(rows=len(self.partitions or ()))


def of_topic(topic: Resource, facts: ConfigFacts) -> list[Finding]:
    """The brakes of a topic; what bites comes first."""
    is_tiered = any(value.key == "remote.storage.enable" and value.text == "true" for value in facts.configs)
    unread = (not_read("tiered-storage", broker, TIERED[0]) for broker in sorted(facts.unread))
    tiered = (*_tiered(facts), *unread) if is_tiered else ()
    rules = _without_leader, _few_in_sync, _one_leader
    of_partitions = [_unread_partitions(topic, facts)] if facts.partitions is None else [
        replace(one, coverage=facts.of_partitions) for rule in rules for one in rule(topic, facts)
    ]  # fmt: skip
    of_brokers = (replace(one, coverage=facts.coverage) for one in (*_throttled_replicas(topic, facts), *tiered))
    return in_order([*of_partitions, *of_brokers])


def of_broker(broker: Resource, facts: ConfigFacts) -> list[Finding]:
    """The brakes of a broker; what bites comes first."""
    rates = []
    for value in facts.own(*THROTTLE_RATES):
        what = "moves between its disks" if value.key == BETWEEN_DISKS else "replicas that topics list"
        because = "" if value.key == BETWEEN_DISKS else _REASSIGNING[facts.reassigning]
        message = f"{what} get {_rate(value)} at most{because}"
        rates.append(config_brake("replication-throttle", value, message, MAY_BITE))
    bounds = [config_brake("connection-limit", value, f"{value.key} is {value.text}", MAY_BITE)
              for value in facts.own(*CONNECTIONS)]  # fmt: skip
    return in_order([*callbacks(facts.configs), *rates, *_tiered(facts), *bounds, *_unlike_peers(broker, facts)])


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
        return [not_known("share-locks", group, LOCKS, missing, f"kafka-groups.sh --list, which has {group}")]
    if locks.is_own:
        return [by_reset("share-locks", locks.resource, LOCKS, message, state)]
    how = "raise group.share.partition.max.record.locks in the server.properties of the brokers, and restart them"
    return [brake("share-locks", locks.resource, LOCKS, message, state=state, fix=how)]


def _unread_partitions(topic: Resource, facts: ConfigFacts) -> Finding:
    """The answer of all rules about partitions where these were not read."""
    fix = f"config why {topic}, as one who may DESCRIBE it"
    return not_known("unread-partitions", topic, "", facts.no_partitions, fix)


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
    return brake(code, culprit, key, message, fix=fix)


def _unlike_peers(broker: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    """The configs of a broker that are not those of its peers. Without a change that makes it like them, it is not
    known which of them is unusual, where peers were not read."""
    missing = frozenset({*facts.down, *facts.unread})
    if 2 * len(missing) >= len(facts.brokers) > 0:
        peers = frozenset(facts.brokers)
        names = ", ".join(map(str, sorted(missing)))
        why = f"what most brokers have, as the configs of broker {names} were not read"
        yield not_known(
            "unlike-peers", broker, "", why, f"config why {broker}, once these answer", Coverage(peers - missing, peers)
        )
        return
    for one in facts.differing:
        seen = (one.coverage or Coverage()).seen
        coverage = None if seen is None else Coverage(seen, seen | missing)
        edit = next((edit for edit in (one.edit, *one.further) if edit and edit.resource == broker), None)
        fix = "config audit --only differs" if edit is None else fixing_line(edit)
        if edit is None and (missing or (one.coverage and one.coverage.missing)):
            yield not_known("unlike-peers", broker, one.key, one.message, fix, coverage)
        else:
            found = brake("unlike-peers", broker, one.key, one.message, edit, state=MAY_BITE, fix=fix)
            yield replace(found, coverage=coverage)


def _throttled_replicas(topic: Resource, facts: ConfigFacts) -> Iterator[Finding]:
    rates = facts.own(*THROTTLE_RATES)
    for value in facts.own(*THROTTLES["TOPIC"]):
        rate_key = value.key.replace(".replicas", ".rate")
        limited = [rate for rate in rates if rate.key == rate_key and _is_listed(value, rate.resource.name)]
        unread = [broker for broker in sorted(facts.unread) if _is_listed(value, str(broker))]
        message = _throttle_text(limited, unread, facts)
        if not limited and not unread:
            state = STANDS
        elif facts.partitions is None:
            yield not_known("replication-throttle", topic, value.key, message, _unread_partitions(topic, facts).fix)
            continue
        elif facts.behind and not limited:
            fix = f"config why {Resource('BROKER', str(unread[0]))}"
            yield not_known("replication-throttle", topic, value.key, message, fix)
            continue
        else:
            state = BITES if facts.behind else STANDS
        yield by_reset("replication-throttle", value.resource, value.key, message, state)


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
    yield brake("leaders", culprit, "", message, state=MAY_BITE, fix=f"{tool} spreads the leaders of {topic}")


def _tiered(facts: ConfigFacts) -> Iterator[Finding]:
    is_on = any(value.key == REMOTE_STORE and value.text == "true" for value in facts.configs)
    off = "" if is_on else f"; nothing is tiered here, as {REMOTE_STORE} is false"
    for value in facts.own(*TIERED):
        way = "copied to" if value.key == TIERED[0] else "fetched from"
        message = f"{_rate(value)} at most are {way} the remote store{off}"
        yield config_brake("tiered-storage", value, message, MAY_BITE if is_on else STANDS)


def config_brake(code: str, value: ConfigValue, message: str, state: str) -> Finding:
    """A brake that the removal of a config lifts, where it was set; a broker's file is edited by hand."""
    if value.source == Source.FILE:
        how = f"remove {value.key} from the server.properties of {value.resource}, and restart it"
        return brake(code, value.resource, value.key, message, state=state, fix=how)
    where = Resource("BROKER", "") if value.source == Source.ALL_BROKERS else value.resource
    return by_reset(code, where, value.key, message, state)


def _rate(value: ConfigValue) -> str:
    return f"{figures.exact_size(float(exact_number(value.text) or 0))}/s"
