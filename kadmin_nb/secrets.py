"""Secrets: keys that hold them, references to them, texts that do not print, messages without them."""

from __future__ import annotations

import re

SHOWN = "[secure]"
FORMS = "env:NAME, file:PATH, properties:FILE#KEY, keyring:NAME or databricks:SCOPE/KEY"
_REFERENCE = re.compile(r"(env|file|keyring|databricks|prompt|properties):(.+)")
_CALLED_SO = re.compile(
    r"scram-sha-.*|(?:.*[._-])?(?:\w*password|\w*passphrase|\w*secret|\w*token|\w*credentials?|jaas\.config"
    r"|(?:\w*_)?(?:api|access|private|secret)?key|certificate\.chain|truststore\.certificates)",
    re.IGNORECASE,
)


def reference(text: str) -> tuple[str, str] | None:
    """The kind and the name of `env:NAME`, `file:PATH`, `properties:FILE#KEY`, `keyring:NAME`, `prompt:NAME` …

    None of other texts.
    """
    match = _REFERENCE.fullmatch(text)
    return (match[1], match[2]) if match else None


def asks_somebody(text: str | None) -> bool:
    """True of `prompt:NAME`: the secret is typed by a person when it is sent."""
    return text is not None and text.startswith("prompt:")


def is_reference(text: str) -> bool:
    """True if `text` says where a secret is, rather than being one."""
    return reference(text) is not None


def is_called_so(key: str) -> bool:
    """True if a key is called like a secret: `ssl.key.password`, `x.sasl.jaas.config`, `SCRAM-SHA-256`."""
    return _CALLED_SO.fullmatch(key) is not None


_ASSIGNED = re.compile(r"""(?<![\w.-])(?P<key>[\w.-]+)["']?\s*(?:==|~=|=)\s*(?=\S)""")
_HARMLESS = re.compile(
    r"…|\[secure\]|(?:\[iterations=\d+,password=)?['\"]?(?:env|file|keyring|databricks|prompt|properties):"
)
_LOGIN_OF_URL = re.compile(r"(?<=://)[^/\s@]*:[^/\s@]+(?=@)")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY.*", re.DOTALL)


def redacted(text: str) -> str:
    """`text` as a message may repeat it: without private keys, logins of URLs, and what follows `password=`.

    A secret may hold spaces and quotes, so nothing after such a key is repeated; a reference such as `env:NAME` is.
    """
    text = _PRIVATE_KEY.sub(SHOWN, _LOGIN_OF_URL.sub(SHOWN, text))
    assigned = (match.end() for match in _ASSIGNED.finditer(text) if is_credential(match["key"]))
    secret = next((start for start in assigned if not _HARMLESS.match(text, start)), None)
    return text if secret is None else text[:secret] + SHOWN


SCRAM = "SCRAM-SHA-"
"""The beginning of the config keys of users' credentials, which Kafka's own tool takes."""


def is_credential(key: str) -> bool:
    """True if what is assigned to a word of this name is a secret, also within a value: `password`, `SCRAM-SHA-256`."""
    return is_called_so(key) and key.lower() != "key"


def mentions_secret(word: str) -> bool:
    """True if a typed word holds a secret, or names one that the next word may hold."""
    name = re.split(r"[=~:\s]", word)[0]
    return is_credential(name) or "LoginModule" in word or redacted(word) != word


class Secret(str):
    """A text that prints as `[secure]` and is not pickled; the wire and `reveal()` have it as it is."""

    __slots__ = ()

    def reveal(self) -> str:
        """The text itself."""
        return str.__str__(self)

    def __repr__(self) -> str:
        return SHOWN

    __str__ = __repr__

    def __add__(self, other: str) -> Secret:
        return Secret(self.reveal() + other)

    def __radd__(self, other: str) -> Secret:
        return Secret(other + self.reveal())

    def __format__(self, spec: str) -> str:
        return format(SHOWN, spec)

    def __reduce_ex__(self, _protocol: object) -> tuple[object, ...]:
        raise TypeError("a secret is not pickled")
