"""Who would have been throttled, bucket by bucket, as a frame."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.resolution import demand
from kadmin_nb.resolution.rules import entity_at
from kadmin_nb.usage.backtesting import replayed as backtest
from tests.resolution.hierarchies import HOSTILE, KEY, quotas_of

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def quotas(key: str = KEY, **entries: float) -> pa.Table:
    return quotas_of({(Entity.parse(text), key): value for text, value in entries.items()})


def used(
    rate: float, seconds: int, *, user: str = "alice", client: str = "app", broker: int = 1, every: float = 1.0,
    after: float = 0.0, key: str = KEY,
) -> pa.Table:  # fmt: skip
    """So much a second, for so many seconds."""
    starts = [NOON + timedelta(seconds=after + n * every) for n in range(round(seconds / every))]
    same = {"broker": broker, "user": user, "client_id": client, "key": key, "value": rate, "source": "test"}
    rows = ({**same, "window_start": s, "window_end": s + timedelta(seconds=every)} for s in starts)
    return schemas.table(schemas.USAGE, rows)


ALICE = {"user=alice": 100.0}


def test_twice_the_limit_is_muted_until_all_is_through():
    """The plan looked harmless, and the nightly load was done an hour later."""
    found = backtest(quotas(**ALICE), used(200, 30))
    assert found.schema == schemas.BACKTEST.schema
    assert found.to_pylist() == [
        {
            "broker": 1,
            "key": KEY,
            "bucket_user": "alice",
            "bucket_client_id": "",
            "level": "USER",
            "limit": 100.0,
            "clients": 1,
            "windows": 58,
            "throttled_windows": 52,
            "throttled_share": pytest.approx(52 / 58),
            "throttled_s": pytest.approx(52.0),
            "longest_s": pytest.approx(52.0),
            "delay_s": pytest.approx(27.0),
            "first_throttled": NOON + timedelta(seconds=5),
        }
    ]


def test_clients_of_a_bucket_are_added_up_on_each_broker():
    """Each of the four was within the limit, and all four were throttled."""
    four = [used(50, 30, client=f"app-{n}") for n in range(4)]
    found = backtest(quotas(**ALICE), pa.concat_tables([*four, used(50, 30, broker=2)])).to_pylist()
    assert [(row["broker"], row["clients"], row["throttled_s"]) for row in found] == [(1, 4, 52.0), (2, 1, 0.0)]


def test_the_same_in_windows_of_any_length():
    """Usage a minute said something else than usage a second."""
    for every in (0.25, 1.0, 2.0, 10.0, 30.0):
        [found] = backtest(quotas(**ALICE), used(200, 30, every=every)).to_pylist()
        assert (found["windows"], found["first_throttled"]) == (58, NOON + timedelta(seconds=5))
        assert (found["throttled_s"], found["delay_s"]) == (pytest.approx(52.0), pytest.approx(27.0))


def test_rates_that_look_back_are_not_added_up():
    """The brokers' metrics, sampled each second, each of the last eleven: the client had used eleven times as much."""
    sliding = [used(90, 11, every=11.0, after=float(second)) for second in range(30)]
    [found] = backtest(quotas(**ALICE), pa.concat_tables(sliding)).to_pylist()
    assert (found["windows"], found["throttled_s"]) == (40, 0.0)


def test_windows_that_begin_within_a_second():
    """Half of the first second was lost."""
    found = backtest(quotas(**ALICE), used(200, 30, every=10.0, after=0.5)).to_pylist()[0]
    assert found["throttled_s"] == pytest.approx(52.0, abs=1.0)


@pytest.mark.parametrize("rest", [40.0, 44.0, 47.0, 70.0, 90.0, 200.0, 1000.0, 100_003.0])
def test_a_long_rest_changes_nothing(rest):
    """A month of usage with a burst a day took the night; or else lost what was waiting."""
    first, second = used(1000, 10), used(300, 10, after=10 + rest)
    [found] = backtest(quotas(**ALICE), pa.concat_tables([first, second])).to_pylist()
    idle = used(1e-3, round(rest), after=10)
    [stepped] = backtest(quotas(**ALICE), pa.concat_tables([first, idle, second])).to_pylist() if rest < 1e4 else [None]
    if stepped is not None:
        assert [found[name] for name in NUMBERS] == [pytest.approx(stepped[name], rel=1e-3) for name in NUMBERS]
    else:
        alone = [backtest(quotas(**ALICE), one).to_pylist()[0]["throttled_s"] for one in (first, second)]
        assert found["throttled_s"] == pytest.approx(sum(alone))
    assert found["first_throttled"] == NOON + timedelta(seconds=1)


NUMBERS = ("throttled_s", "longest_s", "delay_s")


