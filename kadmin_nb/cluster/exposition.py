"""What a scrape found, as metrics in the words of Prometheus: bytes, seconds and ratios, a bounded number of series."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..advice import FINDINGS as CONFIG_FINDINGS
from ..advice import UNREAD
from ..errors import Unsupported
from ..model.findings import UNKNOWN, WARNING
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import IP_KEYS, QUOTA_KEYS, USER_CLIENT_KEYS
from ..resolution import kernel
from ..usage.broker_utilisation import DIFFERS

try:
    from prometheus_client import make_wsgi_app
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector
except ModuleNotFoundError:
    raise Unsupported("prometheus_client is not installed", hint="pip install 'kadmin_nb[metrics]'.") from None

MOST, LARGEST_MOST = 50, 150
"""The limits of each key that have a series of their own: as usual, and at most, with which a scrape stays below 5,000
series."""

PREFIX = "kadmin_nb_"
REST = "rest"
"""The `level` of the one series of a key that stands for all others; no level of Kafka's is called so."""

LONGEST = 200
"""Characters of a label: a client chooses its names, and may choose 32,000 characters."""

UNITS = {
    "producer_byte_rate": ("bytes_per_second", 1.0),
    "consumer_byte_rate": ("bytes_per_second", 1.0),
    "request_percentage": ("request_time_ratio", 0.01),
    "controller_mutation_rate": ("mutations_per_second", 1.0),
    "connection_creation_rate": ("connections_per_second", 1.0),
}
"""The base unit of each key, and what its value is multiplied by; 1 of request time is one thread."""

_WORDS = {
    "bytes_per_second": "Bytes per second",
    "request_time_ratio": "Time of request threads (1 is one thread)",
    "mutations_per_second": "Partitions created and deleted per second",
    "connections_per_second": "New connections per second",
}

FINDINGS = {
    **{code: UNKNOWN if code == UNREAD else WARNING for code in CONFIG_FINDINGS},
    "shadowed": WARNING,
    "redundant": WARNING,
    "unlimited": WARNING,
}
"""The findings that are counted, and their severity."""

BUCKET = ("key", "level", "user", "client_id")


@dataclass
class Part:
    """How one part of a scrape went: whether it was read, when last, how long it took, how often it failed."""

    success: bool
    seconds: float
    at: float | None
    errors: int


@dataclass
class Facts:
    """What is known of a cluster; None or empty where it was not read or not asked for.

    `quotas` are QUOTAS; `used` is UTILISATION with `measured`, the brokers' own ratio; `findings` are counted by code
    and severity, `drift` by kind and state, `plans` by state.
    """

    cluster: Mapping[str, str] = field(default_factory=dict)
    quotas: pa.Table | None = None
    used: pa.Table | None = None
    used_until: float | None = None
    findings: Mapping[tuple[str, str], int] | None = None
    differing: int | None = None
    drift: Mapping[tuple[str, str], int] | None = None
    plans: Mapping[str, int] | None = None
    unfinished_since: float | None = None
    lease: Mapping[str, Any] | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)


