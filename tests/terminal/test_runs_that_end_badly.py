"""A run that ends badly after it has sent something: its rows are where the line asked for them."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.ports import UNSIGNED
from kadmin_nb.plans import sending

pytestmark = pytest.mark.broker


def lose_the_lease(plan: kn.Plan, bootstrap: str) -> None:
    with kn.connect(bootstrap) as other:
        other.port.lease("another plan", "bob", steal=True).release()


def press_ctrl_c(plan: kn.Plan, bootstrap: str) -> None:
    signal.raise_signal(signal.SIGINT)


ENDS = {
    lose_the_lease: (4, "PartlyFailed: plan {} did not hold the lease throughout: "),
    press_ctrl_c: (130, "Interrupted: plan {} was stopped by Ctrl-C, between two requests"),
}


@pytest.fixture
def ending(kafka, monkeypatch) -> Callable[[Callable[..., None], kn.Plan], None]:
    """`ending(how, plan)`: this happens when the first request of the plan was answered."""

    def patch(how: Callable[..., None], plan: kn.Plan) -> None:
        real = sending.Batch.send

        def send(batch, *words, **options):
            answers = real(batch, *words, **options)
            if options.get("signature", UNSIGNED).plan_id == plan.id:
                how(plan, kafka.bootstrap)
            return answers

        monkeypatch.setattr(sending.Batch, "send", send)

    return patch


@pytest.fixture
def plan(cluster, unique) -> kn.Plan:
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5_000_000, user=unique("user"))
    return stage.plan()


@pytest.mark.parametrize("how", ENDS)
def test_json_and_out_have_the_rows_of_a_run_that_ended_badly(how, live, plan, ending, tmp_path):
    """The lease was stolen from the nightly job: it had asked for JSON, and jq found a table."""
    plan.save(str(tmp_path / "p.json"))
    ending(how, plan)
    code, message = ENDS[how]
    answer = live("plan", "apply", str(tmp_path / "p.json"), "--json")
    assert [(row["key"], row["state"]) for row in json.loads(answer.out)] == [("producer_byte_rate", "verified")]
    assert (answer.code, answer.err.startswith(message.format(plan.id[:8]))) == (code, True), answer.err


@pytest.mark.parametrize("how", ENDS)
def test_a_rollback_that_ended_badly_writes_its_rows_where_out_says(how, live, plan, cluster, ending, tmp_path):
    """The rollback was interrupted, and the file that the job reads next was not there."""
    cluster.apply(plan).raise_for_errors()
    ending(how, back := cluster.rollback(plan.id))
    saved = str(tmp_path / "back.json")
    back.save(saved)
    answer = live("plan", "apply", saved, "--out", str(tmp_path / "rows.json"))
    assert [row["state"] for row in json.loads((tmp_path / "rows.json").read_text())] == ["verified"]
    assert (answer.code, answer.out) == (ENDS[how][0], "")
    assert answer.err.startswith(ENDS[how][1].format(back.id[:8]))


def test_where_the_file_cannot_be_written_either_both_are_told(live, plan, ending, tmp_path):
    """I pressed Ctrl-C, and all that I was told was that rows.json cannot be written."""
    plan.save(str(tmp_path / "p.json"))
    ending(press_ctrl_c, plan)
    answer = live("plan", "apply", str(tmp_path / "p.json"), "--out", str(tmp_path / "no" / "rows.json"))
    assert (answer.code, answer.out) == (130, "")
    assert [line.partition(":")[0] for line in answer.err.splitlines()] == [
        "PartlyFailed",
        "Interrupted",
        "Hint",
    ]
