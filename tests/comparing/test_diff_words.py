"""`diff` in a terminal, on two real Kafkas: clusters, files, moments; one line for a slip."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.commands import terminal
from kadmin_nb.state import sides
from tests.waiting import eventually

pytestmark = pytest.mark.broker

Rows = list[tuple]


@pytest.fixture
def kadmin(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`kadmin("diff", a, b)` runs that line: its exit code, output and errors."""

    def run(*words: str) -> tuple[int, str, str]:
        code = terminal.run_line(list(words))
        return code, *capsys.readouterr()

    return run


def rows(text: str, *names: str) -> Rows:
    """The rows that are about something of these names."""
    told = [tuple(row[n] for n in ("resource", "key", "state", "a", "b")) for row in json.loads(text)]
    return [row for row in told if any(name in row[0] for name in names)]


def make_topic(kafka: kn.local.LocalKafka, name: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    wanted = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(name, 1, 1, config=wanted)], operation_timeout=30)[name].result()


def hold(cluster: kn.Cluster, limits: dict[str, str]) -> None:
    """The cluster has these quotas of users, and shows them."""
    stage = cluster.new_stage()
    for user, value in limits.items():
        stage.set_quota("producer_byte_rate", value, user=user)
    cluster.apply(stage.plan()).raise_for_errors()


def test_from_two_clusters_to_two_that_are_alike(kafka, other_kafka, cluster, other, kadmin, unique) -> None:
    """Staging was said to be like production, and I compared two screens."""
    alice, bob, name = unique("alice"), unique("bob"), unique("orders")
    make_topic(kafka, name, segment_bytes="123456789", retention_ms="604800000")
    make_topic(other_kafka, name, segment_bytes="99999999")
    hold(cluster, {alice: "5MB/s", bob: "1MB/s"})
    hold(other, {bob: "2MB/s"})
    line = ("diff", kafka.bootstrap, other_kafka.bootstrap)
    wanted = [
        (f"topic={name}", "segment.bytes", "changed", "123456789", "99999999"),
        (f"user={alice}", "producer_byte_rate", "removed", "5000000", None),
        (f"user={bob}", "producer_byte_rate", "changed", "1000000", "2000000"),
    ]
    eventually(lambda: rows(kadmin(*line, "--json")[1], alice, bob, name), wanted)
    assert kadmin(*line, "--detailed-exitcode")[0] == 3


def test_a_file_beside_a_cluster(other_kafka, other, kadmin, unique, tmp_path: Path) -> None:
    """The file said 7 days, the cluster kept 7 days by default, and that was a difference."""
    name, file = unique("orders"), tmp_path / "cluster.yaml"
    make_topic(other_kafka, name)
    hold(other, {unique("user"): "5MB/s"})
    at = ("--cluster", other_kafka.bootstrap)
    eventually(lambda: kadmin("export", *at, "--out", str(file))[0], 0)
    assert kadmin("diff", str(file), *at, "--detailed-exitcode")[0] == 0
    told = {
        "kadmin": 1,
        "configs": {f"topic={name}": {"retention.ms": "604800000", "min.insync.replicas": "1", "segment.ms": "5"}},
    }
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(told))
    code, out, _ = kadmin("diff", str(file), *at, "--all", "--json")
    assert code == 0
    assert rows(out, name) == [
        (f"topic={name}", "segment.ms", "removed", "5", None),
        (f"topic={name}", "min.insync.replicas", "default", "1", None),
        (f"topic={name}", "retention.ms", "default", "604800000", None),
    ]


def test_a_moment_beside_a_cluster(kafka, cluster, kadmin, unique, tmp_path: Path) -> None:
    """Last week it was fast: what is different?"""
    user, lake = unique("user"), str(tmp_path / "lake@home")
    hold(cluster, {user: "5MB/s"})
    at = ("--cluster", kafka.bootstrap)
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    assert kadmin("history", "record", lake, *at)[0] == 0
    hold(cluster, {user: "1MB/s"})
    wanted = [(f"user={user}", "producer_byte_rate", "changed", "5000000", "1000000")]
    for side in (f"history:{lake}@now", f"history:{lake}@0s ago"):
        eventually(lambda side=side: rows(kadmin("diff", side, *at, "--json")[1], user), wanted)


