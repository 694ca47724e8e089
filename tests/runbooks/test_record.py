"""The record: what it says at every moment of a run. No broker: a double of the cluster that answers as told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import FAILED, OK, UNCHANGED, UNKNOWN, VERIFIED, Change, Outcome, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.outcomes import ApplyResult, Outcomes
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.runbooks.run_record import RunRecord

CHANGE = Change(1, "set", Entity.parse("user=alice"), "producer_byte_rate", wanted="5", after="5", validated=OK)
PLAN = kn.Plan(PlanHead("cluster-1", "2026-01-01T00:00:00+00:00", "why"), (CHANGE,))


@dataclass(frozen=True)
class Parameters:
    apply: bool = True


class Cluster:
    """Applies by answering with these outcomes, or by raising this error."""

    id = "cluster-1"

    def __init__(self, answer: Outcome | Exception) -> None:
        self.answer = answer

    def apply(self, plan: kn.Plan, options: object = None) -> Outcomes:
        if isinstance(self.answer, Exception):
            raise self.answer
        return Outcomes.of(plan.id, plan.cluster_id, ApplyResult([self.answer]))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "out.json"


def recorded(place: Path, answer: Outcome | Exception) -> kn.runbooks.Record:
    record = kn.runbooks.record("mine", Parameters(), {})
    record.path = place
    record.cluster, record.plan = Cluster(answer), PLAN  # type: ignore[assignment]
    return record


def read(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def carried_out(place: Path, answer: Outcome | Exception) -> tuple[str, bool | None]:
    """What the file says after apply and finish."""
    record, raised = recorded(place, answer), None
    try:
        with record:
            record.apply()
        record.finish(show=lambda text: None)
    except kn.KadminError as exc:
        raised = {"type": type(exc).__name__, "message": str(exc), "code": exc.code, "hint": exc.hint}
    assert read(place)["error"] == raised
    return read(place)["state"], read(place)["changed"]


@pytest.mark.parametrize(
    ("answer", "state", "changed"),
    [
        (Outcome(CHANGE, VERIFIED), "applied", True),
        (Outcome(CHANGE, UNCHANGED), "nothing to do", False),
        (Outcome(CHANGE, UNKNOWN, "REQUEST_TIMED_OUT"), "failed", True),
        (Outcome(CHANGE, FAILED, "POLICY_VIOLATION", "no"), "failed", False),
        (kn.errors.Conflict("moved"), "failed", False),
        (kn.errors.TimedOut("no answer"), "failed", None),
    ],
    ids=["verified", "unchanged", "unknown", "failed", "refused", "timed out"],
)
def test_the_record_says_what_became_of_it(
    place: Path, answer: Outcome | Exception, state: str, changed: bool | None
) -> None:
    """It timed out while applying, and the record claimed that nothing had changed."""
    assert carried_out(place, answer) == (state, changed)


def test_a_failure_is_written_before_it_is_raised(place: Path) -> None:
    """The notebook stopped at the error, and the outcomes were lost."""
    record = recorded(place, Outcome(CHANGE, FAILED, "POLICY_VIOLATION", "not at night"))
    record.apply()
    with pytest.raises(kn.PartlyFailed, match="not at night"):
        record.finish()
    assert [(row["key"], row["state"]) for row in read(place)["outcomes"]] == [("producer_byte_rate", "failed")]


def test_a_run_that_is_killed_while_applying_has_said_so(place: Path) -> None:
    """The machine went down in the middle; the record said planned."""

    class Killed(BaseException):
        pass

    class Dying(Cluster):
        def apply(self, plan: kn.Plan, options: object = None) -> Outcomes:
            raise Killed

    record = recorded(place, Outcome(CHANGE, VERIFIED))
    record.cluster = Dying(kn.KadminError(""))  # type: ignore[assignment]
    with pytest.raises(Killed):
        record.apply()
    assert (read(place)["state"], read(place)["changed"]) == ("applying", None)


def test_it_names_the_plan_and_the_cluster(place: Path) -> None:
    """A year later nobody knew which change this was."""
    with recorded(place, Outcome(CHANGE, VERIFIED)):
        pass
    said = read(place)
    assert (said["runbook"], said["cluster_id"], said["reason"]) == ("mine", "cluster-1", "why")
    assert (said["plan_id"], said["changes_id"]) == (PLAN.id, PLAN.changes_id)
    assert said["plan"][0]["resource"] == "user=alice"
    assert said["parameters"] == {"apply": True}


def test_where_the_document_is_not_known_it_lies_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs wrote one file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KADMIN_RUNBOOK_RECORD", raising=False)
    for _ in range(2):
        kn.runbooks.record("mine", Parameters(), {}).finish()
    assert len(list(tmp_path.glob("mine-*Z.json"))) == 2
    assert len(list(tmp_path.iterdir())) == 2


def test_without_a_plan_it_applies_nothing() -> None:
    """AttributeError: 'NoneType'."""
    with pytest.raises(kn.UsageError, match="no plan to apply"):
        kn.runbooks.record("mine", Parameters(), {}).apply()


def test_the_gate_refuses_what_the_broker_refuses() -> None:
    """The first hundred changes went through, and then the broker refused the rest."""
    validated = Refusal("INVALID_CONFIG", "no")
    plan = kn.Plan(PlanHead("c", PLAN.head.created), (CHANGE, CHANGE.with_(row=2, validated=validated)))
    first = f"refuses 1 of 2 rows; the first, user=alice producer_byte_rate: {validated}"
    with pytest.raises(kn.PlanRefused, match=first) as refused:
        kn.runbooks.gate(plan, limit=100)
    assert refused.value.code == validated.code


def test_the_gate_lets_a_plan_pass_whose_author_lacks_the_right() -> None:
    """The job has the right to alter and its plans come from people without it: it refused each of them."""
    lacking = CHANGE.with_(validated=Refusal("CLUSTER_AUTHORIZATION_FAILED", "no"))
    kn.runbooks.gate(kn.Plan(PlanHead("c", PLAN.head.created), (lacking,)), limit=100)


def test_the_gate_holds_the_limit_and_the_review() -> None:
    """Somebody added a line after the review."""
    kn.runbooks.gate(PLAN, limit=1, changes_id=PLAN.changes_id[:8])
    with pytest.raises(kn.PlanRefused, match="has 1 changes, the limit is 0"):
        kn.runbooks.gate(PLAN, limit=0)
    with pytest.raises(kn.errors.Conflict, match="but 000000 were reviewed"):
        kn.runbooks.gate(PLAN, limit=1, changes_id="000000")


def test_a_plan_that_was_stopped_on_its_way_is_recorded_with_its_rows(place):
    """The disk was full, and the record did not say which rows had been changed."""
    done = Outcomes.of(PLAN.id, PLAN.cluster_id, ApplyResult([Outcome(CHANGE, VERIFIED)]))
    stopped = kn.errors.PartlyFailed("the journal cannot be written", outcomes=done, code="JOURNAL")
    assert carried_out(place, stopped) == ("failed", True)
    assert [row["state"] for row in read(place)["outcomes"]] == ["verified"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ok": "yes"}, "ok: expected bool | null, got str"),
        ({"started": 1}, "started: expected str | null, got int"),
        ({"error": {"type": "Conflict"}}, "error: object missing required field message"),
        ({"plan": {"row": 1}}, "plan: expected array, got object"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_record_that_is_none_is_refused_with_the_field(place: Path, change: dict[str, Any], words: str) -> None:
    """It ended in AttributeError: 'str' object has no attribute 'get'."""
    with recorded(place, Outcome(CHANGE, VERIFIED)):
        pass
    place.write_text(json.dumps({**read(place), **change}))
    with pytest.raises(kn.Invalid) as refused:
        RunRecord.read(place)
    assert str(refused.value) == f"{place} is not the record of a run: {words}"


def test_a_record_of_another_version_is_read(place: Path) -> None:
    """A field had gone, and the runs of last year could not be looked at."""
    with recorded(place, Outcome(CHANGE, VERIFIED)):
        pass
    body = {**read(place), "gone": 1}
    del body["reason"]
    place.write_text(json.dumps(body))
    found = RunRecord.read(place)
    assert found is not None
    assert (found.runbook, found.state) == ("mine", "planned")
