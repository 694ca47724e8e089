"""USAGE out of the brokers' own metrics: what each bucket used, as Kafka measures it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc

from ..fleets.workers import of_rows, of_whole_groups
from ..frames import schemas
from ..frames.frame import MOMENT
from ..frames.given_frames import text_column
from ..frames.relational import Frame, checked, framed, names_of, taken
from ..resolution.input_columns import CLUSTER

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
