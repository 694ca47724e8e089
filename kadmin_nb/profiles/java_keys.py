"""The keys of Kafka's Java clients, 3.9 to 4.4: which we use, pass over, or refuse by name.

Taken from AdminClientConfig, ProducerConfig and ConsumerConfig; `tests/connections` holds them against the jars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import KadminError, Unsupported, UsageError
from ..hints import nearest
from ..secrets import is_secret_name

_CERTIFICATES = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")


def is_secret(key: str) -> bool:
    """True if the value of a client's key is a secret; certificates, which Kafka hides, are shown to whoever asks."""
    return is_secret_name(key) and key not in _CERTIFICATES


HANDLER, _JWT = "sasl.login.callback.handler.class", "sasl.oauthbearer.jwt"
_PACKAGE, _MSK = "org.apache.kafka.common.security.oauthbearer", "software.amazon.msk.auth.iam"
MSK_HANDLER = f"{_MSK}.IAMOAuthBearerLoginCallbackHandler"
CLASSES = {
    HANDLER: (
        f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
        f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
        MSK_HANDLER,
    ),
    f"{_JWT}.retriever.class": tuple(
        f"{_PACKAGE}.{kind}JwtRetriever" for kind in ("Default", "ClientCredentials", "File")
    ),
    f"{_JWT}.validator.class": tuple(f"{_PACKAGE}.{kind}JwtValidator" for kind in ("Default", "Client")),
    "sasl.client.callback.handler.class": (f"{_MSK}.IAMClientCallbackHandler", MSK_HANDLER),
}
"""The keys that make a Java client load a class, with the classes that are understood by their names."""

_SHADED = re.compile(r"^(kafkashaded\.(?=org\.apache\.kafka\.)|shadedmskiam\.(?=software\.amazon\.msk\.))")


def class_name(name: str) -> str:
    """The name of a class without the prefix under which Databricks ships Kafka's and Amazon's libraries."""
    return _SHADED.sub("", name)


OAUTHBEARER = frozenset({
    *CLASSES, "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms",
    "sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.header.urlencode", "sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url",
})  # fmt: skip
"""The keys that count with this mechanism alone."""

KERBEROS_SERVICE = "sasl.kerberos.service.name"

USED = OAUTHBEARER | {
    *_CERTIFICATES,
    "bootstrap.servers",
    "client.id",
    "default.api.timeout.ms",
    KERBEROS_SERVICE,
    "sasl.jaas.config",
    "sasl.mechanism",
    "security.protocol",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.keymanager.algorithm",
    "ssl.key.password",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.trustmanager.algorithm",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
}

_PASSED_OVER = """
    acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size
    bootstrap.resolve.timeout.ms buffer.memory buffer.memory.allocation.strategy check.crcs client.dns.lookup
    client.rack compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    connections.max.idle.ms default.list.key.serde.inner default.list.key.serde.type default.list.value.serde.inner
    default.list.value.serde.type delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push
    exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id
    group.protocol group.remote.assignor heartbeat.interval.ms isolation.level key.deserializer key.serializer
    linger.ms max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size metadata.cluster.check.enable metadata.max.age.ms metadata.max.idle.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metrics.num.samples metrics.recording.level
    metrics.sample.window.ms partition.assignment.strategy partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys partitioner.rack.aware
    receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries
    retry.backoff.max.ms retry.backoff.ms sasl.kerberos.min.time.before.relogin sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
    sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms
    sasl.login.retry.backoff.ms sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name send.buffer.bytes session.timeout.ms
    share.acknowledgement.mode share.acquire.mode socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms transaction.timeout.ms transaction.two.phase.commit.enable transactional.id
    value.deserializer value.serializer
"""
IGNORED = frozenset(_PASSED_OVER.split())
"""They change how a Java client waits, batches or counts, never whom it trusts or who it is."""

