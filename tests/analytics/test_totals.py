"""Usage added up by its columns and by month or day: the same figures in both engines, to the byte."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schemas import OF_BUCKETS
from kadmin_nb.frames.spark import to_spark
from tests.runbooks.test_showback import MANY, NOON, PRODUCE, REQUEST, used


@pytest.fixture(params=["arrow", pytest.param("spark", marks=pytest.mark.spark)])
def totals(request: pytest.FixtureRequest):
    """`kn.usage.totals` here, and in Spark; its rows in order."""

    def added_up(usage: pa.Table, *how: Any) -> list[dict[str, Any]]:
        if request.param == "arrow":
            rows: list[dict[str, Any]] = kn.usage.totals(usage, *how).to_pylist()
            return rows
        frame = kn.usage.totals(to_spark(usage, request.getfixturevalue("spark")).repartition(3), *how)
        return sorted(frame.toArrow().to_pylist(), key=lambda row: [*map(str, row.values())])

    return added_up


def test_usage_is_added_up_by_any_of_its_columns(totals) -> None:
    """Two runs of the same month gave two bills, which differed in the last digits."""
    usage = schemas.table(schemas.USAGE, [*MANY, used("pay-1", 8.0, broker=2, source=OF_BUCKETS)])
    by_broker = [(row["broker"], row["bytes_in"], row["windows"]) for row in totals(usage, ["broker"])]
    assert sorted(by_broker) == [(1, 400_000_000, 1), (1, 2_600_000_000, 6), (2, 8, 1)]
    days = {(str(row["day"]), row["key"]): row["request_s"] for row in totals(usage, ["key"], "day")}
    assert days["2026-11-30", REQUEST] == 1.0
    assert {str(row["day"]) for row in totals(usage)} == {"2026-11-01", "2026-12-01"}
    assert totals(usage.slice(0, 0), ["user"]) == []


def test_usage_is_not_added_up_by_what_it_does_not_have() -> None:
    """Of a wrong word it said KeyError."""
    usage = schemas.table(schemas.USAGE, MANY)
    with pytest.raises(kn.UsageError, match="every cannot be week"):
        kn.usage.totals(usage, every="week")
    with pytest.raises(kn.UsageError, match="by cannot be team"):
        kn.usage.totals(usage, ["team"])
    with pytest.raises(kn.UsageError, match="the usage's rows have no column value"):
        kn.usage.totals(usage.drop_columns(["value"]))


def test_days_and_months_are_those_of_utc(totals) -> None:
    """The last hours of a month were on the next bill."""
    last = used("a", 1.0, at=NOON + timedelta(hours=11, minutes=59, seconds=59.5))
    usage = schemas.table(schemas.USAGE, [last, used("a", 2.0, at=last["window_end"])])
    assert [(str(row["day"]), row["bytes_in"]) for row in totals(usage)] == [("2026-11-01", 1), ("2026-12-01", 2)]


def test_sums_beyond_two_to_the_53rd_are_exact(totals) -> None:
    """A month of the largest team ended with: ArrowInvalid: Integer value 10368000000000000 not in range."""
    rows = [used("a", 2.0**52 + 1, key, at=NOON + timedelta(seconds=n)) for n in range(3) for key in (PRODUCE, REQUEST)]
    (row,) = totals(schemas.table(schemas.USAGE, rows), [], "day")
    assert (row["bytes_in"], row["windows_unknown"]) == (3 * (2**52 + 1), 3)


def test_clusters_are_never_added_up_together() -> None:
    """Two clusters have a broker 1 each, and the report had one row of both."""
    usage = schemas.table(schemas.USAGE, MANY).append_column(
        "cluster_id", pa.array(["a", "b", "a", "b", "a", "b", "a"])
    )
    assert kn.usage.totals(usage, [], "month")["cluster_id"].to_pylist() == ["a", "a", "b"]


REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 3 * 86_400_000),
        st.sampled_from(["pay-1", "pay-2", "etl", "x"]),
        st.sampled_from(["PRODUCE", "FETCH"]),
        st.integers(0, 2**40),
        st.integers(1, 3),
    ),
    max_size=30,
)


@settings(max_examples=100, deadline=None)
@given(REQUESTS, st.sampled_from(["1 second", "7 seconds", "1 hour"]))
def test_sums_are_what_was_used_to_the_byte(requests, every):
    """The bill of all teams was some bytes off the log, and the auditor did not stop asking."""
    log = pa.Table.from_pylist([_request(*request) for request in requests], _REQUESTS)
    usage = kn.usage.usage(log, every)
    days = kn.usage.totals(usage, ["user"], "day")
    for name in ("bytes_in", "bytes_out"):
        assert (pc.sum(days[name]).as_py() or 0) == (pc.sum(log[name]).as_py() or 0)
    assert pc.sum(days["windows_unknown"]).as_py() in (0, None)


_REQUESTS = pa.schema([field for field in schemas.REQUESTS.schema if field.name != "listener"])


def _request(at: int, user: str, api: str, size: int, broker: int) -> dict[str, object]:
    sizes = {"bytes_in": size} if api == "PRODUCE" else {"bytes_out": size}
    client = {"broker": broker, "user": user, "client_id": "app", "connection": "", "correlation_id": 1}
    return {"time": NOON + timedelta(milliseconds=at), "api": api, **client, **sizes}
