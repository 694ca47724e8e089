"""A Java client's `.properties` file, read in place as Java reads it, and the keys that count in it.

Every other key of Kafka's clients changes how a Java client waits, batches or counts, never whom it trusts or who it
is: it is passed over and noted, as Java passes over a key that it does not know. `tests/connections` holds the keys
against Kafka's jars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import documents, files
from ..documents import trimmed
from ..errors import Unsupported, UsageError
from ..hints import nearest
from ..secrets import Secret, is_secret_name, revealed

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


KERBEROS_SERVICE = "sasl.kerberos.service.name"
URL, CREDENTIALS, SCOPE = (f"sasl.oauthbearer.{name}" for name in ("token.endpoint.url", "client.credentials", "scope"))

USED = frozenset({
    *CLASSES, *_CERTIFICATES, KERBEROS_SERVICE, URL, SCOPE, f"{CREDENTIALS}.client.id", f"{CREDENTIALS}.client.secret",
    "bootstrap.servers", "client.id", "default.api.timeout.ms", "sasl.jaas.config", "sasl.mechanism",
    "security.protocol", "ssl.endpoint.identification.algorithm", "ssl.key.password", "ssl.keystore.key",
    "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.location",
    "ssl.truststore.password", "ssl.truststore.type",
})  # fmt: skip
"""The keys that count."""

REFUSED = (
    "bootstrap.controllers", "config.providers", "interceptor.classes", "metric.reporters", "sasl.kerberos.kinit.cmd",
    "sasl.login.class", "sasl.oauthbearer.assertion", "security.providers", "ssl.cipher.suites",
    "ssl.engine.factory.class", "ssl.provider", "ssl.secure.random.implementation",
)  # fmt: skip
"""The keys that would change who is trusted, or run code, and all below them (`config.providers.x.class`)."""

LOGIN = 'A Java file has them in sasl.jaas.config, a profile as username and password = "env:NAME".'
_MISSPELT = 0.85
"""The likeness to a key that counts from which a key is a misspelling: security.protocl would connect in the clear."""

_LIKE_A_KEY = re.compile(r"(?=.{1,60}\Z)[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*")
"""Anything else may be a torn line, of a private key say, and is not repeated."""


def refuse_wrong_key(key: str, where: str, also: Iterable[str] = ()) -> None:
    """Pass a key that counts, is one of `also`, or is another program's; `where` names its place in errors.

    Raises
    ------
    Unsupported
        A real key that matters and that we do not honour.
    UsageError
        It is nearly a key that counts, or does not look like a key.
    """
    if any(key == name or key.startswith(f"{name}.") for name in REFUSED):
        raise Unsupported(
            f"{where}: {key} is refused: it loads code, or changes who is trusted, in a way that is not followed here",
            hint=f"Remove {key}, or use another file.",
        )
    if key in USED or key in also:
        return
    if not _LIKE_A_KEY.fullmatch(key):
        raise UsageError(f"{where}: unknown Kafka client property left of the first '='")
    if near := nearest(key, sorted({*USED, *also}), likeness=_MISSPELT):
        raise UsageError(f"{where}: unknown Kafka client property {key}", hint=f"Did you mean {near}?")


@dataclass(frozen=True, slots=True)
class Login:
    """A user and a password."""

    username: str
    password: Secret


@dataclass(frozen=True, slots=True)
class Entries:
    """Java keys with their values, `source` in words; `login` is what `sasl.jaas.config` would say.

    `policy` is the path of the rules that plans are to keep; with `approved_only` plans need an approval.
    """

    values: Mapping[str, str | Secret]
    source: str
    login: Login | None = None
    policy: str | None = None
    approved_only: bool = False

    def under(self, upper: Entries) -> Entries:
        """These entries with `upper` on top, named after `upper`. The later login wins, in either form."""
        lower = {k: v for k, v in self.values.items() if not (upper.login and k == "sasl.jaas.config")}
        login = None if "sasl.jaas.config" in upper.values else self.login
        policy = upper.policy or self.policy
        approved_only = upper.approved_only or self.approved_only
        return Entries({**lower, **upper.values}, upper.source, upper.login or login, policy, approved_only)

    def text(self, key: str) -> str | None:
        """The value as Kafka reads it, trimmed as Java trims; None without the key."""
        text = revealed(self.values.get(key))
        return None if text is None else trimmed(text)


MAX_PROPERTIES_BYTES = 1 << 18
"""Bytes. A chain of PEM certificates has ten thousand."""

CONTINUED = 1_000
"""Lines that end in a backslash. The time to join them grows with their square."""

_WHAT = "a Java client properties file"


def parse_properties(path: Path) -> Entries:
    """The entries of the file: Latin-1 with escapes as in Java, the last of equal keys wins.

    Raises
    ------
    NotFound, UsageError, Unsupported
        No file, not a properties file, a misspelt key, a key that is refused.
    """
    values: dict[str, str | Secret] = {}
    for key, value in read_properties(path).items():
        refuse_wrong_key(key, str(path))
        values[key] = Secret(value) if is_secret(key) else value
    return Entries(values, str(path))


def read_properties(path: Path) -> dict[str, str]:
    """All keys and values of a properties file, whatever the keys are; the last of equal ones wins.

    Raises
    ------
    NotFound, UsageError
        No file, not a properties file.
    """
    content = files.without_mark(files.read(path, _WHAT, MAX_PROPERTIES_BYTES))
    if b"\0" in content:
        raise UsageError(f"{path} is not text, so it cannot be {_WHAT}")
    if content.count(b"\\\n") + content.count(b"\\\r") > CONTINUED:
        raise UsageError(f"{path} has more than {CONTINUED:,} continued lines, so it cannot be {_WHAT}")
    try:
        return documents.from_properties(content.decode("latin-1"))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
