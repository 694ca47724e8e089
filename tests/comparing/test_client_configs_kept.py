"""Client configs go where quotas and configs go: files, snapshots, differences, histories, policies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import DELETE, SET
from kadmin_nb.model.client_configs import ClientEntity
from kadmin_nb.state.snapshots import Snapshot, snapshot
from tests.dangerous_plans import applied
from tests.history.hours import at, configs_of, quotas_of
from tests.hostile_names import HOSTILE

Entries = dict[ClientEntity, dict[str, str]]
ALICE, APP = ClientEntity("alice"), ClientEntity("alice", "app")


def client_configs_of(entries: Entries) -> pa.Table:
    """CLIENT_CONFIGS of these."""
    rows = [
        {"entity": str(entity), "user": entity.user, "client_id": entity.client_id, "key": key, "value": value}
        for entity, keys in entries.items()
        for key, value in keys.items()
    ]
    of_topic = {"revision": 1, "author": "", "plan_id": "", "changed_at": at(0)}
    return schemas.table(schemas.CLIENT_CONFIGS, [{**row, **of_topic} for row in rows])


def held(hour: float, entries: Entries, cluster_id: str = "here") -> Snapshot:
    frames = {"quotas": quotas_of({}), "configs": configs_of(), "client_configs": client_configs_of(entries)}
    return snapshot(frames, cluster_id=cluster_id, taken_at=at(hour))


def older(hour: float) -> Snapshot:
    """A snapshot that was taken before client configs were in any."""
    return snapshot({"quotas": quotas_of({"bob": 1}), "configs": configs_of()}, cluster_id="here", taken_at=at(hour))


def values(answer: kn.Answer) -> list[tuple]:
    return [
        tuple(row[n] for n in ("kind", "resource", "key", "state", "a", "b")) for row in answer.to_arrow().to_pylist()
    ]


def test_two_snapshots_differ_by_them() -> None:
    """Staging took acks=1 from its admins, and nothing differed from production."""
    a = held(0, {ALICE: {"acks": "1"}, APP: {"session.timeout.ms": "45000"}})
    b = held(1, {ALICE: {"acks": "-1"}}, "there")
    found = kn.diff(a, b)
    assert values(found) == [
        ("client-config", "user=alice", "acks", "changed", "1", "-1"),
        ("client-config", "user=alice client-id=app", "session.timeout.ms", "removed", "45000", None),
    ]


def test_a_snapshot_without_them_says_nothing_of_them() -> None:
    """Last year's snapshot had none, and all client configs were said to be new."""
    old = older(0)
    found = kn.diff(old, held(1, {ALICE: {"acks": "1"}}))
    assert [row[0] for row in values(found)] == ["quota"]
    assert "not compared: CLIENT_CONFIGS, which only one side has read" in repr(found)
    assert repr(held(0, {ALICE: {"acks": "1"}})).endswith("0 quotas, 0 configs, 1 client configs>")
    assert "client configs" not in repr(old)


def test_a_history_that_began_without_them_goes_on(tmp_path: Path) -> None:
    """The history of three years could not be recorded on to, or said that every client config was new."""
    history = kn.open_history(tmp_path / "lake")
    history.record(older(0))
    for hour, acks in ((1, "-1"), (2, "-1"), (3, "1")):
        history.record(held(hour, {ALICE: {"acks": acks}}))
    changed = history.changes((at(0), None)).to_arrow().to_pylist()
    assert [(row["kind"], row["resource"], row["state"], row["old"], row["new"]) for row in changed] == [
        ("quota", "user=bob", "removed", "1", None),
        ("client-config", "user=alice", "changed", "-1", "1"),
    ]
    assert [row["kind"] for row in history.snapshots().to_arrow().to_pylist()].count("client_configs") == 3
    assert "CLIENT_CONFIGS" not in history.as_of(at(0)).scopes
    assert len(history.as_of(at(0)).quotas) == 1
    assert history.as_of(at(2)).client_configs.to_arrow()["value"].to_pylist() == ["-1"]
    assert values(kn.diff(history.as_of(at(2)), history.as_of(at(3)))) == [
        ("client-config", "user=alice", "acks", "changed", "-1", "1")
    ]


FILE = """kadmin: 1
client-configs:
  user=alice:
    acks: all
    session.timeout.ms: 45000
"""


