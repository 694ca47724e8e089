"""From what somebody typed to `Settings`: a file, a profile, or host:port, tried in that order.

Profiles stand in `kadmin-nb.toml`: named connections, with secrets by reference only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import documents, files, local_runs
from ..errors import KadminError, NotFound, UsageError
from ..hints import Hint, Verb, did_you_mean, nearest, sentence
from ..model.connection_settings import Settings
from ..model.grammar import quote
from ..secrets import FORMS, Secret, is_reference
from . import java_client, java_keys, java_properties, secret_references
from .java_properties import Entries, Login

_EXAMPLE = "A broker is host:port, such as localhost:9092."


def settings_for(target: str | os.PathLike[str] | None = None, properties: Mapping[str, str] | None = None) -> Settings:
    """The connection that `target` means, with `properties` on top.

    Parameters
    ----------
    target
        A path to a Java client `.properties` file, the name of a profile in `kadmin-nb.toml`, `local` (the local
        Kafka that runs), or `host:port[,…]`. None: `$KADMIN_PROFILE`, else the only profile.
    properties
        Keys of a Java client. The secret ones may be references, `env:NAME` and the like.

    Raises
    ------
    NotFound
        Nothing of that name; a file, a profile's variable or keyring entry that is not there.
    UsageError
        An unknown key or a wrong value, with the nearest right one; several profiles and none chosen.
    Unsupported
        A key, mechanism, login module or store that is refused, by its name.

    Examples
    --------
    >>> settings_for("localhost:9092").security_protocol
    'PLAINTEXT'
    """
    try:
        return _settings(None if target is None else os.path.expanduser(target), properties or {})
    except KadminError as error:
        raise error.with_traceback(None) from None  # the frames below hold secrets in their variables


def _settings(target: str | None, properties: Mapping[str, str]) -> Settings:
    entries = _entries_of(target)
    for key in properties:
        java_keys.refuse_unknown_key(key, "properties")
    overrides = {key: _override(key, value) for key, value in properties.items()}
    settings = java_client.settings(entries.under(Entries(overrides, entries.source)))
    return replace(settings, target=os.path.abspath(target) if target and os.path.isfile(target) else target or "")


def profile_names() -> tuple[str, ...]:
    """The names of the profiles in the `kadmin-nb.toml` in use, in its order; none without a file.

    Raises
    ------
    UsageError, NotFound
        The file is malformed, or `$KADMIN_CONFIG` names none.
    """
    return tuple(load_profiles().tables)


def lasting(target: str) -> str:
    """The target as `$KADMIN_PROFILE` takes it, from any folder: a profile, the whole path of a file, or host:port.

    Raises
    ------
    NotFound, UsageError
        It is none of them.
    """
    profiles = load_profiles() if is_name(target) else Profiles()
    place = os.path.expanduser(target)
    if target in profiles.tables:
        return target
    if os.path.isfile(place):
        return os.path.abspath(place)
    if target == LOCAL:
        return str(_local())
    if bootstrap := java_client.addresses(target):
        return bootstrap
    raise _nothing_fits(target, profiles)


def _entries_of(target: str | None) -> Entries:
    if target is None:
        name = os.environ.get("KADMIN_PROFILE")
        if name and not is_name(name):
            return _entries_of(name)
        profiles = load_profiles()
        if not name and len(profiles.tables) != 1:
            raise UsageError(f"no cluster was named, and $KADMIN_PROFILE is not set: {profiles}",
                             hint=f"Name a profile, a .properties file or host:port. {_EXAMPLE}")  # fmt: skip
        return profile(name or next(iter(profiles.tables)), profiles)
    if os.path.isfile(target):
        return java_properties.parse_properties(Path(target))
    profiles = load_profiles() if is_name(target) else Profiles()
    if target in profiles.tables:
        return profile(target, profiles)
    if target == LOCAL:
        return java_properties.parse_properties(_local())
    if java_client.addresses(target):
        return Entries({"bootstrap.servers": target}, "host:port")
    raise _nothing_fits(target, profiles)


LOCAL = "local"
"""The local Kafka that runs, where no file and no profile is called so."""


_DEMO = Verb("demo", "kn.demo()")


def _local() -> Path:
    if (file := local_runs.admin_properties()) is None:
        raise NotFound("no local Kafka runs", hint=Hint(sentence("{} starts one with traffic.", _DEMO)))
    return file


def _nothing_fits(target: str, profiles: Profiles) -> KadminError:
    if "@" in target or "://" in target:
        return UsageError("the target is a URL, or holds a login: it is not shown here", hint=_EXAMPLE)
    if os.sep in target or target.endswith(".properties"):
        if os.path.exists(target):
            return UsageError(f"{target} is not a file, so it cannot be a Java client properties file")
        return NotFound(f"{target}, a Java client properties file, does not exist")
    if ":" in target or "," in target:
        return UsageError(f"{quote(target)} is not a file and not host:port[,host:port…]", hint=_EXAMPLE)
    close = profiles.nearest(target)
    hint = f"Did you mean the profile {close}?" if close else _EXAMPLE
    return NotFound(f"{quote(target)} is not a file, not a profile ({profiles}) and not host:port", hint=hint)


def _override(key: str, value: str) -> str | Secret:
    if not java_keys.is_secret(key):
        return str(value)
    return secret_references.read_reference(value, Path.cwd()) if is_reference(value) else Secret(value)


# -- profiles

NAME = "kadmin-nb.toml"
_MAX_BYTES = 1 << 20
_OURS = ("apply", "bootstrap", "password", "policy", "properties", "timeout", "username")
_PATHS = ("ssl.keystore.location", "ssl.truststore.location")


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles and groups of one file, as written in it; `path` is None without a file."""

    path: Path | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    groups: Mapping[str, object] = field(default_factory=dict)

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
    if upwards and files.is_of_others(upwards.stat()):
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
    for word in document.keys() - {"profiles", "groups"}:
        hint = did_you_mean(word, ["profiles", "groups"], "Connections go under [profiles.NAME].")
        raise UsageError(f"{path}: {quote(word)} is not known", hint=hint)
    tables, groups = document.get("profiles", {}), document.get("groups", {})
    for kind, given in (("profiles", tables), ("groups", groups)):
        if not isinstance(given, dict) or not all(isinstance(table, dict) for table in given.values()):
            raise UsageError(f"{path}: {kind} are tables, [{kind}.NAME]")
    for name in (*tables, *groups):
        if not is_name(name):
            raise UsageError(f"{path}: {quote(name)} is not a name for a profile",
                             hint="A name is letters, digits, '_', '-' and '.'.")  # fmt: skip
    return Profiles(path, tables, groups)


