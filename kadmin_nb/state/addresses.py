"""The place of a history at a path: a folder, or the address of an object store that we have credentials for."""

from __future__ import annotations

import configparser
import os
import re
import stat
from pathlib import Path
from urllib.parse import unquote

from .. import files
from ..errors import KadminError, UsageError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/.*", re.S)
_FILE = re.compile(r"file:(?://(?:localhost)?(?=/)|(?=/[^/]))(.*)", re.S | re.I)
_NOT_WRITTEN = re.compile(r"[\x00-\x1f\x7f\[\\\]^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")
"""Characters that delta-rs reads as something else in a path, or ends the process over."""


def folder_of(where: str) -> Path | None:
    """The folder of a path, or of an address file:///a/path; None for the address of an object store.

    Raises
    ------
    UsageError
        It cannot be the folder of a history.
    """
    address = _ADDRESS.fullmatch(where)
    if address and address[1].lower() in ("memory", "fs"):
        raise UsageError(f"{where} is not the address of an object store", hint="Write file:///a/path, or a path.")
    if address and address[1].lower() != "file":
        return None
    path = _FILE.fullmatch(where)
    if address and not path:
        raise UsageError(f"{where} is a folder of another machine", hint="Write file:///a/path.")
    folder = Path(unquote(path[1])) if path else files.expanded(where).absolute()
    if character := _NOT_WRITTEN.search(str(folder)):
        raise UsageError(f"{where} cannot be the folder of a history: {character[0]!r} in its path")
    try:
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise UsageError(f"{where} is a file", hint="A history is a folder of its own.")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UsageError(f"{where} cannot be the folder of a history: {error.strerror}") from None
    return folder


def check_credentials(where: str) -> None:
    """Refuse an object store without credentials: delta-rs would ask the metadata address of a cloud for some.

    Raises
    ------
    UsageError
        Neither the environment nor a file of the cloud's own tools names any.
    """
    scheme, names = where.partition(":")[0].lower(), {name for name, value in os.environ.items() if value}
    gcloud_login = (files.home() or Path("/")) / ".config/gcloud/application_default_credentials.json"
    if scheme in ("s3", "s3a"):
        _check_aws(where, names)
    elif scheme in ("gs", "gcs") and not (any(map(_GOOGLE.fullmatch, names)) or gcloud_login.exists()):
        raise _refusal(where, "credentials for Google Cloud", "GOOGLE_APPLICATION_CREDENTIALS")
    elif scheme in ("az", "azure", "adl", "abfs", "abfss") and not any(map(_AZURE.fullmatch, names)):
        raise _refusal(where, "credentials for Azure", "AZURE_STORAGE_ACCOUNT_KEY")


_MOST_BYTES = 1 << 20
"""Bytes that the profiles of AWS may have."""
_GOOGLE = re.compile(r"GOOGLE_(APPLICATION_CREDENTIALS|SERVICE_ACCOUNT\w*|SKIP_SIGNATURE)|GCE_METADATA_HOST")
_AZURE = re.compile(r"AZURE_\w*(KEY|SAS\w*|SECRET|TOKEN\w*|CLIENT_ID|ENDPOINT|CLI|SIGNATURE)|IDENTITY_ENDPOINT")
_AWS: tuple[set[str], ...] = (
    {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
    {"AWS_CONTAINER_CREDENTIALS_FULL_URI"},
    {"AWS_SKIP_SIGNATURE"},
)
_AWS_LOGINS = ("aws_secret_access_key", "role_arn", "credential_", "sso_", "web_identity_token_file", "login_session")
"""Beginnings of the keys that make a profile of AWS a login."""
_AWS_HINT = (
    "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or for the role of this machine "
    "AWS_EC2_METADATA_DISABLED=false"
)


def _check_aws(where: str, names: set[str]) -> None:
    """The region too: without one its metadata address is asked. Its own variables may allow that."""
    switched_on = os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "false"
    if switched_on or "AWS_EC2_METADATA_SERVICE_ENDPOINT" in names:
        return
    profile = _aws_profile()
    if not any(needed <= names for needed in _AWS) and not any(key.startswith(_AWS_LOGINS) for key in profile):
        raise _refusal(where, "credentials for AWS", _AWS_HINT)
    if not names & {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"} and "region" not in profile:
        raise _refusal(where, "a region of AWS", "AWS_REGION")


def _aws_profile() -> set[str]:
    """The keys of the chosen profile, in both files that AWS has them in."""
    name = os.environ.get("AWS_PROFILE") or "default"
    keys: set[str] = set()
    for variable, file in (("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")):
        reader = configparser.RawConfigParser(strict=False)
        try:
            place = files.expanded(os.environ.get(variable) or f"~/.aws/{file}")
            reader.read_string(files.read_text(place, "the profiles of AWS", _MOST_BYTES))
        except (KadminError, configparser.Error):
            continue
        keys.update(*(reader[section] for section in (name, f"profile {name}") if section in reader))
    return keys


def _refusal(where: str, lacking: str, hint: str) -> UsageError:
    return UsageError(f"{where} needs {lacking}, and none is configured", hint=f"Set {hint}.")
