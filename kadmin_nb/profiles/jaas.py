"""JAAS text: one login module that is known, and the login that its options mean: SCRAM, Kerberos, MSK or OAUTHBEARER.

No other module is passed over: some have been a way into somebody's JVM (CVE-2023-25194, CVE-2025-27818), and a tool
that skips what it does not know would hide it.
The words are those of Java's StreamTokenizer as Kafka's JaasConfig sets it up. No error repeats the text.
"""

from __future__ import annotations

import ipaddress
import os
import re
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from .. import web
from ..errors import Unsupported, UsageError
from ..model.connection_settings import TOKEN_TIMEOUT, AwsSigner, TokenEndpoint, TokenFile, TokenLogin, UnsecuredToken
from ..model.java_text import trimmed
from ..secrets import Secret
from . import pem
from .java_keys import KERBEROS_SERVICE, class_name
from .java_properties import Entries, Login

PACKAGE = "org.apache.kafka.common.security"
MODULES = {
    f"{PACKAGE}.plain.PlainLoginModule": "PLAIN",
    f"{PACKAGE}.scram.ScramLoginModule": "SCRAM",
    f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule": "OAUTHBEARER",
    "software.amazon.msk.auth.iam.IAMLoginModule": "AWS_MSK_IAM",
    "com.sun.security.auth.module.Krb5LoginModule": "GSSAPI",
}
"""The mechanisms by the classes of their login modules."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """A login module by the kind of mechanism that it is for; `at` names its place in errors.

    An option after a value without quotes is `doubtful`: in `password=a b=c` its name may be part of a password.
    """

    kind: str
    options: Mapping[str, str] = field(repr=False)
    at: str
    doubtful: frozenset[str] = field(default=frozenset(), repr=False)

    def refuse_other_options(self, others: Iterable[str], supported: str) -> None:
        """Refuse the first of these options, by its name: that is not a secret, unless it is doubtful.

        Raises
        ------
        Unsupported
            There is one.
        """
        for name in others:
            shown = "an option after a value without quotes" if name in self.doubtful else name
            raise Unsupported(f"{self.at} sets {shown}, which is not supported", hint=f"Supported are {supported}.")


_WORD = r"[A-Za-z_$\u00a0-\U0010ffff][A-Za-z0-9_$.\-\u00a0-\U0010ffff]*"
_TOKEN = re.compile(
    r"[\0-\x20]*(?:"
    rf"(?P<word>{_WORD})"
    r"|\"(?P<double>(?:[^\"\\\r\n]|\\[^\r\n])*)\""
    r"|'(?P<single>(?:[^'\\\r\n]|\\[^\r\n])*)'"
    r"|(?P<sign>[=;]))"
)
_CLASS_NAME = re.compile(r"(?:[a-z_][A-Za-z0-9_]*\.)+[A-Z][A-Za-z0-9_$]*")


def parse(text: str, where: str) -> LoginModule:
    """The login module that `text` names, with its options; `where` names the place of the text in errors.

    Raises
    ------
    Unsupported
        Another login module, named; a second one.
    UsageError
        Not one login module with its flag and options, closed by a semicolon.
    """
    at = f"{where}: sasl.jaas.config"
    tokens = _tokens(trimmed(text), at)
    kind = _module_kind(next(tokens, _END), at)
    flag = next(tokens, _END)
    if flag[0] != "word" or flag[1].lower() != "required":
        raise _malformed(at, "the word after the login module is not 'required'")
    options, doubtful = _options(tokens, at)
    _ends(next(tokens, _END), at)
    return LoginModule(kind, options, at, doubtful)


Token = tuple[str, str]
"""Its kind, `word`, `quoted`, `sign` or `end`, and its text."""

_END = ("end", "")


def _tokens(text: str, at: str) -> Iterator[Token]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if not match:
            raise _malformed(at, "a quote is not closed, or a value must be in quotes")
        place = match.end()
        kind = str(match.lastgroup)
        is_quoted = kind in ("double", "single")
        yield ("quoted", _ESCAPE.sub(_unescaped, match[kind])) if is_quoted else (kind, match[kind])


_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_NAMED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape, 8)) if escape[0] in "01234567" else _NAMED.get(escape, escape)


def _module_kind(module: Token, at: str) -> str:
    name = module[1]
    if (known := class_name(name)) in MODULES:
        return MODULES[known]
    if not _CLASS_NAME.fullmatch(name):
        raise _malformed(at, "it does not begin with the class name of a login module")
    supported = ", ".join(module.rpartition(".")[2] for module in MODULES)
    raise Unsupported(f"{at} names {name}, which is refused", hint=f"Supported are {supported}; no class is loaded.")


def _options(tokens: Iterator[Token], at: str) -> tuple[dict[str, str], frozenset[str]]:
    """The options before the semicolon, the last of equal names wins; and the names after a value without quotes."""
    options: dict[str, str] = {}
    doubtful: set[str] = set()
    is_quoted = True
    while (token := next(tokens, _END))[0] == "word":
        sign, value = next(tokens, _END), next(tokens, _END)
        if sign != ("sign", "=") or value[0] not in ("word", "quoted"):
            raise _malformed(at, 'an option is not written name="value"')
        options[token[1]] = value[1]
        if not is_quoted:
            doubtful.add(token[1])
        is_quoted = value[0] == "quoted"
    if token != ("sign", ";"):
        raise _malformed(at, "it does not end in ';'")
    return options, frozenset(doubtful)


def _ends(token: Token, at: str) -> None:
    """Nothing after the semicolon, above all no second login module."""
    kind, name = token
    if name.endswith("LoginModule") and _CLASS_NAME.fullmatch(name):
        raise Unsupported(f"{at} has a second login module, {name}, which is refused")
    if kind != "end":
        raise _malformed(at, "there is text after the ';'")


def password_login(module: LoginModule) -> Login:
    """The user and the password of a module for PLAIN or SCRAM.

    Raises
    ------
    Unsupported
        The login is by a delegation token; a name that may be part of a password.
    UsageError
        No user, or no password.
    """
    options = module.options
    if module.kind == "SCRAM" and options.get("tokenauth", "false").lower() == "true":
        raise Unsupported(f"{module.at} sets tokenauth, which is refused", hint="Delegation tokens are not read.")
    others = [name for name in without_effect(module) if name in module.doubtful and not name.startswith("user_")]
    module.refuse_other_options(others, 'username="…" and password="…", in quotes')
    missing = [name for name in ("username", "password") if not options.get(name)]
    if missing:
        raise UsageError(f"{module.at} gives no {' and no '.join(missing)}")
    return Login(options["username"], Secret(options["password"]))


def without_effect(module: LoginModule) -> list[str]:
    """The names of the options that Java's classes pass over, too, such as `user_alice`, which is a broker's."""
    if module.kind == "AWS_MSK_IAM":
        return [name for name in module.options if name in _MSK_PASSED_OVER]
    return sorted(module.options.keys() - {"username", "password"}) if module.kind in ("PLAIN", "SCRAM") else []


def _malformed(at: str, problem: str) -> UsageError:
    return UsageError(
        f"{at} is not read: {problem}",
        hint='Write: CLASS required OPTION="…" OPTION="…"; with \\ before " and \\ in a value.',
    )


_TICKETS = "Tickets come from this machine's cache: run {} before connecting."
_ELSEWHERE = {
    "useKeyTab": _TICKETS.format("kinit -kt KEYTAB PRINCIPAL"),
    "ticketCache": "Name the cache in the environment: KRB5CCNAME=FILE:PATH.",
    "tryFirstPass": _TICKETS.format("kinit PRINCIPAL"),
    "useFirstPass": _TICKETS.format("kinit PRINCIPAL"),
}
"""Options of Krb5LoginModule by which a Java client gets its ticket in another way."""


def kerberos_service_name(entries: Entries, module: LoginModule | None) -> str:
    """The name of the brokers' service, `kafka` of `kafka/broker-1.example.com@EXAMPLE.COM`.

    Raises
    ------
    Unsupported
        An option by which tickets come from elsewhere than the cache.
    UsageError
        No name, or two.
    """
    options = module.options if module else {}
    for option, hint in _ELSEWHERE.items():
        if options.get(option, "false").lower() != "false":
            raise Unsupported(f"{entries.source}: sasl.jaas.config sets {option}, which is not supported", hint=hint)
    names = {name for name in (options.get("serviceName"), entries.text(KERBEROS_SERVICE)) if name}
    if len(names) > 1:
        raise UsageError(
            f"{entries.source}: serviceName in sasl.jaas.config and {KERBEROS_SERVICE} are different names"
        )
    if not names:
        raise UsageError(f"{entries.source}: GSSAPI needs the name of the brokers' service",
                         hint=f"{KERBEROS_SERVICE}=kafka is usual.")  # fmt: skip
    return names.pop()


_SIGNER_OPTIONS = ("awsProfileName", "awsRoleArn", "awsRoleSessionName", "awsStsRegion")
_MSK_PASSED_OVER = ("awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs")
_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?:")


def msk_login(entries: Entries, module: LoginModule | None) -> TokenLogin:
    """Tokens that the credentials of AWS sign, for the region that they are for.

    Raises
    ------
    Unsupported
        An option that the signer does not have, by its name.
    UsageError
        No region is named.
    """
    options = module.options if module else {}
    if module:
        others = [name for name in options if name not in (*_SIGNER_OPTIONS, *_MSK_PASSED_OVER)]
        module.refuse_other_options(others, ", ".join(_SIGNER_OPTIONS))
    return TokenLogin(AwsSigner(_region(entries), *(options.get(name) for name in _SIGNER_OPTIONS)))


def _region(entries: Entries) -> str:
    """The region in the brokers' names; behind other names, that of the environment."""
    match = _HOST.search(entries.text("bootstrap.servers") or "")
    region = match[1] if match else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise UsageError(f"{entries.source}: the region of AWS is not known, and bootstrap.servers does not name it",
                         hint="Set it, such as AWS_REGION=eu-west-1.")  # fmt: skip
    return region


