"""What in the configs of a cluster somebody should look at: FINDINGS out of CONFIGS.

It asks nobody and changes nothing. Spark sends it to its workers by value, so it uses little of ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError
from ..frames.schemas import FINDINGS as SCHEMA
from ..frames.schemas import MOMENT, table
from ..model.changes import DELETE, SET
from ..model.grammar import format_word, quote
from ..model.resources import OWN_SOURCE, Resource
from ..model.rows import Row
from ..secrets import is_called_so
from . import DEFAULT, DIFFERS, FINDINGS, LEFTOVER, REPEATS, THROTTLE, UNREAD

BY_NATURE = frozenset(
    {
        "broker.id",
        "node.id",
        "broker.rack",
        "process.roles",
        "listeners",
        "advertised.listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "ssl.keystore.location",
    }
)
"""Keys that differ from broker to broker without anything being wrong; for a listener (`listener.name.x.…`) too."""

THROTTLES = {
    "TOPIC": ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"),
    "BROKER": ("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
}
"""What a reassignment is throttled by, on each type of resource."""

BETWEEN_DISKS = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Throttles moves between the disks of one broker, which no list of reassignments has."""

_STATIC, _OF_ALL, _BUILT_IN = "STATIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "DEFAULT_CONFIG"
_GONE = ("UNKNOWN_TOPIC_OR_PARTITION", "RESOURCE_NOT_FOUND", "GROUP_ID_NOT_FOUND")
_MILLISECONDS = {"hours": 3_600_000, "minutes": 60_000, "ms": 1}
_NUMBERS = ("INT", "SHORT", "LONG", "DOUBLE")

BROKERS_UNITS = {
    "retention.ms": (("log.retention.ms", "log.retention.minutes", "log.retention.hours"), "168"),
    "segment.ms": (("log.roll.ms", "log.roll.hours"), "168"),
    "segment.jitter.ms": (("log.roll.jitter.ms", "log.roll.jitter.hours"), "0"),
}
"""Topic keys whose default brokers keep in hours: the first of the brokers' keys that is set says it, and the default
of the last. Kafka names no synonym for these."""

KEPT_BY_KAFKA = ("min.insync.replicas",)
"""Kafka itself sets it for all brokers, and does not let it be reset, where it elects leaders among eligible replicas
(KIP-966)."""

COLUMNS = ("resource_type", "resource_name", "key", "value", "source")
_CONFIG_COLUMNS = (*COLUMNS, "is_sensitive", "is_read_only", "type", "synonyms", "error", "message")
_OF = ("cluster_id", "snapshot_id")


def findings(configs: pa.Table, reassigning: bool | None = None) -> pa.Table:
    """FINDINGS of CONFIGS: of one cluster, or of several with a `cluster_id`; of snapshots with their `snapshot_id`.

    Both columns, and `taken_at`, are there again in what comes out. Sensitive values are neither compared nor shown.

    Parameters
    ----------
    configs
        What `describe` answers, with the synonyms, or a SNAPSHOT frame of configs.
    reassigning
        Whether a reassignment of partitions is running; None is not known.

    Raises
    ------
    UsageError
        A column is missing.
    Invalid
        A resource and key twice in one cluster: several clusters, or snapshots, that nothing tells apart.
    """
    if missing := [name for name in COLUMNS if name not in configs.column_names]:
        raise UsageError(
            f"the configs have no column {', '.join(missing)}", hint=f"They have {', '.join(configs.column_names)}."
        )
    rows = [{**row, **place} for place, scene in _scenes(relevant(configs)) for row in scene.findings(reassigning)]
    return table(schema_of(configs.column_names), rows)


def schema_of(names: Iterable[str]) -> pa.Schema:
    """FINDINGS, with those of `cluster_id`, `taken_at` and `snapshot_id` that the configs have."""
    names = set(names)
    kinds = {"cluster_id": pa.string(), "taken_at": MOMENT, "snapshot_id": pa.string()}
    further = {name: pa.field(name, kind) for name, kind in kinds.items() if name in names}
    first = [further.pop("cluster_id")] if "cluster_id" in further else []
    return pa.schema([*first, *SCHEMA, *further.values()])


def relevant(configs: pa.Table) -> pa.Table:
    """The rows that a finding can come of: what is set on a resource, all of brokers, and what could not be read."""
    kind, source = (configs[name].cast(pa.string()) for name in ("resource_type", "source"))
    is_set_there = pc.is_in(
        source, pa.array([source_name for name, source_name in OWN_SOURCE.items() if name not in _PASSED_OVER])
    )
    is_relevant = pc.or_kleene(pc.equal(kind, "BROKER"), is_set_there)
    if "error" in configs.column_names:
        is_relevant = pc.or_kleene(is_relevant, pc.is_valid(configs["error"]))
    return configs.filter(is_relevant)


