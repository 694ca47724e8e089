"""Secrets by reference: `env:NAME`, `file:PATH`, `keyring:NAME`, `databricks:SCOPE/KEY`, `prompt:NAME`.

`properties:FILE#KEY` is one value of a Java properties file.

What goes wrong is said with the reference, never with what it leads to.
"""

from __future__ import annotations

import getpass
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import files, paths
from ..errors import KadminError, NotFound, Unsupported, UsageError, printable
from ..secrets import FORMS, Secret, reference

KEYRING_SERVICE = "kadmin-nb"
_MAX_BYTES = 1 << 16


def read_reference(text: str, folder: Path) -> Secret:
    """The secret that the reference leads to; a `file:` path is relative to `folder`.

    Raises
    ------
    NotFound
        No such variable, file or entry.
    Unsupported
        No keyring here, or not on Databricks.
    UsageError
        Found, but empty or not text.
    """
    parsed = reference(text)
    if not parsed:
        raise UsageError("a secret is given only by reference", hint=f"Write {FORMS}.")
    scheme, name = parsed
    secret = Secret(_SCHEMES[scheme](name, folder))
    if not secret.reveal():
        raise UsageError(f"{text} is empty")
    return secret


def _env(name: str, _folder: Path) -> str:
    if name not in os.environ:
        raise NotFound(f"env:{name}: the environment variable is not set")
    return os.environ[name]


def _file(name: str, folder: Path) -> str:
    """The file's text without its last line end, which editors add."""
    try:
        text = files.read_text(folder / files.expanded(name), f"the secret of file:{name}", _MAX_BYTES)
    except KadminError as error:
        raise error.with_traceback(None) from None  # the frames below hold the file's bytes
    return text.removesuffix("\n").removesuffix("\r")


def _properties(name: str, folder: Path) -> str:
    """One value of a Java properties file, such as an `--add-config-file`."""
    from .java_properties import read_properties  # with it comes an XML parser

    path, sign, key = name.rpartition("#")
    if not sign or not path or not key:
        raise UsageError(f"properties:{name} is not properties:FILE#KEY")
    values = read_properties(folder / files.expanded(path))
    if key not in values:
        raise NotFound(f"properties:{name}: the file has no such key")
    return values[key]


def _keyring(name: str, _folder: Path) -> str:
    keyring = _imported("keyring", f"keyring:{name}", "pip install keyring, or use another kind of reference")
    text = _asked(f"keyring:{name}", lambda: keyring.get_password(KEYRING_SERVICE, name))
    if text is None:
        raise NotFound(
            f"keyring:{name}: the keyring has no such entry", hint=f"keyring set {KEYRING_SERVICE} {name} stores it."
        )
    return text


def _databricks(name: str, _folder: Path) -> str:
    reference = f"databricks:{name}"
    scope, slash, key = name.partition("/")
    if not (scope and slash and key):
        raise UsageError(f"{reference} is not databricks:SCOPE/KEY")
    if not paths.is_databricks():
        raise Unsupported(f"{reference}: this is not Databricks", hint="Use another kind of reference here.")
    # the notebook's own `dbutils`, else the SDK's, which also serves a plain script on the cluster
    dbutils = getattr(sys.modules["__main__"], "dbutils", None)
    if not dbutils:
        dbutils = _imported("databricks.sdk.runtime", reference, "pip install databricks-sdk").dbutils
    return _asked(reference, lambda: dbutils.secrets.get(scope=scope, key=key)) or ""


def _prompt(name: str, _folder: Path) -> str:
    """Typed by a person, twice, and shown nowhere."""
    is_a_kernel = getpass.getpass.__module__ != getpass.__name__  # which puts a function of its own for getpass
    if not sys.stdin.isatty() and not is_a_kernel:
        raise Unsupported(
            f"prompt:{name}: there is no terminal to ask in", hint=f"Use another kind of reference here: {FORMS}."
        )
    text = _asked(f"prompt:{name}", lambda: getpass.getpass(f"Password for {printable(name)}: "))
    if text != _asked(f"prompt:{name}", lambda: getpass.getpass("Repeat it: ")):
        raise UsageError(f"prompt:{name}: the two entries differ", hint="Nothing was sent.")
    return text or ""


_SCHEMES: dict[str, Callable[[str, Path], str]] = {
    "env": _env, "file": _file, "properties": _properties, "keyring": _keyring, "databricks": _databricks,
    "prompt": _prompt,
}  # fmt: skip


def _imported(module: str, reference: str, hint: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Unsupported(f"{reference}: {module} is not installed", hint=hint) from None


def _asked(reference: str, ask: Callable[[], str | None]) -> str | None:
    """The value in the foreign store. Its errors are named by class only: their text is not ours to vouch for."""
    try:
        return ask()
    except Exception as error:
        raise NotFound(f"{reference}: the store answers with {type(error).__name__}") from None