URL = "sasl.oauthbearer.token.endpoint.url"
_CREDENTIALS = "sasl.oauthbearer.client.credentials"
_JAAS_OPTIONS = ("clientId", "clientSecret", "scope")
_EXTENSION, _CLAIM, _LIFETIME = "extension_", "unsecuredLoginStringClaim_", "unsecuredLoginLifetimeSeconds"


def token_login(entries: Entries, module: LoginModule | None, ca_file: str | None) -> TokenLogin:
    """The source of tokens that `entries` name; `ca_file` are the authorities that brokers are trusted by.

    Java loads the classes that a file names; here their names only say which source is meant, and any other is refused.

    Raises
    ------
    Unsupported
        An option, a class or an address that is refused, by its name.
    UsageError
        Something is missing, or nonsense.
    """
    options = module.options if module else {}
    if module:
        known, beginnings = (*_JAAS_OPTIONS, _LIFETIME), (_EXTENSION, _CLAIM, "ssl.")
        others = [name for name in options if name not in known and not name.startswith(beginnings)]
        supported = f"{', '.join(_JAAS_OPTIONS)}, {_EXTENSION}…, ssl.…, {_CLAIM}… and {_LIFETIME}"
        module.refuse_other_options(others, supported)
    extensions = tuple((name, value) for name, value in _below(_EXTENSION, options).items())
    url = entries.text(URL)
    if not url:
        return TokenLogin(_unsecured(options, entries), extensions)
    try:
        parts = urllib.parse.urlsplit(url) if url.lower().startswith("file:") else web.parts_of(url)
    except ValueError:
        raise _not_an_address(entries) from None
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise UsageError(f"{entries.source}: {URL} names a file of another machine", hint="Write file:///a/path.")
        return TokenLogin(TokenFile(urllib.request.url2pathname(parts.path)), extensions)
    _check_url(parts, entries)
    return TokenLogin(_endpoint(url, entries, options, ca_file), extensions)


