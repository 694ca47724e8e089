"""A plan that is taken elsewhere: as text, and as the parameters of a runbook."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.plans.runbook_parameters import runbook_parameters
from kadmin_nb.plans.stage import edits_of
from kadmin_nb.widgets.plan_review import PlanReview
from tests.hostile_names import HOSTILE
from tests.widgets.reviewing import Bench

KEY = "producer_byte_rate"
Unique = Callable[[str], str]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("cell", "set producer_byte_rate=5000000 user=alice"),
        ("Python", "stage.set_quota('producer_byte_rate', 5000000, user='alice')"),
        ("kafka-configs.sh", "--add-config producer_byte_rate=5000000"),
        ("Markdown", "**Plan "),
    ],
)
def test_a_plan_is_copied_as_text(bench: Bench, name: str, line: str) -> None:
    """I wanted the plan in a pull request, and typed it by hand."""
    bench.stage.set_quota(KEY, "5MB/s", user="alice")
    copies = bench.review().copies
    copies.choice.value = name
    assert line in copies.box.text
    copies.choice.value = ""
    assert copies.box.text == ""


def test_a_large_plan_is_cut_at_a_line(bench: Bench) -> None:
    """The text of a large plan was dropped by the host, without a word."""
    for number in range(2_000):
        bench.stage.set_quota(KEY, 1000, user=f"user-{number}-{'x' * 40}")
    copies = bench.review().copies
    copies.choice.value = "cell"
    assert len(copies.box.text) < 100_000
    assert copies.box.text.splitlines()[-1].endswith("more lines: plan.to_cell() has all of it")


def test_what_is_copied_from_a_screen_has_no_controls(bench: Bench) -> None:
    """A user's name held an escape sequence, and I pasted it into a terminal."""
    for name in HOSTILE:
        bench.stage.set_quota(KEY, 1000, user=name)
    copies = bench.review().copies
    for form in ("cell", "Python", "kafka-configs.sh", "Markdown"):
        copies.choice.value = form
        assert all(line.isprintable() for line in copies.box.text.split("\n")), form


def test_a_secret_is_in_no_trait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password stood in the page's source."""
    monkeypatch.setenv("NEW_PASSWORD", "canary-7f3a")
    bench.stage.set_config("ssl.keystore.password", "env:NEW_PASSWORD", broker=kn.DEFAULT)
    review = bench.review("a new key")
    states = [review._rows.children[0].value, review.copies.box.get_state(), review.as_html()]
    for form in ("cell", "Python", "kafka-configs.sh", "Markdown"):
        review.copies.choice.value = form
        states.append(review.copies.box.get_state())
    assert "canary-7f3a" not in str(states)


def test_a_runbook_reads_every_name_as_it_was_staged(bench: Bench) -> None:
    """papermill reads YAML, and made another name of a hostile one."""
    yaml = pytest.importorskip("yaml")
    for name in HOSTILE:
        bench.stage.set_quota(KEY, 1000, user=name)
    parameters = runbook_parameters(bench.stage.plan(), "localhost:9092")
    assert yaml.safe_load(parameters.text()) == json.loads(parameters.text()) == parameters.values
    assert str(parameters).replace("\n", "").isprintable()
    stage = bench.changes.new_stage()
    stage.add("\n".join(parameters.values["changes"]))
    assert [*edits_of(stage).staged()] == [*edits_of(bench.stage).staged()]


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("tool", ["kadmin-nb", pytest.param("papermill", marks=pytest.mark.long)])
def test_the_line_that_is_shown_makes_the_change(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I saved the runbook, ran the line, and nothing was changed."""
    monkeypatch.chdir(tmp_path)
    user = unique("it's alice")
    with kn.connect(kafka.bootstrap) as connected:
        stage = connected.new_stage()
        stage.set_quota(KEY, "5MB/s", user=user)
        review = stage.plan("a trial").review()
        assert isinstance(review, PlanReview)
        assert review.widget
        review.copies.save.click()
    assert cluster.quotas.describe(user=user).to_arrow().num_rows == 0
    line = next(line for line in review.copies.box.text.splitlines() if line.startswith(tool))
    words = shlex.split(line)
    words[0] = str(Path(sys.executable).with_name(words[0]))
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    assert cluster.quotas.describe(user=user).to_arrow()["value"].to_pylist() == [5e6]


def test_the_parameters_of_a_job_are_texts(bench: Bench) -> None:
    """Databricks hands everything over as text."""
    bench.stage.set_quota(KEY, "5MB/s", user="alice")
    bench.stage.set_config("retention.ms", "7d", topic="clicks")
    bench.kafka.create_topics({"clicks": 1})
    plan = bench.stage.plan("soon")
    run = runbook_parameters(plan, "prod", allow=[f"{KEY} user=alice"])
    assert run.runbook == "change_quotas"
    assert run.job_parameters() == {
        "cluster": "prod",
        "changes": json.dumps(["set producer_byte_rate=5000000 user=alice", "set retention.ms=604800000 topic=clicks"]),
        "reason": "soon",
        "apply": "true",
        "allow": '["producer_byte_rate user=alice"]',
        "policy": "",
        "cluster_id": plan.cluster_id,
        "changes_id": plan.changes_id,
        "limit": "2",
    }


def test_a_plan_of_configs_alone_is_for_their_runbook(bench: Bench) -> None:
    """The runbook of configs shows what a reset falls back to, and I was sent to the other one."""
    bench.kafka.create_topics({"clicks": 1})
    bench.stage.set_config("retention.ms", "7d", topic="clicks")
    assert runbook_parameters(bench.stage.plan(), "prod").runbook == "change_configs"


def test_what_no_runbook_can_do_is_a_line(bench: Bench) -> None:
    """The runbook was saved, and refused its own file."""
    bench.stage.set_quota("connection_rate_of_tomorrow", 10, user="alice")
    review = bench.stage.plan(allow_unknown=["connection_rate_of_tomorrow"]).review()
    assert isinstance(review, PlanReview)
    assert review.widget
    review.copies.save.click()
    assert review.copies.box.text.startswith("UsageError: a runbook takes no unknown key")
