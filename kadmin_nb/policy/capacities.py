"""What brokers can do: `[[brokers]]` of a policy's file, by cluster, broker and key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import KadminError, UsageError
from ..hints import did_you_mean
from ..model.quota_keys import USER_CLIENT_KEYS, parse_value

KEYS = USER_CLIENT_KEYS[:3]
"""The keys whose limits hold on each broker: bytes in, bytes out, threads."""

NAMES = dict(zip(KEYS, ("bytes_in", "bytes_out", "threads"), strict=True))
"""What a file calls them."""

EXAMPLE = '[[brokers]] with ids = [1, 2], bytes_in = "100MB/s", bytes_out = "200MB/s" and threads = 16.'
_THREADS = NAMES[KEYS[2]]
_WORDS = ("ids", "cluster", *NAMES.values())

OfBrokers = Mapping[int | None, Mapping[str, float]]
"""What brokers can do of each key; None has what all other brokers can do."""

Wrong = Callable[[str, str, str], UsageError]
"""The error about a word: the word, the message, the hint."""


class Capacities:
    """What brokers can do: of each cluster that is named, and under "" of all others."""

    def __init__(self, of_clusters: Mapping[str, OfBrokers]) -> None:
        self._of_clusters = of_clusters

    def of(self, cluster_id: str = "") -> OfBrokers:
        """Those of one cluster: its own where the file has some."""
        return self._of_clusters.get(cluster_id, self._of_clusters.get("", {}))

    def __bool__(self) -> bool:
        return bool(self._of_clusters)


def read_capacities(groups: object, wrong: Wrong) -> Capacities:
    """The tables of `[[brokers]]`, checked word by word.

    Raises
    ------
    UsageError
        A broker or all others are there twice; a word or a value is wrong, or lacks its unit.
    """
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise wrong("brokers", "brokers are tables, [[brokers]]", EXAMPLE)
    found: dict[str, dict[int | None, Mapping[str, float]]] = {}
    for group in groups:
        if strange := next((word for word in group if word not in _WORDS), None):
            raise wrong(strange, f"{strange} is not a capacity", did_you_mean(strange, [*_WORDS], EXAMPLE))
        able = {key: _able(group[name], name, key, wrong) for key, name in NAMES.items() if name in group}
        brokers = found.setdefault(_cluster(group, wrong), {})
        for broker in _ids(group, wrong):
            if broker in brokers:
                whose = "all others" if broker is None else f"broker {broker}"
                raise wrong("brokers", f"the capacity of {whose} is there twice", EXAMPLE)
            brokers[broker] = able
    return Capacities(found)


def _cluster(group: Mapping[str, Any], wrong: Wrong) -> str:
    cluster = group.get("cluster", "")
    if not isinstance(cluster, str):
        raise wrong("cluster", "cluster is the id of a cluster, a text", EXAMPLE)
    return cluster


def _ids(group: Mapping[str, Any], wrong: Wrong) -> Sequence[int | None]:
    if "ids" not in group:
        return [None]
    ids = group["ids"]
    if not isinstance(ids, list) or not ids or not all(type(one) is int for one in ids):
        raise wrong("ids", "ids is not a list of ids of brokers", EXAMPLE)
    return ids


def _able(value: object, name: str, key: str, wrong: Wrong) -> float:
    """A capacity in the unit of its key; threads are hundreds of percent."""
    if name == _THREADS:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise wrong(name, f"{name} is not a number of threads", EXAMPLE)
        return float(value) * 100
    if not isinstance(value, str) or has_no_unit(value):
        raise wrong(name, f"{name} has no unit", EXAMPLE)
    try:
        return parse_value(key, value)
    except KadminError as error:
        raise wrong(name, str(error), str(error.hint or "")) from None


def has_no_unit(text: str) -> bool:
    return text.strip()[-1:].isdigit()
