"""Limits that throttle needlessly, are unused, or ten times too high; and the promise of what is proposed, kept."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.model.entity import Entity
from kadmin_nb.resolution.needs import hours_needed, is_promise
from kadmin_nb.usage import recommend
from kadmin_nb.usage.backtesting import replayed
from tests.analytics.seeded_fleets import SEEDS, fleet, used_by
from tests.resolution.hierarchies import KEY, quotas_of

HOURS = 24 * 8


def quotas(**entries: float) -> pa.Table:
    return quotas_of({(Entity.parse(text), KEY): value for text, value in entries.items()})


def flat(user: str, value: float, hours: int = HOURS, broker: int = 1, throttle_ms: float = 0.0) -> pa.Table:
    """The same use in each window of five minutes."""
    values = np.full(hours * 12, value)
    return used_by(user, broker, 0, values, np.full(len(values), throttle_ms))


def row(answer: Iterable[dict[str, object]], entity: str) -> dict[str, object]:
    [one] = [one for one in answer if one["entity"] == entity]
    return one


def shares(limits: pa.Table, wanted: pa.Table) -> dict[str, float]:
    """The throttled share of each user's active seconds, on all brokers together."""
    sums: dict[str, list[int]] = {}
    for one in replayed(limits, wanted).to_pylist():
        of_user = sums.setdefault(f"user={one['bucket_user']}", [0, 0])
        of_user[0] += one["throttled_windows"]
        of_user[1] += one["windows"]
    return {user: throttled / active for user, (throttled, active) in sums.items()}


@pytest.fixture(
    scope="module",
    params=[SEEDS[:2], pytest.param(SEEDS, marks=pytest.mark.long)],
    ids=lambda seeds: f"{len(seeds)} fleets",
)
def fleets(request):
    return [fleet(seed) for seed in request.param]


@pytest.mark.slow
def test_on_the_week_that_comes_each_proposal_keeps_its_promise(fleets):
    """The limits that a tool proposed throttled half of the fleet a week later."""
    limits, usage, wanted = (pa.concat_tables(getattr(one, name) for one in fleets) for name in fleets[0].__slots__)
    answer = recommend(usage, limits)
    then = shares(answer.quotas_after, wanted)
    promised = {one["entity"]: one["promise"] for one in answer if one["promise"] is not None}
    assert len(promised) >= 6 * len(fleets)
    assert {user: then[user] for user, promise in promised.items() if then[user] > promise} == {}
    assert {one["finding"] for one in answer} == {"throttles needlessly", "ten times too high", "not known"}


@pytest.mark.slow
def test_a_percentile_with_headroom_keeps_no_promise(fleets):
    """That the promise is kept says nothing if any rule keeps it."""
    first = fleets[0]
    limits: dict[str, float] = {}
    for one in kn.usage.utilisation(first.usage, first.quotas).to_pylist():
        limits[one["bucket_user"]] = max(limits.get(one["bucket_user"], 0.0), one["p95"] * 1.2)
    chosen = {(Entity.of({"user": user}), KEY): limit for user, limit in limits.items() if "bursty" in user}
    is_one = [("bursty" in row["user"]) and row["broker"] == 1 for row in first.wanted_then.to_pylist()]
    wanted = first.wanted_then.filter(pa.array(is_one))
    assert max(shares(quotas_of(chosen), wanted).values()) > 0.02


def test_what_is_found_and_what_is_proposed():
    """Each of these limits needed another answer."""
    limits = quotas(**{
        "user=high": 5000.0, "user=fits": 150.0, "user=slow": 100.0, "user=gone": 100.0, "user=short": 5000.0,
        "user=<default>": 50.0, "client-id=app": 70.0,
    })  # fmt: skip
    usage = [flat("high", 100.0), flat("fits", 100.0), flat("slow", 100.0, throttle_ms=5.0), flat("short", 1.0, 24)]
    answer = recommend(pa.concat_tables(usage), limits)
    found = {one["entity"]: (one["finding"], one["op"], one["proposed"], one["promise"]) for one in answer}
    assert found == {
        "user=slow": ("throttles needlessly", "set", 200.0, 1.0),
        "user=high": ("ten times too high", "set", 120.0, 0.02),
        "client-id=app": ("unused", "delete", None, None),
        "user=<default>": ("unused", None, None, None),
        "user=gone": ("unused", "delete", None, None),
        "user=short": ("not known", None, None, None),
        "user=fits": ("fits", None, None, None),
    }
    high = row(answer, "user=high")
    assert (high["needed"], high["backtest"], high["hours"], high["windows"], high["clients"]) == (
        120.0, 0.0, HOURS, HOURS * 12, 1,
    )  # fmt: skip
    assert [one.key_columns for one in [schemas.RECOMMENDATIONS]] == [["entity", "key"]]
    assert len(answer.edits()) == 4
    assert {(one["bucket_user"], one["limit"]) for one in answer.backtest} >= {("high", 120.0), ("slow", 200.0)}
    assert {(one["user"], one["effect"]) for one in answer.impact} == {("high", "lowered"), ("slow", "raised")}


def test_of_few_hours_nothing_is_promised():
    """An hour of log proposed limits for the year."""
    usage = pa.concat_tables([flat("high", 1.0, 2), flat("slow", 100.0, 2, throttle_ms=5.0)])
    answer = recommend(usage, quotas(**{"user=high": 500.0, "user=slow": 100.0, "user=gone": 9.0}))
    assert [(one["finding"], one["op"]) for one in answer] == [
        ("throttles needlessly", None), ("not known", None), ("not known", None),
    ]  # fmt: skip
    assert answer.edits() == []


