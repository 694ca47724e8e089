"""From what somebody typed to `Settings`: a file, a profile, or host:port, tried in that order.

Profiles stand in `kadmin-nb.toml`: named connections, with secrets by reference only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from .. import documents, files, local_runs
from ..errors import KadminError, NotFound, UsageError
from ..hints import Hint, Verb, did_you_mean, sentence
from ..model.connection_settings import Settings
from ..model.grammar import quote
from ..secrets import FORMS, Secret, is_reference
from . import java_client, java_properties, secret_references
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
    word, read = _meant(_implied() if target is None else target)
    entries = read()
    for key in properties:
        java_properties.refuse_wrong_key(key, "properties")
    overrides = {key: _override(key, value) for key, value in properties.items()}
    settings = java_client.settings(entries.under(Entries(overrides, entries.source)))
    return replace(settings, target=word if target else "")


def _implied() -> str:
    """The target where none is named: `$KADMIN_PROFILE`, else the only profile."""
    if name := os.environ.get("KADMIN_PROFILE"):
        return name
    profiles = load_profiles()
    if len(profiles.tables) != 1:
        local = sentence("{} starts a Kafka on this machine.", Verb("local start", "kn.local.start()"))
        raise UsageError(f"no cluster was named, and $KADMIN_PROFILE is not set: {profiles}",
                         hint=Hint(f"Name a profile, a .properties file or host:port. {_EXAMPLE}", local))  # fmt: skip
    return next(iter(profiles.tables))


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
    return _meant(os.path.expanduser(target))[0]


LOCAL = "local"
"""The local Kafka that runs, where no file and no profile is called so."""


_DEMO = Verb("demo", "kn.demo()")


def _meant(target: str) -> tuple[str, Callable[[], Entries]]:
    """The lasting word of a target, and what reads its entries."""
    if os.path.isfile(target) or (os.sep in target and os.path.exists(target)):  # a path, whatever lies there
        return os.path.abspath(target), partial(java_properties.parse_properties, Path(target))
    profiles = load_profiles() if is_name(target) else Profiles()
    if target in profiles.tables:
        return target, partial(profile, target, profiles)
    if target == LOCAL:
        if (file := local_runs.admin_properties()) is None:
            raise NotFound("no local Kafka runs", hint=Hint(sentence("{} starts one with traffic.", _DEMO)))
        return target, partial(java_properties.parse_properties, file)
    if bootstrap := java_client.addresses(target):
        return bootstrap, partial(Entries, {"bootstrap.servers": bootstrap}, "host:port")
    if "@" in target or "://" in target:
        raise UsageError("the target is a URL, or holds a login: it is not shown here", hint=_EXAMPLE)
    hint = did_you_mean(target, profiles.tables, _EXAMPLE)
    raise NotFound(f"{quote(target)} is not a file, not a profile ({profiles}) and not host:port", hint=hint)


def _override(key: str, value: str) -> str | Secret:
    if not java_properties.is_secret(key):
        return str(value)
    if key not in java_properties.USED:
        raise UsageError(f"properties: {key} has no effect here, and may be a secret", hint=f"Leave {key} out.")
    return secret_references.read_reference(value, Path.cwd()) if is_reference(value) else Secret(value)


# -- profiles

NAME = "kadmin-nb.toml"
_MAX_BYTES = 1 << 20
_PATHS = ("ssl.keystore.location", "ssl.truststore.location")


@dataclass(frozen=True)
class _Words:
    """The words of a profile beside the keys of Java."""

    apply: Literal["approved-only"] | None = None
    bootstrap: str | None = None
    password: str | None = None
    policy: str | None = None
    properties: str | None = None
    username: str | None = None


@dataclass(frozen=True)
class _Group:
    members: list[str]


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles and groups of one file, as written in it; `path` is None without a file."""

    path: Path | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    groups: Mapping[str, _Group] = field(default_factory=dict)

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
    try:
        tables = documents.as_type(document.get("profiles", {}), dict[str, dict[str, Any]], "profiles")
        groups = documents.as_type(document.get("groups", {}), dict[str, _Group], "groups")
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    return Profiles(path, tables, groups)


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
    members = profiles.groups[name].members
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
    assert profiles.path is not None
    where, folder = f"profile {name} in {profiles.path}", profiles.path.parent
    given = _flat(profiles.tables[name])
    for key in given:
        java_properties.refuse_wrong_key(key, where, _WORDS)
    try:
        words = documents.as_type({key: given[key] for key in given if key in _WORDS}, _Words)
        texts = {key: _java_text(key, given[key]) for key in given if key not in _WORDS}
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    values = {key: _value(key, text, where, folder) for key, text in texts.items()}
    if words.bootstrap:
        values["bootstrap.servers"] = words.bootstrap
    if (words.username is None) != (words.password is None):
        raise UsageError(f"{where}: username and password go together")
    login = None
    if words.username is not None and words.password is not None:
        _require_reference("password", words.password, where)
        login = Login(words.username, secret_references.read_reference(words.password, folder))
    policy = words.policy and str(folder / files.expanded(words.policy))
    file = None if words.properties is None else folder / files.expanded(words.properties)
    below = java_properties.parse_properties(file) if file else Entries({}, where)
    return below.under(Entries(values, where, login, policy, words.apply is not None))


def _java_text(key: str, value: object) -> str:
    """A value of TOML as Java would have it."""
    kind: Any = str | int | float | bool
    found = documents.as_type(value, kind, key)
    return str(found).lower() if isinstance(found, bool) else str(found)


def _value(key: str, text: str, where: str, folder: Path) -> str | Secret:
    """The value of a key; a path is relative to the profile's file, a secret is behind its reference."""
    if java_properties.is_secret(key):
        _require_reference(key, text, where)
        return secret_references.read_reference(text, folder)
    return str(folder / files.expanded(text)) if key in _PATHS else text


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A table with dotted keys, so that `ssl.truststore.type = "PEM"` may be written bare; `properties` may nest."""
    flat: dict[str, Any] = {}
    for word, value in table.items():
        key = f"{prefix}{word}"
        below = "" if key == "properties" else f"{key}."
        flat |= _flat(value, below) if isinstance(value, dict) else {key: value}
    return flat


_WORDS = tuple(word.name for word in fields(_Words))


def require_references(properties: Mapping[str, str], where: str) -> None:
    """Refuse literal secrets where others read them: on a command line, in a notebook's parameters.

    Raises
    ------
    UsageError
        A secret key's value is not a reference; the value is not repeated.
    """
    for key in filter(java_properties.is_secret, properties):
        _require_reference(key, properties[key], where)


def _require_reference(key: str, text: str, where: str) -> None:
    if not is_reference(text):
        raise UsageError(f"{where}: {key} is a literal secret, which is refused",
                         hint=f"Write {key} = {FORMS}, where the secret is.")  # fmt: skip
