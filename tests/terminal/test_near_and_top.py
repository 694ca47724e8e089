"""`quota near` and `quota top`: who should be looked at, from a USAGE file, a log, or by observing a real broker."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from confluent_kafka import Producer

import kadmin_nb as kn
from kadmin_nb.cluster import observation
from kadmin_nb.cluster.observation import ObservationAnswer
from kadmin_nb.frames import schemas
from kadmin_nb.frames.blocks import window
from kadmin_nb.frames.schemas import OF_BUCKETS

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
RECORDED = Path(__file__).parents[1] / "analytics" / "recorded"


def used(second: int, user: str, value: float, **rest: object) -> dict[str, object]:
    """A row of USAGE: a second of a client's produced bytes on broker 1."""
    start = NOON + timedelta(seconds=second)
    window = {"window_start": start, "window_end": start + timedelta(seconds=1)}
    return (
        {"broker": 1, "user": user, "client_id": "app", "key": PRODUCE, "value": value, "source": "s: x"}
        | window
        | rest
    )


def usage(*rows: dict[str, object]) -> pa.Table:
    return schemas.table(schemas.USAGE, rows)


def quotas(**limits: float) -> pa.Table:
    rows = ({"entity": "", "level": "USER", "user": user, "key": PRODUCE, "value": v} for user, v in limits.items())
    return schemas.table(schemas.QUOTAS, rows)


def test_the_worst_is_first_and_who_is_fine_is_not_there():
    """I scrolled through 24 columns of 4,000 buckets for the three that mattered."""
    rows = usage(
        used(0, "over", 150),
        used(0, "near", 80),
        used(0, "fine", 79),
        used(0, "held", 10, throttle_ms=40.0),
        used(0, "free", 10**9),
    )
    answer = kn.usage.near(kn.usage.utilisation(rows, quotas(over=100, near=100, fine=100, held=100)))
    shown = [(row["bucket_user"], row["utilisation"], row["throttle_ms"]) for row in answer.to_arrow().to_pylist()]
    assert shown == [("over", 150.0, None), ("near", 80.0, None), ("held", 10.0, 40.0)]
    assert answer.to_arrow().column_names == schemas.NEAR.names
    assert answer._title() == (
        "3 of 4 limits are above 80 % or throttled, 1 of them exceeded. "
        "Highest: user=over producer_byte_rate 150 of 100 B/s (150 %) on broker 1."
    )


NOBODY = {
    "nobody is limited": ({}, "No client in this usage has a limit."),
    "all are fine": (
        {"a": 1e9},
        "None of 1 limits reached 80 % from 2026-11-21 12:00:00Z to 12:00:01Z, and no client was throttled.",
    ),
}


@pytest.mark.parametrize(("limits", "title"), NOBODY.values(), ids=NOBODY)
def test_no_row_says_why(limits, title):
    """The table was empty: was all well, or had it read nothing?"""
    assert kn.usage.near(kn.usage.utilisation(usage(used(0, "a", 1)), quotas(**limits)))._title() == title


@pytest.mark.broker
def test_near_a_limit_of_the_cluster(live, unique, tmp_path):
    """Who is near a limit took a frame, a join and a sort."""
    user, place = unique("user"), tmp_path / "used.parquet"
    pyarrow.parquet.write_table(usage(used(0, user, 900_000), used(1, "nobody", 10**9)), place)
    assert live("quota", "set", f"{PRODUCE}=1MB/s", f"user={user}", "--apply").code == 0
    (row,) = json.loads(live("quota", "near", str(place), "--json").out)
    assert (row["bucket_user"], row["limit"], row["utilisation"]) == (user, 1e6, 90.0)
    said = live("quota", "near", str(place), "--percent", "95").out
    assert said.startswith("None of 1 limits of now reached 95 %")
    codes = {percent: live("quota", "near", str(place), "--percent", percent, "--detailed-exitcode").code
             for percent in ("90", "95")}  # fmt: skip
    assert codes == {"90": 3, "95": 0}
    assert said.endswith("\nRead from 1 of 1 brokers, 2026-11-21 12:00:00Z to 12:00:02Z.\n")
    assert "whether they were the same in that time is not known. --history WHERE judges" in said


@pytest.mark.slow
def test_why_observes_and_explains_in_one_line(live, unique):
    """Observing, reading the log and explaining were three lines, with a file between them."""
    user = unique("user")
    assert live("quota", "set", f"{PRODUCE}=1MB/s", f"user={user}", "--apply").code == 0
    assert f"user={user}" in live("quota", "why", f"user={user}", "--for", "1s").out
    refused = live("quota", "why", f"user={user}", "--for", "1s", "--usage", "used.parquet")
    assert (refused.code, "--for and --usage cannot be combined" in refused.err) == (2, True)


def test_who_uses_most_of_each_key():
    """The loudest client was in row 3,000."""
    rows = usage(
        used(0, "big", 90), used(9, "big", 90), used(0, "big", 40, broker=2), used(9, "big", 0, broker=2),
        used(0, "small", 20, throttle_ms=7.0), used(1, "least", 1), used(5, "reader", 3, key=FETCH),
    )  # fmt: skip
    answer = kn.usage.top(rows, most=2)
    names = ("key", "user", "brokers", "mean", "peak", "throttle_ms")
    assert [tuple(row[name] for name in names) for row in answer.to_arrow().to_pylist()] == [
        (FETCH, "reader", 1, 0.3, 3.0, None),
        (PRODUCE, "big", 2, 22.0, 90.0, None),  # 180 / 10 s on broker 1, 40 / 10 s on broker 2
        (PRODUCE, "small", 1, 2.0, 20.0, 7.0),
    ]
    assert answer.to_arrow()["share"].to_pylist() == [100.0, pytest.approx(100 * 22 / 24.1), pytest.approx(200 / 24.1)]
    assert answer._title() == ("Watched 10 s, 2026-11-21 12:00:00Z to 12:00:10Z, brokers 1, 2; by s.")
    only = kn.usage.top(rows, keys=[FETCH]).to_arrow()
    assert only["user"].to_pylist() == ["reader"]


