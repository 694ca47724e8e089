"""Client-ids that a machine made up: their varying part, and the pattern that they share.

Quotas and metrics go by client-id, so an id that is new at each start escapes the one and piles up in the other
(KAFKA-9411); Kafka matches no prefixes. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

ALIKE = 3
"""Client-ids of one pattern from which on its numbers count as made up: app-1 and app-2 may be two applications."""


@dataclass(frozen=True, slots=True)
class MadeUp:
    """The pattern of a client-id that was made up, and what varies in it."""

    pattern: str
    sort: str


_PARTS = (
    ("uuid", re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)),
    ("host", re.compile(r"\b\d{1,3}(?:[.-]\d{1,3}){3}\b|@[\w.-]+")),
    ("hex", re.compile(r"(?<![0-9a-z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}(?![0-9a-z])", re.I)),
    (
        "random",
        re.compile(r"(?<![0-9a-zA-Z])(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])(?=(?:\D*\d){2})[0-9a-zA-Z]{6,}(?![0-9a-zA-Z])"),
    ),
    ("number", re.compile(r"(?<![0-9a-zA-Z])\d+(?![0-9a-zA-Z])")),
)
"""The sorts of parts that vary, the most telling first: in this order they are looked for and replaced."""

_LIBRARIES = re.compile(
    r"(?:console-)?(?:producer|consumer)(?:-.+)?-\*|(?:rd|node-rd)?kafka|sarama|kafka-python.*|kafkajs|librdkafka", re.I
)
"""The names that libraries give to a client without one."""


def made_up(client_id: str) -> MadeUp | None:
    """The pattern of this client-id, `*` for each part that varies; None where nothing in it looks made up.

    Examples
    --------
    >>> made_up("billing-7f9c24e8-3b1a-4f6e-9d2c-1a2b3c4d5e6f").pattern
    'billing-*'
    """
    pattern, sorts = client_id, []
    for sort, part in _PARTS:
        pattern, count = part.subn("*", pattern)
        sorts += [sort] * bool(count)
    if _LIBRARIES.fullmatch(pattern):
        return MadeUp(pattern, "library")
    return MadeUp(re.sub(r"\*(?:[-_.:]?\*)+", "*", pattern), sorts[0]) if sorts else None


def by_pattern(client_ids: Iterable[str]) -> dict[MadeUp, list[str]]:
    """The client-ids that were made up, by their pattern, those of the largest first; numbers from ALIKE on."""
    groups: dict[MadeUp, list[str]] = {}
    for client_id in dict.fromkeys(client_ids):
        if found := made_up(client_id):
            groups.setdefault(found, []).append(client_id)
    certain = {made: ids for made, ids in groups.items() if made.sort != "number" or len(ids) >= ALIKE}
    return dict(sorted(certain.items(), key=lambda group: (-len(group[1]), group[0].pattern)))
