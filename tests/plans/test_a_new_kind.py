"""A new kind of change is one file (`labels.py`) and one registration, and goes the whole way of a plan."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import DELETE, SET, VERIFIED, Edit, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans import change_lines, kinds
from kadmin_nb.plans.advice.dangers import advice_on
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.preflight import gate
from kadmin_nb.plans.journal.replay import JournalState
from kadmin_nb.plans.kinds import remedy
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.stage import Stage
from kadmin_nb.policy.rule_frames import after
from kadmin_nb.state.snapshot_kinds import CONFIGS, QUOTAS
from tests.double import FakeKafka
from tests.plans.labels import LABELS, Labelled, Labels
from tests.plans.simulation import Pages, plan_of, undoing

KEY = "producer_byte_rate"
ALICE, LOCAL = Labelled("alice"), Labelled("local")


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> FakeKafka:
    """Three brokers that know labels, and plans that do."""
    monkeypatch.setitem(kinds.KINDS, LABELS.name, LABELS)
    kafka = FakeKafka()
    kafka.labels = Labels(kafka)  # type: ignore[attr-defined]
    kafka.cluster.write((ALICE, "old"), "yes")  # type: ignore[arg-type]
    kafka.cluster.settle()
    return kafka


def stage_labels(stage: Stage) -> None:
    lines = ["label team=red labelled=alice", "unlabel old labelled=alice", "label team=blue labelled=local"]
    stage.add("\n".join([*lines, "set producer_byte_rate=1000 user=alice"]))


@pytest.fixture
def plan(kafka: FakeKafka) -> Plan:
    return plan_of(kafka, stage_labels)


def test_it_is_planned_beside_others(plan):
    """The plan of users' labels and quotas failed: it took whatever is not a quota for a config."""
    assert [(c.kind, c.op, str(c.resource), c.key, c.old, c.after, c.validated) for c in plan.changes] == [
        ("label", "set", "labelled=alice", "team", None, "red", "ok"),
        ("label", "delete", "labelled=alice", "old", "yes", None, "ok"),
        ("label", "set", "labelled=local", "team", None, "blue", "ok"),
        ("quota", "set", "user=alice", "producer_byte_rate", None, "1000", "ok"),
    ]
    assert plan.to_arrow()["kind"].to_pylist() == ["label"] * 3 + ["quota"]


def test_the_broker_refuses_a_row_of_it(kafka):
    """One label was wrong, and apply failed in the middle: what is changed as a whole is refused as a whole."""
    edits = [Edit(SET, ALICE, "team", "RED"), Edit(SET, ALICE, "city", "rome")]
    refused = [str(c.validated) for c in plan_of(kafka, lambda stage: stage.add(edits)).changes]
    assert refused == ["INVALID_REQUEST: too loud"] * 2


def test_it_is_staged_from_a_frame():
    """Frames could be staged of quotas and configs alone, each by code of its own."""
    rows = [{"resource": "labelled=alice", "key": "team", "value": value} for value in ("red", None)]
    edits = change_lines.frame_edits(pa.Table.from_pylist(rows), LABELS)
    assert edits == [Edit(SET, ALICE, "team", "red"), Edit(DELETE, ALICE, "team")]
    with pytest.raises(kn.UsageError, match=r"^row 1 of the frame: no key is given"):
        change_lines.frame_edits(pa.Table.from_pylist([{**rows[0], "key": ""}]), LABELS)


def test_what_judges_snapshots_passes_it_over(plan):
    """The policy read a label as the config of a topic, and ended in a stack trace."""
    assert after(QUOTAS, schemas.QUOTAS.empty(), plan)["entity"].to_pylist() == ["user=alice"]
    assert after(CONFIGS, schemas.CONFIGS.empty(), plan).num_rows == 0


def test_its_file_is_read_back(plan, tmp_path, monkeypatch):
    """A saved plan of labels could be opened by nobody, not even by us."""
    again = Plan.load(plan.save(tmp_path / "p.json"))
    assert (again, again.id, again.changes) == (plan, plan.id, plan.changes)
    monkeypatch.delitem(kinds.KINDS, LABELS.name)
    with pytest.raises(kn.Invalid, match="does not know changes of kind label"):
        Plan.load(tmp_path / "p.json")


def test_it_is_applied_verified_and_rolled_back(kafka, plan):
    """Labels were sent as configs, and looked for on brokers that never have them."""
    pages = Pages()
    done = executor.apply(kafka, plan, pages.opened())
    assert [(o.state, o.brokers_agreeing, o.brokers) for o in done.outcomes] == [
        (VERIFIED, 3, 3),
        (VERIFIED, 3, 3),
        (VERIFIED, 1, 1),
        (VERIFIED, 3, 3),
    ]
    sent = [list(call.parts) for call in kafka.calls if call.verb == "alter labels" and not call.validate_only]
    assert sent == [[ALICE], [ALICE, LOCAL]]
    back = undoing(kafka, plan, pages)
    assert back.changes[1].note == "undoes row 3"
    executor.apply(kafka, back, Pages().opened())
    kafka.cluster.settle()
    assert kafka.cluster.head.values.get(ALICE) == {"old": "yes"}
    assert not kafka.cluster.head.values.get(LOCAL)


def test_it_is_judged(kafka, plan):
    """Its dangers and warnings were nobody's to find."""
    advice = advice_on(kafka, plan.changes, None)
    assert [(danger.row, danger.code) for danger in advice.dangers] == [(2, "label")]
    assert "3 labels" in [warned.message for warned in advice.warnings]


def test_the_right_that_it_lacks_is_its_own(plan):
    """The hint asked for ALTER_CONFIGS, which nobody needs to change a credential."""
    refused = plan.changes[0].with_(validated=Refusal("CLUSTER_AUTHORIZATION_FAILED"))
    assert remedy(refused) == "It needs ALTER on the cluster."


def test_what_quotas_do_together_is_not_done_by_it(kafka):
    """The quota was gone long ago, and a label of the same key was refused for it."""
    default = Entity.of({"user": kn.DEFAULT})
    kafka.cluster.write((default, KEY), 1000.0)
    kafka.cluster.settle()
    plan = plan_of(kafka, lambda stage: stage.add([Edit(DELETE, default, KEY), Edit(SET, ALICE, KEY, "red")]))
    of_quota, of_label = sorted(plan.changes, key=lambda change: change.kind != "quota")
    with pytest.raises(kn.errors.Dangerous):
        gate(kafka, plan, [of_quota], JournalState())
    assert gate(kafka, plan, [of_label], JournalState()) == {}


def test_one_that_no_broker_validates_says_so(kafka, monkeypatch):
    """A credential's row was "ok" before anybody could have been asked (KIP-554 has no validate-only)."""
    monkeypatch.setattr(type(LABELS), "can_validate", False)
    rows = plan_of(kafka, stage_labels).changes
    assert [c.validated for c in rows] == ["not possible"] * 3 + ["ok"]
    assert [call.verb for call in kafka.calls if call.validate_only] == ["alter quotas"]
