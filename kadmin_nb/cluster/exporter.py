"""What a scrape of a cluster finds, in the words of Prometheus: parts that are read side by side, within bounds, and a
bounded number of series; as a collector of `prometheus_client`, as text, and served to who asks for it."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIServer

import pyarrow as pa
import pyarrow.compute as pc

from .. import files
from ..errors import Invalid, KadminError, NotKnowable, Unsupported, UsageError, printable
from ..frames import ARROW
from ..frames.answer import Answer
from ..frames.relational import of_cluster
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS
from ..resolution import kernel
from ..usage.engines import placed_usage, utilisation_answer
from . import resolving

try:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.exposition import choose_encoder, generate_latest, make_wsgi_app, start_http_server
    from prometheus_client.registry import Collector, CollectorRegistry
except ModuleNotFoundError:
    raise Unsupported("prometheus_client is not installed", hint="pip install 'kadmin_nb[metrics]'.") from None

if TYPE_CHECKING:
    from . import Cluster

BOUND, ALONE = 8.0, 60.0
"""Seconds of a scrape: Prometheus waits for 10 unless it is told otherwise; one that nobody waits for may take longer.
"""

LAST = timedelta(minutes=5)
"""The time before the newest window of the usage that is looked at."""

Say = Callable[[str], None]

MOST, LARGEST_MOST = 50, 150
"""The limits of each key that have a series of their own: as usual, and at most, with which a scrape stays below 5,000
series."""

REST = "rest"
"""The `level` of the one series of a key that stands for all others; no level of Kafka's is called so."""

LONGEST = 200
"""Characters of a label: a client chooses its names, and may choose 32,000 characters."""

Samples = Iterable[tuple[Sequence[str], float]]
"""The values of the labels, and the value."""

UNITS = {
    "producer_byte_rate": ("bytes_per_second", 1.0),
    "consumer_byte_rate": ("bytes_per_second", 1.0),
    "request_percentage": ("request_time_ratio", 0.01),
    "controller_mutation_rate": ("mutations_per_second", 1.0),
}
"""The base unit of each key, and what its value is multiplied by; 1 of request time is one thread."""

_WORDS = {
    "bytes_per_second": "Bytes per second",
    "request_time_ratio": "Time of request threads (1 is one thread)",
    "mutations_per_second": "Partitions created and deleted per second",
}
BUCKET = ("key", "level", "user", "client_id")
_ON = (*BUCKET, "broker")

_OF_USE = {
    "utilisation_ratio": ("utilisation", 0.01, "What the busiest window used of the limit"),
    "throttle_seconds": ("throttle_ms", 0.001, "The longest throttle of the time looked at"),
    "throttled_ratio": ("share_throttled", 1.0, "The share of windows with a throttle"),
}
"""What a metric is made of: a column, and what its value is multiplied by."""

FIGURES = ("limit", "peak", *(column for column, _, _ in _OF_USE.values()))
"""The columns of used buckets, which are UTILISATION's."""

METRICS: dict[str, tuple[Sequence[str], str]] = {
    "up": ((), "1 if the quotas of the cluster could be read."),
    "cluster_info": (("cluster_id", "version", "brokers"), "The cluster."),
    **{f"limit_{unit}": (BUCKET, f"{words} that a bucket may use on each broker; level rest: the sum of all others.")
       for unit, words in _WORDS.items()},
    "limit_connections_per_second": (("level", "ip"), "New connections per second that an address may make to each "
                                                      "broker; level rest: the sum of all others."),
    **{name: (_ON, f"{words}; level rest: the most of all others.") for name, (_, _, words) in _OF_USE.items()},
    **{f"used_{unit}": (_ON, f"{words} that a bucket used in its busiest window; level rest: the sum of all others.")
       for unit, words in _WORDS.items()},
    "usage_timestamp_seconds": ((), "The end of the newest window of the usage, in seconds since 1970."),
    "part_success": (("part",), "1 if this part of the scrape was read."),
    "scrape_errors": (("part",), "Readings that failed or were too slow."),
}  # fmt: skip
"""The labels of each metric, and its help."""


