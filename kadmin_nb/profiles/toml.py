"""`kadmin-nb.toml`: named connections, with secrets by reference only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import documents, files
from ..errors import NotFound, UsageError
from ..hints import did_you_mean, nearest
from ..model.grammar import quote
from ..secrets import FORMS, Secret, is_reference
from . import java_keys, java_properties, secret_references
from .java_properties import Entries, Login

NAME = "kadmin-nb.toml"
_MAX_BYTES = 1 << 20
_OURS = ("bootstrap", "password", "policy", "properties", "timeout", "username")
_PATHS = ("ssl.keystore.location", "ssl.truststore.location")


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles of one file, as written in it; `path` is None without a file."""

    path: Path | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def nearest(self, word: str) -> str | None:
        """The profile that `word` probably meant."""
        return nearest(word, tuple(self.tables))

    def __str__(self) -> str:
        if self.path is None:
            return f"no {NAME} was found"
        return f"{self.path} has {', '.join(self.tables) or 'none'}"


def find_file() -> Path | None:
    """The file in use: `$KADMIN_CONFIG`, else the nearest one from here upwards, else the user's own.

    `KADMIN_CONFIG=/dev/null` says that there is none.

    Raises
    ------
    UsageError
        The nearest one belongs to somebody else, who would decide where our secrets go.
    """
    if configured := os.environ.get("KADMIN_CONFIG"):
        return None if configured == os.devnull else files.expanded(configured).absolute()
    upwards = next((path for path in _upwards() if os.path.isfile(path)), None)
    if upwards and upwards.stat().st_uid not in (0, os.geteuid()):
        raise UsageError(f"{upwards} belongs to another user", hint="Set KADMIN_CONFIG to a file that you trust.")
    # XDG says that a relative path is to be ignored
    configured_home, home = Path(os.environ.get("XDG_CONFIG_HOME", "")), files.home()
    base = configured_home if configured_home.is_absolute() else home and home / ".config"
    personal = base / "kadmin-nb" / NAME if base else None
    return upwards or (personal if personal and os.path.isfile(personal) else None)


def _upwards() -> Iterator[Path]:
    try:
        here = Path.cwd()
    except FileNotFoundError:  # somebody removed it under us
        return iter(())
    return (folder / NAME for folder in (here, *here.parents))


