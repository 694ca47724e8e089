"""How to reach a cluster: the settings both client libraries are given, and secrets that cannot print."""

from __future__ import annotations

from dataclasses import dataclass, field


class Secret:
    """A text that prints as `[secure]`; `reveal()` is the only way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "[secure]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a secret is not pickled")


@dataclass(frozen=True, slots=True)
class Settings:
    """A connection, whatever it was read from. Files are PEM. `source` names where it came from.

    `policy` is the file of rules that every plan there is to keep.
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
    check_hostname: bool = True
    client_id: str = "kadmin_nb"
    source: str = "host:port"
    policy: str | None = None
    ignored: tuple[str, ...] = field(default=(), compare=False)

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")
