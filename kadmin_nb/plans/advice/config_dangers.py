"""The configs that weaken something when they change, and how that is told: one table.

A key of a listener, `listener.name.<listener>.[<mechanism>.]<key>`, goes by the rule of the key, where there is one.
`auto.create.topics.enable` is not here, nor what only makes a broker slower or full: neither loses a record that was
acknowledged nor lets anybody in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache

from ...model.config_fallback import behind_listener
from ...model.config_units import exact_number

DURABILITY, RETENTION, LISTENER, LOGIN, ADDRESS = "durability", "retention", "listener", "login", "address"
CODE, ACCESS, ENCRYPTION, QUOTA = "code", "access", "encryption", "quota"

Weakens = Callable[[str | None, str | None], bool]
"""True if the way from what holds to what will hold is one to less; None is not a value at all."""

UNLIMITED = Decimal(-1)
"""Values that mean no end, and all replicas."""


def lowered(old: str | None, new: str | None) -> bool:
    """A smaller number; what is not a number is not trusted."""
    was, will = _as_number(old), _as_number(new)
    return (old != new) if was is None or will is None else will < was


def cut(old: str | None, new: str | None) -> bool:
    """A smaller number, where -1 is without an end."""
    was, will = _as_number(old), _as_number(new)
    if was is None or will is None:
        return old != new
    return _end(will) < _end(was)


def _end(number: Decimal) -> Decimal:
    return Decimal("Infinity") if number == UNLIMITED else number


def _as_number(text: str | None) -> Decimal | None:
    return UNLIMITED if text == "all" else exact_number(text)


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
    """A word that stands earlier in this row; one that is not in it is not trusted."""
    places = {word: place for place, word in enumerate(words)}
    unknown = len(words)
    return lambda old, new: places.get(_word(new), -1) < places.get(_word(old), unknown)


def _word(text: str | None) -> str:
    return (text or "").strip().lower()


@dataclass(frozen=True, slots=True)
class DangerRule:
    """Keys, as shell patterns; the word for what is weakened; how that is told; and what follows from it."""

    keys: tuple[str, ...]
    danger: str
    weakens: Weakens
    why: str


RULES = (
    DangerRule(
        ("min.insync.replicas", "*.min.isr"),
        DURABILITY,
        lowered,
        "writes are acknowledged with fewer replicas, and are lost with them",
    ),
    DangerRule(
        ("unclean.leader.election.enable",),
        DURABILITY,
        turned_on,
        "a replica that lacks acknowledged records may become the leader, and they are lost",
    ),
    DangerRule(
        ("acks", "*.required.acks"), DURABILITY, cut, "writes are acknowledged before all replicas have them"
    ),
    DangerRule(("*replication.factor",), DURABILITY, lowered, "new topics are kept in fewer copies"),
    DangerRule(
        ("transaction.partition.verification.enable",),
        DURABILITY,
        turned_off,
        "a late record may end up in a transaction that is over",
    ),
    DangerRule(
        ("retention.ms", "retention.bytes", "log.retention.ms", "log.retention.minutes", "log.retention.hours",
         "log.retention.bytes", "offsets.retention.minutes"),
        RETENTION,
        cut,
        "records beyond it are deleted for good, within minutes",
    ),
    DangerRule(
        ("delete.retention.ms", "log.cleaner.delete.retention.ms"),
        RETENTION,
        lowered,
        "a consumer that is late does not learn that a key was deleted",
    ),
    DangerRule(
        ("cleanup.policy", "log.cleanup.policy"),
        RETENTION,
        gains("^delete$"),
        "records beyond the retention are deleted for good, the last one of a key too",
    ),
    DangerRule(
        ("remote.log.delete.on.disable",), RETENTION, turned_on, "turning tiered storage off deletes the records in it"
    ),
    DangerRule(("remote.storage.enable",), RETENTION, turned_off, "records in tiered storage can no longer be read"),
    DangerRule(("*jaas.config",), LOGIN, changed, "it sets the classes and the secrets of logins"),
    DangerRule(
        ("*.url", "*.urls", "config.providers*"),
        ADDRESS,
        set_anew,
        "brokers will fetch from there, keys and tokens included, with their own rights",
    ),
    DangerRule(
        ("*.class", "*.classes", "*.class.name", "*.class.path", "*metric*.reporters", "security.providers",
         "ssl.provider", "sasl.kerberos.kinit.cmd"),
        CODE,
        set_anew,
        "brokers will run this code",
    ),
    DangerRule(("ssl.client.auth",), ACCESS, falls("none", "requested", "required"),
               "clients no longer need a certificate"),
    DangerRule(("sasl.enabled.mechanisms",), ACCESS, gains("."), "there is one more way to log in"),
    DangerRule(("super.users",), ACCESS, changed, "it names the users who may do everything"),
    DangerRule(("allow.everyone.if.no.acl.found",), ACCESS, turned_on, "resources without an ACL are open to everyone"),
    DangerRule(
        ("ssl.principal.mapping.rules", "sasl.kerberos.principal.to.local.rules"),
        ACCESS,
        changed,
        "it decides a client's name, which ACLs and quotas use",
    ),
    DangerRule(("ssl.allow.dn.changes", "ssl.allow.san.changes"), ACCESS, turned_on,
               "a certificate may change its owner"),
    DangerRule(
        ("ssl.truststore.location", "ssl.truststore.certificates", "ssl.truststore.type", "ssl.trustmanager.algorithm"),
        ACCESS,
        changed,
        "it decides whose certificates are trusted",
    ),
    DangerRule(
        ("ssl.endpoint.identification.algorithm",),
        ENCRYPTION,
        emptied,
        "any host with a trusted certificate may pose as a broker",
    ),
    DangerRule(
        ("ssl.enabled.protocols", "ssl.protocol"),
        ENCRYPTION,
        gains(r"^(SSL.*|TLSv1|TLSv1\.1)$"),
        "connections may use an insecure protocol",
    ),
    DangerRule(
        ("ssl.cipher.suites",),
        ENCRYPTION,
        gains(r"_NULL|_anon_|EXPORT|_RC4_|_DES_|_3DES_|_RC2_|_MD5"),
        "connections may use an insecure cipher, or none",
    ),
    DangerRule(
        ("listener.name.*.max.connections", "listener.name.*.max.connection.creation.rate",
         "listener.name.*.num.network.threads", "listener.name.*.connections.max.idle.ms"),
        LISTENER,
        lambda old, new: False,
        "a listener may be made larger and smaller",
    ),
    DangerRule(
        ("listeners", "advertised.listeners", "listener.security.protocol.map", "listener.name.*",
         "inter.broker.listener.name", "security.inter.broker.protocol", "sasl.mechanism.*.protocol"),
        LISTENER,
        changed,
        "who can connect, and how, depends on it: brokers and clients may be locked out, or let in",
    ),
)  # fmt: skip
"""The first that a key fits counts."""


@cache
def rule_of(key: str) -> DangerRule | None:
    """The rule of a config key; None where a change of it weakens nothing."""
    for name in filter(None, (behind_listener(key), key)):
        for rule in RULES:
            if any(fnmatchcase(name, pattern) for pattern in rule.keys):
                return rule
    return None
