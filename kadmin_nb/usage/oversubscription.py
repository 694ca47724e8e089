"""CAPACITY: what the limits of all clients add up to on a broker, beside what the broker can do.

Limits hold on each broker, so each broker promises the same. A bucket's limit counts once, however many clients share
it. On Spark clients are resolved there, and only the different values of limits come here, with how many buckets
have each.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.frame import COUNT
from ..frames.given_frames import plain
from ..frames.relational import (
    added_up,
    among,
    each_once,
    in_arrow,
    names_of,
    select,
    taken,
    where,
    with_columns,
    words_of,
)
from ..frames.schema_metadata import stamped
from ..frames.schemas import NOW, STATED
from ..frames.spark import is_spark
from ..model.figures import share
from ..model.findings import WARNING, Finding
from ..model.quota_keys import parse_value, readable, rounded
from ..model.resources import Resource, refuse_unknown_brokers
from ..resolution.kernel import resolve
from ..resolution.rules import entity_of, explain, stored_of
from .capacities import KEYS, OfBrokers, has_no_unit, load_capacities
from .limits_used import known_clients, measured_rows
from .rules import is_shared

SEEN = "seen at most"
_BUCKET = ("bucket_user", "bucket_client_id")
_ADDED = re.compile(r"(?:(?P<key>\w+)=)?(?P<count>\d{1,9})x(?P<limit>.+)")

MOST_FILLERS = 10
"""Values of limits that are shown of each key."""

ByPlace = Mapping[tuple[int, str], float]


_LIMITS = pa.schema(
    {
        "key": pa.string(), "value": pa.float64(), "buckets": pa.int64(), "clients": pa.int64(), "level": pa.string(),
        "whose": pa.string(),
    }
)  # fmt: skip
"""Limits, null where there is none: the buckets that have each, the known clients of these; `whose` is of a what-if."""


class Promises:
    """What is promised of one key: its limits, the largest first."""

    def __init__(self, promised: pa.Table, key: str) -> None:
        rows = promised.filter(pc.equal(promised["key"], key)).sort_by([("value", "descending")])
        is_limit = rows["value"].is_valid()
        self.limits, free = rows.filter(is_limit), rows.filter(pc.invert(is_limit))
        self.sums = np.cumsum(np.asarray(self.limits["value"]) * np.asarray(self.limits["buckets"]))
        """What each limit and all larger ones add up to."""
        self.total = float(self.sums[-1]) if len(self.sums) else 0.0
        self.buckets, self.clients = _sum(self.limits["buckets"]), _sum(rows["clients"])
        self.unlimited = _sum(pc.max_element_wise(free["clients"], free["buckets"]))

    def fill(self, able: float) -> int | None:
        """How many buckets, the largest first, reach this together; None where all of them do not."""
        last = int(np.searchsorted(self.sums, able))
        if last == len(self.sums):
            return None
        left = able - float(self.sums[last - 1] if last else 0.0)
        return _sum(self.limits["buckets"][:last]) + max(1, math.ceil(left / float(self.limits["value"][last].as_py())))


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


class CapacityAnswer(Answer):
    """CAPACITY; the title is the finding. `fillers` has the limits that fill the smallest broker, the largest first."""

    def __init__(self, table: pa.Table, fillers: pa.Table | None = None) -> None:
        super().__init__(table)
        self.fillers = Answer(schemas.FILLERS.empty() if fillers is None else fillers)

    def of_cluster(self, cluster_id: str) -> CapacityAnswer:
        """The same, as taken now from this cluster."""
        return CapacityAnswer(stamped(self._table, cluster_id), self.fillers.to_arrow())

    def _title(self) -> str:
        """What is promised of the fullest broker, key by key."""
        rows = self._table.to_pylist()
        findings = [
            _finding([row for row in rows if row["key"] == key]) for key in dict.fromkeys(row["key"] for row in rows)
        ]
        return "\n".join(findings) or "no broker, and no capacity"

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table, *([self.fillers.to_arrow()] if len(self.fillers) else [])]


def capacity(
    quotas: Any,
    clients: Any = None,
    *,
    brokers: Iterable[int] = (),
    stated: str | os.PathLike[str] | OfBrokers | None = None,
    usage: Any = None,
    keys: Sequence[str] | None = None,
    expected: int = 0,
    add: Iterable[str] = (),
    without: Iterable[int] = (),
    after: Any = None,
) -> CapacityAnswer:
    """CAPACITY: the sum of the limits that bind the known clients, on each broker, beside what it can do.

    Parameters
    ----------
    quotas
        QUOTAS, as anything that `resolve` takes.
    clients
        The known clients: PAIRS, each once, or USAGE; in Spark or as anything with `__arrow_c_stream__`. Those of the
        usage unless given.
    brokers
        The ids of the brokers; those of the usage unless given.
    stated
        A TOML file of what brokers can do, such as a policy: `[[brokers]]` with `ids`, `bytes_in`, `bytes_out` and
        `threads`; without `ids` it is of all others. Groups of one `cluster` do not count here.
    usage
        USAGE: where no capacity is stated, what was used at most in a window stands for it.
    keys
        Some of `producer_byte_rate`, `consumer_byte_rate` and `request_percentage`.
    expected
        So many clients more that no quota names, each with the limit of the defaults.
    add
        What if: clients more of a limit, "3x20MB/s" (of producing and of consuming), "producer_byte_rate=3x20MB/s" or
        "2x50%".
    without
        What if: brokers are lost. The others promise the same, as limits hold on each, and carry what it was seen to.
    after
        What if: QUOTAS as they are then, such as `plan.quotas_after(quotas)`.

    Returns
    -------
    CapacityAnswer
        A row a broker, key and case: *now*, and the what-ifs together. `oversubscription` is the sum of the limits
        over the capacity; `fill` is how many buckets, the largest first, reach the capacity together.

    Raises
    ------
    UsageError
        No clients; a key, a what-if or a word of the file that is wrong; a value without its unit.
    NotFound
        No such file; a broker that is not there.

    Examples
    --------
    >>> capacity(quotas, clients, brokers=[1, 2, 3], stated="capacity.toml", add=["3x20MB/s"])  # doctest: +SKIP
    """
    chosen, lost, more = _chosen(keys), [*without], _added(add)
    if clients is None and usage is None and not expected and not more:
        raise UsageError("no clients are known", hint="Give clients (PAIRS or USAGE), usage, or how many are expected.")
    seen = {} if usage is None else _seen(usage, chosen)
    there = sorted({*brokers} or {broker for broker, _ in seen})
    refuse_unknown_brokers(lost, there)
    able = {} if stated is None else _of_each(_of_brokers(stated), there)
    known = _known(clients if clients is not None else usage)
    promised = promises(quotas, known, chosen, expected)
    now = {key: Promises(promised, key) for key in chosen}
    rows = [*_rows(NOW, now, there, able, seen)]
    if lost or more or after is not None:
        if after is not None:
            quotas, promised = after, promises(after, known, chosen, expected)
        promised = pa.concat_tables([promised, pa.Table.from_pylist(more, _LIMITS)])
        now = {key: Promises(promised, key) for key in chosen}
        left, case = [broker for broker in there if broker not in lost], _case(add, lost, after)
        rows += _rows(case, now, left, able, _carried(seen, lost, left), seen)
    fillers = schemas.table(schemas.FILLERS, _fillers(quotas, now, rows))
    return CapacityAnswer(schemas.table(schemas.CAPACITY, rows), fillers)


def promises(quotas: Any, clients: Any, keys: Sequence[str], expected: int = 0) -> pa.Table:
    """The limits that bind these clients, and the defaults of so many that are expected."""
    names = {"buckets": expected, "clients": 0, "whose": "expected clients"}
    defaults = _defaults(quotas, keys) if expected else ()
    later = pa.Table.from_pylist([{"key": limit.key, "value": limit.value, **names} for limit in defaults], _LIMITS)
    return later if clients is None else pa.concat_tables([_values(quotas, clients, keys), later])


def _values(quotas: Any, clients: Any, keys: Sequence[str]) -> pa.Table:
    """Each value of a limit at each level, with its buckets and clients.

    A bucket of one user and client-id is one client: only the others are told apart by their names.
    """
    if is_spark(clients):
        from ..fleets import resolve as resolve_on_spark

        effective = resolve_on_spark(quotas, clients, keys=keys)
    else:
        effective = plain(resolve(quotas, clients, keys=keys))
    words, by = words_of(effective), ["key", "level", "value"]
    names = [words.column(name) for name in _BUCKET]
    shared = {name: words.when(is_shared(*names), words.column(name)) for name in _BUCKET}
    buckets = added_up(with_columns(effective, shared), [*by, *_BUCKET], {"clients": ("count_rows", "key")})
    own = words.is_null(words.column(_BUCKET[0]))
    counted = with_columns(buckets, {"buckets": words.when(own, words.column("clients"), words.literal(1, COUNT))})
    sums = {name: ("sum", name) for name in ("buckets", "clients")}
    limits = in_arrow(added_up(counted, by, sums), task="Spark adds up the limits")
    whose = pa.nulls(len(limits), pa.string())
    return limits.append_column("whose", whose).select(_LIMITS.names).cast(_LIMITS)


def _entity(quotas: Any, level: str, key: str, value: float) -> str:
    """An entity whose quota is this."""
    table = taken(quotas, schemas.QUOTAS.names, "the quotas")
    column = words_of(table).column
    same = where(table, (column("level") == level) & (column("key") == key) & (column("value") == value))
    rows = in_arrow(select(same, ["level", "user", "client_id"]), 1, task="Spark reads a quota").to_pylist()
    return str(entity_of(rows[0]) or "") if rows else ""


def _known(frame: Any) -> Any:
    """PAIRS of the known clients; None without any."""
    if frame is None:
        return None
    table = taken(frame, ("user", "client_id", "source"), "the clients")
    schemas.require_columns("the clients", ("user", "client_id"), names_of(table))
    if "source" in names_of(table):
        return known_clients(table)
    pairs = select(table, ["user", "client_id"])
    return pairs if is_spark(pairs) else each_once(pairs)


def _defaults(quotas: Any, keys: Sequence[str]) -> Any:
    """What limits a client that no quota names, key by key."""
    table = taken(quotas, schemas.QUOTAS.names, "the quotas")
    words = words_of(table)
    unnamed = where(table, words.is_null(words.column("user")) & words.is_null(words.column("client_id")))
    stored = stored_of(in_arrow(select(unnamed, schemas.QUOTAS.names), task="Spark reads the defaults").to_pylist())
    return explain(stored, None, None, keys)


def _seen(usage: Any, keys: Sequence[str]) -> dict[tuple[int, str], float]:
    """What all clients of a broker used at most in a window, by broker and key."""
    rows, _ = measured_rows(usage)
    windows = added_up(among(rows, "key", keys), ["broker", "measured", "key", "start"], {"used": ("sum", "value")})
    peaks = in_arrow(added_up(windows, ["broker", "key"], {"peak": ("max", "used")}), task="Spark adds up the usage")
    return {(row["broker"], row["key"]): row["peak"] for row in peaks.to_pylist() if row["peak"] is not None}


def _carried(seen: ByPlace, lost: Sequence[int], left: Sequence[int]) -> dict[tuple[int, str], float]:
    """What the others were seen to use, with their parts of what the lost ones were."""
    keys = {key for _, key in seen}
    parts = {key: sum(seen.get((broker, key), 0.0) for broker in lost) / max(len(left), 1) for key in keys}
    return {(broker, key): seen.get((broker, key), 0.0) + parts[key] for broker in left for key in keys}


def _rows(
    case: str, promised: Mapping[str, Promises], brokers: Iterable[int], stated: ByPlace, seen: ByPlace,
    before: ByPlace | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """CAPACITY of a case. What was seen before stands for the capacity of a broker that states none."""
    for broker in brokers:
        for key, those in promised.items():
            place = (broker, key)
            able = stated.get(place, (seen if before is None else before).get(place))
            yield {
                "broker": broker,
                "key": key,
                "case": case,
                "clients": those.clients,
                "buckets": those.buckets,
                "unlimited": those.unlimited,
                "promised": those.total,
                "capacity": able,
                "source": None if able is None else STATED if place in stated else SEEN,
                "seen": seen.get(place),
                "headroom": None if able is None else able - those.total,
                "oversubscription": those.total / able if able else None,
                "fill": None if able is None else those.fill(able),
            }


def _fillers(
    quotas: Any, promised: Mapping[str, Promises], rows: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """FILLERS: limits, the largest first, until the smallest capacity of a broker is reached."""
    for key, those in promised.items():
        able = min((row["capacity"] for row in rows if row["key"] == key and row["fill"]), default=0.0)
        largest = those.limits.slice(0, min(MOST_FILLERS, int(np.searchsorted(those.sums, able)) + 1))
        for row, total in zip(largest.to_pylist() if able else (), those.sums, strict=False):
            example = row["whose"] or _entity(quotas, row["level"], key, row["value"])
            yield {"key": key, "value": row["value"], "buckets": row["buckets"], "example": example, "total": total}


def oversubscriptions(answer: CapacityAnswer) -> list[Finding]:
    """A warning a key of which a what-if promises more than a broker can do, and more than now."""
    rows = answer.to_arrow().to_pylist()
    now = {(row["broker"], row["key"]): _fullness(row) for row in rows if row["case"] == NOW}
    then = [row for row in rows if row["case"] != NOW and _fullness(row) > max(1.0, now[row["broker"], row["key"]])]
    worst = {row["key"]: row for row in sorted(then, key=_fullness)}
    return [
        Finding("capacity", WARNING, f"{key}: {_told(row)}", Resource("BROKER", str(row["broker"])), key)
        for key, row in worst.items()
    ]


def _finding(rows: Sequence[Mapping[str, Any]]) -> str:
    """The fullest broker of a key, case by case."""
    key = rows[0]["key"]
    cases = dict.fromkeys(row["case"] for row in rows)
    worst = [max((row for row in rows if row["case"] == case), key=_fullness) for case in cases]
    return f"{key}: " + "; ".join(_told(row) for row in worst)


def _fullness(row: Mapping[str, Any]) -> float:
    return float(row["oversubscription"] or 0.0)


def _told(row: Mapping[str, Any]) -> str:
    case = "" if row["case"] == NOW else f"{row['case']}: "
    promised = f"{case}limits of {readable(row['key'], row['promised'])} on each broker"
    if row["capacity"] is None:
        return promised
    able = f"{rounded(row['key'], row['capacity'])} {row['source']} of broker {row['broker']}"
    part = share(row["oversubscription"]) if row["oversubscription"] is not None else "more"
    fill = f"; {row['fill']:,} of {row['buckets']:,} buckets could fill it" if row["fill"] else ""
    return f"{promised}, {part} of the {able}{fill}"


def _case(add: Iterable[str], lost: Iterable[int], after: Any) -> str:
    parts = [*(f"with {text}" for text in add), *(f"without broker {broker}" for broker in lost)]
    return ", ".join([*parts, *(["after the plan"] if after is not None else [])])


def _chosen(keys: Sequence[str] | None) -> Sequence[str]:
    for key in keys or ():
        if key not in KEYS:
            raise UsageError(f"{key} is not limited on each broker", hint=f"One of {', '.join(KEYS)}.")
    return list(keys) if keys else KEYS


def _added(add: Iterable[str]) -> list[dict[str, Any]]:
    """The limits of the clients of what-ifs."""
    found = []
    for text in add:
        match = _ADDED.fullmatch(text)
        if match is None:
            raise UsageError(f"{text} does not say how many clients, and of which limit", hint="For example 3x20MB/s.")
        if has_no_unit(match["limit"]):
            raise UsageError(f"{text} has no unit", hint="For example 3x20MB/s.")
        keys = [match["key"]] if match["key"] else KEYS[2:] if match["limit"].endswith("%") else KEYS[:2]
        same = {"buckets": int(match["count"]), "clients": 0, "whose": f"with {text}"}
        found += [{"key": key, "value": parse_value(key, match["limit"]), **same} for key in _chosen(keys)]
    return found


def _of_brokers(stated: str | os.PathLike[str] | OfBrokers) -> OfBrokers:
    return stated if isinstance(stated, Mapping) else load_capacities(stated).of()


def _of_each(able: OfBrokers, brokers: Sequence[int]) -> ByPlace:
    """What is stated of these brokers, by id and key."""
    refuse_unknown_brokers((broker for broker in able if broker is not None), brokers)
    others = able.get(None, {})
    return {(broker, key): one for broker in brokers for key, one in able.get(broker, others).items()}
