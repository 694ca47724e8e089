"""What rules are given, and that what could not be read is not known, never kept."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.state.snapshots import UnreadPart, snapshot
from tests.policy.judged_snapshots import MB, breaches, configs, held, pairs, quotas, states

EXAMPLE = Path(__file__).parents[2] / "kadmin-nb.policies.example.py"
RATE = "producer_byte_rate"


def unlimited(effective):
    """Nobody may be without a limit."""
    return effective[(effective.key == RATE) & effective.value.isna()]


def in_sync(configs):
    """Two have to acknowledge."""
    return configs[(configs.key == "min.insync.replicas") & (configs.value == "1")]


def of_plans(plan):
    """No danger."""
    return plan[plan.danger.notna()]


def of_users(users):
    """Nobody."""
    return users[:0]


def columns_of(name: str, target: kn.Snapshot) -> list[str]:
    seen: list[list[str]] = []
    namespace: dict[str, object] = {"seen": seen}
    exec(f"def looks({name}):\n    'x'\n    seen.append(list({name}.columns))\n    return {name}[:0]\n", namespace)
    kn.check(namespace["looks"], target)
    return seen[0]


def test_frames_are_those_that_are_published() -> None:
    """A rule that I tried on cluster.quotas.describe() failed in the policy."""
    whole = held(quotas(("user=alice", RATE, MB)))
    assert columns_of("quotas", whole) == ["cluster_id", *schemas.QUOTAS.names]
    assert columns_of("effective", whole) == ["cluster_id", *schemas.EFFECTIVE.names]
    left_out = {"synonyms", "documentation", "error", "message"}
    assert columns_of("configs", whole) == ["cluster_id", *(n for n in schemas.CONFIGS.names if n not in left_out)]


def test_clients_are_those_that_are_known_or_all_that_quotas_tell_apart() -> None:
    """The rule about unlimited clients passed, as no client was named."""
    target = held(quotas(("user=alice", RATE, MB)))
    assert breaches(kn.check(unlimited, target)) == [
        ('user=<default> client-id=""', RATE, "unlimited"),
        ("user=<default> client-id=<default>", RATE, "unlimited"),
    ]
    known = pairs(("alice", "x"), ("bob", None), ("bob", None))
    assert breaches(kn.check(unlimited, target, pairs=known)) == [('user=bob client-id=""', RATE, "unlimited")]


def test_rows_of_any_columns_are_told() -> None:
    """My rule returned a sum, and the report showed an empty line."""

    def sum_fits(effective):
        """All have to fit."""
        total = effective[effective.key == RATE].drop_duplicates(["bucket_user", "bucket_client_id"]).value.sum()
        return pd.DataFrame([{"total": total, "most": 1.5e6, "none": math.nan}])

    target = held(quotas(("user=alice", RATE, MB), ("user=bob", RATE, MB)))
    [row] = kn.check(sum_fits, target, pairs=pairs(("alice", "x"), ("bob", "y"))).to_arrow().to_pylist()
    assert (row["resource"], row["message"]) == (None, "total=2000000.0, most=1500000.0")
    assert json.loads(row["row"]) == {"total": 2e6, "most": 1.5e6, "none": None}


def test_groups_keep_their_names_and_other_frames_are_read() -> None:
    """The rule grouped by user, and the names were gone."""

    def grouped(quotas):
        """By user."""
        return quotas.groupby("user").agg(value=("value", "sum"), key=("key", "first"))

    def in_arrow(quotas):
        """As Arrow."""
        return pa.Table.from_pandas(quotas, preserve_index=False)

    found = kn.check([grouped, in_arrow], held(quotas(("user=alice", RATE, MB))))
    assert breaches(found) == [("user=alice", RATE, "1000000")] * 2


def test_what_is_not_there_is_not_known() -> None:
    """The rule about users passed on a snapshot, which has none."""
    answer = kn.check([of_users, of_plans, unlimited], held())
    assert states(answer)[:2] == ["unknown", "no plan"]
    assert answer.to_arrow()["message"].to_pylist()[0] == "users are read from a live cluster alone"
    assert not answer.ok
    no_quotas = snapshot({"configs": configs()}, cluster_id="c", taken_at=held().taken_at)
    assert states(kn.check(unlimited, no_quotas)) == ["unknown"]


@pytest.mark.parametrize("value", ["1", "2"])
def test_a_part_that_was_not_read_is_not_known_and_the_rest_is_judged(value: str) -> None:
    """One topic could not be read, and the rule was kept; or its other breaches were not told."""
    hidden = {"resource_type": "TOPIC", "resource_name": "hidden", "error": "TOPIC_AUTHORIZATION_FAILED"}
    rows = [*configs(("topic=t", "min.insync.replicas", value)).to_pylist(), hidden]
    target = held(None, schemas.table(schemas.CONFIGS, rows))
    answer = kn.check(in_sync, target)
    assert states(answer) == (["broken", "unknown"] if value == "1" else ["unknown"])
    assert answer.to_arrow()["message"].to_pylist()[-1] == "topic=hidden could not be read: TOPIC_AUTHORIZATION_FAILED"
    assert not answer.ok
    part = UnreadPart("GROUP", "CLUSTER_AUTHORIZATION_FAILED", "no right", "Ask.")
    answer = kn.check(in_sync, replace(held(None, configs()), unread=(part,), complete=False))
    assert answer.to_arrow()["message"].to_pylist() == ["the group configs were not read: no right. Ask."]


def test_limits_that_a_class_of_the_brokers_decides_are_not_known() -> None:
    """A broker had a callback of its own, and the rule was kept by Kafka's."""
    target = held(quotas(), configs(("broker=1", "client.quota.callback.class", "com.example.Callback")))
    [row] = kn.check(unlimited, target).to_arrow().to_pylist()
    assert (row["state"], row["message"].startswith("a broker sets client.quota.callback.class")) == ("unknown", True)


