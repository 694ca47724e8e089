"""JAAS text: one login module that is known, and the login that its options mean: SCRAM, Kerberos, MSK or OAUTHBEARER.

No other module is passed over: some have been a way into somebody's JVM (CVE-2023-25194, CVE-2025-27818), and a tool
that skips what it does not know would hide it.
The words are those of Java's StreamTokenizer as Kafka's JaasConfig sets it up, but for its escapes: a backslash stands
before a quote or a backslash alone. No error repeats the text.
"""

from __future__ import annotations

import os
import re
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import web
from ..documents import BLANKS, trimmed
from ..errors import Unsupported, UsageError
from ..model.connection_settings import AwsSigner, TokenEndpoint, TokenFile, TokenLogin
from ..secrets import Secret, is_secret_name
from .java_properties import CREDENTIALS, SCOPE, URL, Entries, Login, class_name

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
    """A login module by the kind of mechanism that it is for; `at` names its place in errors."""

    kind: str
    options: Mapping[str, str] = field(repr=False)
    at: str

    def without_effect(self) -> list[str]:
        """The names of the options that are passed over, such as `user_alice`, which is a broker's."""
        passed_over = (name for name in self.options if not name.startswith(_OPTIONS[self.kind]))
        return [f"{name} in sasl.jaas.config" for name in sorted(passed_over)]

    def password_login(self) -> Login:
        """The user and the password of a module for PLAIN or SCRAM.

        Raises
        ------
        Unsupported
            The login is by a delegation token.
        UsageError
            No user, or no password.
        """
        if self.kind == "SCRAM" and self.options.get("tokenauth", "false").lower() == "true":
            raise Unsupported(f"{self.at} sets tokenauth, which is refused", hint="Delegation tokens are not read.")
        missing = [name for name in ("username", "password") if not self.options.get(name)]
        if missing:
            raise UsageError(f"{self.at} gives no {' and no '.join(missing)}")
        return Login(self.options["username"], Secret(self.options["password"]))


_SIGNER_OPTIONS = ("awsProfileName", "awsRoleArn", "awsRoleSessionName", "awsStsRegion")
_EXTENSION = "extension_"
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "PLAIN": ("username", "password"),
    "SCRAM": ("username", "password", "tokenauth"),
    "OAUTHBEARER": ("clientId", "clientSecret", "scope", _EXTENSION),
    "AWS_MSK_IAM": _SIGNER_OPTIONS,
    "GSSAPI": ("serviceName", "useTicketCache"),
}
"""The beginnings of the options that have an effect. Kerberos' tickets are those of this machine's cache."""

_WORD = r"[A-Za-z_$\u00a0-\U0010ffff][A-Za-z0-9_$.\-\u00a0-\U0010ffff]*"
_BLANK = r"[\0-\x20]"
_OPTION = re.compile(
    rf"{_BLANK}+(?P<name>{_WORD}){_BLANK}*={_BLANK}*"
    rf"(?:(?P<quote>[\"'])(?P<quoted>(?:[^\\\r\n]|\\[\\\"'])*?)(?P=quote)|(?P<word>{_WORD}))"
)
_BEGINNING = re.compile(rf"(?P<class>{_WORD})(?:{_BLANK}+(?P<flag>{_WORD}))?")
_CLASS_NAME = re.compile(r"(?:[a-z_][A-Za-z0-9_]*\.)+[A-Z][A-Za-z0-9_$]*")
_ESCAPE = re.compile(r"\\(.)")