def test_the_worst_comes_first_and_who_has_no_limit_is_not_there():
    """The one bucket that mattered was on page nine."""
    limits = quotas(**{"user=alice": 100.0, "user=bob": 100.0, "user=carol": 500.0})
    usage = pa.concat_tables(
        [used(200, 30, user=user) for user in ("alice", "carol", "dave")] + [used(300, 30, user="bob")]
    )
    found = backtest(limits, usage)
    assert found["bucket_user"].to_pylist() == ["bob", "alice", "carol"]
    assert found["throttled_s"].to_pylist()[2] == 0.0


def test_mutations_are_a_bucket_of_tokens():
    """A burst of eleven seconds' worth is free, and then nothing is."""
    limits = quotas("controller_mutation_rate", **{"user=alice": 1.0})
    found = backtest(limits, used(20, 1, key="controller_mutation_rate")).to_pylist()[0]
    assert found["delay_s"] == pytest.approx(8.0)
    assert found["throttled_s"] == pytest.approx(8.0, abs=0.6)


def test_several_clusters_do_not_mix():
    """Two clusters' broker 1 were taken for one."""

    def led(table: pa.Table, *ids: str) -> pa.Table:
        return pa.concat_tables(table.append_column("cluster_id", pa.array([i] * len(table), pa.string())) for i in ids)

    found = backtest(led(quotas(**ALICE), "a", "b"), led(used(60, 30), "a", "b"))
    assert found["cluster_id"].to_pylist() == ["a", "b"]
    assert found["throttled_s"].to_pylist() == [0.0, 0.0]
    with pytest.raises(kn.UsageError, match="the usage's rows have a cluster_id and the quotas have none"):
        backtest(quotas(**ALICE), led(used(60, 30), "a"))


def test_hostile_names():
    """A client called <default> got the default's bucket."""
    limits = quotas_of({(entity_at(LEVELS[0], name, name), KEY): 100.0 for name in HOSTILE})
    usage = pa.concat_tables([used(200, 12, user=name, client=name) for name in HOSTILE])
    found = backtest(limits, usage)
    assert sorted(found["bucket_user"].to_pylist()) == sorted(HOSTILE)
    assert min(found["throttled_s"].to_pylist()) > 0


REFUSED = {
    "no windows": (
        lambda t: t.drop_columns(["window_end"]),
        kn.UsageError,
        "the usage's rows have no column window_end",
    ),
    "backwards": (
        lambda t: t.rename_columns({"window_start": "window_end", "window_end": "window_start"}),
        kn.Invalid,
        "window_end is not after window_start in a row of the usage's rows",
    ),
    "values in words": (
        lambda t: t.set_column(6, "value", pa.array(["a"] * len(t))),
        kn.UsageError,
        "value of the usage's rows is string, not a number",
    ),
    "no times": (
        lambda t: t.set_column(4, "window_start", pa.array([True] * len(t))),
        kn.UsageError,
        "window_start of the usage's rows is bool",
    ),
}


@pytest.mark.parametrize(("change", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_usage_is_refused_in_a_line(change, error, words):
    """The error was a KeyError from deep inside."""
    with pytest.raises(error, match=words):
        backtest(quotas(**ALICE), change(used(200, 3)))


def test_nobody_and_nothing():
    """An empty lake gave a frame with other columns."""
    for limits, usage in ((quotas(), used(200, 3)), (quotas(**ALICE), used(200, 0)), (quotas(**ALICE), used(0, 3))):
        found = backtest(limits, usage)
        assert (found.num_rows, found.schema) == (0, schemas.BACKTEST.schema)


@pytest.mark.parametrize("seed", range(4))
def test_seconds_in_which_no_limit_matters_change_nothing(seed, monkeypatch):
    """A fortnight by the second took an hour, though the limit was reached once a day."""
    random = np.random.default_rng(seed)
    rates = np.repeat(random.lognormal(0, 1, 100), 40)
    starts = [NOON + timedelta(seconds=float(second)) for second in range(len(rates))]
    same = {"broker": 1, "user": "alice", "client_id": "app", "source": "test"}
    limits, usage = [], []
    for key in (KEY, "controller_mutation_rate"):
        limits.append(quotas(key, **{"user=alice": float(np.quantile(rates, 0.8))}))
        usage += [
            {**same, "key": key, "window_start": start, "window_end": start + timedelta(seconds=1), "value": rate}
            for start, rate in zip(starts, rates.tolist(), strict=True)
        ]
    frames = pa.concat_tables(limits), schemas.table(schemas.USAGE, usage)
    found = backtest(*frames).to_pylist()
    monkeypatch.setattr(demand._Series, "where_it_matters", _all_seconds)
    for row, whole in zip(found, backtest(*frames).to_pylist(), strict=True):
        assert row.pop("first_throttled") == whole.pop("first_throttled")
        assert row == pytest.approx(whole)
    assert all(0 < row["throttled_windows"] < row["windows"] for row in found)


def _all_seconds(series, limit):
    return replace(series, before=np.zeros_like(series.wanted), left_out=np.zeros(len(limit)))