def test_the_example_finds_what_it_says() -> None:
    """The example was copied, and nobody had tried it."""
    left = "leader.replication.throttled.replicas"
    bad = held(
        quotas(("user=alice", RATE, 60 * MB), ("user=bob", RATE, 950 * MB), ("user=<default>", RATE, MB),
               ("client-id=app", RATE, MB)),
        configs(("topic=t", "min.insync.replicas", "1"), ("topic=scratch-1", "min.insync.replicas", "1"),
                ("topic=t", left, "*")),
    )  # fmt: skip
    clients = pairs(("alice", "x"), ("bob", "y"), ("bob", "z"), ("admin", "a"))
    found = [(rule["rule"], rule["severity"], rule["resource"]) for rule in
             kn.check(EXAMPLE, bad, pairs=clients).broken.to_arrow().to_pylist()]  # fmt: skip
    assert found == [
        ("nobody_unlimited", "error", "user=alice client-id=x"),
        ("nobody_unlimited", "error", "user=bob client-id=y"),
        ("nobody_unlimited", "error", "user=bob client-id=z"),
        ("produce_fits_the_capacity", "error", "user=bob client-id=y"),
        ("produce_fits_the_capacity", "error", "user=alice client-id=x"),
        ("no_default_user_beside_client_ids", "error", "user=<default>"),
        ("no_throttle_left_behind", "error", "topic=t"),
        ("two_replicas_in_sync", "error", "topic=t"),
        ("no_user_above_50_MB", "danger", "user=alice"),
        ("no_user_above_50_MB", "danger", "user=bob"),
    ]
    good = held(quotas(("user=<default>", RATE, MB), ("user=<default>", "consumer_byte_rate", MB)),
                configs(("topic=t", "min.insync.replicas", "2")))  # fmt: skip
    assert set(states(kn.check(EXAMPLE, good))) == {"kept"}
