"""The usage of each client, out of the request log and out of the brokers' metrics; measured on a real broker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schemas import OF_BUCKETS
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.usage import request_rows
from kadmin_nb.usage.arithmetic import IO_THREADS, RECORD_BYTES
from tests.analytics.traffic import FREE, READER, TIGHT

pytestmark = pytest.mark.spark

NOON = datetime(2026, 11, 21, 12)


def requests_frame(spark, *rows: dict[str, object], schema: pa.Schema = schemas.REQUESTS.schema):
    """REQUESTS, from what differs."""
    same = {"broker": 1, "user": "u", "client_id": "c", "connection": "x", "correlation_id": 1, "throttle_ms": 0.0}
    table = schemas.table(schema, [same | row for row in rows])
    return to_spark(table, spark)


def after(seconds: float) -> datetime:
    return (NOON + timedelta(seconds=seconds)).replace(tzinfo=UTC)


PRODUCE, FETCH = {"api": "PRODUCE", "io_ms": 5.0}, {"api": "FETCH", "io_ms": 2.0}


@pytest.fixture(params=["spark", "arrow"])
def usage(request, spark):
    """USAGE of requests, added up on Spark, and in this process."""

    def added_up(frame, **how):
        if request.param == "spark":
            return kn.usage.usage(frame, **how)
        return to_spark(kn.usage.usage(frame.toArrow(), **how), spark)

    return added_up


@pytest.fixture(params=["spark", "arrow"])
def from_metrics(request, spark):
    """USAGE of metrics that are in Spark, and of a table."""

    def added_up(metrics):
        table = metrics if isinstance(metrics, pa.Table) else metrics.toArrow()
        given = to_spark(table, spark) if request.param == "spark" else table
        return to_spark(kn.usage.usage_from_metrics(given), spark)

    return added_up


def used(frame, *names: str) -> list[tuple[object, ...]]:
    by = [
        name for name in ("cluster_id", "broker", "user", "client_id", "window_start", "key") if name in frame.columns
    ]
    return [tuple(row[name] for name in names) for row in frame.orderBy(*by).collect()]


def test_usage_is_per_window_and_in_the_unit_of_its_key(spark, usage):
    """Bytes of ten seconds were compared with a limit a second."""
    frame = requests_frame(
        spark,
        {**PRODUCE, "time": after(0.1), "bytes_in": 300},
        {**PRODUCE, "time": after(9.9), "bytes_in": 700, "throttle_ms": 250.0},
        {**FETCH, "time": after(3), "bytes_out": 50},
        {**FETCH, "time": after(10), "bytes_out": 0, "throttle_ms": 90.0},
        {"api": "METADATA", "time": after(4), "io_ms": 1.0, "throttle_ms": 7.0},
    )
    names = ("key", "window_start", "value", "throttle_ms", "source")
    later = NOON + timedelta(seconds=10)
    assert used(usage(frame, every="10 seconds"), *names) == [
        ("consumer_byte_rate", NOON, 5.0, 0.0, RECORD_BYTES),
        ("producer_byte_rate", NOON, 100.0, 250.0, RECORD_BYTES),
        ("request_percentage", NOON, pytest.approx(0.13), 7.0, IO_THREADS),
        ("consumer_byte_rate", later, 0.0, 90.0, RECORD_BYTES),
        ("request_percentage", later, pytest.approx(0.02), None, IO_THREADS),
    ]
    seconds = usage(frame).where("key = 'producer_byte_rate'")
    assert used(seconds, "window_start", "window_end", "value") == [
        (NOON, NOON + timedelta(seconds=1), 300.0),
        (NOON + timedelta(seconds=9), NOON + timedelta(seconds=10), 700.0),
    ]


def test_sums_are_the_same_in_any_order_of_the_rows(spark, usage):
    """A stream that was killed and continued differed from one that was not, in the last digit of 31 of 862 sums."""
    times = (0.1, 0.2, 0.3)  # from left to right their sum is 0.6000000000000001, from right to left 0.6
    rows = [
        {**FETCH, "client_id": name, "time": after(0.5), "io_ms": io_ms, "correlation_id": number}
        for name, order in (("left", times), ("right", times[::-1]))
        for number, io_ms in enumerate(order)
    ]
    found = used(usage(requests_frame(spark, *rows).coalesce(1)), "client_id", "key", "value")
    of_time = [(name, value) for name, key, value in found if key == "request_percentage"]
    assert of_time == [("left", 0.06), ("right", 0.06)]


def test_usage_is_per_broker_and_client(spark, usage):
    """Two brokers' rates were added up, and a client within its limits was over them."""
    who = [{"broker": 2}, {"user": "v"}, {"client_id": "d"}, {}]
    frame = requests_frame(spark, *({**PRODUCE, "time": after(0), "bytes_in": 10, **one} for one in who))
    rates = usage(frame).where("key = 'producer_byte_rate'")
    assert used(rates, "broker", "user", "client_id", "value") == [
        (1, "u", "c", 10.0),
        (1, "u", "d", 10.0),
        (1, "v", "c", 10.0),
        (2, "u", "c", 10.0),
    ]


