"""Numbers of quotas in a policy, with the units of the keys that they are compared with."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..model.quota_keys import parse_value


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
