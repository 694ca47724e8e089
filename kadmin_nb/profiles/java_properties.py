"""A Java client's `.properties` file, read in place as Java reads it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import documents, files
from ..errors import UsageError
from ..model.java_text import trimmed
from ..secrets import Secret, revealed
from . import java_keys


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

    def seconds(self, key: str) -> float | None:
        """The seconds of a key in milliseconds; None where it is missing or blank.

        Raises
        ------
        UsageError
            Nonsense, or 0.
        """
        text = self.text(key)
        if not text:
            return None
        if not text.isdecimal() or int(text) == 0:
            raise UsageError(f"{self.source}: {key} is not a number of milliseconds above 0")
        return int(text) / 1000


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
        No file, not a properties file, that of a broker, a misspelt key, a key that is refused.
    """
    values: dict[str, str | Secret] = {}
    pairs = [*_pairs(path)]
    _refuse_file_of_broker(path, {key for _, key, _ in pairs})
    for line, key, value in pairs:
        java_keys.refuse_misspelt_key(key, f"{path} line {line}")
        values[key] = Secret(value) if java_keys.is_secret(key) else value
    return Entries(values, str(path))


def _refuse_file_of_broker(path: Path, keys: Collection[str]) -> None:
    own = [key for key in java_keys.BROKER_KEYS if key in keys]
    if own and "bootstrap.servers" not in keys:
        raise UsageError(
            f"{path} has the settings of a broker ({', '.join(own)}), not those of a client",
            hint="A client's file has bootstrap.servers, and security.protocol and sasl.* of the listener it uses.",
        )


def read_properties(path: Path) -> dict[str, str]:
    """All keys and values of a properties file, whatever the keys are; the last of equal ones wins.

    Raises
    ------
    NotFound, UsageError
        No file, not a properties file.
    """
    return {key: value for _, key, value in _pairs(path)}


def _pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, key and value, one after the other."""
    text = _properties_text(path)
    try:
        yield from documents.from_properties(text)
    except ValueError as error:
        raise UsageError(f"{path}, {error}") from None


def _properties_text(path: Path) -> str:
    content = files.without_mark(files.read(path, _WHAT, MAX_PROPERTIES_BYTES))
    files.refuse_strange_format(content, str(path), _WHAT)
    if b"\0" in content:
        raise UsageError(f"{path} is not text, so it cannot be {_WHAT}")
    if content.count(b"\\\n") + content.count(b"\\\r") > CONTINUED:
        raise UsageError(f"{path} has more than {CONTINUED:,} continued lines, so it cannot be {_WHAT}")
    return content.decode("latin-1")