class ClusterCollector(Collector):
    """The metrics of a cluster, for any number of scrapes.

    Parameters
    ----------
    usage
        USAGE, or what returns it, asked at each scrape.
    most
        The number of limits of each key that have series of their own; the others are one series.
    say
        Called with a line where a part of a scrape fails otherwise than before.
    within
        Seconds that a scrape takes at most.

    Raises
    ------
    UsageError
        `most` is out of bounds.
    """

    def __init__(
        self, cluster: Cluster, usage: object = None, *, most: int = MOST,
        assume_default: bool = False, say: Say = lambda line: None, within: float = BOUND,
    ) -> None:  # fmt: skip
        if not 1 <= most <= LARGEST_MOST:
            raise UsageError(f"the most of each key cannot be {most}", hint=f"1 to {LARGEST_MOST}.")
        self.within = within
        self._kafka, self._usage, self._most = cluster.port, usage, most
        self._assume_default = assume_default
        self._limits = Reading("limits", self._read_limits, say)
        self._readings = [self._limits]
        if usage is not None:
            self._readings.append(Reading("usage", self._read_usage, say))

    def collect(self) -> Iterable[Metric]:
        """The metrics of now."""
        until = time.monotonic() + self.within
        for reading in self._readings:
            reading.start()
        for reading in self._readings:
            reading.wait(until)
        found = {name: value for reading in self._readings for name, value in reading.found.items()}
        quotas, used = found.pop("quotas", None), found.pop("used", None)
        found["up"] = [([], quotas is not None)]
        found["part_success"] = [([reading.name], bool(reading.found)) for reading in self._readings]
        found["scrape_errors"] = [([reading.name], reading.errors) for reading in self._readings]
        limits = of_limits(quotas, used, self._most) if quotas is not None else {}
        return families({**found, **limits, **(of_use(used, self._most) if used is not None else {})})

    # --- what is read ---

    def _read_limits(self) -> dict[str, Any]:
        marks = resolving.marks(self._kafka, self._assume_default)
        told = [self._kafka.id, self._kafka.version, marks[resolving.BROKERS]]
        return {"cluster_info": [(told, 1)], "quotas": self._kafka.quotas.describe()}

    def _read_usage(self) -> dict[str, Any]:
        self._limits.wait(time.monotonic() + ALONE)
        if (quotas := self._limits.found.get("quotas")) is None:
            raise NotKnowable("the limits are not known")
        given: Any = self._usage() if callable(self._usage) else self._usage
        rows, newest = _newest(of_cluster(placed_usage(given, ARROW), self._kafka.id))
        used = utilisation_answer(rows, quotas, self._kafka.id, None, {})
        return {"used": _used(used), "usage_timestamp_seconds": newest}


class Reading:
    """A part of a scrape, read by a thread of its own: one at a time, waited for within bounds.

    `found` is what the last reading found; nothing after one that failed.
    """

    def __init__(self, name: str, read: Callable[[], dict[str, Any]], say: Say) -> None:
        self.name, self._read, self._say = name, read, say
        self.found: dict[str, Any] = {}
        self.errors, self._why, self._done = 0, "", Event()
        self._done.set()

    def start(self) -> None:
        """Read, unless a reading is under way."""
        if self._done.is_set():
            self._done.clear()
            Thread(target=self._run, name=f"kadmin-metrics-{self.name}", daemon=True).start()

    def wait(self, until: float) -> None:
        """Wait for the reading under way."""
        if not self._done.wait(max(0.0, until - time.monotonic())):
            self._fail("not read in time")

    def _run(self) -> None:
        try:
            self.found, self._why = self._read(), ""
        except Exception as exc:
            self._fail(f"{type(exc).__name__}: {exc}" if isinstance(exc, KadminError) else repr(exc))
        finally:
            self._done.set()

    def _fail(self, why: str) -> None:
        """Count it, and say it where the reading before it did not fail so."""
        self.found, self.errors = {}, self.errors + 1
        if why != self._why:
            self._why = why
            self._say(printable(f"{self.name}: {why}"))


def _newest(rows: pa.Table) -> tuple[pa.Table, list[tuple[list[str], float]]]:
    """The rows of the last minutes of a usage, and the sample of its end."""
    newest = pc.max(rows["window_end"]).as_py() if "window_end" in rows.column_names else None
    if not isinstance(newest, datetime):
        return rows, []
    since = pa.scalar(newest - LAST, rows["window_end"].type)
    return rows.filter(pc.greater(rows["window_end"], since)), [([], newest.timestamp())]


