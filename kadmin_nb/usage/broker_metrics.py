"""USAGE out of the brokers' own metrics: what each bucket used, as Kafka measures it; and how much of its limit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc

from ..fleets.workers import of_rows, of_whole_groups
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.frame import MOMENT
from ..frames.given_frames import text_column
from ..frames.relational import Frame, checked, framed, in_arrow, names_of, taken
from ..model import figures
from ..model.findings import WARNING, Finding, Row
from ..model.grammar import format_word
from ..model.quota_keys import readable, rounded
from ..resolution.input_columns import CLUSTER
from .limits_used import utilisation

WINDOW = 11.0
"""Seconds that a broker's rate looks back: `quota.window.num` x `quota.window.size.seconds`."""

RATES = {
    ("produce", "byte-rate"): "producer_byte_rate",
    ("fetch", "byte-rate"): "consumer_byte_rate",
    ("request", "request-time"): "request_percentage",
}
"""The key that each metric is the use of, by its `type` and `name`."""

METRIC_COLUMNS = ("time", "broker", "type", "name", "value")
"""The columns of METRICS that have to be there."""

CLIENT_ID = ("client_id", "client-id")
"""The names that the tag goes by."""

SAMPLES = pa.schema([*((field.name, field.type) for field in schemas.METRICS.schema), ("key", pa.string())])
"""METRICS in one spelling, with the `key` that each is the use of, null where it is of none."""

_GIVEN = pa.schema([*schemas.METRICS.schema, (CLUSTER, pa.string()), ("client-id", pa.string())])
"""Their types."""

_LABEL = "the metrics"
_BROKEN_CODE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def usage_from_metrics(metrics: Any, *, window: float = WINDOW) -> Frame:
    """USAGE of buckets instead of clients: the rates that the brokers compare with the limits.

    Parameters
    ----------
    metrics
        METRICS, as a Spark DataFrame, or as anything with `__arrow_c_stream__`. The tags may be called `client-id` and
        `client_id`, the metrics `byte-rate` and `byte_rate`.
    window
        Seconds that a rate looks back from the time of its sample.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        In Spark if the metrics are. A row for each sample of byte-rate or request-time; `throttle_ms` is the
        throttle-time of the same bucket and sample, or null. `user` is percent-decoded and, like `client_id`, "" if it
        is not part of the bucket.

    Raises
    ------
    UsageError
        A column is missing, or it is not a frame.
    """
    typed = metric_columns(metrics)
    cluster = [pa.field(CLUSTER, pa.string())] if CLUSTER in names_of(typed) else []
    samples = of_rows(typed, quota_samples, (), pa.schema([*cluster, *SAMPLES]))
    by = [*([CLUSTER] if cluster else []), "broker", "time", "type", "user", "client_id"]
    rates = of_whole_groups(samples, by, bucket_rates, (window,), pa.schema([*cluster, *schemas.USAGE.schema]))
    order = [(name, "ascending") for name in ("window_start", "broker", "user", "client_id", "key")]
    return framed(rates, pa.schema([*cluster, *schemas.USAGE.schema]), order)


def metric_columns(metrics: Any) -> Frame:
    """The columns of METRICS that a frame has, checked."""
    given = (CLUSTER, *METRIC_COLUMNS, "user", *CLIENT_ID)
    frame = taken(metrics, given, _LABEL)
    has = names_of(frame)
    schemas.require_columns(_LABEL, METRIC_COLUMNS, has)
    return checked(frame, _GIVEN, [name for name in given if name in has], _LABEL)


def quota_samples(metrics: pa.Table) -> pa.Table:
    """SAMPLES, with `cluster_id` if the metrics have one: one spelling, and the quota key that each is the use of."""
    kind = pc.utf8_lower(text_column(metrics, "type", _LABEL))
    name = pc.replace_substring(pc.utf8_lower(text_column(metrics, "name", _LABEL)), "_", "-")
    client_id = next((name for name in CLIENT_ID if name in metrics.column_names), "")
    both = pc.binary_join_element_wise(kind, name, "/")
    keys = pc.index_in(both, pa.array([f"{of}/{called}" for of, called in RATES]))
    lead = {CLUSTER: text_column(metrics, CLUSTER, _LABEL)} if CLUSTER in metrics.column_names else {}
    columns = {
        "time": metrics["time"].cast(MOMENT),
        "broker": metrics["broker"].cast(pa.int32()),
        "type": kind,
        "name": name,
        "user": _tags(metrics, "user", lambda text: _decoded(_plain(text))),
        "client_id": _tags(metrics, client_id, _plain),
        "key": pc.take(pa.array(RATES.values(), pa.string()), keys),
        "value": metrics["value"].cast(pa.float64()),
    }
    return pa.table({**lead, **{column: columns[column] for column in SAMPLES.names}})


def bucket_rates(samples: pa.Table, window: float) -> pa.Table:
    """The columns of USAGE, of SAMPLES: each rate beside the throttle of the same bucket and time."""
    by = [name for name in samples.column_names if name not in ("key", "value", "name")]
    is_throttle, is_number = pc.equal(samples["name"], "throttle-time"), pc.invert(pc.is_nan(samples["value"]))
    rates = samples.filter(pc.and_(samples["key"].is_valid(), is_number))
    values = rates.group_by([*by, "key"]).aggregate([("value", "max")]).rename_columns([*by, "key", "value"])
    throttles = samples.filter(pc.and_(is_throttle, is_number)).group_by(by).aggregate([("value", "max")])
    rows = values.join(throttles.rename_columns([*by, "throttle_ms"]), by)
    back = pa.scalar(timedelta(seconds=window), pa.duration("us"))
    ends = {"window_start": pc.subtract(rows["time"], back), "window_end": rows["time"]}
    source = pa.repeat(schemas.OF_BUCKETS, len(rows))
    return pa.table({**{name: rows[name] for name in rows.column_names}, **ends, "source": source})


