"""USAGE out of the brokers' own metrics: what each bucket used, as Kafka measures it."""

from __future__ import annotations

import base64
import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc

from .. import documents, web
from ..errors import (
    AuthenticationFailed,
    ConnectionFailed,
    Invalid,
    KadminError,
    NotAuthorized,
    NotFound,
    TimedOut,
    UsageError,
)
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.relational import cluster_of, framed, in_arrow, kinds_of, of_kinds
from ..hints import Hint, Option, sentence
from ..resolution.input_columns import CLUSTER, led
from ..secrets import Secret, revealed

WINDOW = 11.0
"""Seconds that a broker's rate looks back: `quota.window.num` x `quota.window.size.seconds`."""

RATES = {
    ("produce", "byte-rate"): "producer_byte_rate",
    ("fetch", "byte-rate"): "consumer_byte_rate",
    ("request", "request-time"): "request_percentage",
}
"""The key that each metric is the use of, by its `type` and `name`."""

CLIENT_ID = ("client_id", "client-id")
"""The names that the tag goes by."""

_GIVEN = kinds_of(pa.schema([(CLUSTER, pa.string()), *schemas.METRICS.schema, ("client-id", pa.string())]))
"""The columns that are read; those of a client and of a cluster may be missing."""

_LABEL = "the metrics"
_BROKEN_CODE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def usage_from_metrics(metrics: Any) -> pa.Table:
    """USAGE of buckets instead of clients: the rates that the brokers compare with the limits.

    Parameters
    ----------
    metrics
        METRICS, as anything with `__arrow_c_stream__`; those in Spark are read here. The tags may be called `client-id`
        and `client_id`, the metrics `byte-rate` and `byte_rate`.

    Returns
    -------
    pyarrow.Table
        A row for each sample of byte-rate or request-time; `throttle_ms` is the throttle-time of the same bucket and
        sample, or null. `user` is percent-decoded and, like `client_id`, "" if it is not part of the bucket.

    Raises
    ------
    UsageError
        A column is missing, or it is not a frame.
    """
    samples = _samples(in_arrow(of_kinds(metrics, _GIVEN, _LABEL, or_without=(CLUSTER, "user", *CLIENT_ID))))
    by = [name for name in samples.column_names if name not in ("key", "value", "name")]
    is_throttle, is_number = pc.equal(samples["name"], "throttle-time"), pc.invert(pc.is_nan(samples["value"]))
    rates = samples.filter(pc.and_(samples["key"].is_valid(), is_number))
    values = rates.group_by([*by, "key"]).aggregate([("value", "max")]).rename_columns([*by, "key", "value"])
    throttles = samples.filter(pc.and_(is_throttle, is_number)).group_by(by).aggregate([("value", "max")])
    rows = values.join(throttles.rename_columns([*by, "throttle_ms"]), by)
    columns = {
        **dict(zip(rows.column_names, rows.columns, strict=True)),
        "window_start": pc.subtract(rows["time"], pa.scalar(timedelta(seconds=WINDOW), pa.duration("us"))),
        "window_end": rows["time"],
        "source": pa.repeat(schemas.OF_BUCKETS, len(rows)),
    }
    order = [(name, "ascending") for name in ("window_start", "broker", "user", "client_id", "key")]
    return framed(pa.table(columns), led(schemas.USAGE.schema, cluster_of(samples)), order)


def _samples(metrics: pa.Table) -> pa.Table:
    """METRICS in one spelling, with the quota key that each is the use of, null where it is of none."""
    kind = pc.utf8_lower(metrics["type"])
    name = pc.replace_substring(pc.utf8_lower(metrics["name"]), "_", "-")
    client_id = next((name for name in CLIENT_ID if name in metrics.column_names), "")
    both = pc.binary_join_element_wise(kind, name, "/")
    keys = pc.index_in(both, pa.array([f"{of}/{called}" for of, called in RATES]))
    columns = {
        **dict(zip(metrics.column_names, metrics.columns, strict=True)),
        "type": kind,
        "name": name,
        "user": _tags(metrics, "user", lambda text: _decoded(_plain(text))),
        "client_id": _tags(metrics, client_id, _plain),
        "key": pc.take(pa.array(RATES.values(), pa.string()), keys),
    }
    return pa.table(columns).select([*cluster_of(metrics), *schemas.METRICS.names, "key"])


def _tags(metrics: pa.Table, name: str, read: Callable[[str], str]) -> pa.ChunkedArray:
    """The texts of a tag, "" where it is not in the bucket."""
    if name not in metrics.column_names:
        return pa.chunked_array([pa.repeat("", len(metrics))])
    each = pc.fill_null(metrics[name], "").dictionary_encode().combine_chunks()
    texts = pa.array(map(read, each.dictionary.to_pylist()), pa.string())
    return pa.chunked_array([texts.take(each.indices)])


