"""Secrets: the names that they have, texts that hold them, references to them, values that do not print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NoReturn

SHOWN = "[secure]"
FORMS = "env:NAME, file:PATH, properties:FILE#KEY, keyring:NAME or databricks:SCOPE/KEY"
_REFERENCE = re.compile(r"(env|file|keyring|databricks|prompt|properties):(.+)")


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


SCRAM = "SCRAM-SHA-"
"""The beginning of the config keys of users' credentials, which Kafka's own tool takes."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NOUNS = re.compile(
    r"""\w*(?:password|passwd|pswd|passphrase|passcode|passkey|pwd|secret|token|credential|cred|cookie)s?
    |\w*(?:api|access|account|private|secret|storage|shared|ssl|signing|encryption|master|auth)keys?
    |(?!bypass|compass|encompass|trespass)\w*pass|pw|psk|otp|dsn|jaas|bearer|sas|sig|signature|hmac|authorization
    |conn(?:ection)?str(?:ing)?""",
    re.VERBOSE,
)
_PAIRS = re.compile("user info|key pem|certificate chain|truststore certificates")
"""Two words at the end of a name that are one secret; Kafka itself types the certificates PASSWORD."""

_PLAIN_KEYS = re.compile("config|foreign|group|message|partition|primary|public|quota|record|routing|row|sort|voter")
"""Words before `key` that make it none that opens anything."""

_OTHERWISE = """
    address age alias algorithm allowed arn bytes class conf count day days dir directory disabled enabled endpoint env
    error exception expiration expired expiry failed file folder format found handler host hour hours id interval
    iterations jks json length lifetime limit location max mechanism min minute minutes mismatch ms name names number
    path pem policy port properties protocol provider rate ref reference required scope second seconds size source time
    timeout toml ttl txt type uri url version yaml yml
"""
_ABOUT = frozenset(_OTHERWISE.split())
"""Last words of names that say something about a secret, such as where it is: `token.endpoint.url`."""


def is_secret_name(name: str) -> bool:
    """True if what has this name is a secret: `ssl.key.password`, `x.sasl.jaas.config`, `dbPass`, `SCRAM-SHA-256`.

    The one judge of names, of configs, parameters and options alike. What only says where a secret is, or how old, is
    none: `password.encoder.iterations`, `token_file`.
    """
    if name.upper().startswith(SCRAM):
        return True
    words = [word.lower() for word in _WORDS.findall(name)]
    before, last = ["", "", *words][-2:]
    if _PAIRS.fullmatch(f"{before} {last}"):
        return True
    if last in _ABOUT or {*words[:1]} & {"is", "has"}:
        return False
    is_other_key = last == "key" and before != "" and not _PLAIN_KEYS.fullmatch(before)
    return is_other_key or any(map(_NOUNS.fullmatch, [*words, *map("".join, pairwise(words))]))


_NAME = r"(?P<name>(?:api|access|account|private|secret|storage)\s+key|(?:connection\s+string)|[\w.-]+)"
_ASSIGNED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"""(?<![\w.-]){_NAME}\\*["']?\s*(?:==|~=|=)\s*(?=\S)""",
        rf"""(?<![\w./:=@#-]){_NAME}\\*["']?\s*:(?!//)\s*(?=\S)""",
        r"(?<![\w.-])--?(?P<name>\w[\w.-]*)\s+(?=\S)",
        r"(?<![\w.-])(?P<name>(?-i:Bearer|BEARER))\s+(?!tokens?\b|auth)(?=\S)",
        r"(?<![\w.-])(?P<name>bearer)\s+(?=[^\s\d]{0,40}\d)",
    )
)
"""What gives a name its value: `password=x`, `"password": "x"`, `--password x`, `Bearer x`. A path is not a name."""

_SENTENCE = re.compile(r"(?:=\S+|\bconfiguration|\bkey) $")
"""What stands before a config's key in sentences, Kafka's and ours: *for configuration ssl.key.password: why*."""

