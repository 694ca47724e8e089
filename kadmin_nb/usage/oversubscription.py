"""CAPACITY: what the limits of all clients add up to on a broker, beside what the broker can do.

Limits hold on each broker, so each broker promises the same. A bucket's limit counts once, however many clients share
it. On Spark clients are resolved there, and only the different values of limits come here, with how many buckets
have each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..files import expanded
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.given_frames import plain
from ..frames.meanings import client
from ..frames.relational import added_up, each_once, in_arrow, names_of, select, taken, where, words_of
from ..frames.schema_metadata import stamped
from ..frames.spark import is_spark
from ..hints import did_you_mean
from ..model.figures import share
from ..model.quota_keys import USER_CLIENT_KEYS, parse_value, readable, rounded
from ..model.resources import no_broker
from ..resolution.kernel import resolve
from ..resolution.rules import explain, stored_of
from .limits_used import known_clients, measured_rows
from .owners import toml_table

KEYS = USER_CLIENT_KEYS[:3]
"""The keys whose limits hold on each broker: bytes in, bytes out, threads."""

NAMES = dict(zip(KEYS, ("bytes_in", "bytes_out", "threads"), strict=True))
"""What a file of capacities calls them."""

NOW = "now"
STATED, SEEN = "stated", "seen at most"
_BUCKET = ("level", "bucket_user", "bucket_client_id")
_EXAMPLE = '[[brokers]] with ids = [1, 2], bytes_in = "100MB/s", bytes_out = "200MB/s" and threads = 16.'
_ADDED = re.compile(r"(?:(?P<key>\w+)=)?(?P<count>\d{1,9})x(?P<limit>.+)")
_UNEXPECTED = "\0expected"
"""A name that no quota has."""

MOST_FILLERS = 10
"""Values of limits that are shown of each key."""

Capacities = Mapping[tuple[int, str], float]


@dataclass(frozen=True, slots=True)
class Promise:
    """So many buckets of one limit; `clients` of them are known. `value` is None where nothing limits them."""

    value: float | None
    buckets: int
    clients: int
    who: str


Promises = Mapping[str, Sequence[Promise]]


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
    stated: str | os.PathLike[str] | None = None,
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
        A TOML file of what brokers can do: `[[brokers]]` with `ids`, `bytes_in`, `bytes_out` and `threads`; without
        `ids` it is of all others.
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
    if strange := next((broker for broker in lost if broker not in there), None):
        raise no_broker(strange, there)
    able = {} if stated is None else read_capacity(stated, there)
    known = _known(clients if clients is not None else usage)
    now = promises(quotas, known, chosen, expected)
    rows = [*_rows(NOW, now, there, able, seen, chosen)]
    if lost or more or after is not None:
        then = now if after is None else promises(after, known, chosen, expected)
        then = {key: _largest_first([*then[key], *more.get(key, ())]) for key in chosen}
        left, case = [broker for broker in there if broker not in lost], _case(add, lost, after)
        rows += _rows(case, then, left, able, _carried(seen, lost, left), chosen, seen)
        now = then
    table = schemas.table(schemas.CAPACITY, rows)
    return CapacityAnswer(table, schemas.table(schemas.FILLERS, _fillers(now, rows, chosen)))


def promises(quotas: Any, clients: Any, keys: Sequence[str], expected: int = 0) -> Promises:
    """The limits that bind these clients, those of the same value together, the largest first; `expected` more."""
    found: dict[str, list[Promise]] = {key: [] for key in keys}
    if clients is not None:
        for row in _values(quotas, clients, keys).to_pylist():
            who = client(row["bucket_user"] or None, row["bucket_client_id"] or None)
            buckets = 0 if row["value"] is None else row["buckets"]
            found[row["key"]].append(Promise(row["value"], buckets, row["clients"], who))
    if expected:
        for limit in _defaults(quotas, keys):
            found[limit.key].append(Promise(limit.value, expected, 0, "expected clients"))
    return {key: _largest_first(those) for key, those in found.items()}


def _largest_first(promised: Iterable[Promise]) -> list[Promise]:
    return sorted(promised, key=lambda one: -(one.value or 0.0))


def _values(quotas: Any, clients: Any, keys: Sequence[str]) -> pa.Table:
    """Each value of a limit with its buckets and clients, and the names of one bucket."""
    if is_spark(clients):
        from ..fleets import resolve as resolve_on_spark

        effective = resolve_on_spark(quotas, clients, keys=keys)
    else:
        effective = plain(resolve(quotas, clients, keys=keys))
    buckets = added_up(effective, ["key", "value", *_BUCKET], {"clients": ("count_rows", "key")}, in_order=True)
    names = {name: ("first", name) for name in _BUCKET[1:]}
    sums = {"buckets": ("count_rows", "key"), "clients": ("sum", "clients"), **names}
    return in_arrow(added_up(buckets, ["key", "value"], sums, in_order=True), task="Spark adds up the limits")


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
    return explain(stored, _UNEXPECTED, _UNEXPECTED, keys)


def _seen(usage: Any, keys: Sequence[str]) -> dict[tuple[int, str], float]:
    """What all clients of a broker used at most in a window, by broker and key."""
    rows, _ = measured_rows(usage)
    asked = where(rows, words_of(rows).column("key").isin(list(keys)))
    windows = added_up(asked, ["broker", "measured", "key", "start"], {"used": ("sum", "value")})
    peaks = in_arrow(added_up(windows, ["broker", "key"], {"peak": ("max", "used")}), task="Spark adds up the usage")
    return {(row["broker"], row["key"]): row["peak"] for row in peaks.to_pylist() if row["peak"] is not None}


def _carried(seen: Capacities, lost: Sequence[int], left: Sequence[int]) -> dict[tuple[int, str], float]:
    """What the others were seen to use, with their parts of what the lost ones were."""
    keys = {key for _, key in seen}
    parts = {key: sum(seen.get((broker, key), 0.0) for broker in lost) / max(len(left), 1) for key in keys}
    return {(broker, key): seen.get((broker, key), 0.0) + parts[key] for broker in left for key in keys}


def _rows(
    case: str, promised: Promises, brokers: Iterable[int], stated: Capacities, seen: Capacities,
    keys: Sequence[str], before: Capacities | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """CAPACITY of a case. What was seen before stands for the capacity of a broker that states none."""
    for broker in brokers:
        for key in keys:
            place, those = (broker, key), promised[key]
            able = stated.get(place, (seen if before is None else before).get(place))
            total = sum((one.value or 0.0) * one.buckets for one in those)
            yield {
                "broker": broker,
                "key": key,
                "case": case,
                "clients": sum(one.clients for one in those),
                "buckets": sum(one.buckets for one in those if one.value is not None),
                "unlimited": sum(max(one.clients, one.buckets) for one in those if one.value is None),
                "promised": total,
                "capacity": able,
                "source": None if able is None else STATED if place in stated else SEEN,
                "seen": seen.get(place),
                "headroom": None if able is None else able - total,
                "oversubscription": total / able if able else None,
                "fill": None if able is None else _fill(those, able),
            }


def _fill(promised: Sequence[Promise], able: float) -> int | None:
    """How many buckets, the largest first, reach this together; None where all of them do not."""
    number, left = 0, able
    for one in promised:
        if one.value and left <= one.value * one.buckets:
            return number + max(1, -int(-left // one.value))
        number, left = number + one.buckets, left - (one.value or 0.0) * one.buckets
    return None


def _fillers(promised: Promises, rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> Iterator[dict[str, Any]]:
    """FILLERS: limits, the largest first, until the smallest capacity of a broker is reached."""
    for key in keys:
        able = min((row["capacity"] for row in rows if row["key"] == key and row["fill"]), default=None)
        total = 0.0
        for one in promised[key][:MOST_FILLERS]:
            if able is None or total >= able or not one.value:
                break
            total += one.value * one.buckets
            yield {"key": key, "value": one.value, "buckets": one.buckets, "example": one.who, "total": total}


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


def _added(add: Iterable[str]) -> dict[str, list[Promise]]:
    """The clients of what-ifs, by key."""
    found: dict[str, list[Promise]] = {}
    for text in add:
        match = _ADDED.fullmatch(text)
        if match is None:
            raise UsageError(f"{text} does not say how many clients, and of which limit", hint="For example 3x20MB/s.")
        _refuse_without_unit(text, match["limit"])
        keys = [match["key"]] if match["key"] else KEYS[2:] if match["limit"].endswith("%") else KEYS[:2]
        for key in _chosen(keys):
            value = parse_value(key, match["limit"])
            found.setdefault(key, []).append(Promise(value, int(match["count"]), 0, f"with {text}"))
    return found


def read_capacity(source: str | os.PathLike[str], brokers: Sequence[int]) -> Capacities:
    """What the brokers can do, by id and key, out of a TOML file of `[[brokers]]`.

    Raises
    ------
    NotFound
        No such file; a broker that is not there.
    UsageError
        It is not TOML; a broker or all others are there twice; a word or a value that is wrong, or lacks its unit.
    """
    place = expanded(source)
    document = toml_table(place, "capacities", "a key")
    groups = document.get("brokers")
    if not isinstance(groups, list) or len(document) > 1 or not all(isinstance(group, dict) for group in groups):
        raise UsageError(f"{place} is not a file of capacities", hint=_EXAMPLE)
    of_group: dict[int | None, dict[str, float]] = {}
    for group in groups:
        able = {key: _able(group, name, key, str(place)) for key, name in NAMES.items() if name in group}
        if strange := next((name for name in group if name not in ("ids", *NAMES.values())), None):
            hint = did_you_mean(strange, [*NAMES.values()], _EXAMPLE)
            raise UsageError(f"{place}: {strange} is not a capacity", hint=hint)
        for broker in _ids(group, str(place)):
            if broker is not None and broker not in brokers:
                raise no_broker(broker, brokers).within(place)
            if broker in of_group:
                whose = "all others" if broker is None else f"broker {broker}"
                raise UsageError(f"{place}: the capacity of {whose} is there twice", hint=_EXAMPLE)
            of_group[broker] = able
    others = of_group.get(None, {})
    return {(broker, key): able for broker in brokers for key, able in of_group.get(broker, others).items()}


def _ids(group: Mapping[str, Any], source: str) -> Sequence[int | None]:
    ids = group.get("ids", [None])
    if not isinstance(ids, list) or not ids or ("ids" in group and not all(type(one) is int for one in ids)):
        raise UsageError(f"{source}: ids is not a list of ids of brokers", hint=_EXAMPLE)
    return ids


def _able(group: Mapping[str, Any], name: str, key: str, source: str) -> float:
    """A capacity in the unit of its key; threads are hundreds of percent."""
    value = group[name]
    if name == NAMES[KEYS[2]]:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise UsageError(f"{source}: {name} is not a number of threads", hint=_EXAMPLE)
        return float(value) * 100
    if not isinstance(value, str):
        raise UsageError(f"{source}: {name} has no unit", hint=_EXAMPLE)
    _refuse_without_unit(f"{source}: {name}", value)
    return parse_value(key, value)


def _refuse_without_unit(what: str, text: str) -> None:
    if text.strip()[-1:].isdigit():
        raise UsageError(f"{what} has no unit", hint="For example 100MB/s.")
