"""What brokers can do: `[[brokers]]` of a TOML file, by cluster, broker and key."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import documents
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


class Capacities:
    """What brokers can do: of each cluster that is named, and under "" of all others."""

    def __init__(self, of_clusters: Mapping[str, OfBrokers]) -> None:
        self._of_clusters = of_clusters

    def of(self, cluster_id: str = "") -> OfBrokers:
        """Those of one cluster: its own where the file has some."""
        return self._of_clusters.get(cluster_id, self._of_clusters.get("", {}))

    def __bool__(self) -> bool:
        return bool(self._of_clusters)


def load_capacities(path: str | os.PathLike[str]) -> Capacities:
    """What brokers can do, by a file of TOML.

    Raises
    ------
    NotFound, UsageError
        No such file; it has no `[[brokers]]`, or has them twice; a word or a value is wrong, or lacks its unit.
    """
    document, _ = documents.read_toml(path, "a file of capacities")
    try:
        capacities = _read(document)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None
    if not capacities:
        raise UsageError(f"{path} has no capacity of brokers", hint=EXAMPLE)
    return capacities


def _read(document: Mapping[str, Any]) -> Capacities:
    if strange := next((word for word in document if word != "brokers"), None):
        raise UsageError(f"{strange} is not a word of a file of capacities", hint=EXAMPLE)
    groups = document.get("brokers", [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise UsageError("brokers are tables, [[brokers]]", hint=EXAMPLE)
    found: dict[str, dict[int | None, Mapping[str, float]]] = {}
    for group in groups:
        if strange := next((word for word in group if word not in _WORDS), None):
            raise UsageError(f"{strange} is not a capacity", hint=did_you_mean(strange, [*_WORDS], EXAMPLE))
        able = {key: _able(group[name], name, key) for key, name in NAMES.items() if name in group}
        brokers = found.setdefault(_cluster(group), {})
        for broker in _ids(group):
            if broker in brokers:
                whose = "all others" if broker is None else f"broker {broker}"
                raise UsageError(f"the capacity of {whose} is there twice", hint=EXAMPLE)
            brokers[broker] = able
    return Capacities(found)


def _cluster(group: Mapping[str, Any]) -> str:
    cluster = group.get("cluster", "")
    if not isinstance(cluster, str):
        raise UsageError("cluster is the id of a cluster, a text", hint=EXAMPLE)
    return cluster


def _ids(group: Mapping[str, Any]) -> Sequence[int | None]:
    if "ids" not in group:
        return [None]
    ids = group["ids"]
    if not isinstance(ids, list) or not ids or not all(type(one) is int for one in ids):
        raise UsageError("ids is not a list of ids of brokers", hint=EXAMPLE)
    return ids


def _able(value: object, name: str, key: str) -> float:
    """A capacity in the unit of its key; threads are hundreds of percent."""
    if name == _THREADS:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise UsageError(f"{name} is not a number of threads", hint=EXAMPLE)
        return float(value) * 100
    if not isinstance(value, str) or has_no_unit(value):
        raise UsageError(f"{name} has no unit", hint=EXAMPLE)
    try:
        return parse_value(key, value)
    except KadminError as error:
        raise UsageError(str(error), hint=str(error.hint or "")) from None


def has_no_unit(text: str) -> bool:
    return text.strip()[-1:].isdigit()