def _plain(text: str) -> str:
    """JMX puts a tag with unusual characters in quotes, with backslashes before some."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    return re.sub(r'\\(["*?\\])', r"\1", text[1:-1].replace(r"\n", "\n"))


def _decoded(user: str) -> str:
    """Kafka percent-encodes it; a text that no decoder takes stays as it is."""
    return user if _BROKEN_CODE.search(user) else unquote_plus(user)


# --- METRICS out of a Prometheus: its HTTP API, over the standard library ---

QUERY = '{__name__=~"(?i)kafka_server_.*(byte_rate|request_time|throttle_time|quota_utilization)"}'
"""The names that jmx_exporter gives to the quota metrics, by its own names and by the usual rules."""

TIMEOUT = 30.0
MOST_BYTES = 500_000_000
_POINTS = 10_000
"""Samples of a series that are asked for at once; Prometheus refuses more than 11,000."""

_LONGEST = 100_000
_NAME = re.compile(r"(?i)(?:^|_)(?:(produce|fetch|request)_)?(byte_rate|request_time|throttle_time|quota_utilization)$")
_TAGGED = re.compile(r"^(?P<type>\w+)(?:,\s*user=(?P<user>.*))?$", re.S)
_CLIENT = ("client_id", "clientId", "client-id", "client", "clientid")
_TYPE = ("type", "resource")
_ORDER = ("time", "broker", "type", "name", "user", "client_id")
_QUOTA_TYPES = ("Produce", "Fetch", "Request")


def prometheus(
    url: str,
    start: datetime,
    end: datetime,
    *,
    step: float = 15.0,
    broker: str = "broker",
    brokers: Mapping[str, int] | None = None,
    query: str = QUERY,
    token: Secret | str | None = None,
    timeout: float = TIMEOUT,
    most_bytes: int = MOST_BYTES,
) -> Answer:
    """METRICS: the quota metrics that a Prometheus scraped from jmx_exporter, for `usage_from_metrics`.

    Parameters
    ----------
    url
        The address of its API: `http://prometheus:9090`, with a user and password in it for basic authentication.
    start, end
        The range, with time zones.
    step
        Seconds between samples.
    broker
        The label that names the broker, such as `instance`.
    brokers
        Broker ids by that label's values; not needed if the values are ids, or end in one (`kafka-3`), or are hosts
        whose first label does (`kafka-3.example.com:9404`).
    query
        The query. Series whose names do not end in `byte_rate`, `request_time`, `throttle_time` or `quota_utilization`
        are ignored.
    token
        A bearer token.
    timeout
        The time limit in seconds for all requests.
    most_bytes
        The maximum bytes of all answers.

    Raises
    ------
    ConnectionFailed, TimedOut
        No answer, or not in time.
    AuthenticationFailed, NotAuthorized
        It requires other credentials.
    NotFound
        There are no such series in that time.
    Invalid
        It refuses the query, in its own words; it does not answer as a Prometheus does; or its answer is too large.
    UsageError
        Not the address of a Prometheus, a time without a zone, a series of an unknown broker, or hosts of one number.
    """
    first, last = (_seconds(at) for at in (start, end))
    if not (first <= last and step > 0):
        raise UsageError("end is before start, or step is not more than 0")
    client = _Client(url, token, time.monotonic() + timeout, most_bytes)
    series = [series_part for part in _parts(first, last, step) for series_part in client.range(query, *part, step)]
    broker_of = partial(_broker_of, label=broker, ids=brokers or {}, hosts={})
    try:
        rows = [row for series_part in series for row in _sample_rows(series_part, broker_of)]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise client.strange() from None
    if not rows:
        raise NotFound(f"{client.shown} has no quota metrics from {start} to {end}", hint=f"Asked for {query}.")
    rows.sort(key=lambda row: [(row[name] is not None, row[name]) for name in _ORDER])
    return Answer(schemas.table(schemas.METRICS, rows))


def _seconds(at: datetime) -> float:
    if at.tzinfo is None:
        raise UsageError(f"{at} has no time zone", hint="datetime(2026, 11, 21, tzinfo=UTC)")
    return at.timestamp()


def _parts(first: float, last: float, step: float) -> Iterator[tuple[float, float]]:
    """The range in parts that Prometheus answers."""
    samples = int((last - first) // step) + 1
    for begin in range(0, samples, _POINTS):
        final = min(begin + _POINTS, samples) - 1
        yield first + begin * step, first + final * step


class _Client:
    """One Prometheus, with what time and bytes are left."""

    def __init__(self, url: str, token: Secret | str | None, until: float, bytes_left: int) -> None:
        try:
            parts = web.parts_of(url)
        except ValueError:
            raise _not_an_address() from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _not_an_address()
        place = parts.netloc.rpartition("@")[2]
        self.shown = urllib.parse.urlunsplit((parts.scheme, place, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": "application/json", **_authorization(parts, token)}
        self._until, self._left = until, bytes_left

    def range(self, query: str, first: float, last: float, step: float) -> list[dict[str, Any]]:
        """The series of one query_range."""
        parameters = {"query": query, "start": f"{first:.3f}", "end": f"{last:.3f}", "step": f"{step:g}"}
        answer = self._read(f"{self.shown}/api/v1/query_range?{urllib.parse.urlencode(parameters)}")
        try:
            data = documents.from_json(answer.decode())["data"]
            kind, series = data["resultType"], list(data["result"])
        except (ValueError, KeyError, TypeError):
            raise self.strange() from None
        if kind != "matrix":
            raise Invalid(f"{self.shown} answers with a {kind}, not with series over time")
        return series

    def strange(self) -> Invalid:
        """An answer of another shape."""
        return Invalid(f"{self.shown} does not answer as a Prometheus does", hint="Is it the address of its API?")

    def _read(self, url: str) -> bytes:
        request = urllib.request.Request(url, headers=self._headers)
        try:
            answer = web.answer_to(request, self._until - time.monotonic(), self._left)
        except web.TooLong:
            raise Invalid(
                f"{self.shown} answers more than most_bytes", hint="Ask for less time, or a longer step."
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._failed(error) from None
        self._left -= len(answer)
        return answer

    def _failed(self, error: Exception) -> KadminError:
        if isinstance(error, urllib.error.HTTPError):
            return self._refused(error)
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, TimeoutError):
            return TimedOut(f"no answer of {self.shown} in time", hint="Raise timeout, or ask for less time.")
        return ConnectionFailed(f"no Prometheus at {self.shown}: {reason}")

    def _refused(self, error: urllib.error.HTTPError) -> KadminError:
        if error.code in _REFUSALS:
            return _REFUSALS[error.code](f"{self.shown} refuses: HTTP {error.code} {error.reason}")
        if 300 <= error.code < 400:
            return Invalid(f"{self.shown} redirects: HTTP {error.code}", hint="Does it require a login?")
        try:
            reason = documents.from_json(error.read(_LONGEST).decode())["error"]
        except (ValueError, KeyError, TypeError, OSError):
            reason = error.reason
        return Invalid(f"{self.shown} refuses: HTTP {error.code} {reason}")


_REFUSALS: dict[int, type[KadminError]] = {401: AuthenticationFailed, 403: NotAuthorized, 404: NotFound}


def _not_an_address() -> UsageError:
    return UsageError("the url is not the address of a Prometheus", hint="For example http://prometheus:9090.")


def _authorization(parts: urllib.parse.SplitResult, token: Secret | str | None) -> dict[str, str]:
    if (text := revealed(token)) is not None:
        if not (text.isascii() and text.isprintable()):
            raise UsageError("the token has characters that a token cannot have")
        return {"Authorization": f"Bearer {text}"}
    if parts.username is None:
        return {}
    pair = ":".join(urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _sample_rows(series: dict[str, Any], broker_of: Callable[[Mapping[str, str]], int]) -> Iterator[dict[str, object]]:
    """One row per sample of a series; none where it is another metric."""
    labels = series["metric"]
    match = _NAME.search(labels.get("__name__", ""))
    tagged = _TAGGED.match((match and match[1]) or _first_label(labels, _TYPE) or "")
    if match is None or tagged is None or tagged["type"].title() not in _QUOTA_TYPES:
        return
    same = {
        "broker": broker_of(labels),
        "type": tagged["type"].title(),
        "user": labels.get("user", tagged["user"]),  # a common rule of jmx_exporter's leaves it in the type
        "client_id": _first_label(labels, _CLIENT),
        "name": match[2].lower().replace("_", "-"),
    }
    for at, value in series["values"]:
        yield {**same, "time": datetime.fromtimestamp(float(at), UTC), "value": float(value)}


def _first_label(labels: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((labels[name] for name in names if name in labels), None)


def _broker_of(labels: Mapping[str, str], label: str, ids: Mapping[str, int], hosts: dict[int, str]) -> int:
    """The broker of a series: by its id, by a number at the end of the label, or by the number of its host.

    Raises
    ------
    UsageError
        It is unknown, or two of the `hosts`, as of two clusters, have the same number.
    """
    address = labels.get(label)
    if address is not None and address in ids:
        return ids[address]
    found = _NUMBERED.fullmatch(address or "")
    if found is None:
        problem = f"the label {label} of {labels.get('__name__')} names no broker: {address!r}"
        raise UsageError(problem, hint=_label_hint(labels, label))
    number, host = int(found["number"]), found["host"]
    if (other := hosts.setdefault(number, host)) != host:
        problem = f"the label {label} has two hosts of the number {number}: {other} and {host}"
        raise UsageError(problem, hint=_label_hint(labels, label))
    return number


def _label_hint(labels: Mapping[str, str], label: str) -> Hint:
    others = ", ".join(sorted(labels.keys() - {"__name__", label}))
    if label not in labels:
        return Hint(sentence("Name another label, for example {}.", _INSTANCE), f"It has {others}.")
    mapping = Option("brokers", {labels[label]: 1}, "--broker")
    return Hint(sentence("Say whose it is, for example {}.", mapping), f"Or name another label: it has {others}.")


_INSTANCE = Option("broker", "instance")
_NUMBERED = re.compile(r"(?P<host>(?:[^:.]*[^:.\d])?(?P<number>\d{1,9})(?:\.[^:]*[^:.\d][^:]*)?)(?::\d+)?")
"""A number, a name that ends in one, or a host whose first label does; none of an address such as 10.0.0.1."""