def _used(utilised: Answer) -> pa.Table:
    """The rows of UTILISATION that have a limit, each bucket and broker once."""
    rows = utilised.to_arrow()
    known = pc.is_in(rows["key"].cast(pa.string()), pa.array([*UNITS], pa.string()))
    rows = rows.filter(pc.and_(pc.is_valid(rows["limit"]), known))
    return each_once(
        pa.table({**buckets_of(rows), **{name: rows[name] for name in ("broker", *FIGURES)}}), _ON, FIGURES
    )


# --- a bounded number of series ---


def families(found: Mapping[str, Samples]) -> list[Metric]:
    """The metrics that have samples."""
    made = (_family(name, *METRICS[name], found[name]) for name in METRICS if name in found)
    return [metric for metric in made if metric.samples]


def _family(name: str, labels: Sequence[str], words: str, samples: Samples) -> Metric:
    unit = next((unit for unit in ("seconds", "ratio", "bytes_per_second") if name.endswith(f"_{unit}")), "")
    kind: Callable[..., Any] = CounterMetricFamily if name == "scrape_errors" else GaugeMetricFamily
    family = kind(f"kadmin_nb_{name}", words, labels=[*labels], unit=unit)
    for values, value in samples:
        family.add_metric([*map(label, values)], float(value))
    made: Metric = family
    return made


def label(text: str) -> str:
    """The value of a label: a text that is longer than any real name is cut, and differs from all others still."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}…{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def of_limits(quotas: pa.Table, used: pa.Table | None, most: int) -> dict[str, Samples]:
    """The limits of buckets and addresses: of each key the `most` buckets that use most
    of their limit, then the lowest limits, and one sample of the rest."""
    limits, order = _resolved(quotas), [(name, "ascending") for name in ("limit", "user", "client_id", "level")]
    if used is not None:
        fullest = used.group_by([*BUCKET]).aggregate([("utilisation", "max")])
        both = pa.concat_tables([limits, used.select(limits.column_names).cast(limits.schema)])
        limits = each_once(both, BUCKET, ["limit"]).join(fullest, [*BUCKET])
        order = [("utilisation_max", "descending"), *order]
    of_units = {f"limit_{unit}": _samples(rows, BUCKET, "limit", most) for unit, rows in _by_unit(limits, order)}
    addresses = quotas.filter(pc.equal(quotas["key"].cast(pa.string()), IP_KEYS[0])).sort_by("value")
    of_addresses = _samples([addresses], ("level", "ip"), "value", most)
    return {**of_units, "limit_connections_per_second": of_addresses}


def _resolved(quotas: pa.Table) -> pa.Table:
    """The limit of each bucket of the clients that quotas name."""
    known = quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), pa.array([*LEVELS_BY_NAME], pa.string())))
    clients = known.select(["user", "client_id"]).group_by(["user", "client_id"]).aggregate([])
    bound = kernel.resolve_general(quotas, clients, keys=USER_CLIENT_KEYS)
    bound = bound.filter(pc.is_valid(bound["value"]))
    return each_once(pa.table({**buckets_of(bound), "limit": bound["value"]}), BUCKET, ["limit"])


def buckets_of(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    """The buckets of EFFECTIVE or UTILISATION; a name is "" where it is not part of the bucket, and where it means each
    name that no quota has."""
    columns = zip(BUCKET, ("key", "level", "bucket_user", "bucket_client_id"), strict=True)
    return {name: pc.fill_null(rows[column].cast(pa.string()), "") for name, column in columns}


def each_once(rows: pa.Table, whose: Sequence[str], figures: Sequence[str]) -> pa.Table:
    """The most of each figure, of each bucket once."""
    once = rows.group_by([*whose]).aggregate([(name, "max") for name in figures])
    return once.rename_columns({f"{name}_max": name for name in figures}).select([*whose, *figures])


def of_use(used: pa.Table, most: int) -> dict[str, Samples]:
    """What buckets used and how they were throttled, on each broker; the ones that use most of their limit first."""
    order = [("utilisation", "descending"), ("throttle_ms", "descending"), *((name, "ascending") for name in _ON)]
    units = dict(_by_unit(used, order))
    rows = [*chain(*units.values())]
    of_buckets = {name: _samples(rows, _ON, column, most, by) for name, (column, by, _) in _OF_USE.items()}
    return of_buckets | {f"used_{unit}": _samples(rows, _ON, "peak", most) for unit, rows in units.items()}


def _by_unit(rows: pa.Table, order: Sequence[tuple[str, str]]) -> Iterator[tuple[str, list[pa.Table]]]:
    """The ordered rows of each key that has any, by the unit of keys."""
    ordered = rows.sort_by([*order])
    for unit in _WORDS:
        parts = (ordered.filter(pc.equal(ordered["key"], key)) for key in UNITS if UNITS[key][0] == unit)
        yield unit, [part for part in parts if len(part)]


def _samples(
    parts: Iterable[pa.Table], labels: Sequence[str], column: str, most: int, times: float | None = None
) -> Samples:
    """Of each part the first rows that have a value, and one sample of all others: their sum in the unit of the key;
    where the value is multiplied otherwise, the most of them."""
    for rows in parts:
        first, others = rows.slice(0, most).to_pylist(), rows.slice(most)[column]
        rest = {"key": str(rows["key"][0]) if len(rows) else "", "level": REST}
        by = UNITS.get(rest["key"], ("", 1.0))[1] if times is None else times
        value = (pc.sum if times is None else pc.max)(others).as_py()
        for row in [*first, {**rest, column: value}]:
            if row[column] is not None:
                yield ["" if row.get(name) is None else str(row[name]) for name in labels], row[column] * by


# --- text, and a server ---

LISTEN = "127.0.0.1:9649"
PATIENCE = 5.0
"""Seconds that a connection may be silent, before it asks as well as while it is answered."""


def text_of(collector: Collector) -> str:
    """OpenMetrics."""
    return choose_encoder("application/openmetrics-text; version=1.0.0")[0](collector).decode()


def plain_text_of(collector: Collector) -> str:
    """Prometheus' older text, which the textfile collector of node_exporter reads."""
    return generate_latest(collector).decode()


