"""Settings of a connection, which both client libraries are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import PlanRefused
from ..secrets import Secret

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True, slots=True)
class PemFiles:
    """The PEM files of TLS: authorities that we trust (None: the machine's own), and our certificate and key."""

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: Secret | None = None

    @property
    def password(self) -> str | None:
        """The text of the key's password."""
        return self.key_password.reveal() if self.key_password else None

    def show_certificate(self, context: ssl.SSLContext) -> None:
        """Have a TLS context present our certificate, where we have one."""
        if self.certificate_file:
            context.load_cert_chain(self.certificate_file, self.key_file, self.password)


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """A token server, and the client credentials that it wants (RFC 6749, 4.4).

    `ca_file` has authorities that are trusted beside the machine's own.
    """

    url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None
    ca_file: str | None = None

    def __str__(self) -> str:
        """The address without its query."""
        return self.url.partition("?")[0]


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file that holds a token, which another program renews."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class AwsSigner:
    """The credentials of this machine in AWS, signed for Amazon MSK; with a `role`, the credentials of that.

    `session` is the name under which the role is taken on, `sts_region` where AWS is asked for it.
    """

    region: str
    profile: str | None = None
    role: str | None = None
    session: str | None = None
    sts_region: str | None = None

    def __str__(self) -> str:
        return f"AWS in {self.region}"


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """An OAUTHBEARER login: the source of its tokens, and the extensions that are sent with each."""

    source: TokenEndpoint | TokenFile | AwsSigner
    extensions: tuple[tuple[str, str], ...] = ()


GSSAPI = "GSSAPI"
"""The mechanism of Kerberos."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A connection, whatever it was read from. `source` names where it came from.

    `policy` is the file of rules that every plan there is to keep; with `approved_only` only plans that another person
    has approved are carried out; `target` the word that means this connection from
    any folder, empty for the one that no word is needed for. `timeout` is the seconds that a call may take, an alter
    too; None leaves each its own bound.
    """

    bootstrap: str
    security_protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = None
    password: Secret | None = None
    pem: PemFiles = PemFiles()
    token_login: TokenLogin | None = None
    kerberos_service: str | None = None
    check_hostname: bool = True
    client_id: str = "kadmin_nb"
    timeout: float | None = None
    source: str = "host:port"
    policy: str | None = None
    approved_only: bool = False
    target: str = field(default="", compare=False)
    ignored: tuple[str, ...] = field(default=(), compare=False)

    def refuse_unplanned(self, what: str) -> None:
        """Refuse a change that is in no plan, where only approved plans are carried out (PlanRefused)."""
        if self.approved_only:
            raise PlanRefused(
                f"{self.source} carries out approved plans only, and {what} in no plan",
                code="APPROVAL",
                hint="Nothing was sent. Connect with a profile that has no apply.",
            )

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
