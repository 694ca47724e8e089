"""Numbers in a policy: with the units of the quota key, or the config key, that they are compared with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import UsageError
from ..model.quota_keys import parse_value

_TIMES = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_OF_CONFIG = {".ms": _TIMES, ".bytes": _SIZES}
"""The units that a config key takes here, by how it ends; brokers store the plain number."""

_NUMBER = re.compile(r"(?P<number>[+-]?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]*)")


def of_quota(text: str, keys: Sequence[str]) -> float:
    """A number with a unit that fits each of these quota keys.

    Raises
    ------
    UsageError, Invalid
        It does not; no key says what is counted.
    """
    values = {parse_value(key, text) for key in keys}
    if len(values) != 1:
        raise UsageError(
            f"{text}: the key is not known", hint='where = { key = "producer_byte_rate" } says what is counted.'
        )
    return values.pop()


def of_config(text: str, keys: Sequence[str]) -> float:
    """A number, with a unit of time where all keys end in `.ms`, of size where they end in `.bytes`.

    Raises
    ------
    UsageError
        No number, or a unit that does not fit.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text} is not a number")
    ends = {next((end for end in _OF_CONFIG if key.endswith(end)), "") for key in keys}
    units = _OF_CONFIG.get(ends.pop(), {}) if len(ends) == 1 else {}
    if match["unit"] and match["unit"] not in units:
        hint = f"It takes {', '.join(units)}." if units else "Keys that end in .ms or .bytes take a unit."
        raise UsageError(f"{match['unit']} does not fit {', '.join(keys) or 'a key that is not named'}", hint=hint)
    return float(match["number"].replace("_", "")) * units.get(match["unit"], 1)
