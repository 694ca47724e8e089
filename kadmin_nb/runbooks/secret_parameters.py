"""No secret enters as a parameter: papermill writes every one of them, in clear and twice, into the document."""

from __future__ import annotations

import re

from ..errors import UsageError
from ..secrets import redacted

_SECRET_WORDS = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "jaas", "credential",
    "apikey", "accesskey", "privatekey", "keypass",
)  # fmt: skip
_VALUES = (
    re.compile(r"LoginModule\b"),
    re.compile(r"jaas\.config", re.I),
    re.compile(r"\A(?!history:)[^\s:@/]+:[^\s@/]+@[^\s@/]+\Z"),
)
"""JAAS text and `user:password@` in an address, beside what no message repeats."""

_SECRET_HINT = (
    "Parameters are written into the document in clear. Name a profile, or a .properties file; "
    "in it the secret is a reference such as env:NAME, file:PATH or databricks:SCOPE/KEY."
)


def refuse_name(name: str) -> None:
    """Refuse a parameter that is called like a secret."""
    bare = re.sub(r"[^a-z0-9]", "", name.lower())
    if word := next((word for word in _SECRET_WORDS if word in bare), None):
        raise UsageError(f"{name} cannot be a parameter: its name says that it is a secret ({word})", hint=_SECRET_HINT)


def refuse_value(name: str, value: object) -> None:
    """Refuse a value that looks like a secret. The message does not repeat it."""
    if isinstance(value, list | tuple | set):
        for item in value:
            refuse_value(name, item)
    elif isinstance(value, dict):
        refuse_value(name, [*value, *value.values()])
    elif isinstance(value, str) and _looks_like_one(value):
        raise UsageError(f"the value of {name} looks like a secret", hint=_SECRET_HINT)


def _looks_like_one(text: str) -> bool:
    return redacted(text) != text or any(pattern.search(text) for pattern in _VALUES)
