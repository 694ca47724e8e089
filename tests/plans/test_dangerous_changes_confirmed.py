"""A dangerous change at each entry point, on a real broker: shown with the plan, refused alike, let through by key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kadmin_magics.notebook import NotebookSession, entry_point

import kadmin_nb as kn
from kadmin_nb.commands import run, terminal
from tests.command_result import CommandResult
from tests.dangerous_plans import allowances, applied
from tests.plans.plan_rows import rows
from tests.waiting import eventually

pytestmark = pytest.mark.broker

MIN_ISR, RETENTION = "min.insync.replicas", "retention.ms"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kadmin(kafka, capfd: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    def typed(*words: str) -> CommandResult:
        code = terminal.run_line([*words, "--cluster", kafka.bootstrap])
        return CommandResult(code, *capfd.readouterr())

    return typed


@pytest.fixture
def safe(cluster: kn.Cluster, topic: str) -> str:
    """A topic whose writes need three copies."""
    stage = cluster.new_stage()
    stage.set_config(MIN_ISR, 3, topic=topic)
    stage.plan().apply().raise_for_errors()
    eventually(lambda: value_of(cluster, topic), "3")
    return topic


def value_of(cluster: kn.Cluster, topic: str, key: str = MIN_ISR) -> str:
    return cluster.configs.describe(topic=topic, keys=[key]).to_arrow()["value"].to_pylist()[0]


def test_the_terminal_refuses_until_the_key_is_allowed(kadmin, cluster, safe, tells):
    """A script lowered min.insync.replicas on the wrong topic, and was told that all was verified."""
    change = ("config", "set", f"{MIN_ISR}=1", f"topic={safe}")
    looked = kadmin(*change)
    assert looked.code == 0
    assert f"! topic={safe} {MIN_ISR}: 3 becomes 1: " in looked.out
    tells.clear()
    refused = kadmin(*change, "--apply")
    assert refused.code == 5
    assert refused.err.startswith(f"Dangerous: topic={safe} {MIN_ISR}: 3 becomes 1: ")
    row = f"{MIN_ISR} topic={safe}"
    assert f"to apply it anyway: --allow '{row}' and --reason WHY." in refused.err
    why = kadmin(*change, "--apply", "--allow", row)
    assert (why.code, why.err.splitlines()[0]) == (
        2,
        "UsageError: a dangerous plan needs a reason, which its journal keeps",
    )
    typo = kadmin(*change, "--apply", "--reason", "a test", "--allow", MIN_ISR)
    assert (typo.code, f"--allow '{row}'" in typo.err) == (5, True)
    assert kadmin(*change, "--allow", row).code == 2
    assert value_of(cluster, safe) == "3"
    assert kadmin(*change, "--apply", "--allow", row, "--reason", "a test").code == 0
    assert value_of(cluster, safe) == "1"


def test_a_saved_plan_shows_it_and_its_journal_keeps_the_word(kadmin, cluster, safe):
    """The one who reviewed the file saw a row of forty, and not what it did."""
    assert kadmin("config", "set", f"{MIN_ISR}=2", f"topic={safe}", "--reason", "a test", "--save", "p.json").code == 0
    assert f"! topic={safe} {MIN_ISR}: 3 becomes 2" in kadmin("plan", "show", "p.json").out
    assert "3 becomes 2" in kadmin("plan", "show", "p.json", "--print", "markdown").out
    assert rows(kn.Plan.load("p.json").dangers(), "row", "key", "danger") == [(1, MIN_ISR, "durability")]
    assert kadmin("plan", "apply", "p.json").code == 5
    assert kadmin("plan", "log", "p.json").code == 1
    assert kadmin("plan", "apply", "p.json", "--allow", f"{MIN_ISR} topic={safe}").code == 0
    said = [json.loads(row["details"] or "{}") for row in json.loads(kadmin("plan", "log", "p.json", "--json").out)]
    assert [(one["allowed"], one["reason"]) for one in said if "allowed" in one] == [
        ([f"{MIN_ISR} topic={safe}"], "a test")
    ]
    back = kadmin("plan", "rollback", "p.json", "--apply")
    assert (back.code, value_of(cluster, safe)) == (0, "3")


def test_a_rollback_that_weakens_is_judged_like_any_plan(cluster, safe):
    """Taking back somebody's repair was easier than making the hole."""
    stage = cluster.new_stage()
    stage.set_config(MIN_ISR, 5, topic=safe)
    outcomes = stage.plan().apply().raise_for_errors()
    back = cluster.rollback(outcomes.plan_id)
    assert allowances(back) == [f"{MIN_ISR} topic={safe}"]
    with pytest.raises(kn.errors.Dangerous, match="5 becomes 3"):
        back.apply()
    assert applied(back).ok


def test_a_note_that_was_taken_out_of_the_file_does_not_let_it_through(cluster, safe, place):
    """The file was edited beside its hash, and the change came through."""
    stage = cluster.new_stage()
    stage.set_config(MIN_ISR, 1, topic=safe)
    plan = stage.plan("a test")
    plan.save("p.json")
    document = json.loads(Path("p.json").read_text())
    assert [note["kind"] for note in document["notes"]] == ["danger"]
    Path("p.json").write_text(json.dumps(document | {"notes": []}))
    edited = kn.Plan.load("p.json")
    with pytest.raises(kn.errors.Dangerous):
        cluster.apply(edited)