def test_a_plan_beside_a_cluster(cluster, kafka, kadmin, unique, tmp_path: Path) -> None:
    """A week after the change somebody asked whether all of it was still there."""
    alice, bob, file = unique("alice"), unique("bob"), str(tmp_path / "p.json")
    hold(cluster, {bob: "1MB/s"})
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "5MB/s", user=alice)
    stage.remove_quota("producer_byte_rate", user=bob)
    plan = stage.plan()
    plan.save(file)
    line = ("diff", f"plan:{file}", "--cluster", kafka.bootstrap, "--json")
    wanted = [
        (f"user={alice}", "producer_byte_rate", "removed", "5000000", None),
        (f"user={bob}", "producer_byte_rate", "added", None, "1000000"),
    ]
    assert [tuple(r[n] for n in ("resource", "key", "state", "a", "b")) for r in json.loads(kadmin(*line)[1])] == wanted
    cluster.apply(plan).raise_for_errors()
    eventually(lambda: json.loads(kadmin(*line)[1]), [])
    assert len(kn.diff(f"plan:{plan.id[:8]}", cluster)) == 0
    hold(cluster, {alice: "7MB/s", bob: "1MB/s"})
    eventually(lambda: [row["b"] for row in json.loads(kadmin(*line)[1])], ["7000000", "1000000"])
    shown = kadmin(*line[:-1])[1].splitlines()
    assert shown[:2] == ["2 differences: 1 only in b, 1 changed", f"a: plan {plan.id[:8]} (cluster {cluster.id})"]


WRONG = {
    "diff plan:no.json {kafka}": (1, "no.json"),
    "diff": (2, "diff compares two sides"),
    "diff a b c": (2, "diff compares two sides"),
    "diff {kafka} {kafka}": (2, "both sides are the same"),
    "diff {kafka} {alias}": (2, "as it is now"),
    "diff nosuch {kafka}": (1, "nosuch is not a file, not a profile"),
    "diff 127.0.0.1:1 {kafka}": (1, "127.0.0.1:1"),
    "diff no.yaml {kafka}": (1, "no.yaml"),
    "diff {notes} {kafka}": (2, "notes names no brokers"),
    "diff {notes}.json {kafka}": (2, "notes.json"),
    "diff history: {kafka}": (2, "is not a time of a history"),
    "diff history:{lake}@ {kafka}": (2, "is not a time of a history"),
    "diff history:{lake}@tomorrow {kafka}": (2, "tomorrow is not a time"),
    "diff history:{lake}@now {kafka}": (1, "nothing has been recorded here yet"),
    "diff a b --cluster {kafka}": (2, "--cluster is a third cluster"),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_one_line(kafka, kadmin, tmp_path: Path, line: str) -> None:
    """Twenty lines of stack for a slip of the finger."""
    notes = tmp_path / "notes"
    for suffix in ("", ".json"):
        notes.with_suffix(suffix).write_text("mine")
    port = kafka.bootstrap.rpartition(":")[2]
    names = {"kafka": kafka.bootstrap, "alias": f"localhost:{port}", "notes": notes, "lake": tmp_path / "lake"}
    code, out, err = kadmin(*(word.format(**names) for word in line.split()))
    assert (code, out) == (WRONG[line][0], "")
    assert WRONG[line][1] in err
    assert len(err.strip().splitlines()) <= 2
    assert not (tmp_path / "lake").exists()


def test_the_side_that_may_not_be_read_is_named(cluster, kafka, other_kafka, kadmin, monkeypatch) -> None:
    """Two clusters, and "CLUSTER_AUTHORIZATION_FAILED" of one of them."""
    denied = kn.NotAuthorized("CLUSTER_AUTHORIZATION_FAILED: no", code="CLUSTER_AUTHORIZATION_FAILED", hint="Ask.")
    read = sides.snapshot_of

    def snapshot_of(port: LiveKafka, scopes: object) -> kn.Snapshot:
        if port.id == cluster.id:
            return read(port, scopes)
        raise denied

    monkeypatch.setattr(sides, "snapshot_of", snapshot_of)
    wanted = f"NotAuthorized: {other_kafka.bootstrap}: CLUSTER_AUTHORIZATION_FAILED: no\nHint: Ask.\n"
    assert kadmin("diff", kafka.bootstrap, other_kafka.bootstrap) == (1, "", wanted)