def load_profiles() -> Profiles:
    """The profiles of the file in use, unchecked but for their names.

    Raises
    ------
    NotFound, UsageError
        `$KADMIN_CONFIG` names no file; the file is not readable, not TOML, or holds something else.
    """
    path = find_file()
    if path is None:
        return Profiles()
    document = _parse_file(path)
    for word in document.keys() - {"profiles"}:
        hint = did_you_mean(word, ["profiles"], "Connections go under [profiles.NAME].")
        raise UsageError(f"{path}: {quote(word)} is not known", hint=hint)
    tables = document.get("profiles", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise UsageError(f"{path}: profiles are tables, [profiles.NAME]")
    for name in tables:
        if not is_name(name):
            raise UsageError(f"{path}: {quote(name)} is not a name for a profile",
                             hint="A name is letters, digits, '_', '-' and '.'.")  # fmt: skip
    return Profiles(path, tables)


def _parse_file(path: Path) -> dict[str, Any]:
    """The document. Where it is malformed only the place is told: tomllib's own words may quote it."""
    text = files.read_text(path, f"the {NAME} in use", _MAX_BYTES)
    try:
        return documents.from_toml(text)
    except ValueError as error:
        place = re.search(r"at line \d+, column \d+", str(error))
        raise UsageError(f"{path} is not TOML{f', {place[0]}' if place else ''}") from None


_PROFILE_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def is_name(word: str) -> bool:
    """True if a profile may be called that: unlike a path and unlike host:port."""
    return _PROFILE_NAME.fullmatch(word) is not None


def profile(name: str, profiles: Profiles) -> Entries:
    """The entries of profile `name`, on top of the properties file that it may name.

    Raises
    ------
    NotFound
        No such profile; a file or a secret's variable that it names is not there.
    UsageError
        An unknown key, a literal secret, a user without password.
    """
    if profiles.path is None or name not in profiles.tables:
        raise NotFound(f"no such profile: {name}: {profiles}", hint=did_you_mean(name, profiles.tables))
    return _Profile(name, profiles.path, _flat(profiles.tables[name])).entries()


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A table with dotted keys, so that `ssl.truststore.type = "PEM"` may be written bare; `properties` may nest."""
    flat: dict[str, Any] = {}
    for word, value in table.items():
        key = f"{prefix}{word}"
        below = "" if key == "properties" else f"{key}."
        flat |= _flat(value, below) if isinstance(value, dict) else {key: value}
    return flat


@dataclass(frozen=True, slots=True)
class _Profile:
    name: str
    path: Path
    given: Mapping[str, Any]

    def entries(self) -> Entries:
        for key in self.given:
            java_keys.refuse_unknown_key(key, self.where, _OURS)
        for one, other in _ONCE:
            if one in self.given and other in self.given:
                raise UsageError(f"{self.where} has both {one} and {other}; use one")
        policy = str(self._beside(self._text("policy"))) if "policy" in self.given else None
        values = {_JAVA.get(key, key): self._value(key) for key in self.given if key not in _APART}
        own = Entries(values, self.where, self._login(), policy)
        if "properties" not in self.given:
            return own
        return java_properties.parse_properties(self._beside(self._text("properties"))).under(own)

    @property
    def where(self) -> str:
        return f"profile {self.name} in {self.path}"

    def _value(self, key: str) -> str | Secret:
        if java_keys.is_secret(key):
            return self._secret(key)
        text = self._text(key)
        if key == "timeout":
            return in_milliseconds(text, f"{self.where}: timeout")
        return str(self._beside(text)) if key in _PATHS else text

    def _login(self) -> Login | None:
        present = {"username", "password"} & self.given.keys()
        if len(present) == 1:
            raise UsageError(f"{self.where} has {present.pop()} alone; username and password go together")
        return Login(self._text("username"), self._secret("password")) if present else None

    def _secret(self, key: str) -> Secret:
        reference = self._text(key)
        _require_reference(key, reference, self.where)
        return secret_references.read_reference(reference, self.path.parent)

    def _text(self, key: str) -> str:
        """A value as Java would have it; brokers may be a list."""
        value = self.given[key]
        if isinstance(value, str):
            return value
        try:
            kind: Any = str | int | float | bool
            value = documents.as_type(value, list[str] | kind if key in _BROKERS else kind, key)
        except ValueError as error:
            raise UsageError(f"{self.where}: {error}") from None
        if isinstance(value, list):
            return ",".join(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _beside(self, name: str) -> Path:
        """A path in a profile is relative to the profile's file."""
        return self.path.parent / files.expanded(name)


_BROKERS = ("bootstrap", "bootstrap.servers")
_JAVA = {"bootstrap": "bootstrap.servers", "timeout": "default.api.timeout.ms"}
_APART = ("password", "policy", "properties", "username")
_ONCE = (_BROKERS, ("timeout", "default.api.timeout.ms"), ("username", "sasl.jaas.config"))


def in_milliseconds(seconds: str, where: str) -> str:
    """A number of seconds as the properties of a Java client have it.

    Raises
    ------
    UsageError
        It is not a number, or not above 0.
    """
    try:
        milliseconds = round(float(seconds) * 1000)
    except (ValueError, OverflowError):
        milliseconds = 0
    if milliseconds <= 0:
        raise UsageError(f"{where} is not a number of seconds above 0")
    return str(milliseconds)


def require_references(properties: Mapping[str, str], where: str) -> None:
    """Refuse literal secrets where others read them: on a command line, in a notebook's parameters.

    Raises
    ------
    UsageError
        A secret key's value is not a reference; the value is not repeated.
    """
    for key in filter(java_keys.is_secret, properties):
        _require_reference(key, properties[key], where)


def _require_reference(key: str, text: str, where: str) -> None:
    if not is_reference(text):
        raise UsageError(f"{where}: {key} is a literal secret, which is refused",
                         hint=f"Write {key} = {FORMS}, where the secret is.")  # fmt: skip
