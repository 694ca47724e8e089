"""Owners of clients, and prices of use: a TOML file each, checked word by word."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..documents import read_toml
from ..errors import UsageError
from ..frames.schemas import NO_OWNER
from ..hints import did_you_mean
from ..model.grammar import ANY, DEFAULT, Selector, format_word, matcher, parse_word, selector, split

_TYPES = ("user", "client-id")
_EXAMPLE = '[owners] has a line a pattern: "user~=pay-* client-id=app" = "payments".'
PRICES = ("gb_in", "gb_out", "request_hour")
_RATES_EXAMPLE = 'A rate card has currency = "EUR", and gb_in, gb_out and request_hour, each a number.'


@dataclass(frozen=True)
class Owner:
    """The clients of a pattern belong to a team; `text` is the pattern as it would be typed."""

    text: str
    user: Selector
    client_id: Selector
    team: str


Owners = tuple[Owner, ...]
"""The owners in their order: the first whose pattern matches a client owns it."""

Path = str | os.PathLike[str]
OwnersSource = Path | Mapping[str, str] | Owners


@dataclass(frozen=True)
class Rates:
    """The price of a GB (10⁹ bytes) in and out, and of an hour of request time; the currency is any text."""

    currency: str
    gb_in: float
    gb_out: float
    request_hour: float


RatesSource = Path | Mapping[str, object] | Rates


def read_owners(source: OwnersSource) -> Owners:
    """The owners in a TOML file, `[owners]` with `"user~=pay-*" = "payments"`; or of a mapping of patterns to teams.

    Raises
    ------
    NotFound
        No such file.
    UsageError
        It is not TOML; a pattern is none, or stands twice; a team has no name.
    """
    if isinstance(source, tuple):
        return source
    if isinstance(source, Mapping):
        return _owners(source, "the owners")
    document, _ = read_toml(source, "a file of owners")
    table = document.get("owners")
    if not isinstance(table, dict) or len(document) > 1:
        raise UsageError(f"{source} is not a file of owners", hint=_EXAMPLE)
    return _owners(table, str(source))


def _owners(table: Mapping[str, Any], source: str) -> Owners:
    owners = tuple(_owner(pattern, team, source) for pattern, team in table.items())
    if not owners:
        raise UsageError(f"{source} names no owner", hint=_EXAMPLE)
    first = dict[tuple[Selector, Selector], Owner]()
    for owner in owners:
        other = first.setdefault((owner.user, owner.client_id), owner)
        if other is not owner:
            raise UsageError(f"{source}: {owner.text} has two owners, {other.team} and {owner.team}", hint="Keep one.")
    return owners


def _owner(pattern: str, team: object, source: str) -> Owner:
    if not isinstance(team, str) or not team.strip():
        raise UsageError(f"{source}: the owner of {pattern} is not the name of a team", hint=_EXAMPLE)
    if team == NO_OWNER:
        raise UsageError(f"{source}: {NO_OWNER} is the word for clients without an owner", hint="Name a team.")
    try:
        parts = {word.name: word.value for word in map(parse_word, split(pattern))}
    except UsageError as error:
        raise UsageError(f"{source}: {error}", hint=_EXAMPLE) from None
    if strange := next((name for name in parts if name not in _TYPES), None):
        raise UsageError(f"{source}: {strange} of {pattern} is not one of {', '.join(_TYPES)}", hint=_EXAMPLE)
    if not parts or DEFAULT in parts.values():
        problem = "names a default, which is not a client" if parts else "names no client"
        raise UsageError(f"{source}: the pattern {pattern!r} {problem}", hint=_EXAMPLE)
    user, client_id = (selector(kind, parts.get(kind, ANY)) for kind in _TYPES)
    return Owner(" ".join(format_word(name, value) for name, value in parts.items()), user, client_id, team)


def read_rates(source: RatesSource) -> Rates:
    """The prices in a TOML file: `currency`, `gb_in`, `gb_out` and `request_hour`; or of a mapping.

    Raises
    ------
    NotFound
        No such file.
    UsageError
        It is not TOML, one of them is missing or not a price, or there is another one.
    """
    if isinstance(source, Rates):
        return source
    if isinstance(source, Mapping):
        return _rates(source, "the rates")
    return _rates(read_toml(source, "a rate card")[0], str(source))


def _rates(table: Mapping[str, object], source: str) -> Rates:
    keys = ("currency", *PRICES)
    if missing := [key for key in keys if key not in table]:
        raise UsageError(f"{source} has no {', '.join(missing)}", hint=_RATES_EXAMPLE)
    if strange := next((key for key in table if key not in keys), None):
        hint = did_you_mean(strange, keys, _RATES_EXAMPLE)
        raise UsageError(f"{source}: {strange} is not a part of a rate card", hint=hint)
    currency = table["currency"]
    if not isinstance(currency, str) or not currency.strip():
        raise UsageError(f"{source}: currency is not a text", hint=_RATES_EXAMPLE)
    return Rates(currency, *(_price(key, table[key], source) for key in PRICES))


def _price(key: str, value: object, source: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < math.inf:  # type: ignore[arg-type]  # it is a number
        raise UsageError(f"{source}: {key} is not a price", hint=_RATES_EXAMPLE)
    return float(value)  # type: ignore[arg-type]


def with_owners(clients: pa.Table, owners: Owners) -> pa.Table:
    """Clients with the `team` that owns each, and the number of the `owner`, from 0; null without one."""
    user, client_id = (clients[name].combine_chunks().dictionary_encode() for name in ("user", "client_id"))
    numbers = np.full(len(clients), len(owners), np.int32)
    for number, owner in reversed([*enumerate(owners)]):
        numbers[_are(user, owner.user) & _are(client_id, owner.client_id)] = number
    teams = pa.array([*(owner.team for owner in owners), NO_OWNER], pa.string())
    owner_numbers = pa.array(numbers, mask=numbers == len(owners))
    return clients.append_column("team", teams.take(pa.array(numbers))).append_column("owner", owner_numbers)


def _are(names: Any, chosen: Selector) -> Any:
    """Which of these names are chosen."""
    if ANY in chosen or not len(names):
        return np.ones(len(names), bool)
    is_chosen = np.fromiter(map(matcher(chosen), names.dictionary.to_pylist()), bool, len(names.dictionary))
    return is_chosen[np.asarray(names.indices)]
