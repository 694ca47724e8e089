"""The configs that weaken durability or security when they change: one table of rules, judged against what holds now.

A key of a listener, `listener.name.<listener>.[<mechanism>.]<key>`, goes by the rule of the key, where there is one.
`auto.create.topics.enable` is not here, nor what only makes a broker slower or full: neither loses a record that was
acknowledged nor lets anybody in.

Besides: throttles of copies that are under way (KIP-73, KIP-113), as without one the copies take the whole line; and
the acks of client configs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from typing import cast

from ...admin.ports import Kafka, serving
from ...model.changes import Change, Target
from ...model.client_configs import ACKS, ALL_REPLICAS, ClientEntity
from ...model.config_units import exact_number, with_unit
from ...model.config_values import (
    BROKER_KEYS,
    STAND_INS,
    ConfigValue,
    Synonym,
    behind_listener,
    deciding_keys,
    in_effect,
    in_unit_of,
    synonyms_below,
    unnamed_defaults,
)
from ...model.findings import DANGER, Finding
from ...model.resources import THROTTLE_RATES, Resource, is_throttle
from ..observed_state import ObservedState

DURABILITY, RETENTION, LISTENER, LOGIN, ADDRESS = "durability", "retention", "listener", "login", "address"
CODE, ACCESS, ENCRYPTION, QUOTA, THROTTLE = "code", "access", "encryption", "quota", "throttle"

Weakens = Callable[[str | None, str | None], bool]
"""True if the way from what holds to what will hold is one to less; None is not a value at all."""


def lowered(old: str | None, new: str | None) -> bool:
    """A smaller number, where -1 is without an end, and all replicas; what is not a number is not trusted."""
    was, will = _as_number(old), _as_number(new)
    return old != new if was is None or will is None else will < was


def _as_number(text: str | None) -> Decimal | None:
    number = exact_number(text)
    return Decimal("Infinity") if text == "all" or number == -1 else number


def turned_on(old: str | None, new: str | None) -> bool:
    return _word(new) == "true" != _word(old)


def turned_off(old: str | None, new: str | None) -> bool:
    return _word(new) == "false" != _word(old)


def changed(old: str | None, new: str | None) -> bool:
    return old != new


def set_anew(old: str | None, new: str | None) -> bool:
    """Another value, not none: what is taken away does nothing any more."""
    return bool(new) and old != new


def emptied(old: str | None, new: str | None) -> bool:
    return not _word(new) and bool(_word(old))


def gains(item: str) -> Weakens:
    """A list that gets something that fits the pattern."""
    fits = re.compile(item, re.IGNORECASE)
    return lambda old, new: any(fits.search(one) for one in _items(new) - _items(old))


def _items(text: str | None) -> set[str]:
    return {item.strip() for item in (text or "").split(",")} - {""}


def falls(*words: str) -> Weakens:
    """A word that comes earlier in this row; one that is not in it is not trusted."""
    places = {word: place for place, word in enumerate(words)}
    unknown = len(words)
    return lambda old, new: places.get(_word(new), -1) < places.get(_word(old), unknown)


def _word(text: str | None) -> str:
    return (text or "").strip().lower()


@dataclass(frozen=True, slots=True)
class DangerRule:
    """Keys, as shell patterns between blanks; the word for what is weakened; how that is told; what follows from it."""

    keys: str
    danger: str
    weakens: Weakens
    why: str


RULES = (
    DangerRule("min.insync.replicas *.min.isr", DURABILITY, lowered,
               "writes are acknowledged with fewer replicas, and are lost with them"),
    DangerRule("unclean.leader.election.enable", DURABILITY, turned_on,
               "a replica that lacks acknowledged records may become the leader, and they are lost"),
    DangerRule("acks *.required.acks", DURABILITY, lowered, "writes are acknowledged before all replicas have them"),
    DangerRule("*replication.factor", DURABILITY, lowered, "new topics are kept in fewer copies"),
    DangerRule("transaction.partition.verification.enable", DURABILITY, turned_off,
               "a late record may end up in a transaction that is over"),
    DangerRule("retention.ms retention.bytes log.retention.ms log.retention.minutes log.retention.hours "
               "log.retention.bytes offsets.retention.minutes",
               RETENTION, lowered, "records beyond it are deleted for good, within minutes"),
    DangerRule("delete.retention.ms log.cleaner.delete.retention.ms", RETENTION, lowered,
               "a consumer that is late does not learn that a key was deleted"),
    DangerRule("cleanup.policy log.cleanup.policy", RETENTION, gains("^delete$"),
               "records beyond the retention are deleted for good, the last one of a key too"),
    DangerRule("remote.log.delete.on.disable", RETENTION, turned_on,
               "turning tiered storage off deletes the records in it"),
    DangerRule("remote.storage.enable", RETENTION, turned_off, "records in tiered storage can no longer be read"),
    DangerRule("*jaas.config", LOGIN, changed, "it sets the classes and the secrets of logins"),
    DangerRule("*.url *.urls config.providers*", ADDRESS, set_anew,
               "brokers will fetch from there, keys and tokens included, with their own rights"),
    DangerRule("*.class *.classes *.class.name *.class.path *metric*.reporters security.providers ssl.provider "
               "sasl.kerberos.kinit.cmd",
               CODE, set_anew, "brokers will run this code"),
    DangerRule("ssl.client.auth", ACCESS, falls("none", "requested", "required"),
               "clients no longer need a certificate"),
    DangerRule("sasl.enabled.mechanisms", ACCESS, gains("."), "there is one more way to log in"),
    DangerRule("super.users", ACCESS, changed, "it names the users who may do everything"),
    DangerRule("allow.everyone.if.no.acl.found", ACCESS, turned_on, "resources without an ACL are open to everyone"),
    DangerRule("ssl.principal.mapping.rules sasl.kerberos.principal.to.local.rules", ACCESS, changed,
               "it decides a client's name, which ACLs and quotas use"),
    DangerRule("ssl.allow.dn.changes ssl.allow.san.changes", ACCESS, turned_on, "a certificate may change its owner"),
    DangerRule("ssl.truststore.location ssl.truststore.certificates ssl.truststore.type "
               "ssl.trustmanager.algorithm",
               ACCESS, changed, "it decides whose certificates are trusted"),
    DangerRule("ssl.endpoint.identification.algorithm", ENCRYPTION, emptied,
               "any host with a trusted certificate may pose as a broker"),
    DangerRule("ssl.enabled.protocols ssl.protocol", ENCRYPTION, gains(r"^(SSL.*|TLSv1|TLSv1\.1)$"),
               "connections may use an insecure protocol"),
    DangerRule("ssl.cipher.suites", ENCRYPTION, gains(r"_NULL|_anon_|EXPORT|_RC4_|_DES_|_3DES_|_RC2_|_MD5"),
               "connections may use an insecure cipher, or none"),
    DangerRule("listener.name.*.max.connections listener.name.*.max.connection.creation.rate "
               "listener.name.*.num.network.threads listener.name.*.connections.max.idle.ms",
               LISTENER, lambda old, new: False, "a listener may be made larger and smaller"),
    DangerRule("listeners advertised.listeners listener.security.protocol.map listener.name.* "
               "inter.broker.listener.name security.inter.broker.protocol sasl.mechanism.*.protocol",
               LISTENER, changed,
               "who can connect, and how, depends on it: brokers and clients may be locked out, or let in"),
)  # fmt: skip
"""The first that a key fits counts."""


@cache
def rule_of(key: str) -> DangerRule | None:
    """The rule of a config key; None where a change of it weakens nothing."""
    for name in filter(None, (behind_listener(key), key)):
        for rule in RULES:
            if any(fnmatchcase(name, pattern) for pattern in rule.keys.split()):
                return rule
    return None


def add_facts(state: ObservedState, kafka: Kafka, changes: Sequence[Change]) -> None:
    """Add to a state what these configs are judged by.

    That is what applies without their own value, and which of the throttles that rows remove or lower hold back copies
    now.
    """
    configs = [change for change in changes if _rule(change)]
    unset = (c.target for c in configs if c.old_known and (c.old is None or c.after is None))
    state.below.update(fallback_values(kafka, unset))
    if touched := [change.target for change in changes if _throttle_loss(change)]:
        state.throttling.update(kafka.throttling(touched))


def dangers(changes: Iterable[Change], state: ObservedState) -> Iterable[Finding]:
    """The dangers of these configs.

    A throttle is one while it holds back copies, or while that is not known.
    """
    for change in changes:
        rule, message = _rule(change), _weakening(change, state)
        if rule and message:
            yield Finding.about(change, DANGER, rule.danger, f"{message}: {rule.why}")
        reason, loss = state.throttling.get(change.target), _throttle_loss(change)
        if reason and loss:
            yield Finding.about(change, DANGER, THROTTLE, f"{loss}; {reason}")


def _rule(change: Change) -> DangerRule | None:
    is_logger = cast(Resource, change.resource).type == "BROKER_LOGGER"
    return None if is_logger else rule_of(change.key)


def _weakening(change: Change, state: ObservedState) -> str | None:
    """From what to what, where that is weaker or cannot be seen; nothing where it is not weaker."""
    rule, below = _rule(change), state.below.get(change.target, ())
    if rule is None or change.is_same:
        return None
    if change.is_secret or not change.old_known:
        return f"a value that is not shown {'is removed' if change.after is None else 'is set or replaced'}"
    old, new = ([value] if value is not None else [*below] for value in (change.old, change.after))
    if not old or not new:
        return f"{_value_text(change.key, old)} becomes {_value_text(change.key, new)}"
    worst = next((pair for pair in product(old, new) if rule.weakens(*pair)), None)
    return " becomes ".join(_value(change.key, value) for value in worst) if worst else None


def _value_text(key: str, values: Sequence[str | None]) -> str:
    return _value(key, values[0]) if values else "a value that cannot be seen"


def _value(key: str, text: str | None) -> str:
    return "nothing" if text is None else with_unit(key, text) or "empty"


def _throttle_loss(change: Change) -> str | None:
    """What the row does to a throttle that is set; None where it takes nothing of it away."""
    if not is_throttle(change.target) or not change.old or change.is_same:
        return None
    if change.key in THROTTLE_RATES and change.after is None:
        return f"{change.old} B/s is removed: copies may take the whole line"
    if change.key in THROTTLE_RATES:
        is_less = lowered(change.old, change.after)
        return f"{change.old} B/s becomes {change.after} B/s: copies may never end" if is_less else None
    was, will = ({*(text or "").split(",")} - {""} for text in (change.old, change.after))
    if "*" in will or was <= will:
        return None
    which = "replicas" if "*" in was else f"{len(was - will):,} of {len(was):,} replicas"
    return f"{which} are no longer throttled: copies may take the whole line"


def acks_dangers(changes: Sequence[Change], state: ObservedState) -> Iterator[Finding]:
    """The rows that lower the acks of their clients; without a value of its own, a client-id has its user's.

    What is set nowhere counts as all replicas.
    """
    rule, set_now = rule_of(ACKS), {change.target: change.after for change in changes}
    for row in (change for change in changes if rule and change.key == ACKS and not change.is_same):
        user = ClientEntity(cast(ClientEntity, row.resource).user, None)
        of_user = None if row.resource == user else state.of((user, ACKS)).value
        old, new = row.old or of_user or ALL_REPLICAS[0], row.after or set_now.get((user, ACKS), of_user)
        if rule and new is not None and rule.weakens(old, new):
            yield Finding.about(row, DANGER, rule.danger, f"{ACKS} drops to {new}: {rule.why}")


Values = Mapping[Target, Collection[str | None]]
"""The texts that may apply to a target without its own: several where brokers differ, none where nobody can say."""

_ALL_BROKERS = Resource("BROKER", "")
_Configs = Mapping[str, ConfigValue]


def fallback_values(kafka: Kafka, targets: Iterable[Target]) -> Values:
    """The values below these configs.

    Below the default for all brokers it is one of every broker that serves; none where one of them does not say.
    """
    configs = [(cast(Resource, resource), key) for resource, key in targets]
    of_all = [key for resource, key in configs if resource.is_default_broker]
    of_resources = [(resource, key) for resource, key in configs if not resource.is_default_broker]
    of_brokers = _of_brokers(kafka, set(of_all)).values()
    values: dict[Target, Collection[str | None]] = {
        (_ALL_BROKERS, key): {text for shown in of_brokers for text in fallback_texts(_ALL_BROKERS, key, shown)}
        for key in of_all
    }
    own_rows = _configs(kafka, {resource for resource, _ in of_resources}, {key for _, key in of_resources})
    values |= {(r, key): fallback_texts(r, key, own_rows.get(r, {})) for r, key in of_resources}
    topics = [(r, key) for r, key in of_resources if r.type == "TOPIC" and not values[r, key]]
    return {**values, **_of_topics(kafka, topics)}


def _of_topics(kafka: Kafka, topics: Sequence[tuple[Resource, str]]) -> Values:
    """The fallbacks that brokers' rows alone tell: a topic's own value hides them where brokers set nothing either."""
    broker_keys = {key: BROKER_KEYS.get(key, "") for _, key in topics}
    asked = {key for key in broker_keys.values() if key in STAND_INS}
    configs = _of_brokers(kafka, asked)
    synonyms = {key: [_synonyms(key, values) for values in configs.values()] for key in asked}
    return {(r, key): _texts_in_effect(key, synonyms.get(broker_keys[key], ())) for r, key in topics}


def _texts_in_effect(key: str, of_brokers: Iterable[Iterable[Synonym]]) -> set[str | None]:
    entries = (in_effect("TOPIC", key, synonyms) for synonyms in of_brokers)
    return {in_unit_of(key, entry) for entry in entries if entry}


def _of_brokers(kafka: Kafka, keys: Collection[str]) -> Mapping[Resource, _Configs]:
    """The configs of each broker that serves; none at all where one could not be read: it may have another value."""
    brokers = [broker.resource for broker in serving(kafka)] if keys else []
    configs = _configs(kafka, brokers, keys)
    return configs if all(broker in configs for broker in brokers) else {}


def _configs(kafka: Kafka, resources: Collection[Resource], keys: Collection[str]) -> Mapping[Resource, _Configs]:
    """The configs by resource and key, with their substitutes; what cannot be read is left out."""
    names = sorted({name for key in keys for name in own_keys(key)})
    configs: dict[Resource, dict[str, ConfigValue]] = {resource: {} for resource in resources}
    for row in kafka.configs.describe(resources, names).to_pylist() if resources else ():
        if row["error"] is not None:
            configs.pop(Resource(row["resource_type"], row["resource_name"]), None)
        elif row["key"] is not None:
            config = ConfigValue.of(row)
            configs[config.resource][config.key] = config
    return configs


def _synonyms(key: str, configs: _Configs) -> list[Synonym]:
    """Every place where a resource has a value for the key, or for a substitute of it."""
    return [synonym for name in own_keys(key) if name in configs for synonym in configs[name].synonyms]


def own_keys(key: str) -> tuple[str, ...]:
    """The key and its substitutes on the same resource."""
    return deciding_keys("BROKER", key)


def fallback_texts(resource: Resource, key: str, configs: _Configs) -> list[str | None]:
    """The text that applies without an own value, None where nothing does; empty where that cannot be seen."""
    of_topics_alone = resource.type == "TOPIC" and key not in BROKER_KEYS
    defaults = unnamed_defaults("TOPIC", key) if of_topics_alone else []
    below = synonyms_below(resource.type, key, [*_synonyms(key, configs), *defaults], resource.source)
    if entry := in_effect(resource.type, key, below):
        return [in_unit_of(key, entry)]
    values = [configs[name] for name in own_keys(key) if name in configs]
    is_nothing = not below if resource.type == "BROKER" else all(value.is_unset for value in values)
    return [None] if values and key not in STAND_INS and is_nothing else []
