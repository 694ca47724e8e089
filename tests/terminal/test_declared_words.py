"""`export` and `plan from`: a file beside a real cluster, with the exit codes of the Contract."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.model.changes import DELETE
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import THROTTLE_KEYS, Resource
from tests.dangerous_plans import applied
from tests.hostile_names import HOSTILE
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals of this test alone."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def topic(kafka: kn.local.LocalKafka, cluster: kn.Cluster) -> str:
    """A topic that can be described."""
    name = "declared-orders"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, 1, 1)], operation_timeout=30)[name].result()
    eventually(lambda: cluster.configs.describe(topic=name).ok, True)
    return name


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    """`file("quotas: …")` is the name of a file that says so."""

    def written(text: str) -> str:
        place = tmp_path / "c.yaml"
        place.write_text(f"kadmin: 1\n{text}", encoding="utf-8")
        return str(place)

    return written


@pytest.fixture
def seeded(cluster: kn.Cluster, topic: str, unique) -> Iterator[str]:
    """A name that has quotas of every shape and configs of every kind, beside hostile names; gone again afterwards."""
    stage, name = cluster.new_stage(), unique("it's a: # \u202e name")
    shapes = [{"user": name}, {"client-id": name}, {"user": kn.DEFAULT, "client-id": name}]
    pairs = [{"user": name, "client-id": client} for client in (kn.DEFAULT, *HOSTILE)]
    for entity in (*shapes, *pairs):
        stage.set_quota("producer_byte_rate", "5MB/s", entity=entity)
    stage.set_quota("request_percentage", 12.5, user=name)
    stage.set_config("flush.messages", "1000", topic=topic)
    stage.set_config("consumer.session.timeout.ms", "47000", group=name)
    stage.set_config("interval.ms", "60000", client_metrics=topic)
    stage.set_config("background.threads", "11", broker=1)
    cluster.apply(stage.plan(), verify_timeout=60).raise_for_errors()
    yield name
    stage = cluster.new_stage()
    stage.reset_config("background.threads", broker=1)
    stage.reset_config("interval.ms", client_metrics=topic)
    stage.reset_config("consumer.session.timeout.ms", group=name)
    stage.remove_quota("request_percentage", user=name)
    for entity in (*shapes, *pairs):
        stage.remove_quota("producer_byte_rate", entity=entity)
    applied(stage.plan("the end"), verify_timeout=60).raise_for_errors()


def test_export_then_plan_is_nothing(live, seeded, tmp_path):
    """Planning what had just been exported wanted forty changes."""
    for place in (str(tmp_path / "c.yaml"), str(tmp_path / "c.yml")):
        said = live("export", "--out", place)
        assert (said.code, said.out, said.err) == (0, "", "")
        planned = live("plan", "from", place, "--prune", "--detailed-exitcode")
        assert (planned.code, "nothing to change" in planned.out) == (0, True)
        applied = live("plan", "from", place, "--prune", "--apply")
        assert (applied.code, "nothing to change" in applied.out) == (0, True)
        declared = kn.state.load(place)
        assert declared.kinds == ("quotas", "topic", "broker", "client-metrics", "group", "client-configs")
        ours = {dict(e.resource.parts).get("client-id") for e in declared.entries if isinstance(e.resource, Entity)}
        assert {kn.DEFAULT, seeded, *HOSTILE} <= ours


def test_what_was_changed_by_hand_is_changed_back(live, seeded, topic, tmp_path, cluster):
    """The night shift changed four things, and nobody knew which."""
    place = str(tmp_path / "c.yaml")
    live("export", "--out", place)
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "6MB/s", user=seeded)
    stage.set_quota("consumer_byte_rate", "1MB/s", user=seeded)
    stage.set_config("flush.messages", "1001", topic=topic)
    stage.reset_config("consumer.session.timeout.ms", group=seeded)
    cluster.apply(stage.plan(), verify_timeout=60).raise_for_errors()
    rows = json.loads(live("plan", "from", place, "--json").out)
    assert [(row["op"], row["key"], row["old"], row["after"]) for row in rows] == [
        ("set", "producer_byte_rate", "6000000", "5000000"),
        ("set", "consumer.session.timeout.ms", None, "47000"),
        ("set", "flush.messages", "1001", "1000"),
    ]
    assert all(row["note"].startswith("line ") and " of c.yaml" in row["note"] for row in rows)
    assert live("plan", "from", place, "--detailed-exitcode").code == 3
    pruned = live("plan", "from", place, "--prune").out
    assert "1 to remove (--prune), 3 to set" in pruned
    assert "not in c.yaml" in pruned
    assert "1 to remove (--prune)" in live("plan", "from", place, "--prune", "--print", "markdown").out
    done = live("plan", "from", place, "--prune", "--apply", "--reason", "as agreed")
    assert (done.code, "4 verified" in done.out) == (0, True)
    again = live("plan", "from", place, "--prune", "--detailed-exitcode")
    assert (again.code, "nothing to change" in again.out) == (0, True)


def test_a_file_is_planned_saved_and_applied_as_any_plan(live, kadmin, file, tmp_path, unique, monkeypatch):
    """The reviewed plan lost the file's word on why it removed things."""
    user, saved = unique("user"), str(tmp_path / "p.json")
    text = f"quotas:\n  user={user}: {{producer_byte_rate: 5MB/s}}\n"
    assert live("plan", "from", file(text), "--save", saved, "--reason", "the fair").code == 0
    shown = kadmin("plan", "show", saved).out
    assert ("; reason: the fair" in shown, "1 to set" in shown) == (True, True)
    assert live("plan", "apply", saved).code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"kadmin: 1\n{text}".encode())))
    assert live("plan", "from", "-", "--detailed-exitcode").code == 0


