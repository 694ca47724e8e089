"""A policy over the snapshots of many clusters, on Spark: the same rows as for one snapshot after the other."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.snapshot_kinds import KINDS
from kadmin_nb.frames.snapshots import Snapshot, snapshot
from kadmin_nb.policy.reader import read

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "kadmin-nb.policy.example.toml"
RATE = "producer_byte_rate"
MORE = """
[[rule]]
name = "retention-is-said"
reason = "nobody knows how long brokers keep it"
frame = "CONFIGS"
where = { resource_type = "TOPIC", resource_name = ["orders", "payments"] }
required = ["retention.ms"]

[[rule]]
name = "acks-of-all"
reason = "a broker that fails takes what it alone has with it"
frame = "CLIENT_CONFIGS"
where = { key = "acks" }
must = { value = "all" }

[[rule]]
name = "no-quota-in-vain"
reason = "it misleads"
severity = "warn"
frame = "TREE"
where = { shadowed_by = { set = true } }
forbid = true
"""


def quota(level: str, user: str | None, client_id: str | None, value: float) -> dict[str, object]:
    parts = [("user", user), ("client-id", client_id)]
    words = " ".join(f"{kind}={name}" for kind, name in parts if name) or "user=<default>"
    return {"entity": words, "level": level, "user": user, "client_id": client_id, "key": RATE, "value": value}


def config(kind: str, name: str, key: str, value: str, source: str) -> dict[str, object]:
    return {"resource_type": kind, "resource_name": name, "key": key, "value": value, "source": source}


def acks(user: str, client_id: str | None, value: str) -> dict[str, object]:
    row = {"entity": f"user={user}", "user": user, "client_id": client_id, "key": "acks", "value": value}
    return {**row, "revision": 1, "author": "", "plan_id": "", "changed_at": datetime(2026, 11, 1, tzinfo=UTC)}


def held(
    cluster_id: str,
    day: int,
    quotas: list[dict],
    configs: list[dict],
    client_configs: tuple[dict, ...] = (),
    complete: bool = True,
) -> Snapshot:
    rows = {"quotas": quotas, "configs": configs, "client_configs": client_configs}
    frames = {name: schemas.table(KINDS[name].frame, rows[name]) for name in rows}
    when = {"taken_at": datetime(2026, 11, day, tzinfo=UTC), "snapshot_id": f"s{day}", "complete": complete}
    return snapshot(frames, cluster_id=cluster_id, **when)


TOPIC = [
    config("TOPIC", "orders", "min.insync.replicas", "1", "DYNAMIC_TOPIC_CONFIG"),
    config("TOPIC", "orders", "leader.replication.throttled.replicas", "*", "DYNAMIC_TOPIC_CONFIG"),
]
UNREAD = [{"resource_type": "TOPIC", "resource_name": "hidden", "error": "TOPIC_AUTHORIZATION_FAILED"}]
ACKS = acks("alice", None, "1")
FLEET = [
    held("a", 1, [quota("DEFAULT_USER", None, None, 2e9), quota("CLIENT", None, "app", 1e6)], TOPIC, (ACKS,)),
    held("a", 2, [quota("DEFAULT_USER", None, None, 1e6)], [], (ACKS | {"value": "-1"},)),
    held("b", 3, [quota("USER", "alice", None, 1e6)], UNREAD),
    held("c", 4, [], TOPIC[:1], complete=False),
    held("a<b>", 5, [quota("USER", "<any other>", "x", 6e8) | {"level": "CLIENT_OF_USER"}], []),
]
CLIENTS = pa.table(
    {
        "cluster_id": ["a", "a", "b", "b"],
        "user": ["alice", "admin", "alice", "bob"],
        "client_id": ["app", "x", None, ""],
    }
)


def sides(spark):
    return [
        kn.Answer(pa.concat_tables([one.frames[kind].to_arrow() for one in FLEET])).to_spark(spark) for kind in KINDS
    ]


def rows(table: pa.Table) -> list[str]:
    return sorted(str({name: row[name] for name in ("cluster_id", *schemas.POLICY.names)}) for row in table.to_pylist())


def one_by_one(policy: kn.policy.Policy, pairs: pa.Table | None) -> list[str]:
    found = []
    for one in FLEET:
        own = policy.check(one, pairs=pairs).to_arrow().to_pylist()
        found += [{"cluster_id": one.cluster_id, **row} for row in own]
    return sorted(str({name: row[name] for name in ("cluster_id", *schemas.POLICY.names)}) for row in found)


@pytest.mark.parametrize("known", ["all that quotas tell apart", "known clients", "known clients in Spark"])
def test_a_fleet_is_judged_as_each_snapshot_is(spark, known):
    """The report of the fleet said other things than the check of the one cluster."""
    policy = read(EXAMPLE.read_text() + MORE, "policy.toml")
    pairs = CLIENTS if known.startswith("known") else None
    given = kn.Answer(CLIENTS).to_spark(spark) if known.endswith("in Spark") else pairs
    found = kn.fleets.policy(policy, *sides(spark), pairs=given).toArrow()
    assert found.column_names == ["cluster_id", *schemas.POLICY.names, "snapshot_id", "taken_at"]
    assert rows(found) == one_by_one(policy, pairs)
    states = {(row["cluster_id"], row["snapshot_id"], row["state"]) for row in found.to_pylist()}
    assert {("a", "s1", "broken"), ("a", "s2", "kept"), ("b", "s3", "unknown"), ("c", "s4", "broken")} <= states
    of_acks = {(row["snapshot_id"], row["state"]) for row in found.to_pylist() if row["rule"] == "acks-of-all"}
    assert of_acks == {("s1", "broken"), ("s2", "kept"), *((f"s{day}", "kept") for day in (3, 4, 5))}


def test_a_frame_that_is_not_given_is_not_kept(spark):
    """The configs were left out, and every rule about them was kept."""
    quotas, *_ = sides(spark)
    clients = kn.Answer(CLIENTS).to_spark(spark)
    found = kn.fleets.policy(EXAMPLE, quotas.drop("snapshot_id").where("cluster_id = 'b'"), pairs=clients).toArrow()
    states = {row["rule"]: (row["state"], row["snapshot_id"]) for row in found.to_pylist()}
    assert states["two-replicas-in-sync"] == ("unknown", None)
    assert states["no-default-user-beside-client-ids"] == ("kept", None)
    assert [
        row["resource"] for row in found.to_pylist() if row["rule"] == "nobody-unlimited" and row["key"] == RATE
    ] == ['user=bob client-id=""']


def test_what_cannot_be_judged_is_said_at_once(spark):
    """The job ran for an hour and then there was no column."""
    quotas, configs, _ = sides(spark)
    rule = read('[[rule]]\nname="r"\nreason="w"\nframe="QUOTAS"\nforbid=true', "p")
    with pytest.raises(kn.UsageError, match="the quotas have no column cluster_id"):
        kn.fleets.policy(rule, quotas.drop("cluster_id"))
    with pytest.raises(kn.UsageError, match="the configs are a Table, not a Spark DataFrame"):
        kn.fleets.policy(rule, quotas, configs.toArrow())
    with pytest.raises(kn.UsageError, match="quotas=, configs= or client_configs= is required"):
        kn.fleets.policy(rule)
    with pytest.raises(kn.UsageError, match="a policy cannot check a"):
        rule.check(quotas)
