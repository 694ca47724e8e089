"""From what somebody typed to `Settings`: a file, a profile, or host:port, tried in that order."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import KadminError, NotFound, UsageError
from ..model.connection_settings import Settings
from ..model.grammar import quote
from ..secrets import Secret, is_reference
from . import java_client, java_keys, java_properties, secret_references, toml
from .java_properties import Entries

_EXAMPLE = "A broker is host:port, such as localhost:9092."


def settings_for(target: str | os.PathLike[str] | None = None, properties: Mapping[str, str] | None = None) -> Settings:
    """The connection that `target` means, with `properties` on top.

    Parameters
    ----------
    target
        A path to a Java client `.properties` file, the name of a profile in `kadmin-nb.toml`, or
        `host:port[,…]`. None: `$KADMIN_PROFILE`, else the only profile.
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
    return tuple(toml.load_profiles().tables)


def lasting(target: str) -> str:
    """The target as `$KADMIN_PROFILE` takes it, from any folder: a profile, the whole path of a file, or host:port.

    Raises
    ------
    NotFound, UsageError
        It is none of them.
    """
    profiles = toml.load_profiles() if toml.is_name(target) else toml.Profiles()
    place = os.path.expanduser(target)
    if target in profiles.tables:
        return target
    if os.path.isfile(place):
        return os.path.abspath(place)
    if bootstrap := java_client.addresses(target):
        return bootstrap
    raise _nothing_fits(target, profiles)


def _entries_of(target: str | None) -> Entries:
    if target is None:
        name = os.environ.get("KADMIN_PROFILE")
        if name and not toml.is_name(name):
            return _entries_of(name)
        profiles = toml.load_profiles()
        if not name and len(profiles.tables) != 1:
            raise UsageError(f"no cluster was named, and $KADMIN_PROFILE is not set: {profiles}",
                             hint=f"Name a profile, a .properties file or host:port. {_EXAMPLE}")  # fmt: skip
        return toml.profile(name or next(iter(profiles.tables)), profiles)
    if os.path.isfile(target):
        return java_properties.parse_properties(Path(target))
    profiles = toml.load_profiles() if toml.is_name(target) else toml.Profiles()
    if target in profiles.tables:
        return toml.profile(target, profiles)
    if java_client.addresses(target):
        return Entries({"bootstrap.servers": target}, "host:port")
    raise _nothing_fits(target, profiles)


def _nothing_fits(target: str, profiles: toml.Profiles) -> KadminError:
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
