"""OAUTHBEARER as Kafka's Java clients set it up: a token endpoint, a file with a token, or claims that nobody signs.

Java loads the classes that a file names; here their names only say which source is meant, and any other is refused.
"""

from __future__ import annotations

import ipaddress
import urllib.parse
import urllib.request
from collections.abc import Mapping

from .. import web
from ..errors import Unsupported, UsageError
from ..model.connection_settings import TOKEN_TIMEOUT, TokenEndpoint, TokenFile, TokenLogin, UnsecuredToken
from ..secrets import Secret
from . import pem
from .entries import Entries
from .jaas import LoginModule

URL = "sasl.oauthbearer.token.endpoint.url"
_CREDENTIALS = "sasl.oauthbearer.client.credentials"
_JAAS_OPTIONS = ("clientId", "clientSecret", "scope")
_EXTENSION, _CLAIM, _LIFETIME = "extension_", "unsecuredLoginStringClaim_", "unsecuredLoginLifetimeSeconds"


def token_login(entries: Entries, module: LoginModule | None, ca_file: str | None) -> TokenLogin:
    """The source of tokens that `entries` name; `ca_file` are the authorities that brokers are trusted by.

    Raises
    ------
    Unsupported
        An option, a class or an address that is refused, by its name.
    UsageError
        Something is missing, or nonsense.
    """
    options = module.options if module else {}
    _refuse_unknown_options(options, f"{entries.source}: sasl.jaas.config")
    extensions = tuple((name, value) for name, value in _below(_EXTENSION, options).items())
    url = entries.text(URL)
    if not url:
        return TokenLogin(_unsecured(options, entries), extensions)
    try:
        parts = urllib.parse.urlsplit(url) if url.lower().startswith("file:") else web.parts_of(url)
    except ValueError:
        raise _not_an_address(entries) from None
    if parts.scheme == "file":
        return TokenLogin(_token_file(parts, entries), extensions)
    _check_url(parts, entries)
    return TokenLogin(_endpoint(url, entries, options, ca_file), extensions)


def _refuse_unknown_options(options: Mapping[str, str], at: str) -> None:
    for name in options:
        if name not in (*_JAAS_OPTIONS, _LIFETIME) and not name.startswith((_EXTENSION, _CLAIM, "ssl.")):
            hint = f"Supported are {', '.join(_JAAS_OPTIONS)}, {_EXTENSION}…, ssl.…, {_CLAIM}… and {_LIFETIME}."
            raise Unsupported(f"{at} sets an option that OAUTHBEARER does not have here", hint=hint)


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


def _token_file(parts: urllib.parse.SplitResult, entries: Entries) -> TokenFile:
    if parts.netloc not in ("", "localhost"):
        raise UsageError(f"{entries.source}: {URL} names a file of another machine", hint="Write file:///a/path.")
    return TokenFile(urllib.request.url2pathname(parts.path))


def _check_url(parts: urllib.parse.SplitResult, entries: Entries) -> None:
    if parts.username is not None or not parts.hostname or parts.scheme not in ("http", "https"):
        raise _not_an_address(entries)
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise Unsupported(f"{entries.source}: {URL} is http://, which would send the client's secret in the clear",
                          hint="Write https://; http:// is for a token server on this machine.")  # fmt: skip


def _not_an_address(entries: Entries) -> UsageError:
    return UsageError(f"{entries.source}: {URL} is not an https:// address without a login, nor file:///…")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
    return TokenEndpoint(
        url,
        client_id,
        Secret(secret),
        entries.text("sasl.oauthbearer.scope") or options.get("scope"),
        encodes_credentials=(entries.text("sasl.oauthbearer.header.urlencode") or "").lower() == "true",
        ca_file=stores.ca_file or ca_file,
        only_ca_file=stores.ca_file is not None,
        certificate_file=stores.certificate_file,
        key_file=stores.key_file,
        key_password=stores.key_password,
        timeout=sum(_seconds(entries, key) for key in _TIMEOUTS),
    )


_TIMEOUTS = ("sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms")


def _seconds(entries: Entries, key: str) -> float:
    text = entries.text(key)
    if not text:
        return TOKEN_TIMEOUT / len(_TIMEOUTS)
    if not text.isdecimal() or int(text) == 0:
        raise UsageError(f"{entries.source}: {key} is not a number of milliseconds above 0")
    return int(text) / 1000