def test_of_unknown_use_nothing_is_proposed():
    """A share consumer's use was unknown, and its limit was lowered to what was known."""
    usage = flat("high", 1.0)
    value = pa.array([None, *usage["value"].to_pylist()[1:]], pa.float64())
    usage = usage.set_column(usage.column_names.index("value"), usage.schema.field("value"), value)
    found = row(recommend(usage, quotas(**{"user=high": 500.0})), "user=high")
    assert (found["finding"], found["windows_unknown"], found["op"]) == ("not known", 1, None)


def test_a_default_is_judged_by_the_user_that_needs_most_on_the_busiest_broker():
    """The default was lowered to what most users need."""
    usage = [flat("a", 1.0), flat("b", 10.0), flat("b", 30.0, broker=2)]
    found = row(recommend(pa.concat_tables(usage), quotas(**{"user=<default>": 1000.0})), "user=<default>")
    assert (found["needed"], found["buckets"], found["clients"], found["busiest"]) == (36.0, 2, 2, 2)
    assert found["busiest_share"] == 0.75


def test_growth_goes_on_for_as_long_as_the_usage_is():
    """The limit fitted the day on which it was proposed."""
    values = 100.0 * 2.0 ** (np.arange(HOURS * 12) / (12 * 24 * 8))
    usage, limits = used_by("up", 1, 0, values, np.zeros(len(values))), quotas(**{"user=up": 1e6})
    then = used_by("up", 1, len(values), 2 * values, np.zeros(len(values)))
    as_seen, without = (recommend(usage, limits, growth=growth) for growth in (None, 0.0))
    assert row(as_seen, "user=up")["growth"] == pytest.approx(2 ** (30 / 8) - 1, rel=0.02)
    assert shares(as_seen.quotas_after, then)["user=up"] <= 0.02
    assert row(without, "user=up")["proposed"] < 2 * values[len(values) // 2]


def test_hours_without_a_throttle_that_a_promise_needs():
    """A promise of 1 % was made out of two days."""
    for promise, hours in ((0.01, 299), (0.02, 149), (0.05, 59)):
        assert hours_needed(promise) == hours
        kept = is_promise(np.zeros(2), np.array([hours - 1.0, hours]), promise)
        assert kept.tolist() == [False, True]
    assert not is_promise(np.array([0.02]), np.array([1e6]), 0.02).any()


@pytest.mark.spark
def test_spark_finds_the_same(spark):
    """Two engines gave two limits."""
    usage = pa.concat_tables([flat("high", 100.0), flat("slow", 100.0, throttle_ms=5.0), flat("high", 7.0, broker=2)])
    limits = quotas(**{"user=high": 5000.0, "user=slow": 100.0})
    assert [*recommend(to_spark(usage, spark).repartition(3), limits)] == [*recommend(usage, limits)]


USED = flat("high", 1.0, 2)
BACK = USED.rename_columns({"window_start": "window_end", "window_end": "window_start"})
LED = USED.append_column("cluster_id", pa.array(["x"] * len(USED)))


@pytest.mark.parametrize(
    ("usage", "options", "kind", "message"),
    [
        (USED.drop_columns(["throttle_ms"]), {}, kn.UsageError, "the usage's rows have no column throttle_ms"),
        (BACK, {}, kn.Invalid, "window_end is not after window_start in a row of the usage's rows"),
        (LED, {}, kn.UsageError, "the usage has a cluster_id"),
        (USED, {"promise": 0.0}, kn.UsageError, "promise cannot be 0"),
        (USED, {"percentile": 101.0}, kn.UsageError, "percentile cannot be 101"),
        (USED, {"headroom": float("nan")}, kn.UsageError, "headroom cannot be nan"),
    ],
    ids=["column", "clock", "clusters", "promise", "percentile", "headroom"],
)
def test_what_cannot_be_judged_is_one_line(usage, options, kind, message):
    """A log of a clock that ran back was judged all the same."""
    with pytest.raises(kind, match=message):
        recommend(usage, quotas(**{"user=high": 500.0}), **options)


def test_a_limit_that_a_client_has_and_does_not_use_stays():
    """A consumer's limit on producing was removed, as it had never produced."""
    fetched = flat("reader", 1.0)
    key = pa.array(["consumer_byte_rate"] * len(fetched))
    fetched = fetched.set_column(fetched.column_names.index("key"), "key", key)
    usage = pa.concat_tables([flat("other", 1.0), fetched.cast(schemas.USAGE.schema)])
    found = row(recommend(usage, quotas(**{"user=reader": 500.0})), "user=reader")
    assert (found["finding"], found["op"]) == ("unused", None)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_limit_that_is_no_number_is_left_alone(value):
    """Another tool had stored Infinity, and the answer was an error of the logarithm."""
    usage = flat("odd", 1.0, throttle_ms=5.0)
    assert [(one["finding"], one["op"]) for one in recommend(usage, quotas(**{"user=odd": value}))] == [
        ("not known", None)
    ]


def test_usage_without_rows():
    """No usage was an error of numpy."""
    answer = recommend(USED.slice(0, 0), quotas(**{"user=high": 500.0}))
    assert [one["finding"] for one in answer] == ["not known"]