class _Collected(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = [*families]

    def collect(self) -> Iterable[Metric]:
        return self._families


def text_of(families: Iterable[Metric]) -> str:
    """OpenMetrics."""
    return _encoded(families, "application/openmetrics-text; version=1.0.0")


def plain_text_of(families: Iterable[Metric]) -> str:
    """Prometheus' older text, which the textfile collector of node_exporter reads."""
    return _encoded(families, "text/plain")


def _encoded(families: Iterable[Metric], accept: str) -> str:
    encode, _ = choose_encoder(accept)
    return encode(_Collected(families)).decode()


def app_of(families: Iterable[Metric]) -> Callable[..., list[bytes]]:
    """The WSGI application that answers with them, in the format and the compression that a request asks for."""
    app: Callable[..., list[bytes]] = make_wsgi_app(_Collected(families))
    return app


def families(facts: Facts, most: int = MOST) -> list[Metric]:
    """The metrics of these facts; of each key the `most` limits that are used most, and one series of the rest."""
    return [metric for metric in _families(facts, most) if metric.samples]


def _families(facts: Facts, most: int) -> Iterator[Metric]:
    yield _gauge("up", "1 if the quotas of the cluster could be read.", [], [([], float(facts.quotas is not None))])
    if facts.cluster:
        yield _gauge("cluster_info", "The cluster.", [*facts.cluster], [([*facts.cluster.values()], 1.0)])
    if facts.quotas is not None:
        yield _stored(facts.quotas)
    limits = pa.concat_tables([*_limits(facts)])
    yield from _of_limits(_by_use(limits, facts.used), most)
    if facts.quotas is not None:
        yield from _of_addresses(facts.quotas, most)
    if facts.used is not None:
        yield from _of_use(facts.used, most)
    if facts.used_until is not None:
        help_text = "The end of the newest window of the usage, in seconds since 1970."
        yield _gauge("usage_timestamp_seconds", help_text, [], [([], facts.used_until)])
    yield from _of_findings(facts)
    if facts.drift is not None:
        help_text = "Rows that differ from the declared file or the snapshot."
        yield _gauge("drift_rows", help_text, ["kind", "state"], facts.drift.items())
    yield from _of_plans(facts)
    yield from _of_lease(facts.lease)
    yield from _of_parts(facts.parts)


# --- limits ---


def _stored(quotas: pa.Table) -> Metric:
    """The number of quotas by level and key; keys that this version does not know count as one."""
    known = pc.is_in(quotas["key"].cast(pa.string()), pa.array([key.name for key in QUOTA_KEYS], pa.string()))
    keys = pc.if_else(known, quotas["key"].cast(pa.string()), "other")
    table = pa.table({"level": quotas["level"].cast(pa.string()), "key": keys})
    counts = table.group_by(["level", "key"]).aggregate([([], "count_all")]).sort_by("key").to_pylist()
    rows = (((row["level"], row["key"]), row["count_all"]) for row in counts)
    return _gauge("quotas", "Quotas as stored.", ["level", "key"], rows)


_LIMITS = pa.schema([*((name, pa.string()) for name in BUCKET), ("value", pa.float64())])


def _limits(facts: Facts) -> Iterator[pa.Table]:
    """The buckets, each with its limit: of the clients that quotas name, and of those that the usage has."""
    yield _LIMITS.empty_table()
    if facts.quotas is not None:
        yield resolved_limits(facts.quotas)
    if facts.used is not None:
        used = facts.used.select([*BUCKET, "limit"]).rename_columns(_LIMITS.names)
        yield used.cast(_LIMITS)


def resolved_limits(quotas: pa.Table) -> pa.Table:
    """The limit of each bucket of the clients that quotas name; a name is "" where it is not part of the bucket, and
    where it stands for each that no quota names."""
    stored = quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), pa.array([*LEVELS_BY_NAME], pa.string())))
    clients = stored.select(["user", "client_id"]).group_by(["user", "client_id"]).aggregate([])
    bound = kernel.resolve_general(quotas, clients, keys=USER_CLIENT_KEYS)
    bound = bound.filter(pc.is_valid(bound["value"]))
    columns = {"key": bound["key"], "level": bound["level"], "user": bound["bucket_user"],
               "client_id": bound["bucket_client_id"]}  # fmt: skip
    texts = {name: pc.fill_null(column.cast(pa.string()), "") for name, column in columns.items()}
    return _each_bucket(pa.table({**texts, "value": bound["value"]}))


def _each_bucket(limits: pa.Table) -> pa.Table:
    once = limits.group_by([*BUCKET]).aggregate([("value", "max")])
    return once.rename_columns({"value_max": "value"}).select(_LIMITS.names)


def _by_use(limits: pa.Table, used: pa.Table | None) -> pa.Table:
    """Each bucket once, those that use most of their limit first, then the lowest limits."""
    order = [("value", "ascending"), ("user", "ascending"), ("client_id", "ascending"), ("level", "ascending")]
    once = _each_bucket(limits)
    if used is not None:
        fullest = used.group_by([*BUCKET]).aggregate([("ratio", "max")])
        once, order = once.join(fullest, [*BUCKET]), [("ratio_max", "descending"), *order]
    return once.sort_by(order)


def _of_limits(limits: pa.Table, most: int) -> Iterator[Metric]:
    """A metric for each unit."""
    place = limits.column_names.index("value")
    in_base_units = limits.set_column(place, "value", pc.multiply(limits["value"], to_base_unit(limits["key"])))
    for unit, parts in _by_unit(in_base_units):
        words = f"{_WORDS[unit]} that a bucket may use on each broker; level rest: the sum of all others."
        yield _gauge(f"limit_{unit}", words, BUCKET, _samples(parts, BUCKET, "value", most, pc.sum))


def _of_addresses(quotas: pa.Table, most: int) -> Iterator[Metric]:
    """The limits of addresses, the lowest first; of all addresses without a quota of their own, `ip` is ""."""
    key, labels = IP_KEYS[0], ["level", "ip"]
    rows = quotas.filter(pc.equal(quotas["key"].cast(pa.string()), key)).sort_by([("value", "ascending")])
    unit = UNITS[key][0]
    words = f"{_WORDS[unit]} that an address may make to each broker; level rest: the sum of all others."
    yield _gauge(f"limit_{unit}", words, labels, _samples([rows], labels, "value", most, pc.sum))