def test_time_that_was_watched_counts_though_nobody_asked():
    """One request in ten seconds was a rate for all ten of them."""
    time = NOON, NOON + timedelta(seconds=10)
    answer = kn.usage.top(usage(used(3, "a", 50)), time=time)
    assert answer.to_arrow()["mean"].to_pylist() == [5.0]
    assert "Watched 10 s, " in answer._title()
    assert kn.usage.top(usage(used(3, "a", 0)), time=time)._title().startswith("Watched 10 s, ")
    assert kn.usage.top(usage(), time=time)._title() == "No client traffic in 10 s."


def test_what_cannot_be_ranked_is_one_line():
    """Twenty lines of traceback for a slip."""
    with pytest.raises(kn.UsageError, match="the most of each key cannot be 0"):
        kn.usage.top(usage(), most=0)
    with pytest.raises(kn.UsageError, match="the usage's rows have no column"):
        kn.usage.top(pa.table({"user": ["a"]}))


@pytest.mark.broker
@pytest.mark.parametrize(("form", "place"), [((), "out"), (("--json",), "err")])
def test_a_log_that_lost_files_is_told_of_beside_json_too(kadmin, cluster, monkeypatch, form, place):
    """The JSON was of the half of the time that the log still had, and nothing said so."""
    lost = kn.usage.top(usage(used(3, "a", 50)), notes=["WARNING: broker 1: log4j deleted rolled files"])
    monkeypatch.setattr(ObservationAnswer, "top", lambda self, **_: lost)
    monkeypatch.setattr(kn.Cluster, "observe", lambda self, *_, **__: ObservationAnswer(schemas.OBSERVED.empty()))
    said = kadmin("quota", "top", *form, "--cluster", cluster.settings.bootstrap)
    assert [getattr(said, one).count("WARNING: broker 1") for one in ("out", "err")] == [place == "out", place == "err"]


def test_metrics_name_buckets():
    """The metrics of a whole user were looked for among its clients."""
    answer = kn.usage.top(usage(used(0, "bob", 5, client_id="", source=OF_BUCKETS)))
    assert [(row["user"], row["client_id"]) for row in answer.to_arrow().to_pylist()] == [("bob", "")]
    assert answer._title().endswith("by metrics.")


def test_the_loudest_of_a_log(kadmin):
    """A log of 20 kB, and the answer was forty columns away."""
    said = kadmin(
        "quota", "top", str(RECORDED), "--broker", r"broker-(\d+)/", "--tz", "UTC", "--most", "1", "-k", PRODUCE
    )
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0].endswith("Watched 5.43 min, 2026-11-21 11:59:51Z to 12:05:17Z, brokers 1, 2; by request log; "
                             "not known for all of the time of broker 1, 2.")  # fmt: skip
    assert lines[2].split()[0] == "producer"
    assert lines[2] == lines[-1]


@pytest.mark.broker
def test_who_uses_most_right_now(live, kafka, cluster, unique):
    """Something was hammering the brokers, and I had no name."""
    client_id, topic = unique("loud"), unique("topic")
    cluster.port.create_topics({topic: 1})
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "client.id": client_id, "linger.ms": 5})

    def produce(advance: object) -> None:
        producer.produce(topic, bytes(20_000))
        producer.poll(0)

    answer = cluster.observe(3, progress=produce).top(keys=[PRODUCE])
    producer.flush(30)
    rows = answer.to_arrow().to_pylist()
    assert client_id in {row["client_id"] for row in rows}
    assert answer._title().startswith("Watched 3")
    assert answer._title().endswith("broker 1; by request log.")


@pytest.mark.broker
def test_logs_that_nobody_can_find_are_not_switched_on(live, monkeypatch):
    """It observed for ten seconds, and then it had nothing to read."""
    monkeypatch.setattr(observation, "all_runs", list)
    said = live("quota", "top")
    assert said.code == 1
    assert "brokers do not say where they write their request log" in said.err


NEAR = """\
2 of 3 limits are above 80 %, 1 of them exceeded. Highest: user=b producer_byte_rate 1.2 of 1 MB/s
(120 %) on broker 1.
   who     key       use                               used  broker  throttled  level
✗  user=b  producer  ████████████████  120 %  1.2 of 1 MB/s       1     700 ms  user
!  user=a  producer  █████████████▋░░   85 %  3.4 of 4 MB/s       1             user
Read from 1 broker, 2026-11-21 12:00:00Z to 12:00:01Z."""


def test_the_limits_that_are_near_are_bars_the_worst_first():
    """Eleven columns of figures: which of the limits was nearest I had to work out."""
    rows = [used(0, "a", 3_400_000), used(0, "b", 1_200_000, throttle_ms=700.0), used(0, "c", 10)]
    limits = quotas(a=4e6, b=1e6, c=1e6)
    answer = kn.usage.near(kn.usage.utilisation(usage(*rows), limits))
    assert answer.as_text(window(100, "")) == NEAR


@pytest.mark.slow
def test_near_observes_where_no_usage_is_given(live):
    """Who is near a limit right now took a file between two lines."""
    said = live("quota", "near", "--for", "1s")
    assert said.code == 0, said.err
    assert "limits of now" not in said.out