_CLASS = "it makes a Java client load a class"
_TLS = "it restricts TLS in a way that kadmin_nb cannot follow"
REFUSED = {
    "bootstrap.controllers": "kadmin_nb connects to brokers, not to controllers",
    "config.providers": _CLASS,
    "interceptor.classes": _CLASS,
    "metric.reporters": _CLASS,
    "sasl.kerberos.kinit.cmd": "it makes a Java client run a command",
    "sasl.login.class": _CLASS,
    "sasl.oauthbearer.assertion": "a login by assertion (RFC 7523) is not supported",
    "security.providers": _CLASS,
    "ssl.cipher.suites": _TLS,
    "ssl.engine.factory.class": _CLASS,
    "ssl.provider": _CLASS,
    "ssl.secure.random.implementation": _TLS,
}
"""Each with what goes for it and for every key below it (`config.providers.x.class`): ignoring it would pretend."""

LOGIN = 'A Java file has them in sasl.jaas.config, a profile as username and password = "env:NAME".'
_ELSEWHERE = {
    "enable.ssl.certificate.verification": "give ssl.truststore.location; checking cannot be switched off",
    "password": LOGIN,
    "sasl.mechanisms": "Java clients call it sasl.mechanism",
    "sasl.password": LOGIN,
    "sasl.username": LOGIN,
    "user": LOGIN,
    "username": LOGIN,
    "ssl.ca.location": "Java clients call it ssl.truststore.location, with ssl.truststore.type=PEM",
    "ssl.certificate.location": "Java clients take a PEM file of key and chain in ssl.keystore.location",
    "ssl.key.location": "Java clients take a PEM file of key and chain in ssl.keystore.location",
}  # fmt: skip
"""librdkafka's words, which look like Java's."""


BROKER_KEYS = ("process.roles", "node.id", "broker.id", "log.dirs", "log.dir", "listeners", "zookeeper.connect")
"""Keys that a broker or a controller has in its `server.properties`, and no client."""


def refuse_unknown_key(key: str, where: str, also: Iterable[str] = ()) -> None:
    """Pass a key that is used or ignored, or one of `also`; `where` names its place in errors.

    Raises
    ------
    Unsupported
        A real key that matters and that we do not honour.
    UsageError
        No key of a Java client; the nearest word is given.
    """
    if reason := _refusal_reason(key):
        raise Unsupported(f"{where}: {key} is refused: {reason}", hint=f"Remove {key}, or use another file.")
    if key not in USED and key not in IGNORED and key not in also:
        raise _unknown(key, where, also)


def refuse_misspelt_key(key: str, where: str) -> None:
    """Pass a key that is not a Java client's, as Java does; refuse one that is nearly a key that counts.

    A text that does not look like a key is refused too: a torn line, of a private key say.

    Raises
    ------
    Unsupported, UsageError
        As of `refuse_unknown_key`.
    """
    is_near = key in _ELSEWHERE or nearest(key, sorted(USED), likeness=_MISSPELT) is not None
    if is_near or not _DOTTED.fullmatch(key) or _refusal_reason(key):
        refuse_unknown_key(key, where)


_MISSPELT = 0.85
"""The likeness to a key that counts from which a key is a misspelling: security.protocl would connect in the clear."""


def _refusal_reason(key: str) -> str | None:
    return next((why for name, why in REFUSED.items() if key == name or key.startswith(f"{name}.")), None)


def _unknown(key: str, where: str, also: Iterable[str]) -> KadminError:
    close = nearest(key, sorted(USED | IGNORED | set(also))) if _LIKE_A_KEY.fullmatch(key) else None
    hint = _ELSEWHERE.get(key) or (f"Did you mean {close}?" if close else "docs/connections.md lists the keys.")
    safe_key = key if close or key in _ELSEWHERE or _DOTTED.fullmatch(key) else "left of the first '='"
    return UsageError(f"{where}: unknown Kafka client property {safe_key}", hint=hint)


_LIKE_A_KEY = re.compile(r"[A-Za-z0-9._-]{1,60}")
_DOTTED = re.compile(r"(?=.{1,60}\Z)[a-z]+(\.[a-z]+)+")
"""Anything else may be a torn line, of a private key say, and is not repeated."""
