"""What is a secret by its name, what refers to one, and texts that do not print."""

from __future__ import annotations

import re

SHOWN = "[secure]"
FORMS = "env:NAME, file:PATH, keyring:NAME or databricks:SCOPE/KEY"
_REFERENCE = re.compile(r"(env|file|keyring|databricks):(.+)")
_CALLED_SO = re.compile(
    r"(?:.*[._-])?(?:\w*password|\w*passphrase|\w*secret|\w*token|\w*credentials?|jaas\.config"
    r"|(?:\w*_)?(?:api|access|private|secret)?key|certificate\.chain|truststore\.certificates)",
    re.IGNORECASE,
)


def reference(text: str) -> tuple[str, str] | None:
    """The kind and the name of `env:NAME`, `file:PATH`, `keyring:NAME`, `databricks:SCOPE/KEY`; None of other texts."""
    found = _REFERENCE.fullmatch(text)
    return (found[1], found[2]) if found else None


def is_reference(text: str) -> bool:
    """Whether `text` says where a secret is, rather than being one."""
    return reference(text) is not None


def is_called_so(key: str) -> bool:
    """Whether a config key is called like a secret: `ssl.key.password`, `x.sasl.jaas.config`, `my.plugin.key`."""
    return _CALLED_SO.fullmatch(key) is not None


class Hidden(str):
    """A text that prints as `[secure]` and is not pickled. On the wire, and to `revealed`, it is what it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return SHOWN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(SHOWN, spec)

    def __reduce_ex__(self, _protocol: object) -> tuple[object, ...]:
        raise TypeError("a secret is not pickled")


def revealed(text: str) -> str:
    """The text itself."""
    return str.__str__(text)
