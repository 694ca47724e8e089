"""Settings of a connection, which both client libraries are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..secrets import Secret

if TYPE_CHECKING:
    from .token_sources import TokenLogin


@dataclass(frozen=True, slots=True)
class Settings:
    """A connection, whatever it was read from. Files are PEM. `source` names where it came from.

    `policy` is the file of rules that every plan there is to keep; `target` the word that means this connection from
    any folder, empty for the one that no word is needed for. `timeout` is the seconds that a call may take, an alter
    too; None leaves each its own bound.
    """

    bootstrap: str
    security_protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = None
    password: Secret | None = None
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: Secret | None = None
    token_login: TokenLogin | None = None
    kerberos_service: str | None = None
    check_hostname: bool = True
    client_id: str = "kadmin_nb"
    timeout: float | None = None
    source: str = "host:port"
    policy: str | None = None
    target: str = field(default="", compare=False)
    ignored: tuple[str, ...] = field(default=(), compare=False)

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    @property
    def principal(self) -> str | None:
        """The name that brokers have for us, where a login tells it: `User:alice`."""
        return f"User:{self.username}" if self.uses_sasl and self.username else None

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")
