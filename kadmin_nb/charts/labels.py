"""Names, numbers and findings as the texts of a chart. A name is text that somebody else chose: it is shown, no more.

No expression and no field is made out of a name: both are constants here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

from ..errors import printable, printable_lines
from ..frames.meanings import client
from ..frames.views import counted_nouns
from ..model.quota_keys import USER_CLIENT_KEYS

LONGEST_NAME = 38
"""Characters of a name in a chart."""


def as_text(text: str) -> str:
    """A text of a chart as it is shown. Altair writes texts into scripts: what would end one, or begin another, has a
    joiner in it that no one sees."""
    return _OF_SCRIPTS.sub("<\u2060", printable_lines(text))


_OF_SCRIPTS = re.compile(r"<(?=[!/s])", re.IGNORECASE)
"""How `</script>`, `<script>` and `<!--` begin."""


def short(text: str) -> str:
    """A name on one line, its middle left out where it is long."""
    shown = printable(text)
    half = LONGEST_NAME // 2
    return shown if len(shown) <= LONGEST_NAME else f"{shown[:half]}…{shown[1 - half :]}"


def clients(pairs: Iterable[tuple[str | None, str | None]]) -> list[str]:
    """The text of each client or bucket."""
    return [short(client(*pair)) or "(no user)" for pair in pairs]


def uses(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The uses that the buckets of these rows limit, each text different; an empty part is not in a bucket."""
    whose = clients((row["bucket_user"] or None, row["bucket_client_id"] or None) for row in rows)
    return distinct([f"{who} {verb_of(row['key'])}" for who, row in zip(whose, rows, strict=True)])


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