def test_a_notebook_refuses_without_asking_anybody(kafka, cluster, safe):
    """The cell waited for an answer in a box that nobody saw, all night."""
    session, kconfig = NotebookSession(), entry_point("%kconfig")
    session.chosen(kafka.bootstrap, {})
    try:
        run(
            ["set", f"{MIN_ISR}=1", f"topic={safe}", "--reason", "a test"], session, "%kconfig", entry_point("%kconfig")
        )
        plan = run(["plan"], session, "%kconfig", kconfig).value
        assert f"topic={safe} {MIN_ISR}: 3 becomes 1" in plan._repr_html_()
        with pytest.raises(kn.errors.Dangerous):
            run(["apply"], session, "%kconfig", kconfig)
        assert run(["apply", "--allow", f"{MIN_ISR} topic={safe}"], session, "%kconfig", kconfig).value.ok
        assert value_of(cluster, safe) == "1"
    finally:
        session.close()


def add_record(kafka, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, b"x")
    assert producer.flush(30) == 0


def test_a_shorter_retention_is_dangerous(kafka, kadmin, topic):
    """A day of records was deleted within minutes, and nobody had been asked."""
    change = ("config", "set", f"topic={topic}", "--apply")
    add_record(kafka, topic)
    refused = kadmin(*change, f"{RETENTION}=864000")
    assert (refused.code, refused.out) == (5, "")
    assert "deleted" in refused.err


def test_a_reset_is_judged_by_what_the_brokers_keep_in_hours(kafka, cluster, topic, clean_broker):
    """Taking an override away cut thirty days to seven, and the default was nowhere in the plan."""
    add_record(kafka, topic)
    stage = cluster.new_stage()
    stage.set_config(RETENTION, 30 * 86_400_000, topic=topic)
    stage.set_config("log.retention.ms", 10 * 86_400_000, broker=1)
    plan = stage.plan()
    assert allowances(plan) == []
    plan.apply().raise_for_errors()
    stage.discard()
    stage.reset_config(RETENTION, topic=topic)
    stage.reset_config("log.retention.ms", broker=1)

    def told() -> list[str]:
        return [m.split(": ")[0] for (m,) in rows(stage.plan("a test").dangers(), "message")]

    eventually(told, ["2592000000 (30 d) becomes 864000000 (10 d)", "864000000 (10 d) becomes 604800000 (7 d)"])
    applied(stage.plan("a test")).raise_for_errors()
    stage.discard()
    stage.set_config(RETENTION, 604_800_000, topic=topic)
    eventually(told, [])


def test_a_first_value_for_all_brokers_is_judged_by_each_of_them(cluster, clean_broker):
    """Nothing was set for all, so nothing was there to compare with."""
    stage = cluster.new_stage()
    stage.set_config("unclean.leader.election.enable", True, broker=kn.DEFAULT)
    stage.set_config("log.retention.ms", 86_400_000, broker=kn.DEFAULT)
    found = stage.plan("a test").dangers()
    assert [(key, message.split(": ")[0]) for key, message in rows(found, "key", "message")] == [
        ("unclean.leader.election.enable", "false becomes true"),
        ("log.retention.ms", "604800000 (7 d) becomes 86400000 (1 d)"),
    ]


def test_no_name_in_a_danger_is_obeyed(cluster, place, unique):
    """A client-id put a script, and a second line, below my plan."""
    hostile = '<img src=x onerror="alert(1)">\n\x1b[31mwarning: none'
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1e6, user=unique("first"))  # the first of a level has a warning of its own
    stage.plan().apply().raise_for_errors()
    stage.discard()
    stage.set_quota("producer_byte_rate", 1e6, user=f"User:{hostile}")
    plan = stage.plan()
    assert rows(plan.warnings(), "warning") == [("principal",)]
    assert "<img" not in plan._repr_html_()
    shown = repr(plan) + plan.to_markdown()
    assert "\x1b" not in shown
    assert not [line for line in repr(plan).splitlines() if line.startswith("\x1b[31mwarning")]
    assert rows(kn.Plan.load(plan.save("p.json")).warnings(), "message") == rows(plan.warnings(), "message")


@pytest.fixture
def default_user(cluster: kn.Cluster) -> Iterator[None]:
    stage = cluster.new_stage()
    stage.set_quota("controller_mutation_rate", 5, user=kn.DEFAULT)
    stage.plan().apply().raise_for_errors()
    eventually(lambda: len(cluster.quotas.describe(user=kn.DEFAULT, keys=["controller_mutation_rate"])) > 0, True)
    yield
    stage.discard()
    stage.remove_quota("controller_mutation_rate", user=kn.DEFAULT)
    applied(stage.plan("a test")).raise_for_errors()


def test_a_limit_for_everyone_is_not_lifted_by_the_way(kadmin, default_user):
    """Tidying up removed the one quota that held for everybody."""
    said = kadmin("quota", "remove", "controller_mutation_rate", "--default", "user", "--apply", "--reason", "a test")
    assert said.code == 5
    assert "user=<default> controller_mutation_rate: 5/s for everyone is removed" in said.err
