"""The impact of a plan as an answer: counts first, its own cluster's clients, and what it needs to know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import OK, SET, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.observed_state import table_after
from kadmin_nb.plans.plan_file import PlanHead

KEY = "producer_byte_rate"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def change(row: int, entity: str, value: int) -> Change:
    whom = Entity.parse(entity)
    return Change(row, SET, whom, KEY, wanted=str(value), after=str(value), validated=OK, level=whom.level)


def plan_of(**limits: int) -> kn.Plan:
    rows = tuple(change(n, entity, value) for n, (entity, value) in enumerate(limits.items(), 1))
    return kn.Plan(PlanHead("here", "2026-05-01T12:00:00+00:00"), rows)


def quotas(**limits: int) -> pa.Table:
    return table_after(schemas.QUOTAS.empty(), plan_of(**limits).changes)


def usage(*clusters: str) -> pa.Table:
    """alice at twice 1 MB/s for half a minute, in each of these clusters, or without saying in which."""
    same = {"broker": 1, "user": "alice", "client_id": "app", "key": KEY, "value": 2e6, "source": "test"}
    starts = [NOON + timedelta(seconds=n) for n in range(30)]
    table = schemas.table(
        schemas.USAGE,
        ({**same, "window_start": start, "window_end": start + timedelta(seconds=1)} for start in starts),
    )
    if not clusters:
        return table
    return pa.concat_tables(table.append_column("cluster_id", pa.array([name] * 30)) for name in clusters)


ORDER = ("eve client-id=web", "alice client-id=app-01", "bob client-id=app-01")
"""The worst first."""

APPS = {f"client-id=app-{n:02}": 5 for n in range(12)}


def test_counts_come_first():
    """Nine hundred rows, and no word of how many there are of each kind."""
    pairs = pa.table({"user": ["alice", "bob", "eve"], "client_id": ["app-01", "app-01", "web"]})
    plan = plan_of(**{"user=<default>": 9})
    found = plan.impact(pairs, quotas=quotas(**APPS))
    said = repr(found).splitlines()
    at = said.index(f"{KEY}: becomes limited 1, raised 2")
    assert at == 0
    assert repr(plan._with_impact(found)).splitlines()[-len(said) :] == said
    assert [line.split("  ")[0] for line in said[-3:]] == [f"user={pair}" for pair in ORDER]


def test_nobody_is_touched_is_said_in_words():
    """An empty table could mean anything."""
    found = plan_of(**{"user=alice": 9}).impact(pa.table({"user": ["bob"], "client_id": ["app"]}), quotas=quotas())
    nobody = "No known client is one of user=alice: which clients these changes affect is not known."
    assert repr(found).endswith(f"no known client is affected\n{nobody}")
    assert "none is known" in plan_of(**{"user=alice": 9}).impact(schemas.PAIRS.empty(), quotas=quotas())._title()
    assert found.counts.to_pandas()[["key", "effect", "clients"]].values.tolist()[0][1:] == ["unchanged", 1]


def test_what_today_s_limits_throttle_is_not_the_plan_s_doing():
    """A plan that touched nobody "would have throttled" a bucket that is throttled anyway, above an empty heading."""
    found = plan_of(**{"user=bob": 9}).impact(usage(), quotas=quotas(**{"user=alice": 1_000_000}))
    assert found.backtest._title() == "0 of 0 buckets would have been throttled"
    assert "stalls when applied" in repr(found)
    both = plan_of(**{"user=bob": 9, "user=alice": 1000}).impact(usage(), quotas=quotas(**{"user=alice": 1_000_000}))
    assert both.backtest._title().startswith("1 of 1 buckets would have been throttled")
    assert both.stalls._title().startswith(
        "1 of 1 clients that the plan touches would be throttled when it is applied, by their use until "
    )


def test_what_is_unknown_is_not_replayed_and_said():
    """A share consumer was left out of the backtest without a word."""
    table = usage()
    unknown = table.set_column(table.column_names.index("value"), "value", pa.nulls(len(table), pa.float64()))
    said = str(plan_of(**{"user=alice": 9}).impact(unknown, quotas=quotas()))
    assert "not known in full" in said
    assert "not known in full" in str(kn.usage.backtest(quotas(**{"user=alice": 9}), unknown))


@pytest.mark.parametrize(
    ("clusters", "throttled"), [((), [52.0]), (("here",), [52.0]), (("here", "there"), [52.0]), (("there",), [])]
)
def test_a_usage_of_several_clusters_counts_for_its_own(clusters, throttled):
    """The other cluster's traffic was added to ours, and the plan looked dangerous."""
    found = plan_of(**{"user=alice": 1_000_000}).impact(usage(*clusters), quotas=quotas())
    assert found.backtest.to_arrow()["throttled_s"].to_pylist() == pytest.approx(throttled)
    assert len(found) == len(found.stalls) == len(throttled)


def test_a_plan_from_a_file_needs_the_quotas_or_a_cluster():
    """It answered from the plan's own rows, as if there were no others."""
    with pytest.raises(kn.UsageError, match="bound to no cluster"):
        plan_of(**{"user=alice": 9}).impact(usage())
    with pytest.raises(kn.UsageError, match="bound to no cluster"):
        kn.usage.backtest(plan_of(**{"user=alice": 9}).quotas_after(), usage())


def test_two_states_are_compared_without_any_plan():
    """To compare two snapshots I had to make up a plan."""
    found = kn.usage.impact(quotas(**{"user=alice": 9}), quotas(), usage(), keys=KEY)
    assert [row["effect"] for row in found.to_arrow().to_pylist()] == ["becomes unlimited"]
    assert "0 of 1 buckets would have been throttled" in repr(
        kn.usage.backtest(quotas(**{"user=alice": 10**8}), usage())
    )


def test_a_bucket_of_many_clients_is_no_client():
    """The impact told of a client without a client-id, whom nobody had ever seen."""
    names = {"client_id": ["app", "", "app", ""], "user": ["alice", "alice", "", ""]}
    table = usage().slice(0, 4).drop_columns([*names, "source"])
    for name, values in {**names, "source": [schemas.OF_BUCKETS] * 4}.items():
        table = table.append_column(name, pa.array(values))
    found = plan_of(**{"user=alice": 9}).impact(table, quotas=quotas())
    assert found.to_arrow().select(["user", "client_id"]).to_pylist() == [{"user": "alice", "client_id": "app"}]
