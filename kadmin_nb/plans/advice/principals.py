"""Names that look right and that no client ever has: as Kafka calls a user, so must its quota."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

ANONYMOUS = "ANONYMOUS"
UNAUTHENTICATED = frozenset({"PLAINTEXT", "SSL"})
"""Protocols on which a client may have no name."""

_ATTRIBUTE = r"[A-Za-z][A-Za-z0-9.]*"
_IS_DN = re.compile(rf"\s*/?{_ATTRIBUTE}\s*=.*[,/+]\s*{_ATTRIBUTE}\s*=|\s*/?(?:CN|O|OU|DC|UID)\s*=", re.IGNORECASE)
_SPACED = re.compile(rf",\s+{_ATTRIBUTE}\s*=|{_ATTRIBUTE}\s+=|=\s+")
_WRITTEN = {"CN", "OU", "O", "C", "L", "ST", "STREET", "DC", "UID"}
"""The attributes that Java writes by name (RFC 2253); any other is a number, `1.2.840.113549.1.9.1=#16…`."""
_ORDER = re.compile(rf"(?:^|(?<!\\),)\s*({_ATTRIBUTE})\s*=")


@dataclass(frozen=True, slots=True)
class NameCheck:
    """The oddities of a name: whether it is so, and what somebody should know."""

    is_so: Callable[[str], bool]
    says: str


def _is_dn(name: str) -> bool:
    return _IS_DN.match(name) is not None


def _attributes(name: str) -> list[str]:
    return _ORDER.findall(name)


def _is_reversed(name: str) -> bool:
    """True if what comes last in a written DN comes first: C, O or DC before the CN."""
    kinds = [kind.upper() for kind in _attributes(name)]
    return _is_dn(name) and "CN" in kinds[1:] and kinds[0] in ("C", "O", "OU", "DC", "ST", "L")


def _is_strange(name: str) -> bool:
    return _is_dn(name) and any(kind not in _WRITTEN and not kind[0].isdigit() for kind in _attributes(name))


_DN = "a client with a certificate is called by its DN as Java writes it, CN=alice,OU=data,O=Example"
ODDITIES = (
    NameCheck(
        lambda name: name.startswith("User:"),
        "a quota names the principal without its type: clients are called what stands after User:",
    ),
    NameCheck(lambda name: name != name.strip(), "the name begins or ends with a space, which the clients' does not"),
    NameCheck(lambda name: _is_dn(name) and name.startswith("/"), f"{_DN}, without slashes"),
    NameCheck(lambda name: _is_dn(name) and _SPACED.search(name) is not None, f"{_DN}, without spaces after commas"),
    NameCheck(_is_reversed, f"{_DN}, the CN first"),
    NameCheck(
        _is_strange,
        f"{_DN}, with attributes in capitals; those that RFC 2253 does not name, such as an email address, as numbers",
    ),
    NameCheck(
        lambda name: ":assumed-role/" in name,
        "with IAM every session of a role has a name of its own, so this is one session's: a quota of user=<default> "
        "client-id=… holds for all",
    ),
    NameCheck(
        lambda name: re.match(r"arn:aws[\w-]*:iam::\d*:role/", name) is not None,
        "with IAM a role is never a client's name, its sessions are, arn:aws:sts::…:assumed-role/…: a quota of "
        "user=<default> client-id=… holds for all",
    ),
    NameCheck(
        lambda name: re.search(r"%(?:3D|2C|20|40|2F|3A)", name, re.IGNORECASE) is not None and " " not in name,
        "this is how metrics write a name; a quota has the name itself, = and not %3D",
    ),
    NameCheck(lambda name: name in ("*", "<any>"), "this is a name like any other, no pattern: <default> is everybody"),
    NameCheck(
        lambda name: name != ANONYMOUS and name.upper() == ANONYMOUS,
        "Kafka calls a client without a login ANONYMOUS, in capitals",
    ),
)
"""The first that a name has is told."""

_SUSPECT = r"(?i)^User:|^\pZ|^\s|\pZ$|\s$|=|^arn:|%[0-9a-f]{2}|^\*$|^<any>$|^anonymous$"
"""A character that every odd name has, and almost no other."""

_NOBODY = "every listener wants a login, so no client is called ANONYMOUS"


def oddities(users: Mapping[str, int], protocols: Collection[str]) -> Iterator[tuple[str, int, str]]:
    """The odd names among users, with their rows, and what is odd about each.

    Parameters
    ----------
    protocols
        Those of the cluster's listeners; none where they are not known.
    """
    names = pa.array(users, pa.string())
    suspects = names.filter(pc.match_substring_regex(names, _SUSPECT)).to_pylist()
    for name in sorted(suspects, key=lambda name: users[name]):
        if name == ANONYMOUS and protocols and not UNAUTHENTICATED & {*protocols}:
            yield name, users[name], _NOBODY
        elif odd := next((oddity for oddity in ODDITIES if oddity.is_so(name)), None):
            yield name, users[name], odd.says
