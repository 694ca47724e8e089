"""`diff` in a terminal, on two real Kafkas: clusters, files, moments; rows staged on either; one line for a slip."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.plans.stage import edits_of
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
    code, told, _ = kadmin(*line, "--all", "--json", "--detailed-exitcode")
    by_default = (f"topic={name}", "retention.ms", "default", "604800000", None)
    assert (code, by_default in rows(told, name)) == (3, True)
    assert "nature" in {row["state"] for row in json.loads(told) if row["key"] == "listeners"}
    found = cluster.diff(other)
    numbers = [str(r["row"]) for r in found.to_arrow().to_pylist() if alice in r["resource"] or name in r["resource"]]
    chosen = (*line, "--stage-on", "b", "--rows", f"{found.id}:{','.join(numbers)}")
    code, shown, _ = kadmin(*chosen)
    assert (code, f"of diff {found.id}" in shown) == (0, True)
    assert kadmin(*chosen, "--apply")[0] == 0
    eventually(lambda: rows(kadmin(*line, "--json")[1], alice, name), [])
    code, _, told = kadmin(*chosen, "--apply")
    assert (code, "the differences changed since" in told) == (5, True)
    found = other.diff(cluster)
    assert cluster.apply(found.stage(onto=cluster, rows=_rows_of(found, bob)).plan()).ok
    eventually(lambda: cluster.quotas.describe(user=bob).to_pandas()["value"].tolist(), [2e6])


def _rows_of(found: kn.Answer, name: str) -> list[int]:
    frame = found.to_pandas()
    return frame[frame["resource"].str.contains(name)]["row"].tolist()


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
    """Last week it was fast: what is different, and back to that for one client."""
    user, lake, saved = unique("user"), str(tmp_path / "lake@home"), str(tmp_path / "held.parquet")
    hold(cluster, {user: "5MB/s"})
    at = ("--cluster", kafka.bootstrap)
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    assert kadmin("history", "record", lake, *at)[0] == 0
    cluster.snapshot().save(saved)
    hold(cluster, {user: "1MB/s"})
    wanted = [(f"user={user}", "producer_byte_rate", "changed", "5000000", "1000000")]
    for side in (f"history:{lake}@now", f"history:{lake}@0s ago", saved):
        eventually(lambda side=side: rows(kadmin("diff", side, *at, "--json")[1], user), wanted)
    assert rows(kadmin("diff", saved, f"history:{lake}@now", "--json")[1], user) == []
    found = kn.diff(kn.Snapshot.load(saved), cluster)
    stage = found.stage(onto=cluster, rows=_rows_of(found, user))
    assert [(str(e.resource), e.value) for e in edits_of(stage).staged().values()] == [(f"user={user}", "5000000")]


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
    "diff": (2, "two sides are required"),
    "diff a b c": (2, "3 sides are too many"),
    "diff {kafka} {kafka}": (2, "both sides are the same"),
    "diff {kafka} {alias}": (2, "as it is now"),
    "diff nosuch {kafka}": (1, "nosuch is not a file, not a profile"),
    "diff 127.0.0.1:1 {kafka}": (1, "127.0.0.1:1"),
    "diff no.yaml {kafka}": (1, "no.yaml"),
    "diff no.parquet {kafka}": (1, "no such file: no.parquet"),
    "diff {notes} {kafka}": (2, "A declarative file ends in .yaml"),
    "diff {notes}.parquet {kafka}": (1, "cannot be read as a snapshot"),
    "diff {notes}.json {kafka}": (2, "notes.json"),
    "diff history: {kafka}": (2, "is not a time of a history"),
    "diff history:{lake}@ {kafka}": (2, "is not a time of a history"),
    "diff history:{lake}@tomorrow {kafka}": (2, "tomorrow is not a time"),
    "diff history:{lake}@now {kafka}": (1, "nothing has been recorded here yet"),
    "diff a b --cluster {kafka}": (2, "--cluster is about the current cluster, but two others are named"),
    "diff a b --rows 1": (2, "options of a change need --stage-on"),
    "diff a b --apply": (2, "options of a change need --stage-on"),
    "diff a b --stage-on c": (2, "'c' is not one of 'a', 'b'"),
    "diff a b --onto a": (2, "--rows is required"),
    "diff a b --stage-on a --rows 1 --apply": (2, "--apply needs --rows ID:ROWS"),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_one_line(kafka, kadmin, tmp_path: Path, line: str) -> None:
    """Twenty lines of stack for a slip of the finger."""
    notes = tmp_path / "notes"
    for suffix in ("", ".parquet", ".json"):
        notes.with_suffix(suffix).write_text("mine")
    port = kafka.bootstrap.rpartition(":")[2]
    names = {"kafka": kafka.bootstrap, "alias": f"localhost:{port}", "notes": notes, "lake": tmp_path / "lake"}
    code, out, err = kadmin(*(word.format(**names) for word in line.split()))
    assert (code, out) == (WRONG[line][0], "")
    assert WRONG[line][1] in err
    assert len(err.strip().splitlines()) <= 2
    assert not (tmp_path / "lake").exists()


def test_the_side_that_may_not_be_read_is_named(kafka, other_kafka, kadmin, monkeypatch) -> None:
    """Two clusters, and "CLUSTER_AUTHORIZATION_FAILED" of one of them."""
    denied = kn.NotAuthorized("CLUSTER_AUTHORIZATION_FAILED: no", code="CLUSTER_AUTHORIZATION_FAILED", hint="Ask.")
    read = kn.Cluster.snapshot

    def snapshot(cluster: kn.Cluster, kinds: object = None) -> kn.Snapshot:
        if cluster.settings.bootstrap == kafka.bootstrap:
            return read(cluster)
        raise denied

    monkeypatch.setattr(kn.Cluster, "snapshot", snapshot)
    wanted = f"NotAuthorized: {other_kafka.bootstrap}: CLUSTER_AUTHORIZATION_FAILED: no\nHint: Ask.\n"
    assert kadmin("diff", kafka.bootstrap, other_kafka.bootstrap) == (1, "", wanted)


def test_rows_are_staged_on_clusters_only(kafka, other_kafka, other, kadmin, unique, tmp_path: Path) -> None:
    """It said that it had staged a change on a file."""
    saved = str(tmp_path / "held.parquet")
    other.snapshot().save(saved)
    at = ("--cluster", other_kafka.bootstrap)
    code, out, _ = kadmin("diff", saved, *at, "--stage-on", "b", "--rows", "all")
    assert (code, "no difference" in out) == (0, True)
    hold(other, {unique("user"): "1MB/s"})
    code, _, err = kadmin("diff", saved, *at, "--stage-on", "a", "--rows", "all", "--save", "x.json")
    assert (code, "side a is not a cluster: nothing can be staged on it" in err) == (2, True)
    with pytest.raises(kn.errors.WrongCluster, match="is neither side"), kafka.connect() as third:
        kn.diff(kn.Snapshot.load(saved), other).stage(onto=third, rows="all")
