"""The sources that tokens of OAUTHBEARER logins come from."""

from __future__ import annotations

from dataclasses import dataclass

from ..secrets import Secret

TOKEN_TIMEOUT = 10.0
"""Seconds that a token server may take where nobody says."""


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """A token server, and the client credentials that it wants (RFC 6749, 4.4).

    `ca_file` are PEM certificates of authorities; with `only_ca_file` the machine's own are not trusted.
    `encodes_credentials` writes them as RFC 6749 does, not as most servers read them.
    """

    url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None
    encodes_credentials: bool = False
    ca_file: str | None = None
    only_ca_file: bool = False
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: Secret | None = None
    timeout: float = TOKEN_TIMEOUT

    def __str__(self) -> str:
        """The address without its query."""
        return self.url.partition("?")[0]


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file that holds a token, which somebody else renews."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class UnsecuredToken:
    """Claims that nobody signs: Kafka's own default, for tests."""

    claims: tuple[tuple[str, str], ...]
    lifetime: float

    def __str__(self) -> str:
        return "the unsecured token"


@dataclass(frozen=True, slots=True)
class AwsSigner:
    """The credentials of this machine in AWS, signed for Amazon MSK."""

    region: str
    profile: str | None = None
    role: str | None = None

    def __str__(self) -> str:
        return f"AWS in {self.region}"


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """An OAUTHBEARER login: the source of its tokens, and the extensions that are sent with each."""

    source: TokenEndpoint | TokenFile | UnsecuredToken | AwsSigner
    extensions: tuple[tuple[str, str], ...] = ()