def test_a_secret_is_a_reference_and_never_exported(live, cluster, file, monkeypatch, tmp_path):
    """The truststore's password was in git."""
    monkeypatch.setenv("DECLARED_CANARY", "canary-41f0")
    key = "declared.plugin.password"
    text = f"configs:\n  broker=<default>: {{{key}: 'env:DECLARED_CANARY'}}\n"
    assert live("plan", "from", file(text), "--apply", "--allow-unknown", key).code == 0
    place = tmp_path / "exported.yaml"
    assert live("export", "--kinds", "broker", "--out", str(place)).code == 0
    assert f'{key}: "[secure]"' in place.read_text()
    assert "canary" not in place.read_text()
    said = live("plan", "from", str(place), "--prune", "--detailed-exitcode")
    assert (said.code, "nothing to change" in said.out) == (0, True)
    bare = live("plan", "from", file(text.replace("env:", "")))
    assert (bare.code, "DECLARED_CANARY" in bare.out + bare.err) == (2, False)
    stage = cluster.new_stage()
    stage.reset_config(key, broker=kn.DEFAULT)
    applied(stage.plan("the end"), verify_timeout=60).raise_for_errors()


REFUSED: dict[str, tuple[str, int, str]] = {
    "another cluster": ("cluster_id: staging\n", 5, "WrongCluster: {file} is for cluster staging, but this is "),
    "a tab": (
        "quotas:\n\tuser=a: {}\n",
        2,
        "UsageError: {file}: line 3, column 1: invalid YAML: found character that cannot start any token",
    ),
    "a quota of zero": (
        "quotas:\n  user=a:\n    producer_byte_rate: 0\n",
        1,
        "Invalid: {file}: line 4, column 25: producer_byte_rate cannot be 0",
    ),
    "a topic that is not there": (
        "configs:\n  topic=declared-none:\n    flush.ms: 1\n",
        1,
        "NotFound: line 4 of c.yaml: topic=declared-none cannot be read: UNKNOWN_TOPIC_OR_PARTITION",
    ),
    "a broker of another cluster": ("configs:\n  broker=77:\n    background.threads: 11\n", 1, ": line 4 of c.yaml: "),
    "a secret that is nowhere": (
        "configs:\n  broker=1:\n    ssl.key.password: env:DECLARED_NOWHERE\n",
        1,
        "NotFound: line 4 of c.yaml: env:DECLARED_NOWHERE",
    ),
    "an unknown key of a broker": (
        "configs:\n  broker=1:\n    background.thread: 11\n",
        1,
        "Invalid: line 4 of c.yaml: unknown key background.thread: neither Kafka nor broker=1 knows it",
    ),
    "a value that the broker refuses": (
        "configs:\n  topic=declared-orders:\n    flush.ms: soon\n",
        1,
        "Invalid: 1 of 1 changes would be refused; nothing was sent",
    ),
}