def parse(text: str, where: str) -> LoginModule:
    """The login module that `text` names, with its options, the last of equal names wins; `where` is for errors.

    Raises
    ------
    Unsupported
        Another login module, named.
    UsageError
        Not one login module with its flag and options, closed by a semicolon.
    """
    text, at = trimmed(text), f"{where}: sasl.jaas.config"
    beginning = _BEGINNING.match(text)
    name = beginning["class"] if beginning else ""
    if not _CLASS_NAME.fullmatch(name):
        raise _malformed(at, "it does not begin with the class name of a login module")
    if (known := class_name(name)) not in MODULES:
        supported = ", ".join(module.rpartition(".")[2] for module in MODULES)
        raise Unsupported(f"{at} names {name}, which is refused", hint=f"Supported are {supported}; none is loaded.")
    if beginning is None or (beginning["flag"] or "").lower() != "required":
        raise _malformed(at, "the word after the login module is not 'required'")
    options: dict[str, str] = {}
    place = beginning.end()
    while option := _OPTION.match(text, place):
        if option["word"] and is_secret_name(option["name"]):  # else what follows a blank in it would be its own option
            raise _malformed(at, f"{option['name']} must be in quotes")
        options[option["name"]] = option["word"] or _ESCAPE.sub(r"\1", option["quoted"])
        place = option.end()
    if text[place:].strip(BLANKS) != ";":
        problem = (
            "what follows the options is not one ';' at the end, a value is not in quotes, or a backslash is alone"
        )
        raise _malformed(at, problem)
    return LoginModule(MODULES[known], options, at)


def _malformed(at: str, problem: str) -> UsageError:
    return UsageError(
        f"{at} is not read: {problem}",
        hint='Write: CLASS required OPTION="…" OPTION="…"; with \\ before " and \\ in a value.',
    )


_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?:")


def msk_login(entries: Entries, options: Mapping[str, str]) -> TokenLogin:
    """Tokens that the credentials of AWS sign, for the region that they are for.

    Raises
    ------
    UsageError
        No region is named.
    """
    return TokenLogin(AwsSigner(_region(entries), *(options.get(name) for name in _SIGNER_OPTIONS)))


def _region(entries: Entries) -> str:
    """The region in the brokers' names; behind other names, that of the environment."""
    match = _HOST.search(entries.text("bootstrap.servers") or "")
    region = match[1] if match else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise UsageError(f"{entries.source}: the region of AWS is not known, and bootstrap.servers does not name it",
                         hint="Set it, such as AWS_REGION=eu-west-1.")  # fmt: skip
    return region


def token_login(entries: Entries, options: Mapping[str, str], ca_file: str | None) -> TokenLogin:
    """The source of tokens that `entries` name; `ca_file` are the authorities that brokers are trusted by.

    Java loads the classes that a file names; here their names only say which source is meant, and any other is refused.

    Raises
    ------
    Unsupported
        The client's secret would be sent in the clear.
    UsageError
        Something is missing, or nonsense.
    """
    extensions = tuple(
        (name.removeprefix(_EXTENSION), value) for name, value in options.items() if name.startswith(_EXTENSION)
    )
    url = entries.text(URL)
    if not url:
        raise UsageError(f"{entries.source}: OAUTHBEARER needs {URL}",
                         hint="The https:// address of a token server, or file:///… of a token's file.")  # fmt: skip
    try:
        is_file = url.lower().startswith("file:///")
        parts = urllib.parse.urlsplit(url) if is_file else web.parts_of(url)
        if not is_file and (parts.username is not None or not parts.hostname or parts.scheme not in ("http", "https")):
            raise ValueError
    except ValueError:
        message = f"{entries.source}: {URL} is not an https:// address without a login, nor file:///…"
        raise UsageError(message) from None
    if is_file:
        return TokenLogin(TokenFile(urllib.request.url2pathname(parts.path)), extensions)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise Unsupported(f"{entries.source}: {URL} is http://, which would send the client's secret in the clear",
                          hint="Write https://; http:// is for a token server on this machine.")  # fmt: skip
    return TokenLogin(_endpoint(url, entries, options, ca_file), extensions)


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _endpoint(url: str, entries: Entries, options: Mapping[str, str], ca_file: str | None) -> TokenEndpoint:
    """The keys win over the options of JAAS, as in Java."""
    client_id = entries.text(f"{CREDENTIALS}.client.id") or options.get("clientId")
    secret = entries.text(f"{CREDENTIALS}.client.secret") or options.get("clientSecret")
    if not client_id or not secret:
        raise UsageError(f"{entries.source}: OAUTHBEARER has no id or no secret of a client for the token server",
                         hint=f"{CREDENTIALS}.client.id and .client.secret, or clientId and clientSecret in "
                              "sasl.jaas.config.")  # fmt: skip
    return TokenEndpoint(url, client_id, Secret(secret), entries.text(SCOPE) or options.get("scope"), ca_file)
