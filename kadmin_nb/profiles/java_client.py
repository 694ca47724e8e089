"""Settings from the keys of a Java client."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import KadminError, Unsupported, UsageError
from ..hints import nearest
from ..model.connection_settings import PemFiles, Settings
from . import java_keys, pem
from .java_properties import Entries

if TYPE_CHECKING:
    from .jaas import LoginModule

PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")
MECHANISMS = ("AWS_MSK_IAM", "GSSAPI", "OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_WE_DO_THAT = {
    "ssl.enabled.protocols": {"TLSv1.2"},
    "ssl.keymanager.algorithm": {"SunX509", "PKIX", "NewSunX509"},
    "ssl.protocol": {"TLS", "TLSv1.2", "TLSv1.3"},
    "ssl.trustmanager.algorithm": {"PKIX"},
}
"""Values beside which we do no worse (TLS 1.2 or newer, certificates checked by PKIX); all others are refused."""


def settings(entries: Entries) -> Settings:
    """The connection that `entries` describe, every value checked: kafka-python connects in the clear on a typo.

    Raises
    ------
    UsageError, Unsupported, NotFound
        A value that is wrong, a feature we do not have, a file that is missing.
    """
    protocol = _protocol(entries)
    module = _login_module(entries)
    sasl, tls = protocol.startswith("SASL"), protocol.endswith("SSL")
    mechanism = _mechanism(entries, module) if sasl else None
    found = Settings(
        bootstrap=_bootstrap(entries),
        security_protocol=protocol,
        mechanism=mechanism,
        pem=pem.stores(entries) if tls else PemFiles(),
        check_hostname=_check_hostname(entries),
        client_id=entries.text("client.id") or "kadmin_nb",
        timeout=entries.seconds("default.api.timeout.ms"),  # Java's bound on a call with all its attempts
        source=entries.source,
        policy=entries.policy,
        approved_only=entries.approved_only,
        ignored=_ignored(entries, module, mechanism, tls=tls),
    )
    return _with_login(found, entries, module) if mechanism else found


def _with_login(found: Settings, entries: Entries, module: LoginModule | None) -> Settings:
    """The settings with the login of their mechanism; listeners of Amazon MSK for IAM take tokens by OAUTHBEARER."""
    if module or found.mechanism not in _WITH_PASSWORD:
        from . import jaas  # loaded where there is such a login
    if found.mechanism in _WITH_PASSWORD:
        login = jaas.password_login(module) if module else entries.login
        if login is None:
            raise UsageError(f"{entries.source}: {found.mechanism} needs a user and a password", hint=java_keys.LOGIN)
        return replace(found, username=login.username, password=login.password)
    if found.mechanism == "GSSAPI":
        return replace(found, kerberos_service=jaas.kerberos_service_name(entries, module))
    handler = java_keys.class_name(entries.text(java_keys.HANDLER) or "")
    is_msk = found.mechanism == "AWS_MSK_IAM" or handler == java_keys.MSK_HANDLER
    tokens = jaas.msk_login(entries, module) if is_msk else jaas.token_login(entries, module, found.pem.ca_file)
    return replace(found, mechanism="OAUTHBEARER", token_login=tokens)


def addresses(text: str) -> str | None:
    """`text` as `host:port[,…]` without blanks and schemes, None when it is something else.

    Kafka's clients drop the scheme of `SASL_SSL://host:port`, whatever it is.
    """
    parts = [_SCHEME.sub("", part.strip()) for part in text.split(",") if part.strip()]
    return ",".join(parts) if parts and all(map(_is_address, parts)) else None


_SCHEME = re.compile(r"^[0-9A-Za-z._%-]*://")
_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]):([0-9]{1,5})")


def _is_address(text: str) -> bool:
    match = _ADDRESS.fullmatch(text)
    return match is not None and 0 < int(match[1]) < 65536


def _bootstrap(entries: Entries) -> str:
    text = entries.text("bootstrap.servers")
    if not text:
        raise UsageError(f"{entries.source} names no brokers: bootstrap.servers is missing")
    address_list = addresses(text)
    if address_list is None:
        raise UsageError(f"{entries.source}: bootstrap.servers is not host:port[,host:port…]",
                         hint="Write an IPv6 address in brackets, [::1]:9092.")  # fmt: skip
    _refuse_weaker_protocol(text, entries)
    return address_list


def _refuse_weaker_protocol(bootstrap: str, entries: Entries) -> None:
    """Refuse a protocol without the TLS or the login that a scheme names: the scheme itself has no effect."""
    protocol = _protocol(entries)
    for scheme in (part.strip().partition("://")[0].upper() for part in bootstrap.split(",")):
        if scheme in PROTOCOLS and {*scheme.split("_")} - {*protocol.split("_"), "PLAINTEXT"}:
            raise UsageError(
                f"{entries.source}: an address begins with {scheme}://, and security.protocol is {protocol}",
                hint=f"Set security.protocol={scheme}; Kafka's clients drop what is before ://.",
            )


def _protocol(entries: Entries) -> str:
    """In any case, as in Java."""
    protocol = (entries.text("security.protocol") or "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise _not_one_of(entries, "security.protocol", PROTOCOLS)
    return protocol


def _login_module(entries: Entries) -> LoginModule | None:
    """Read also where no SASL is spoken: a class is refused wherever it stands."""
    for key in sorted(java_keys.CLASSES.keys() & entries.values.keys()):
        name, understood = java_keys.class_name(entries.text(key) or ""), java_keys.CLASSES[key]
        if name and name not in understood:  # we cannot stand in for it, and Java would run it
            supported = ", ".join(dict.fromkeys(known.rpartition(".")[2] for known in understood))
            raise Unsupported(f"{entries.source}: {key} is refused: no class is loaded",
                              hint=f"Supported by name: {supported}.")  # fmt: skip
    text = entries.text("sasl.jaas.config")
    if not text:
        return None
    from . import jaas  # its patterns take longer to compile than all else here to load

    return jaas.parse(text, entries.source)


def _mechanism(entries: Entries, module: LoginModule | None) -> str:
    mechanism = entries.text("sasl.mechanism") or "GSSAPI"
    if not entries.text("sasl.mechanism") and not (module and module.kind == mechanism):
        raise UsageError(f"{entries.source}: sasl.mechanism is not set, which means GSSAPI (Kerberos)",
                         hint=f"It is one of {', '.join(MECHANISMS)}.")  # fmt: skip
    if mechanism not in MECHANISMS:
        raise _not_one_of(entries, "sasl.mechanism", MECHANISMS)
    if module and not mechanism.startswith(module.kind):
        raise UsageError(
            f"{entries.source}: sasl.mechanism is {mechanism}, and the login module is one for {module.kind}"
        )
    return mechanism


_WITH_TOKEN = ("AWS_MSK_IAM", "OAUTHBEARER")
_WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def _check_hostname(entries: Entries) -> bool:
    algorithm = entries.text("ssl.endpoint.identification.algorithm")
    if algorithm is not None and algorithm.lower() not in ("https", ""):
        raise UsageError(f"{entries.source}: ssl.endpoint.identification.algorithm is neither https nor empty",
                         hint="An empty value switches the check of the host name off.")  # fmt: skip
    return algorithm != ""


def _ignored(entries: Entries, module: LoginModule | None, mechanism: str | None, *, tls: bool) -> tuple[str, ...]:
    """The keys that are passed over: Java's own affairs, and those of a protocol or mechanism that is not spoken.

    So are the options of the login module that have no effect, by name.
    """
    for key, enough in _WE_DO_THAT.items() if tls else ():
        assurances = {value.strip() for value in (entries.text(key) or "").split(",")} - {""}
        if assurances and not assurances & enough:
            raise Unsupported(f"{entries.source}: {key} asks for something that kadmin_nb cannot guarantee",
                              hint=f"{key} may contain {' or '.join(sorted(enough))}, or be left out.")  # fmt: skip
    keys = sorted(key for key in entries.values if not _counts(key, mechanism, tls=tls))
    if module is None or mechanism is None:
        return tuple(keys)
    from . import jaas

    return (*keys, *(f"{name} in sasl.jaas.config" for name in jaas.without_effect(module)))


def _counts(key: str, mechanism: str | None, *, tls: bool) -> bool:
    """True if the key has an effect with this mechanism, or without a login."""
    if key in java_keys.OAUTHBEARER:
        spoken = mechanism in _WITH_TOKEN
    elif key == java_keys.KERBEROS_SERVICE:
        spoken = mechanism == "GSSAPI"
    else:
        spoken = (mechanism is not None or not key.startswith("sasl.")) and (tls or not key.startswith("ssl."))
    return spoken and key in java_keys.USED and key not in _WE_DO_THAT


def _not_one_of(entries: Entries, key: str, allowed: Collection[str]) -> KadminError:
    """The value is repeated only where it is nearly right: anything may have slipped into its place."""
    value = entries.text(key) or ""
    close = nearest(value.upper(), tuple(allowed))
    described = value if close else "something else"
    hint = f"Did you mean {close}?" if close else None
    return UsageError(f"{entries.source}: {key} is one of {', '.join(allowed)}, and not {described}", hint=hint)