@pytest.mark.parametrize(("text", "code", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_one_line_and_changes_nothing(live, file, topic, text, code, told, tmp_path):
    """A typo in the file was applied up to the line it was in."""
    place = file(text)
    said = live("plan", "from", place)
    assert said.code == code
    assert told.format(file=place) in said.err.splitlines()[0]
    assert live("plan", "from", place, "--apply").code in (1, 2, 5)
    assert not [one for one in tmp_path.glob("state/journal/*/*.jsonl") if "intent" in one.read_text()]


def test_a_file_of_another_cluster_is_taken_when_told(live, file):
    """What was tried in staging could not be planned for production."""
    assert live("plan", "from", file("cluster_id: staging\nquotas: {}\n"), "--any-cluster").code == 0


def remove_throttles(cluster: kn.Cluster) -> None:
    """Remove those that other tests left: an export of the past leaves them out, and pruning by it removes them."""
    rows = cluster.snapshot().configs.to_arrow().to_pylist()
    left = [
        (Resource(row["resource_type"], row["resource_name"]), row["key"])
        for row in rows
        if row["key"] in THROTTLE_KEYS
    ]
    for resource, key in left:
        assert cluster.port.configs.alter({resource: [ConfigOperation(DELETE, key)]}) == {resource: None}
    eventually(
        lambda: [r["key"] for r in cluster.snapshot().configs.to_arrow().to_pylist() if r["key"] in THROTTLE_KEYS], []
    )


def test_what_a_history_held_is_exported(live, kadmin, seeded, cluster, tmp_path):
    """Getting back to last Tuesday was typing it all."""
    remove_throttles(cluster)
    where = str(tmp_path / "history")
    kn.open_history(where).record(cluster.snapshot())
    live("quota", "set", "producer_byte_rate=1MB/s", "user=declared-later", "--apply")
    kn.open_history(where).record(cluster.snapshot())
    first = str(kn.open_history(where).snapshots().to_arrow()["taken_at"][0].as_py().isoformat())
    old = kadmin("export", f"history:{where}@{first}")
    assert (old.code, "declared-later" in old.out, " name-" in old.out) == (0, False, True)
    now = kadmin("export", f"history:{where}")
    assert yaml.safe_load(now.out)["quotas"]["user=declared-later"] == {"producer_byte_rate": 1_000_000}
    assert live("quota", "remove", "producer_byte_rate", "user=declared-later", "--apply").code == 0
    place = tmp_path / "old.yaml"
    place.write_text(old.out)
    assert live("plan", "from", str(place), "--prune", "--detailed-exitcode").code == 0
    assert kadmin("export", str(place)).err.startswith(f"UsageError: {place} is not history:WHERE@TIME")


def test_the_options_of_an_export(kadmin, live, tmp_path):
    """`--out cluster` was a file without a format."""
    assert json.loads(kadmin("export", "--schema").out)["required"] == ["kadmin"]
    assert live("export", "--out", "cluster").err.startswith("UsageError: --out cluster is not a .yaml file")
    assert live("export", "--out", str(tmp_path / "no" / "c.yaml")).err.startswith("NotFound: ")
    assert live("export", "--kinds", "topics").err.splitlines()[1] == "Hint: Did you mean topic?"