def test_usage_has_the_columns_of_the_contract(spark, usage):
    """The columns hung on the source."""
    frame = requests_frame(spark, {**PRODUCE, "time": after(0), "bytes_in": 10})
    wanted = to_spark(schemas.table(schemas.USAGE, []), spark).dtypes
    assert usage(frame).dtypes == wanted
    assert to_spark(kn.usage.usage_from_metrics(metrics_frame(spark)), spark).dtypes == wanted


def test_clusters_stay_apart(spark, usage):
    """Broker 1 of the one was broker 1 of the other."""
    schema = pa.schema([pa.field("cluster_id", pa.string()), *schemas.REQUESTS.schema])
    rows = ({**PRODUCE, "time": after(0), "bytes_in": 10, "cluster_id": name} for name in "ab")
    rates = usage(requests_frame(spark, *rows, schema=schema)).where("key = 'producer_byte_rate'")
    assert rates.columns[0] == "cluster_id"
    assert used(rates, "cluster_id", "value") == [("a", 10.0), ("b", 10.0)]


def test_what_is_no_request_frame_and_no_window(spark, usage):
    """[UNRESOLVED_COLUMN.WITH_SUGGESTION], and a plan."""
    with pytest.raises(kn.UsageError, match="the requests have no column time, broker, user"):
        usage(to_spark(pa.table({"a": [1]}), spark))
    frame = requests_frame(spark, {**PRODUCE, "time": after(0)})
    for every in ("soon", "0 seconds", "1 month"):
        with pytest.raises(kn.UsageError, match=f"{every} is not the length of a window"):
            usage(frame, every=every)
    with pytest.raises(kn.UsageError, match="the metrics have no column time, broker, type"):
        kn.usage.usage_from_metrics(to_spark(pa.table({"a": [1]}), spark))
    with pytest.raises(kn.UsageError, match="the metrics are a list, not a frame"):
        kn.usage.usage_from_metrics([1])


def metrics_frame(spark, *rows: tuple[object, ...]):
    names = ("type", "user", "client_id", "name", "value", "time")
    found = [{"broker": 1, "time": after(20), **dict(zip(names, row, strict=False))} for row in rows]
    return to_spark(schemas.table(schemas.METRICS, found), spark)


def test_metrics_are_the_use_of_buckets(spark, from_metrics):
    """The rate of a whole user was looked for among the clients."""
    usage = from_metrics(
        metrics_frame(
            spark,
            ("Produce", "CN%3Dal%20ice%2CO%3Dx", None, "byte-rate", 1000.0),
            ("Produce", "CN%3Dal%20ice%2CO%3Dx", None, "throttle-time", 12.0),
            ("Fetch", None, "app", "byte-rate", 5.0),
            ("Fetch", None, "app", "throttle-time", float("nan")),
            ("Request", "bob", "app", "request-time", 33.0),
            ("Request", "bob", "app", "byte-rate", 1.0),
            ("Produce", "bob", "app", "throttle-time", 1.0),
            ("Produce", "nan", "app", "byte-rate", float("nan")),
        )
    )
    names = ("user", "client_id", "key", "value", "throttle_ms", "source")
    assert used(usage, *names) == [
        ("", "app", "consumer_byte_rate", 5.0, None, OF_BUCKETS),
        ("CN=al ice,O=x", "", "producer_byte_rate", 1000.0, 12.0, OF_BUCKETS),
        ("bob", "app", "request_percentage", 33.0, None, OF_BUCKETS),
    ]
    (row,) = usage.where("user = ''").select("window_start", "window_end").collect()
    assert (row.window_start, row.window_end) == (NOON + timedelta(seconds=9), NOON + timedelta(seconds=20))