def to_base_unit(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """What a value of each key is multiplied by, for its base unit."""
    return pc.take(pa.array([times for _, times in UNITS.values()]), pc.index_in(keys, pa.array([*UNITS], pa.string())))


def _by_unit(rows: pa.Table) -> Iterator[tuple[str, list[pa.Table]]]:
    """The rows of each key that has any, by the unit of keys."""
    for unit in dict.fromkeys(unit for unit, _ in UNITS.values()):
        parts = (rows.filter(pc.equal(rows["key"], key)) for key in USER_CLIENT_KEYS if UNITS[key][0] == unit)
        yield unit, [part for part in parts if len(part)]


def _samples(
    parts: Iterable[pa.Table], labels: Sequence[str], column: str, most: int, of_rest: Any
) -> Iterator[tuple[list[str], float]]:
    """Of each part the first rows that have a value, and one sample of all others."""
    for rows in parts:
        for row in rows.slice(0, most).to_pylist():
            if row[column] is not None:
                yield ["" if row[name] is None else str(row[name]) for name in labels], row[column]
        value = of_rest(rows.slice(most)[column]).as_py()
        if value is not None:
            rest = {"key": str(rows["key"][0]), "level": REST}
            yield [rest.get(name, "") for name in labels], value


# --- use ---

_OF_USE = (
    ("utilisation_ratio", "ratio", "What the busiest window used of the limit; level rest: the most of all others."),
    ("broker_utilisation_ratio", "measured", "The same as the broker measures it (KIP-1373), where it does."),
    ("throttle_seconds", "throttle", "The longest throttle of the time looked at; level rest: the most of all others."),
    ("throttled_ratio", "throttled", "The share of windows with a throttle; level rest: the most of all others."),
)


def _of_use(used: pa.Table, most: int) -> Iterator[Metric]:
    """Of each bucket and broker."""
    order = [("ratio", "descending"), ("throttle", "descending"), *((name, "ascending") for name in BUCKET)]
    ordered = used.sort_by([*order, ("broker", "ascending")])
    units, labels = dict(_by_unit(ordered)), [*BUCKET, "broker"]
    for name, column, words in _OF_USE:
        yield _gauge(name, words, labels, _samples(chain(*units.values()), labels, column, most, pc.max))
    for unit, parts in units.items():
        words = f"{_WORDS[unit]} that a bucket used in its busiest window; level rest: the sum of all others."
        yield _gauge(f"used_{unit}", words, labels, _samples(parts, labels, "used", most, pc.sum))


# --- findings, plans, the lease, and the scrape itself ---


def _of_findings(facts: Facts) -> Iterator[Metric]:
    counts: dict[tuple[str, str], int] = {}
    if facts.findings is not None:
        counts = {**dict.fromkeys(FINDINGS.items(), 0), **facts.findings}
    if facts.differing is not None:
        counts[DIFFERS, WARNING] = facts.differing
    if counts:
        yield _gauge("findings", "What reviews of quotas and configs found.", ["code", "severity"], counts.items())


def _of_plans(facts: Facts) -> Iterator[Metric]:
    if facts.plans is not None:
        words = "Plans with a journal here; unfinished: rows are left, or what became of them is unknown."
        yield _gauge("plans", words, ["state"], _by_state(facts.plans))
    if facts.unfinished_since is not None:
        words = "When the oldest unfinished plan was made, in seconds since 1970."
        yield _gauge("plan_unfinished_timestamp_seconds", words, [], [([], facts.unfinished_since)])


def _by_state(counts: Mapping[str, int]) -> Iterator[tuple[list[str], float]]:
    return (([state], count) for state, count in counts.items())


def _of_lease(lease: Mapping[str, Any] | None) -> Iterator[Metric]:
    if lease is None:
        return
    yield _gauge("lease_held", "1 while an editor keeps others out.", [], [([], float(bool(lease)))])
    if lease:
        whose = {name: lease[name] for name in ("holder", "host", "plan")}
        yield _gauge("lease_info", "Who holds the lease.", [*whose], [([*whose.values()], 1.0)])
    if lease and lease["taken"] is not None:
        words = "When it was taken, in seconds since 1970."
        yield _gauge("lease_taken_timestamp_seconds", words, [], [([], lease["taken"])])


def _of_parts(parts: Mapping[str, Part]) -> Iterator[Metric]:
    each = partial(_gauge, labels=["part"])
    read = {name: part for name, part in parts.items() if part.at is not None}
    yield each("part_success", "1 if this part of the scrape was read.",
               samples=(([name], float(part.success)) for name, part in parts.items()))  # fmt: skip
    yield each("part_duration_seconds", "How long its last reading took.",
               samples=(([name], part.seconds) for name, part in read.items()))  # fmt: skip
    yield each("part_timestamp_seconds", "When it was last read, in seconds since 1970.",
               samples=(([name], part.at) for name, part in read.items()))  # fmt: skip
    errors = CounterMetricFamily(f"{PREFIX}scrape_errors", "Readings that failed or were too slow.", labels=["part"])
    for name, part in parts.items():
        errors.add_metric([name], part.errors)
    yield errors


def _gauge(name: str, words: str, labels: Collection[str], samples: Iterable[tuple[Sequence[str], Any]]) -> Metric:
    unit = next((unit for unit in ("seconds", "ratio", "bytes_per_second") if name.endswith(f"_{unit}")), "")
    family = GaugeMetricFamily(f"{PREFIX}{name}", words, labels=[*labels], unit=unit)
    for values, value in samples:
        family.add_metric([*map(label, values)], float(value))
    return family


def label(text: str) -> str:
    """The value of a label: a text that is longer than any name somebody meant is cut, and stays one of its own."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}…{hashlib.sha256(text.encode()).hexdigest()[:12]}"