@dataclass(frozen=True)
class _Group:
    members: list[str]


def group(name: str) -> tuple[str, ...]:
    """The profiles of a group, `[groups.NAME] members = ["eu-1", "eu-2"]`, in its order.

    Raises
    ------
    NotFound
        No such group; a member that is not a profile.
    UsageError
        It is empty, or has a profile twice.
    """
    profiles = load_profiles()
    if name not in profiles.groups:
        hint = did_you_mean(name, profiles.groups, f'A group is [groups.NAME] members = ["PROFILE", …] in {NAME}.')
        raise NotFound(f"no such group: {name}", hint=hint)
    where = f"group {name} in {profiles.path}"
    try:
        members = documents.as_type(profiles.groups[name], _Group).members
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if not members:
        raise UsageError(f"{where} has no member")
    for number, member in enumerate(members):
        if member not in profiles.tables:
            raise NotFound(f"{where}: no such profile: {member}", hint=did_you_mean(member, profiles.tables))
        if member in members[:number]:
            raise UsageError(f"{where} has {member} twice")
    return tuple(members)


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
        own = Entries(values, self.where, self._login(), policy, self._approved_only())
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
            return _in_milliseconds(text, f"{self.where}: timeout")
        return str(self._beside(text)) if key in _PATHS else text

    def _approved_only(self) -> bool:
        if "apply" in self.given and self.given["apply"] != _APPROVED_ONLY:
            hint = "Without apply every plan may be carried out."
            raise UsageError(f'{self.where}: apply is not "{_APPROVED_ONLY}"', hint=hint)
        return "apply" in self.given

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
_APPROVED_ONLY = "approved-only"
_APART = ("apply", "password", "policy", "properties", "username")
_ONCE = (_BROKERS, ("timeout", "default.api.timeout.ms"), ("username", "sasl.jaas.config"))


def _in_milliseconds(seconds: str, where: str) -> str:
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