def _below(prefix: str, options: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)}


def _unsecured(options: Mapping[str, str], entries: Entries) -> UnsecuredToken:
    claims = _below(_CLAIM, options)
    if not claims:
        raise UsageError(f"{entries.source}: OAUTHBEARER needs {URL}",
                         hint="The https:// address of a token server, or file:///… of a token's file.")  # fmt: skip
    lifetime = options.get(_LIFETIME, "3600")
    if not lifetime.isdecimal():
        raise UsageError(f"{entries.source}: {_LIFETIME} is not a number of seconds")
    return UnsecuredToken(tuple(sorted(claims.items())), float(lifetime))


def _check_url(parts: urllib.parse.SplitResult, entries: Entries) -> None:
    if parts.username is not None or not parts.hostname or parts.scheme not in ("http", "https"):
        raise _not_an_address(entries)
    try:
        is_loopback = ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        is_loopback = parts.hostname == "localhost"
    if parts.scheme == "http" and not is_loopback:
        raise Unsupported(f"{entries.source}: {URL} is http://, which would send the client's secret in the clear",
                          hint="Write https://; http:// is for a token server on this machine.")  # fmt: skip


def _not_an_address(entries: Entries) -> UsageError:
    return UsageError(f"{entries.source}: {URL} is not an https:// address without a login, nor file:///…")


def _endpoint(url: str, entries: Entries, options: Mapping[str, str], ca_file: str | None) -> TokenEndpoint:
    """The keys win over the options of JAAS, as in Java."""
    client_id = entries.text(f"{_CREDENTIALS}.client.id") or options.get("clientId")
    secret = entries.text(f"{_CREDENTIALS}.client.secret") or options.get("clientSecret")
    if not client_id or not secret:
        lacking = " and no ".join(word for word, value in (("id", client_id), ("secret", secret)) if not value)
        raise UsageError(f"{entries.source}: OAUTHBEARER has no {lacking} of a client for the token server",
                         hint=f"{_CREDENTIALS}.client.id and .client.secret, or clientId and clientSecret in "
                              "sasl.jaas.config.")  # fmt: skip
    own = Entries({name: Secret(value) for name, value in options.items() if name.startswith("ssl.")}, entries.source)
    stores = pem.stores(own)
    timeouts = "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms"
    return TokenEndpoint(
        url,
        client_id,
        Secret(secret),
        entries.text("sasl.oauthbearer.scope") or options.get("scope"),
        encodes_credentials=(entries.text("sasl.oauthbearer.header.urlencode") or "").lower() == "true",
        pem=replace(stores, ca_file=stores.ca_file or ca_file),
        only_ca_file=stores.ca_file is not None,
        timeout=sum(entries.seconds(key) or TOKEN_TIMEOUT / len(timeouts) for key in timeouts),
    )