def test_a_file_declares_them() -> None:
    """There was no backup of them."""
    entries = {
        ALICE: {"acks": "-1", "session.timeout.ms": "45000"},
        **{ClientEntity(n): {"acks": "0"} for n in HOSTILE},
    }
    whole = held(0, entries)
    declared = kn.state.read(kn.state.export(whole))
    assert declared.kinds[-1] == "client-configs"
    assert not declared.difference(whole, prune=True, any_cluster=True)
    declared = kn.state.read(FILE, "mine.yaml")
    assert declared.kinds == ("client-configs",)
    missing = declared.difference(held(0, {ALICE: {"acks": "-1"}, APP: {"acks": "1"}}), prune=True)
    assert [(edit.op, edit.resource, edit.key, edit.value) for edit in missing] == [
        (SET, ALICE, "session.timeout.ms", "45000"),
        (DELETE, APP, "acks", None),
    ]
    assert values(kn.diff(declared, held(0, {ALICE: {"acks": "-1"}})))[0][1:4] == (
        "user=alice",
        "session.timeout.ms",
        "removed",
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("acks: all", "acks: 7", "line 4, column 11: acks=7 is not one of"),
        ("acks: all", "aks: all", "line 4, column 5: unknown client config aks"),
        ("user=alice", "user=<default>", "line 3, column 3: user=<default> has no client configs"),
        ("45000", "", "line 5, column 24: session.timeout.ms has no value"),
    ],
)
def test_what_is_wrong_in_a_file_has_its_line(old: str, new: str, says: str) -> None:
    """A slip in the file was refused when half of the plan had been applied."""
    with pytest.raises(kn.KadminError, match=says):
        kn.state.read(FILE.replace(old, new))


def test_a_cluster_whose_topic_may_not_be_read_loses_none_to_prune() -> None:
    """Whoever may not read them was about to remove all of them."""
    assert not kn.state.read("kadmin: 1\nclient-configs: {}\n").difference(older(0), prune=True)
    assert "client-configs" not in kn.state.export(older(0))


def durable(client_configs):
    """An acknowledged record survives."""
    return client_configs[(client_configs.key == "acks") & (client_configs.value != "-1")]


def test_a_policy_judges_them() -> None:
    """The rule about acks could only be written down in a wiki."""
    answer = kn.check(durable, held(0, {ALICE: {"acks": "-1"}, APP: {"acks": "0", "session.timeout.ms": "45000"}}))
    assert [(row["rule"], row["state"], row["resource"], row["key"]) for row in answer.to_arrow().to_pylist()] == [
        ("durable", "broken", "user=alice client-id=app", "acks")
    ]
    assert kn.check(durable, older(0)).to_arrow()["state"].to_pylist() == ["unknown"]


def put(cluster: kn.Cluster, user: str, **entries: str | None) -> None:
    stage = cluster.new_stage()
    for key, value in entries.items():
        name = key.replace("_", ".")
        if value is None:
            stage.reset_client_config(name, user=user)
        else:
            stage.set_client_config(name, value, user=user)
    applied(stage.plan("a test")).raise_for_errors()


@pytest.mark.broker
def test_a_backup_brings_them_back(cluster: kn.Cluster, unique: Callable[[str], str], tmp_path: Path) -> None:
    """Somebody reset acks of a team, and nobody knew what it had been."""
    user = unique("alice")
    put(cluster, user, acks="all", session_timeout_ms="45000")
    file = tmp_path / "cluster.yaml"
    file.write_text(kn.state.export(cluster.snapshot("client-configs")) + "\n")
    put(cluster, user, acks=None)
    plan = cluster.plan_from(file)
    assert [(c.kind, str(c.resource), c.key, c.after) for c in plan.changes] == [
        ("client-config", f"user={user}", "acks", "-1")
    ]
    plan.apply().raise_for_errors()
    assert len(cluster.plan_from(file, prune=True)) == 0


@pytest.mark.broker
def test_from_staging_to_production(
    cluster: kn.Cluster, other: kn.Cluster, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """What was tried on staging was typed again on production, with a slip."""
    user, file = unique("bob"), tmp_path / "staging.yaml"
    put(cluster, user, acks="1")
    [row] = [row for row in kn.diff(cluster, other).to_arrow().to_pylist() if row["resource"] == f"user={user}"]
    assert (row["kind"], row["key"], row["state"], row["a"]) == ("client-config", "acks", "removed", "1")
    file.write_text(kn.state.export(cluster.snapshot("client-configs")))
    plan = other.plan_from(file, any_cluster=True, reason="promoted")
    other.apply(plan, allow=[f"{c.key} {c.resource}" for c in plan.changes]).raise_for_errors()
    assert other.client_configs.describe(user=user).to_arrow()["value"].to_pylist() == ["1"]
    assert f"user={user}" not in {row["resource"] for row in kn.diff(cluster, other).to_arrow().to_pylist()}


@pytest.mark.broker
def test_history_and_policy_on_a_live_cluster(
    cluster: kn.Cluster, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """The acks of a client changed on Monday, and the history had not seen it."""
    user, history = unique("carol"), kn.open_history(tmp_path / "lake")
    put(cluster, user, acks="all")
    history.record(cluster.snapshot())
    put(cluster, user, acks="0")
    assert values(kn.diff(history.as_of("now"), cluster.snapshot())) == [
        ("client-config", f"user={user}", "acks", "changed", "-1", "0")
    ]
    states = {(row["resource"], row["state"]) for row in kn.check(durable, cluster).to_arrow().to_pylist()}
    assert (f"user={user}", "broken") in states
    stage = cluster.new_stage()
    stage.set_client_config("acks", "1", user=unique(user))
    with pytest.raises(kn.PlanRefused, match="breaks durable"):
        applied(stage.plan("a test"), policy=durable)
