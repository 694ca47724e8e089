"""What each team used and what it cost: to the byte, in both engines; owners and rates that are wrong."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schemas import OF_BUCKETS
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS

PRODUCE, FETCH, REQUEST, MUTATION = USER_CLIENT_KEYS
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
OWNERS = {"user~=pay-*": "payments", "user=etl client-id~=nightly-*": "data", "user=etl": "reports"}
RATES = {"currency": "EUR", "gb_in": 2.0, "gb_out": 1.0, "request_hour": 3600.0}


def used(value: float | None, user: str = "pay-1", client_id: str = "app", key: str = PRODUCE, **rest: object):
    start = rest.pop("at", NOON)
    end = start + timedelta(seconds=float(rest.pop("seconds", 1)))
    own = {"broker": 1, "user": user, "client_id": client_id, "key": key, "value": value, "source": "test"}
    return {**own, "window_start": start, "window_end": end, **rest}


def usage_of(*rows: dict[str, object]) -> pa.Table:
    return schemas.table(schemas.USAGE, rows)


MANY = usage_of(
    used(1e9, seconds=2),
    used(5e8, "pay-2", key=FETCH, throttle_ms=250.0),
    used(50.0, "pay-2", key=REQUEST, seconds=2, throttle_ms=1500.0),
    used(3e8, "etl", "nightly-7"),
    used(2e8, "etl", "nightly"),
    used(1e8, "mallory", "<script>"),
    used(7.0, "etl", "nightly-7", MUTATION, throttle_ms=10.0),
    used(4e8, at=NOON + timedelta(days=1)),
)


@pytest.fixture(params=["arrow", pytest.param("spark", marks=pytest.mark.spark)])
def cost(request):
    """COST of a usage here, and in Spark; its rows in order."""

    def worked_out(usage, *how, **more):
        if request.param == "arrow":
            return kn.usage.cost(usage, *how, **more).to_pylist()
        frame = kn.usage.cost(to_spark(usage, request.getfixturevalue("spark")), *how, **more)
        return sorted(frame.toArrow().to_pylist(), key=lambda row: (row["day"], row["team"]))

    return worked_out


def test_each_team_pays_for_what_its_clients_used(cost):
    """The bill of one team had the nightly job of another, and nobody saw that a tenth belonged to no team."""
    rows = {(row["day"].month, row["team"]): row for row in cost(MANY, OWNERS, RATES)}
    assert [*rows] == [(11, "(nobody)"), (11, "data"), (11, "payments"), (11, "reports"), (12, "payments")]
    assert rows[11, "payments"] == {
        "day": date(2026, 11, 1), "every": "month", "team": "payments", "clients": 2, "bytes_in": 2_000_000_000,
        "bytes_out": 500_000_000, "request_s": 1.0, "throttled_s": 1.75, "windows_unknown": 0,
        "cost": 2 * 2.0 + 0.5 + 1.0, "currency": "EUR",
    }  # fmt: skip
    assert (rows[11, "data"]["bytes_in"], rows[11, "data"]["throttled_s"]) == (300_000_000, 0.01)
    assert (rows[11, "reports"]["bytes_in"], rows[11, "(nobody)"]["bytes_in"]) == (200_000_000, 100_000_000)
    assert rows[12, "payments"]["bytes_in"] == 400_000_000


def test_days_are_those_of_utc_and_without_rates_there_is_no_cost(cost):
    """The last hours of a month were on the next bill."""
    last = used(1.0, at=datetime(2026, 11, 30, 23, 59, 59, 999_000, tzinfo=UTC))
    rows = cost(usage_of(last, used(2.0, at=last["window_end"])), OWNERS, every="day")
    figures = [(row["day"], row["every"], row["bytes_in"], row["cost"], row["currency"]) for row in rows]
    assert figures == [(date(2026, 11, 30), "day", 1, None, None), (date(2026, 12, 1), "day", 2, None, None)]


def test_use_that_is_unknown_is_counted_and_not_guessed(cost):
    """One broken sample made the bill infinite; share consumers looked as if they were free."""
    values = [None, math.nan, math.inf, -1.0, 1e300, 5.0]
    (row,) = cost(usage_of(*(used(value, key=FETCH, throttle_ms=math.nan) for value in values)), OWNERS)
    assert (row["bytes_out"], row["windows_unknown"], row["throttled_s"]) == (5, 5, 0.0)


def test_measures_of_buckets_belong_to_the_owner_of_the_bucket():
    """Of usage from metrics all was without an owner; and beside a log the same bytes were counted twice."""
    bucket = used(8.0, "pay-1", "", source=OF_BUCKETS)
    alone = kn.usage.showback(usage_of(bucket), {"user~=pay-*": "payments"})
    assert (alone["team"].to_pylist(), alone.warnings) == (["payments"], ())
    both = kn.usage.showback(usage_of(bucket, used(8.0)), {"user~=pay-*": "payments"})
    assert "counts twice" in both.warnings[0]


def test_a_pattern_that_matches_no_client_is_a_warning():
    """The team was renamed, its pattern was not, and its use went to somebody else for a year."""
    answer = kn.usage.showback(MANY, {**OWNERS, "client-id=gone": "old", "user=pay-1": "hidden"}, RATES)
    assert answer.warnings == (
        "client-id=gone of old owns no client: none matches it, or an earlier pattern does.",
        "user=pay-1 of hidden owns no client: none matches it, or an earlier pattern does.",
    )
    assert str(answer).splitlines()[0] == ("7.50 EUR; payments used most, 84 %; 2.67 % is of clients without an owner")
    assert "<script>" not in answer._repr_html_()


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
    costs = kn.usage.cost(usage, OWNERS, every="day")
    for name in ("bytes_in", "bytes_out"):
        assert (pc.sum(costs[name]).as_py() or 0) == (pc.sum(log[name]).as_py() or 0)
    assert pc.sum(costs["windows_unknown"]).as_py() in (0, None)


_REQUESTS = pa.schema([field for field in schemas.REQUESTS.schema if field.name not in ("listener", "total_ms")])


def _request(at: int, user: str, api: str, size: int, broker: int) -> dict[str, object]:
    sizes = {"bytes_in": size} if api == "PRODUCE" else {"bytes_out": size}
    client = {"broker": broker, "user": user, "client_id": "app", "connection": "", "correlation_id": 1}
    return {"time": NOON + timedelta(milliseconds=at), "api": api, **client, **sizes}


@pytest.mark.spark
def test_spark_adds_up_the_same_whatever_the_order(spark):
    """Two runs of the same month gave two bills, which differed in the last digits."""
    rows = [used(i * 1.1, f"pay-{i % 7}", f"c-{i % 3}", (PRODUCE, FETCH, REQUEST)[i % 3]) for i in range(3000)]
    usage = usage_of(*rows)
    here = kn.usage.cost(usage, OWNERS, RATES)
    assert kn.usage.cost(to_spark(usage, spark).repartition(7), OWNERS, RATES).toArrow().to_pylist() == here.to_pylist()
    assert kn.usage.cost(usage.slice(0, 0), OWNERS).num_rows == 0
    in_clusters = usage.append_column("cluster_id", pa.array(["a", "b"] * 1500))
    assert kn.usage.cost(in_clusters, OWNERS)["cluster_id"].to_pylist() == ["a", "b"]


WRONG_OWNERS = [
    ('[owners]\n"user=a" = "x"\n"user=a" = "y"\n', r"owners\.toml:3: a key is there twice"),
    ('[owners]\n"user=a" = "x"\n"user==a" = "y"\n', r"owners\.toml: user=a has two owners, x and y"),
    ('[owners]\n"user=a" = 3\n', r"the owner of user=a is not the name of a team"),
    ('[owners]\n"user=a" = "(nobody)"\n', r"\(nobody\) is the word for clients without an owner"),
    ('[owners]\n"topic=a" = "x"\n', r"topic of topic=a is not one of user, client-id"),
    ('[owners]\n"user=<default>" = "x"\n', r"names a default, which is not a client"),
    ('[owners]\n"alice" = "x"\n', r"alice is neither type=value nor key=value"),
    ('[owner]\n"user=a" = "x"\n', r"owners\.toml is not a file of owners"),
    ("[owners]\n", r"owners\.toml names no owner"),
    ("[owners\n", r"owners\.toml is not TOML"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_OWNERS)
def test_owners_that_are_wrong_are_refused_in_one_line(tmp_path, text, message):
    """Two lines named the same users, and the second was passed over."""
    place = tmp_path / "owners.toml"
    place.write_text(text)
    with pytest.raises(kn.UsageError, match=message) as refused:
        kn.usage.cost(MANY, place)
    assert "\n" not in str(refused.value)


WRONG_RATES = [
    ('currency = "EUR"\ngb_in = 1\n', r"rates\.toml has no gb_out, request_hour"),
    ('currency = "EUR"\ngb_in = 1\ngb_out = nan\nrequest_hour = 1\n', r"gb_out is not a price"),
    ('currency = "EUR"\ngb_in = 1\ngb_out = -1\nrequest_hour = 1\n', r"gb_out is not a price"),
    ('currency = 1\ngb_in = 1\ngb_out = 1\nrequest_hour = 1\n', r"currency is not a text"),
    ('currency = "EUR"\ngb_in = 1\ngb_out = 1\nrequest_hour = 1\ngb_inn = 1\n', r"gb_inn is not a part of a rate card"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG_RATES)
def test_rates_that_are_wrong_are_refused_in_one_line(tmp_path, text, message):
    """A price was missing, and a hundred TB were free."""
    place = tmp_path / "rates.toml"
    place.write_text(text)
    with pytest.raises(kn.UsageError, match=message):
        kn.usage.cost(MANY, OWNERS, place)


def test_usage_without_the_needed_columns_is_refused():
    """Of a file with other columns it said KeyError."""
    with pytest.raises(kn.UsageError, match="the usage's rows have no column value"):
        kn.usage.cost(MANY.drop_columns(["value"]), OWNERS)
    with pytest.raises(kn.UsageError, match="every cannot be week"):
        kn.usage.cost(MANY, OWNERS, every="week")
    with pytest.raises(kn.NotFound, match="is not there, so it cannot be a file of owners"):
        kn.usage.cost(MANY, "gone.toml")