_PASSED_OVER = ("BROKER", "BROKER_LOGGER")


def _scenes(configs: pa.Table) -> Iterator[tuple[Row, _Seen]]:
    """Each cluster at each time, with the columns that say which."""
    by = [name for name in _OF if name in configs.column_names]
    group_columns = [*by, *(["taken_at"] if "taken_at" in configs.column_names else [])]
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    read = configs.select([name for name in (*group_columns, *_CONFIG_COLUMNS) if name in configs.column_names])
    for row in read.to_pylist():
        groups[tuple(row[name] for name in by)].append(row)
    for _, rows in sorted(groups.items(), key=str):
        yield {name: rows[0][name] for name in group_columns}, _Seen.of(rows)


@dataclass(frozen=True)
class _Seen:
    """One cluster's configs at one time. `brokers` are those that were read, with all their rows by key.

    `only_set` says that what is not there is not set, as in a snapshot.
    """

    brokers: Mapping[str, Mapping[str, Row]]
    everywhere: Mapping[str, Row]
    own: Sequence[Row]
    unread: Sequence[Row]
    only_set: bool = False
    values: dict[str, dict[str, str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Seen:
        unread = [row for row in rows if row.get("error") is not None]
        good = [row for row in rows if row.get("error") is None and row["key"] is not None]
        _refuse_twice(good)
        brokers: dict[str, dict[str, Row]] = defaultdict(dict)
        for row in good:
            if row["resource_type"] == "BROKER":
                brokers[row["resource_name"]][row["key"]] = row
        everywhere = brokers.pop("", {})
        set_rows = [row for row in good if _is_set_there(row) and row["value"] is not None and not _is_secret(row)]
        return cls(brokers, everywhere, set_rows, unread, "snapshot_id" in rows[0])

    def findings(self, reassigning: bool | None) -> list[Row]:
        all_findings = [*self._throttles(reassigning), *self._differing(), *self._needless(), *self._unread()]
        order = {word: number for number, word in enumerate(FINDINGS)}
        by = ("resource_type", "resource_name", "key")
        return sorted(
            all_findings, key=lambda r: (order[r["finding"]], r["mend"] is None, *(str(r[name]) for name in by))
        )

    # -- throttles

    def _throttles(self, reassigning: bool | None) -> Iterator[Row]:
        for row in self.own:
            if row["key"] == BETWEEN_DISKS and row["source"] != _STATIC:
                yield _finding(
                    THROTTLE,
                    row,
                    f"{_key_and_resource(row)} throttles; whether disks are being moved to is not known",
                    op=_removal(row),
                )
            elif _is_throttle(row) and not reassigning:
                yield _finding(*_said_of_throttle(row, reassigning), op=_removal(row))

    # -- brokers beside their peers

    def _differing(self) -> Iterator[Row]:
        for key in sorted({key for rows in self.brokers.values() for key in rows}):
            values = self._values(key)
            if len(set(values.values())) > 1 and not _differs_by_nature(key):
                yield from self._outliers(key, values)

    def _values(self, key: str) -> dict[str, str | None]:
        """What each broker goes by, as far as that is known, None where it is not set; nothing of a secret."""
        if key not in self.values:
            rows = {name: configs[key] for name, configs in self.brokers.items() if key in configs}
            secret = any(map(_is_secret, rows.values()))
            self.values[key] = {} if secret else self._with_those_that_lack_it(key, rows)
        return self.values[key]

    def _with_those_that_lack_it(self, key: str, rows: Mapping[str, Row]) -> dict[str, str | None]:
        otherwise = self._otherwise(key, rows.values())
        lacking = self.brokers if otherwise is not None else rows
        return {name: rows[name]["value"] if name in rows else otherwise for name in self.brokers if name in lacking}

    def _otherwise(self, key: str, rows: Iterable[Row]) -> str | None:
        """What a broker goes by that sets nothing itself: what is set for all, or the default that its peers name."""
        if key in self.everywhere:
            return str(self.everywhere[key]["value"])
        below = (s["value"] for row in rows for s in _synonyms(row) if s["source"] == _BUILT_IN and s["key"] == key)
        return next(below, None)

    def _outliers(self, key: str, values: Mapping[str, str | None]) -> Iterator[Row]:
        """Those that do not have what most have; all of them, where no value is that of most."""
        (most, count), *others = Counter(values.values()).most_common()
        peers = [name for name, value in values.items() if value == most]
        if others[0][1] == count:
            yield from (_tied(self._at(key, name, value), values) for name, value in values.items())
        else:
            odd = (self._at(key, name, value) for name, value in values.items() if value != most)
            yield from (_odd(row, self._at(key, peers[0], most), len(peers)) for row in odd)

    def _at(self, key: str, name: str, value: str | None) -> Row:
        """The row of a broker, or what stands for one that it lacks."""
        row = self.brokers[name].get(key, {"resource_type": "BROKER", "resource_name": name, "key": key})
        return {"source": None, **row, "value": value}

    # -- what is set without need

    def _needless(self) -> Iterator[Row]:
        for row in self.own:
            below = None if _is_throttle(row) or _is_kafkas(row) else self._below(row)
            if below and _same(row, below):
                yield _needless(row, below)

    def _below(self, row: Row) -> Row | None:
        """What would hold if the value were not set there, as far as that is certain."""
        if row["resource_type"] == "BROKER":
            return self._below_all(row["key"]) if not row["resource_name"] else _next(row)
        below = _next(row)
        if below is None:
            return self._from_brokers(row["key"]) if row["resource_type"] == "TOPIC" else None
        agreed = below["source"] in (_BUILT_IN, _OF_ALL) or len(set(self._values(below["key"]).values())) < 2
        return below if agreed else None

    def _below_all(self, key: str) -> Row | None:
        """What is below the default for all brokers, where all of them say the same."""
        if key in KEPT_BY_KAFKA:
            return None
        defaults = [_after(_synonyms(rows[key]), _OF_ALL) if key in rows else None for rows in self.brokers.values()]
        first = defaults[0] if defaults else None
        return first if first and all(default and default["value"] == first["value"] for default in defaults) else None

    def _from_brokers(self, key: str) -> Row | None:
        """A topic's default out of what the brokers keep in another unit, where all of them say the same."""
        if key not in BROKERS_UNITS:
            return None
        entries = [self._from_broker(key, rows) for rows in self.brokers.values()]
        first = entries[0] if entries else None
        return first if first and all(entry and _same(first, entry) for entry in entries) else None

    def _from_broker(self, key: str, rows: Mapping[str, Row]) -> Row | None:
        keys, built_in = BROKERS_UNITS[key]
        candidates = (rows.get(name) or self.everywhere.get(name) for name in keys)
        if entry := next((row for row in candidates if row and row["value"] is not None), None):
            return entry
        return {"key": keys[-1], "value": built_in, "source": _BUILT_IN, "type": "INT"} if self.only_set else None

    # -- what nobody could see

    def _unread(self) -> Iterator[Row]:
        for row in self.unread:
            if row["error"] not in _GONE:
                words = f": {row['message']}" if row.get("message") else ""
                message = f"{_resource_of_row(row)} could not be read, {row['error']}{words}"
                yield _finding(UNREAD, {**row, "key": None, "value": None, "source": None}, message)


def _refuse_twice(rows: Iterable[Row]) -> None:
    identities = set()
    for row in rows:
        place = (row["resource_type"], row["resource_name"], row["key"])
        if place in identities:
            raise Invalid(
                f"{_key_and_resource(row)} is there twice",
                hint="Of several clusters a cluster_id tells which, of several snapshots a snapshot_id.",
            )
        identities.add(place)


def _is_set_there(row: Row) -> bool:
    """Whether the value is set on that very resource; of a broker also in its file."""
    kind, name = row["resource_type"], row["resource_name"]
    if kind == "BROKER_LOGGER":
        return False
    in_its_file = [_STATIC] if kind == "BROKER" and name else []
    return row["source"] in [Resource(kind, name).source, *in_its_file]


def _is_secret(row: Row) -> bool:
    return bool(row.get("is_sensitive")) or is_called_so(row["key"])


def _is_throttle(row: Row) -> bool:
    return row["key"] in THROTTLES.get(row["resource_type"], ()) and bool(row["value"])


def _is_kafkas(row: Row) -> bool:
    """Whether it is of a topic that Kafka, or a tool, keeps for itself: what is set there is meant."""
    return row["resource_type"] == "TOPIC" and str(row["resource_name"]).startswith("__")


def _said_of_throttle(row: Row, reassigning: bool | None) -> tuple[str, Row, str]:
    if reassigning is None:
        return THROTTLE, row, f"{_key_and_resource(row)} throttles; whether a reassignment is running is not known"
    return LEFTOVER, row, f"{_key_and_resource(row)} throttles, and no reassignment is running"


def _differs_by_nature(key: str) -> bool:
    """Throttles are told apart from the rest elsewhere."""
    plain = key.split(".", 3)[-1] if key.startswith("listener.name.") else key
    return plain in BY_NATURE or key in THROTTLES["BROKER"]


def _synonyms(row: Row) -> Sequence[Row]:
    return row.get("synonyms") or ()


def _next(row: Row) -> Row | None:
    """What the broker says would come next."""
    return _after(_synonyms(row), row["source"])


def _after(synonyms: Sequence[Row], source: str) -> Row | None:
    sources = [synonym["source"] for synonym in synonyms]
    if source not in sources:
        return None
    lower = synonyms[sources.index(source) + 1 :]
    return next((synonym for synonym in lower if synonym["value"] is not None), None)


def _same(row: Row, below: Row) -> bool:
    """Whether two values say the same, each in the unit of its key."""
    if str(row["value"]) == below["value"] and _unit(row["key"]) == _unit(below["key"]):
        return True
    value, value_below = _numeric_value(row, row), _numeric_value(below, row)
    return value is not None and value == value_below


def _numeric_value(entry: Row, typed: Row) -> float | None:
    if typed.get("type") not in _NUMBERS:
        return None
    try:
        return float(entry["value"]) * _unit(entry["key"])
    except ValueError:
        return None


def _unit(key: str) -> int:
    """Milliseconds in the unit that ends a key's name; 1 where none does."""
    return _MILLISECONDS.get(key.rpartition(".")[2], 1)


def _needless(row: Row, below: Row) -> Row:
    if below["source"] == _BUILT_IN:
        word, says = DEFAULT, "the default anyway"
    else:
        word, says = REPEATS, f"as {_where(below)} says already"
    unit = "" if below["key"] == row["key"] else f" ({below['key']}={below['value']})"
    message = f"{_key_and_resource(row)} is {row['value']}, {says}{unit}"
    if row["source"] == _STATIC:
        message += "; it stands in its server.properties"
    return _finding(word, row, message, row["value"], below["source"], _removal(row))


def _where(below: Row) -> str:
    places = {_OF_ALL: "the default of all brokers", _STATIC: "server.properties"}
    return places.get(below["source"], "the broker")


def _finding(
    word: str, row: Row, message: str, expected: str | None = None, source: str | None = None, op: str | None = None
) -> Row:
    same = {name: row.get(name) for name in (*COLUMNS, "error")}
    mending = {"expected": expected, "expected_source": source, "op": op, "mend": _mending_line(op, row, expected)}
    return {**same, "finding": word, "message": message, **mending}


def _mending_line(op: str | None, row: Row, expected: str | None) -> str | None:
    if op == SET:
        return f"config set {format_word(row['key'], str(expected))} {_resource_of_row(row)}"
    return f"config reset {quote(row['key'])} {_resource_of_row(row)}" if op else None


def _removal(row: Row) -> str | None:
    """The operation that takes a value away; none for what stands in a broker's file."""
    return None if row["source"] == _STATIC else DELETE


def _tied(row: Row, values: Mapping[str, str | None]) -> Row:
    """A broker beside peers of which none is the usual one."""
    others = ((_value_text(value), name) for name, value in values.items() if name != row["resource_name"])
    peers = ", ".join(f"{value} with broker {name}" for value, name in others)
    return _finding(DIFFERS, row, f"{_key_and_resource(row)} is {_value_text(row['value'])}, but {peers}")


def _odd(row: Row, usual: Row, count: int) -> Row:
    """A broker beside its peers, of which so many are alike."""
    peers = f"broker {usual['resource_name']}" if count == 1 else f"{count} others"
    message = f"{_key_and_resource(row)} is {_value_text(row['value'])}, but {_value_text(usual['value'])} with {peers}"
    return _finding(DIFFERS, row, message, usual["value"], usual["source"], _alike(row, usual["value"]))


def _value_text(value: str | None) -> str:
    return "not set" if value is None else value or "empty"


def _alike(row: Row, usual: str | None) -> str | None:
    """The operation that makes a broker like its peers, where one can."""
    below = (
        synonym["value"]
        for synonym in _synonyms(row)
        if synonym["key"] == row["key"] and synonym["source"] != row["source"]
    )
    if row["source"] == "DYNAMIC_BROKER_CONFIG" and next(below, None) == usual:
        return _removal(row)
    return SET if row.get("is_read_only") is False and usual else None


def _resource_of_row(row: Row) -> str:
    return str(Resource(row["resource_type"], row["resource_name"]))


def _key_and_resource(row: Row) -> str:
    return f"{row['key']} of {_resource_of_row(row)}"
