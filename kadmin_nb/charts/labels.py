"""Names, numbers and findings as the texts of a chart. A name is text that somebody else chose: it is shown, no more.

No expression and no field is made out of a name: both are constants here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import printable
from ..frames.meanings import client
from ..frames.views import counted_nouns
from ..model.config_units import TIMES
from ..model.quota_keys import find

LONGEST_NAME = 38
"""Characters of a name in a chart."""

NUMBER = "replace(format(datum.value, '~s'), regexp('([kMGT]?)$'), ' $1')"
"""A number with a prefix of SI as Vega writes it: `5 M`."""

AXES = {
    "bytes/s": (f"{NUMBER} + 'B/s'", "bytes/s"),
    "% of one thread": ("format(datum.value, '~g') + ' %'", "% of a thread"),
    "mutations/s": ("format(datum.value, '~s') + '/s'", "mutations/s"),
    "connections/s": ("format(datum.value, '~s') + '/s'", "connections/s"),
}
"""The label of a tick, as Vega writes it, and the title of an axis, by the unit of a quota's key."""

PERCENT = "format(datum.value, '~g') + ' %'"
MILLISECONDS = "format(datum.value, '~s') + ' ms'"
SECONDS = "format(datum.value, '~s') + ' s'"

_LARGER = {unit: TIMES[unit] for unit in ("d", "h", "min", "s")}
DURATION = "".join(
    f"datum.value >= {length} ? format(datum.value / {length}, '.2~g') + ' {unit}' : "
    for unit, length in _LARGER.items()
)
DURATION += MILLISECONDS
"""Milliseconds in the largest unit that they reach."""


def unit_of(key: str) -> str:
    """The unit of a quota's key; of another key there is none."""
    spec = find(key)
    return spec.unit if spec else ""


def short(text: str) -> str:
    """A name on one line, its middle left out where it is long."""
    shown = printable(text)
    half = LONGEST_NAME // 2
    return shown if len(shown) <= LONGEST_NAME else f"{shown[:half]}…{shown[1 - half :]}"


def clients(users: Iterable[str | None], client_ids: Iterable[str | None]) -> list[str]:
    """Clients or buckets as texts, each different from all others."""
    return distinct([short(client(*pair)) for pair in zip(users, client_ids, strict=True)])


def buckets(users: Iterable[str | None], client_ids: Iterable[str | None]) -> list[str]:
    """Buckets as texts, each different; an empty part is not in a bucket."""
    pairs = zip(users, client_ids, strict=True)
    return distinct([short(client(user or None, client_id or None)) or "(nobody named)" for user, client_id in pairs])


def uses(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """The uses that the buckets of these rows limit, as texts, each different."""
    whose = buckets((row["bucket_user"] for row in groups), (row["bucket_client_id"] for row in groups))
    return distinct([f"{who} {verb_of(row['key'])}" for who, row in zip(whose, groups, strict=True)])


def distinct(texts: Sequence[str]) -> list[str]:
    """The texts, numbered where two names are shortened to the same."""
    times = Counter(texts)
    seen: Counter[str] = Counter()
    numbered = []
    for text in texts:
        seen[text] += 1
        numbered.append(f"{text} ({seen[text]})" if times[text] > 1 else text)
    return numbered


def count_of(count: int, noun: str) -> str:
    """So many of a noun with a regular plural: *3 clients*, *1 client*, *no clients*."""
    return counted_nouns(count, noun, f"{noun}s") if count < 1000 else f"{count:,} {noun}s"


def is_are(count: int) -> str:
    """The verb of so many."""
    return "is" if count == 1 else "are"


def part_of(shown: int, count: int, which: str) -> str:
    """That a chart has the first of many; nothing where it has all."""
    return f"{shown:,} of {count:,}: the {which}" if shown < count else ""


def verb_of(key: str) -> str:
    """A quota's key as the verb that it limits; a key that is not known as it is."""
    return _VERBS.get(key, short(key))


_VERBS = {"producer_byte_rate": "produce", "consumer_byte_rate": "consume", "request_percentage": "requests",
          "controller_mutation_rate": "mutations"}  # fmt: skip