_HARMLESS = re.compile(
    r"""\\*['"]?(?:…|\[secure\]|\[hidden\]|(?:\[iterations=\d+,password=)?['"]?(?:env|file|keyring|databricks|prompt|properties):)"""
)
_LOGIN = r"(?!(?:User|Group|history|env|file|keyring|databricks|prompt|properties):)[\w.+-]+:[^\s:@/]+"
_SHAPES = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY.*",
        r"(?<=LoginModule)\s+(?:required|requisite|sufficient|optional)\b.*",
        r"(?:(?<=://)|(?<=:/)(?!/))(?=[^/\s@]*:)[^/\s]+(?=@)",
        rf"\A{_LOGIN}(?=@[^\s@/]+\Z)|(?<![\w./:@+-]){_LOGIN}(?=@[\w.-]+:\d)",
        r"\beyJ[\w-]{4,4000}\.[\w-]{4,4000}\.[\w-]*",
        r"\bdapi[0-9a-f]{32}\b",
    )
)
"""What is a secret by its looks: a private key, the options of a login module, the login in an address, tokens."""


def redacted(text: str) -> str:
    """`text` as a message may repeat it: without what is a secret by its looks, and what follows `password=`.

    A secret may hold spaces and quotes, so nothing after such a name is repeated; a reference such as `env:NAME` is,
    and so is the reason in a sentence on a key, `topic=t ssl.key.password: why`.
    """
    for shape in _SHAPES:
        text = shape.sub(SHOWN, text)
    start = min((start for name, start in _assigned(text) if not _is_sentence(text, name)), default=None)
    return text if start is None else text[:start] + SHOWN


def holds_secret(text: str) -> bool:
    """True if a text that was given has a secret in it, even if it looks like a sentence of ours."""
    return any(shape.search(text) for shape in _SHAPES) or next(_assigned(text), None) is not None


def _assigned(text: str) -> Iterator[tuple[tuple[int, int], int]]:
    """The place of each name of a secret that is given a value, and where the value begins; no reference is one."""
    for pattern in _ASSIGNED:
        for match in pattern.finditer(text):
            if is_secret_name(match["name"]) and not _HARMLESS.match(text, match.end()):
                yield match.span("name"), match.end()


def _is_sentence(text: str, name: tuple[int, int]) -> bool:
    start, end = name
    if text[start:end] in _CODES:
        return True
    is_key = "." in text[start:end] and text.startswith(": ", end)
    return is_key and _SENTENCE.search(text, max(0, start - _WIDEST_NAME), start) is not None


_WIDEST_NAME = 300
_CODES = ("SECRET_AS_TEXT", "UNACCEPTABLE_CREDENTIAL")
"""Names of errors, ours and Kafka's, before what they are about."""


def mentions_secret(word: str) -> bool:
    """True if a typed word holds a secret, or names one that the next word may hold."""
    name = re.split(r"[=~:\s]", word)[0]
    return is_secret_name(name) or "LoginModule" in word or holds_secret(word)


class Secret:
    """A text that only `reveal()` gives away: it is not a `str`, prints as `[secure]`, is not pickled."""

    __slots__ = ("reveal",)

    reveal: Callable[[], str]
    """The text itself."""

    def __init__(self, text: str) -> None:
        # No attribute has the text: whatever walks attributes finds a function.
        object.__setattr__(self, "reveal", lambda: text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret does not change")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.reveal() == other.reveal()

    def __hash__(self) -> int:
        return hash((Secret, self.reveal()))

    def __repr__(self) -> str:
        return SHOWN

    def __format__(self, spec: str) -> str:
        return format(SHOWN, spec)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: object) -> Secret:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a secret is not pickled")


def covered(name: str, value: str) -> str | Secret:
    """The value, as a `Secret` where its name or its text is that of one; a reference and `[secure]` may be seen."""
    is_secret = (is_secret_name(name) and value != SHOWN) or holds_secret(value)
    return Secret(value) if is_secret and not is_reference(value) else value


def revealed(value: str | Secret | None) -> str | None:
    """The text of a value that may be a secret; None without a value."""
    return value.reveal() if isinstance(value, Secret) else value
