"""Names, numbers and findings as the texts of a chart. A name is text that somebody else chose: it is shown, no more.

No expression and no field is made out of a name: both are constants here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from ..errors import printable
from ..frames.meanings import client
from ..frames.views import counted_nouns
from ..model.config_units import TIMES
from ..model.quota_keys import USER_CLIENT_KEYS, find

LONGEST_NAME = 38
"""Characters of a name in a chart."""

_BYTES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
_WORDS = {"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}
_TIMES = (*((word, float(TIMES[unit])) for unit, word in _WORDS.items()), ("milliseconds", 1.0))
_AXIS_UNITS: Mapping[str, Sequence[tuple[str, float]]] = {
    "bytes/s": [(f"{unit}/s", size) for unit, size in _BYTES],
    "bytes": _BYTES,
    "ms": _TIMES,
    "s": [(unit, size / 1000) for unit, size in _TIMES if size >= 1000],
    "% of one thread": (("% of a thread", 1.0),),
    "mutations/s": (("mutations/s", 1.0),),
    "connections/s": (("connections/s", 1.0),),
}


class Unit(NamedTuple):
    """The one unit of an axis or a legend, and how many of the values' own it is."""

    name: str
    size: float

    def of(self, value: float | None) -> float | None:
        """A value in this unit."""
        return None if value is None else value / self.size


def has_unit(unit: str) -> bool:
    """True where an axis can have it."""
    return unit in _AXIS_UNITS


def unit_up_to(unit: str, highest: float) -> Unit:
    """The largest unit that the highest value reaches, of times twice: an axis in MB/s has no tick in kB/s."""
    units = _AXIS_UNITS.get(unit, ((unit or "value", 1.0),))
    times = 2 if unit in ("ms", "s") else 1
    return Unit(*next((one for one in units if highest >= times * one[1]), units[-1]))


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
    """The texts, with a number before those that are shortened to the same."""
    times = Counter(texts)
    seen: Counter[str] = Counter()
    numbered = []
    for text in texts:
        seen[text] += 1
        numbered.append(f"{seen[text]}: {text}" if times[text] > 1 else text)
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


def key_order(key: str) -> tuple[int, str]:
    """The place of a key: as Kafka lists its own, then the others."""
    return (USER_CLIENT_KEYS.index(key) if key in USER_CLIENT_KEYS else len(USER_CLIENT_KEYS)), key


def in_lines(key: str) -> str:
    """A key for a narrow column."""
    return short(key).replace("_", "_\n")


def height(value: float, values: Iterable[float | None]) -> float:
    """The place of a value between the lowest and the highest, 0 to 1, on a logarithmic scale; 0.5 of one alone."""
    positive = [other for other in values if other is not None and other > 0]
    low, high = min(positive, default=0.0), max(positive, default=0.0)
    if value <= 0:
        return 0.0
    return 0.5 if high <= low else log(value / low) / log(high / low)