def _tags(metrics: pa.Table, name: str, read: Callable[[str], str]) -> pa.ChunkedArray:
    """The texts of a tag, "" where it is not in the bucket."""
    if name not in metrics.column_names:
        return pa.chunked_array([pa.repeat("", len(metrics))])
    each = pc.fill_null(text_column(metrics, name, _LABEL), "").dictionary_encode().combine_chunks()
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


# --- the brokers' own measure of utilisation (KIP-1373), beside ours: a difference is a finding ---

UTILIZATION = "quota-utilization"
"""What a bucket uses of its limit, in percent, as newer brokers measure it; NaN without a limit."""

DIFFERS = "utilisation-differs"
NOISE, NOISE_SHARE = 2.0, 0.1
"""Percentage points, and the share of the figure, by which two readings of one rate may differ."""

Place = tuple[int, str, str, str]
"""A bucket on a broker: broker, key, user and client-id, "" where a name is not part of the bucket."""

_KEYS_BY_TYPE = {kind: key for (kind, _), key in RATES.items()}


class UtilisationDifferences(Findings):
    """UTILISATION_DIFFERENCES; `measured` has the brokers' own figures, in percent, by `Place`."""

    schema = schemas.UTILISATION_DIFFERENCES

    def __init__(self, findings: Iterable[Finding], measured: Mapping[Place, float | None]) -> None:
        super().__init__(findings)
        self.measured = measured

    def _title(self) -> str:
        if not self.measured:
            return "these brokers do not measure utilisation themselves (KIP-1373)"
        return f"{len(self):,} of {len(self.measured):,} buckets differ from what their broker measures"


def utilisation_differences(metrics: Any, quotas: Any) -> UtilisationDifferences:
    """UTILISATION_DIFFERENCES: buckets whose broker measures another use of the limit than we do (KIP-1373).

    The broker's rate and the limit by Kafka's rules give our figure, its metric `quota-utilization` its own, both of
    the newest sample. Where they differ, the broker enforces another limit than the one that is stored.

    Parameters
    ----------
    metrics
        METRICS, as for `usage_from_metrics`.
    quotas
        QUOTAS, as anything that `resolve` takes.

    Raises
    ------
    UsageError, Invalid
        As `usage_from_metrics` and `utilisation`.
    """
    samples = quota_samples(in_arrow(metric_columns(metrics), task="Spark reads the metrics"))
    last = samples.join(samples.group_by(["broker"]).aggregate([("time", "max")]), ["broker"])
    samples = last.filter(pc.equal(last["time"], last["time_max"])).select(samples.column_names)
    theirs = samples.filter(pc.equal(samples["name"], UTILIZATION))
    measured = {
        (row["broker"], _KEYS_BY_TYPE[row["type"]], row["user"], row["client_id"]): _number(row["value"])
        for row in theirs.to_pylist()
        if row["type"] in _KEYS_BY_TYPE
    }
    ours = in_arrow(utilisation(bucket_rates(samples, WINDOW), quotas), task="Spark compares the limits").to_pylist()
    whose: dict[Place, Row] = {}
    for row in ours:
        names = ("user", "client_id") if row["limit"] is None else ("bucket_user", "bucket_client_id")
        user, client_id = (row[name] or "" for name in names)
        if (place := (row["broker"], row["key"], user, client_id)) in measured:
            whose[place] = row
    differing = [(place, row) for place, row in whose.items() if _differs(row, measured[place])]
    found = [_difference(place, row, measured[place]) for place, row in differing]
    return UtilisationDifferences(found, {place: measured[place] for place in whose})


def _differs(row: Row, measured: float | None) -> bool:
    """True for more than what two readings of a rate in motion differ by."""
    ours = row["utilisation"]
    if ours is None or measured is None:
        return ours is not measured
    return bool(abs(ours - measured) > max(NOISE, NOISE_SHARE * max(ours, measured)))


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _difference(place: Place, row: Row, theirs: float | None) -> Finding:
    broker, key, user, client_id = place
    ours = row["utilisation"]
    enforced = row["peak"] / theirs * 100 if row["peak"] and theirs else None
    told = "knows no limit" if theirs is None else f"measures {figures.percent(theirs)}"
    meant = "" if enforced is None else f", as of a limit of {rounded(key, enforced)}"
    stored = "no limit applies" if row["limit"] is None else f"its limit is {readable(key, row['limit'])}"
    used = "" if ours is None else f", {figures.percent(ours)} used"
    message = f"broker {broker} {told}{meant}, where {stored}{used}"
    evidence = {"broker": broker, "level": row["level"], "limit": row["limit"], "utilisation": ours}
    bucket = " ".join(format_word(kind, name) for kind, name in (("user", user), ("client-id", client_id)) if name)
    return Finding(
        DIFFERS, WARNING, message, bucket, key, evidence={**evidence, "measured": theirs, "enforced": enforced}
    )
