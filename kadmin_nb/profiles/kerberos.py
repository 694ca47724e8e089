"""GSSAPI logins (Kerberos) of a Java client: the service, and tickets that this machine has."""

from __future__ import annotations

from ..errors import Unsupported, UsageError
from .entries import Entries
from .jaas import LoginModule
from .java_keys import KERBEROS_SERVICE

_TICKETS = "Tickets come from this machine's cache: {} makes one before we connect."
_ELSEWHERE = {
    "useKeyTab": _TICKETS.format("kinit -kt KEYTAB PRINCIPAL"),
    "ticketCache": "Name the cache in the environment: KRB5CCNAME=FILE:PATH.",
    "tryFirstPass": _TICKETS.format("kinit PRINCIPAL"),
    "useFirstPass": _TICKETS.format("kinit PRINCIPAL"),
}
"""Options of Krb5LoginModule by which a Java client gets its ticket in another way."""


def service_name(entries: Entries, module: LoginModule | None) -> str:
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