TAGS = {
    "plain": ("app", "app"),
    "as JMX quotes it": (r'"a\"b\\c\*d\?e:f"', 'a"b\\c*d?e:f'),
    "a percent sign is the client's own": ("100%25", "100%25"),
    "absent": (None, ""),
}


@pytest.mark.parametrize(("tag", "name"), TAGS.values(), ids=TAGS)
def test_a_client_id_is_what_the_client_sent(spark, from_metrics, tag, name):
    """It was decoded like the user, and became another client's."""
    usage = from_metrics(metrics_frame(spark, ("Fetch", "a%25b", tag, "byte-rate", 1.0)))
    assert used(usage, "user", "client_id") == [("a%b", name)]


def test_metrics_in_other_spellings(spark, from_metrics):
    """The exporter writes client-id, and byte_rate."""
    table = schemas.table(
        schemas.METRICS,
        [
            {
                "time": after(0),
                "broker": 1,
                "type": "produce",
                "user": "u",
                "client_id": "c",
                "name": "byte_rate",
                "value": 1.0,
            }
        ],
    )
    spelled = table.rename_columns([name.replace("client_id", "client-id") for name in table.column_names])
    wanted = [("u", "c", "producer_byte_rate", 1.0)]
    assert used(from_metrics(spelled), "user", "client_id", "key", "value") == wanted
    without = table.drop_columns(["user"])
    assert used(from_metrics(to_spark(without, spark)), "user", "client_id") == [("", "c")]


SIDES = {
    "producer": (FREE, "producer_byte_rate", "bytes_in", "txbytes", 3_000_000),
    "throttled producer": (TIGHT, "producer_byte_rate", "bytes_in", "txbytes", 1_500_000),
    "throttled consumer": (READER, "consumer_byte_rate", "bytes_out", "rxbytes", 2_000_000),
}


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.secure
@pytest.mark.parametrize(("client_id", "key", "column", "wire", "payload"), SIDES.values(), ids=SIDES)
def test_bytes_agree_with_what_the_clients_sent(seen, traffic, client_id, key, column, wire, payload):
    """A lower bound, it said, and not how low."""
    client = seen.frame.where(f"client_id = '{client_id}'")
    (row,) = client.selectExpr(f"sum({column}) AS bytes", "collect_set(user) AS users").collect()
    assert row.users == ["usage-alice"]
    assert payload <= row.bytes <= traffic.told(client_id, wire)
    assert row.bytes >= 0.97 * traffic.told(client_id, wire)
    rates = kn.usage.usage(seen).where(f"client_id = '{client_id}' AND key = '{key}'")
    assert rates.selectExpr("sum(value) AS bytes").first().bytes == row.bytes  # of windows of 1 s


@pytest.mark.broker
@pytest.mark.secure
def test_throttling_is_what_the_clients_were_told(seen, traffic):
    """It was throttled, and the log of the broker denied it."""
    usage = kn.usage.usage(seen).where("key != 'request_percentage'")
    longest = usage.groupBy("client_id").agg({"throttle_ms": "max"}).collect()
    told = {client_id: ms for client_id, ms in longest if client_id in (FREE, TIGHT, READER)}
    assert told[FREE] == traffic.throttled.get(FREE, 0.0) == 0.0
    assert told[TIGHT] == traffic.throttled[TIGHT] > 0
    assert told[READER] == traffic.throttled[READER] > 0


@pytest.mark.broker
@pytest.mark.secure
def test_every_request_of_the_clients_is_there_once(seen, traffic):
    """Spark's reading of the line and Python's were not the same."""
    for client_id in (FREE, TIGHT, READER):
        ours = seen.frame.where(f"client_id = '{client_id}'").select("api", "correlation_id", "io_ms", "throttle_ms")
        theirs = {
            (one["requestHeader"]["requestApiKeyName"], one["requestHeader"]["correlationId"], one["localTimeMs"],
             float(one["throttleTimeMs"]))
            for one in traffic.logged(client_id)
        }  # fmt: skip
        assert {tuple(row) for row in ours.collect()} == theirs
    assert set(seen.counts.quarantined) <= {request_rows.BROKEN}  # the last line may be half there
    assert seen.counts.left_out["inter-broker"] > 0