def serve(collector: Collector, listen: str = LISTEN, hosts: Iterable[str] = ()) -> WSGIServer:
    """The server that answers with the metrics at `listen`, `HOST:PORT` with an IPv6 address in brackets.

    A page of somebody else whose name was made to lead here asks by that name, and is refused: it answers to addresses,
    localhost, the name of this machine and `hosts`.

    Raises
    ------
    UsageError
        It is not such an address.
    Invalid
        Something else listens there, or we may not.
    """
    place = re.fullmatch(r"(localhost|[\d.]+|\[[\da-f:.]+\]):(\d{1,5})", listen)
    if place is None or int(place[2]) > 65535:
        raise UsageError(f"{listen} is not an address to listen on", hint="For example 127.0.0.1:9649.")
    names = "|".join(map(re.escape, ("localhost", socket.gethostname(), *hosts)))
    is_ours = re.compile(rf"({names}|\d+(\.\d+){{3}}|\[[\da-f:.]+\])(:\d+)?", re.IGNORECASE | re.ASCII)
    app = make_wsgi_app(collector)

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if is_ours.fullmatch(environ.get("HTTP_HOST", "localhost")):
            return app({**environ, "QUERY_STRING": ""}, start_response)
        start_response("421 Misdirected Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"ask by an address, or by a name given as --host\n"]

    try:
        server, _ = start_http_server(int(place[2]), place[1].strip("[]"), CollectorRegistry())
    except OSError as exc:
        raise Invalid(f"cannot listen on {listen}: {exc.strerror or exc}", hint="Name another port.") from None
    handler: Any = server.RequestHandlerClass
    server.RequestHandlerClass = type("Handler", (handler,), {"timeout": PATIENCE})
    server.set_app(answer)
    return server


def text_of_one_scrape(
    cluster: Cluster, usage: object, most: int | None,
    textfile: str | os.PathLike[str] | None, assume_default: bool,
) -> str:  # fmt: skip
    """See `Cluster.metrics`."""
    problems = list[str]()
    how: dict[str, Any] = {"most": MOST if most is None else most, "assume_default": assume_default}
    collector = ClusterCollector(cluster, usage, **how, say=problems.append, within=ALONE)
    text = text_of(collector) if textfile is None else plain_text_of(collector)
    for problem in problems:
        warnings.warn(problem, stacklevel=3)
    if textfile is not None:
        files.write(Path(textfile), text)
    return text
