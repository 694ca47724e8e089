"""Who uses which versions of Kafka's API, and whom Kafka 4.0 would refuse: in both engines, of frames and of logs."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark

LOG = Path(__file__).parents[2] / "docs" / "examples" / "kafka-request.log"
"""What a broker of 3.9.2 wrote about eight clients, of Java 0.10.2 to 2.1, librdkafka and kafka-python."""
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def request(api: str, version: int | None, client_id: str = "app", user: str = "alice", **rest: object):
    own = {"time": NOON, "broker": 1, "user": user, "client_id": client_id, "api": api, "api_version": version}
    named = {"software_name": "apache-kafka-java", "software_version": "3.9.2", "deprecated": False}
    at = {"connection": "10.0.0.1:9092-10.0.4.7:49034-1-7", "correlation_id": 1}
    return {**own, **named, **at, **rest}


def requests_of(*rows: dict[str, object]) -> pa.Table:
    return schemas.table(schemas.REQUESTS, rows)


@pytest.fixture(params=["arrow", pytest.param("spark", marks=pytest.mark.spark)])
def placed(request):
    """Requests here, and in Spark."""
    if request.param == "arrow":
        return lambda frame: frame
    return lambda frame: to_spark(frame, request.getfixturevalue("spark"))


def test_a_client_is_refused_for_a_version_that_is_gone(placed):
    """The upgrade was done on a Sunday; on Monday the billing of 2016 could not send a record."""
    answer = kn.usage.upgrade_check(
        placed(
            requests_of(
                request("PRODUCE", 2, "old", software_name="unknown", software_version="unknown", deprecated=True),
                request("METADATA", 1, "old", software_name="unknown", software_version="unknown"),
                request("PRODUCE", 3, "new"),
                request("PRODUCE", 3, "new", time=NOON + timedelta(seconds=5)),
                request("JOIN_GROUP", 0, "new"),
            )
        )
    )
    assert answer.to_arrow().to_pylist() == [
        {
            "state": "refused", "user": "alice", "client_id": "old", "software_name": "unknown",
            "software_version": "unknown", "address": "10.0.4.7",
            "refused_versions": [{"api": "PRODUCE", "version": 2}],
            "deprecated_versions": [{"api": "PRODUCE", "version": 2}],
            "api_versions": [{"api": "METADATA", "version": 1}, {"api": "PRODUCE", "version": 2}],
            "requests": 2, "last_seen": NOON,
        },
        {
            "state": "accepted", "user": "alice", "client_id": "new", "software_name": "apache-kafka-java",
            "software_version": "3.9.2", "address": "10.0.4.7", "refused_versions": [], "deprecated_versions": [],
            "api_versions": [{"api": "JOIN_GROUP", "version": 0}, {"api": "PRODUCE", "version": 3}],
            "requests": 3, "last_seen": NOON + timedelta(seconds=5),
        },
    ]  # fmt: skip
    assert str(answer).splitlines()[0] == "1 of 2 clients would be refused by Kafka 4.0"
    assert answer.to_arrow().schema.equals(schemas.CLIENTS.schema)


def test_two_versions_under_one_client_id_are_two_rows_and_one_client(placed):
    """One of six hosts still ran the old library, and its client-id said nothing about it."""
    old = request("FETCH", 3, software_version="0.10.2")
    answer = kn.usage.upgrade_check(placed(requests_of(old, request("FETCH", 17), request("FETCH", 17, "other"))))
    versions = [(row["client_id"], row["software_version"], row["state"]) for row in answer]
    assert versions == [("app", "0.10.2", "refused"), ("app", "3.9.2", "accepted"), ("other", "3.9.2", "accepted")]
    assert str(answer).splitlines()[0] == "1 of 2 clients would be refused by Kafka 4.0"


TITLES = {
    "nobody": ([request("FETCH", 4), request("FETCH", 5, "b")], "None of 2 clients would be refused by Kafka 4.0"),
    "a version that is not there": (
        [request("FETCH", None), request("HEARTBEAT", None, "b"), request("FETCH", 3, "c")],
        "1 of 3 clients would be refused by Kafka 4.0; of 1 it is unknown, as the log lacks versions of their requests",
    ),
    "deprecated alone": (
        [request("FETCH", 3, deprecated=True)],
        "1 client would be refused by Kafka 4.0; the log has deprecated requests alone, so how many others there are "
        "is unknown",
    ),
    "nothing": ([], "No client sent a request."),
    "a question alone": ([request("API_VERSIONS", 0)], "No client sent a request."),
}


@pytest.mark.parametrize("case", TITLES)
def test_the_title_says_what_is_known(case):
    """It said *none*, of a log that had no versions, and of one that had the deprecated ones alone."""
    rows, title = TITLES[case]
    answer = kn.usage.upgrade_check(requests_of(*rows))
    assert str(answer).splitlines()[0] == title
    assert len(answer.differing) == sum(row["state"] == "refused" for row in answer)


def test_names_are_shown_as_they_are(placed):
    """A client called itself <script>, and another one like the column of a shell."""
    answer = kn.usage.upgrade_check(
        placed(requests_of(request("FETCH", 0, "<script>", software_name="a\x1b[31m"), request("FETCH", 0, "")))
    )
    assert {row["client_id"] for row in answer} == {"<script>", ""}
    assert "<script>" not in answer._repr_html_()
    assert "\x1b" not in str(answer)


@pytest.mark.spark
def test_both_engines_find_the_same(spark):
    """The laptop named four clients, and the job named five."""
    chance = random.Random(33)
    names = ("PRODUCE", "FETCH", "METADATA", "LIST_OFFSETS", "API_VERSIONS")
    rows = [
        request(
            chance.choice(names), chance.choice([None, 0, 1, 2, 3, 4, 12]), f"c-{chance.randrange(30)}",
            f"u-{chance.randrange(4)}", time=NOON + timedelta(milliseconds=chance.randrange(10**6)),
            software_name=chance.choice(["a", "b", None]), deprecated=chance.random() < 0.3,
        )
        for _ in range(3000)
    ]  # fmt: skip
    frame = requests_of(*rows).append_column("cluster_id", pa.array([f"x{n % 2}" for n in range(len(rows))]))
    here = kn.usage.upgrade_check(frame)
    there = kn.usage.upgrade_check(to_spark(frame, spark).repartition(5))
    assert here.to_arrow().to_pylist() == there.to_arrow().to_pylist()
    assert str(here) == str(there)
    assert here.columns[0] == "cluster_id"
    assert kn.usage.clients(to_spark(frame, spark)).columns == here.columns


def test_a_log_says_the_version_and_whether_it_is_deprecated(placed):
    """The log knew it all along, and we read past it."""
    frame = placed(kn.usage.requests(LOG, broker=1, tz="UTC").frame)
    rows = frame.to_pylist() if isinstance(frame, pa.Table) else frame.toArrow().to_pylist()
    marked = {(row["client_id"], row["api"], row["api_version"]) for row in rows if row["deprecated"]}
    assert marked == {
        ("billing", "FETCH", 3), ("billing", "PRODUCE", 2), ("scorer", "FETCH", 1), ("scorer", "LIST_OFFSETS", 0),
        ("etl-7f3a91c4-0001", "PRODUCE", 1),
    }  # fmt: skip
    assert all(row["deprecated"] is not None and row["api_version"] is not None for row in rows)


@pytest.mark.spark
def test_a_log_on_spark_is_read_lazily_and_once_a_request(spark):
    """A file that log4j was rolling was read twice, and the client seemed to be twice as busy."""
    here = kn.usage.upgrade_check(kn.usage.requests(LOG, broker=1, tz="UTC"))
    twice = spark.read.text([str(LOG), str(LOG)])
    assert kn.usage.upgrade_check(kn.usage.requests(twice, broker=1, tz="UTC")).to_arrow() == here.to_arrow()
    assert str(here).splitlines()[0] == "3 of 8 clients would be refused by Kafka 4.0"


def test_what_the_broker_calls_deprecated_is_what_we_call_refused():
    """KIP-896 says more than was removed, and a table of ours had followed its text."""
    found = kn.usage.clients(kn.usage.requests(LOG, broker=1, tz="UTC"))
    assert found["deprecated_versions"].to_pylist() == found["refused_versions"].to_pylist()


def test_a_frame_without_the_columns_is_refused(placed):
    """An older export had no versions, and it said that no client would be refused."""
    with pytest.raises(kn.UsageError, match="the requests have no column api_version"):
        kn.usage.clients(placed(requests_of(request("FETCH", 3)).drop_columns(["api_version"])))
    with pytest.raises(kn.UsageError, match="not a frame"):
        kn.usage.clients(3)


@pytest.mark.spark
def test_a_stream_is_refused(spark):
    """It waited for the end of a log that goes on."""
    stream = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS line")
    with pytest.raises(kn.UsageError, match="a stream has no end"):
        kn.usage.clients(kn.usage.requests(stream, broker=1, tz="UTC"))
