"""change_configs, apply_plan and rollback_plan on a real broker, as Databricks tasks: only what was reviewed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.plans.approval import approved
from kadmin_nb.plans.plan_file import PlanHead
from tests.runbooks.databricks_stand_in import as_task

pytestmark = [pytest.mark.broker, pytest.mark.filterwarnings("ignore:.*on the disk of this compute")]

Unique = Callable[[str], str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def user(unique: Unique) -> str:
    return unique("user")


@pytest.fixture
def plan(cluster: kn.Cluster, user: str, folder: Path) -> kn.Plan:
    """A plan, saved as p.json."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5e6, user=user)
    made = stage.plan("the fair")
    made.save("p.json")
    return made


def stored(cluster: kn.Cluster, user: str) -> list[float]:
    return list(cluster.quotas.describe(user=user).to_arrow()["value"].to_pylist())


def test_the_plan_that_was_reviewed_is_applied_and_taken_back(
    kafka: LocalKafka, cluster: kn.Cluster, plan: kn.Plan, user: str
) -> None:
    """The review was of a file, and the night shift typed the lines again."""
    given = {"cluster": kafka.bootstrap, "plan": "p.json", "plan_id": plan.id[:8]}
    Path("c.csv").write_text(f"user,client_id\n{user},app\n")
    assert as_task("apply_plan", **given, clients="c.csv")["state"] == "planned"
    assert stored(cluster, user) == []
    said = as_task("apply_plan", **given, apply=True)
    assert (said["state"], said["plan_id"], said["reason"]) == ("applied", plan.id, "the fair")
    assert stored(cluster, user) == [5e6]
    back = {"cluster": kafka.bootstrap, "plan_id": plan.id[:8]}
    assert as_task("rollback_plan", **back)["state"] == "planned"
    assert stored(cluster, user) == [5e6]
    undone = as_task("rollback_plan", **back, apply=True)
    assert undone["state"] == "applied"
    assert stored(cluster, user) == []
    with pytest.raises(kn.errors.Dangerous, match=f"was rolled back by plan {undone['plan_id'][:8]}"):
        as_task("apply_plan", **given, apply=True)
    assert stored(cluster, user) == []
    assert as_task("apply_plan", **given, apply=True, allow=[undone["plan_id"][:8]])["state"] == "applied"
    assert stored(cluster, user) == [5e6]


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"plan_id": "0" * 64}, kn.PlanRefused, "but 00000000 was reviewed"),
        ({"plan_id": ""}, kn.UsageError, "8 characters of the id that was reviewed"),
        ({"plan_id": "{id:.6}"}, kn.UsageError, "8 characters of the id that was reviewed"),
        ({"plan": ""}, kn.UsageError, "plan and plan_id are required"),
        ({"plan": "none.json"}, kn.NotFound, "no such plan file: none.json"),
        ({"plan": "edited.json"}, kn.Invalid, "was changed after it was saved"),
        ({"plan": "noted.json", "require_approval": True}, kn.Invalid, "a note about another plan"),
        ({"require_approval": True}, kn.PlanRefused, "is not approved"),
        ({"cluster_id": "another"}, kn.errors.WrongCluster, "meant for cluster another"),
        ({"limit": 0}, kn.PlanRefused, "the limit is 0"),
        ({"cluster": "127.0.0.1:1"}, kn.errors.ConnectionFailed, "127.0.0.1:1"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_anything_but_the_reviewed_plan_is_refused_and_nothing_is_sent(
    kafka: LocalKafka, cluster: kn.Cluster, plan: kn.Plan, user: str, given: dict[str, object], kind: type, words: str
) -> None:
    """Somebody saved another plan under the same name between the review and the night."""
    Path("edited.json").write_text(Path("p.json").read_text().replace("5000000", "9000000"))
    other = kn.Plan(PlanHead(plan.cluster_id, plan.head.created, author="User:alice"), ())
    note = str(approved(other, "User:bob", plan.head.created).notes[0]).replace("'", '"')
    Path("noted.json").write_text(Path("p.json").read_text().replace('"notes":[', f'"notes":[{note},'))
    task = {"cluster": kafka.bootstrap, "plan": "p.json", "plan_id": plan.id, "apply": True}
    with pytest.raises(kind, match=words):
        as_task("apply_plan", **task | {n: v.format(id=plan.id) if isinstance(v, str) else v for n, v in given.items()})
    assert stored(cluster, user) == []


@pytest.mark.parametrize(
    ("plan_id", "kind", "words"),
    [("", kn.UsageError, "plan_id is required"), ("abcdef123456", kn.NotFound, "abcdef123456")],
)
def test_what_was_never_applied_cannot_be_rolled_back(kafka: LocalKafka, plan_id: str, kind: type, words: str) -> None:
    """It rolled back the last plan instead."""
    with pytest.raises(kind, match=words):
        as_task("rollback_plan", cluster=kafka.bootstrap, plan_id=plan_id, apply=True)


def test_configs_are_changed_and_quotas_are_not(kafka: LocalKafka, cluster: kn.Cluster, unique: Unique) -> None:
    """The job for configs could change quotas as well."""
    group = unique("group")
    given = {"cluster": kafka.bootstrap, "changes": [f"set consumer.session.timeout.ms=50000 group={group}"]}
    assert as_task("change_configs", **given, save="p.json")["state"] == "planned"
    assert len(kn.Plan.load("p.json")) == 1
    said = as_task("change_configs", **given, apply=True)
    assert [(row["resource"], row["state"]) for row in said["outcomes"]] == [(f"group={group}", "verified")]
    with pytest.raises(kn.UsageError, match=r"line 1: .*"):
        as_task("change_configs", cluster=kafka.bootstrap, changes=["set producer_byte_rate=5MB/s user=x"], apply=True)
    assert as_task("change_configs", cluster=kafka.bootstrap)["state"] == "nothing to do"


def test_a_dangerous_change_needs_its_row_to_be_allowed(kafka: LocalKafka, cluster: kn.Cluster, unique: Unique) -> None:
    """The nightly job let brokers elect leaders that had lost data."""
    topic = unique("topic")
    changes = [f"set unclean.leader.election.enable=true topic={topic}"]
    cluster.port.create_topics({topic: 1})
    given = {"cluster": kafka.bootstrap, "changes": changes, "apply": True, "reason": "a test"}
    with pytest.raises(kn.errors.Dangerous, match=r"unclean\.leader"):
        as_task("change_configs", **given)
    given["allow"] = [f"unclean.leader.election.enable topic={topic}"]
    assert as_task("change_configs", **given)["state"] == "applied"
    assert as_task("change_configs", **given)["state"] == "nothing to do"


def test_a_plan_that_breaks_a_policy_ends_at_the_gate_and_the_audit_says_so(
    kafka: LocalKafka, cluster: kn.Cluster, user: str
) -> None:
    """The policy was a page in the wiki."""
    rule = ["def none(quotas):", '    """we agreed on it"""', f'    return quotas[quotas.user == "{user}"]']
    Path("policies.py").write_text("\n".join(rule))
    given = {"cluster": kafka.bootstrap, "changes": [f"set producer_byte_rate=5MB/s user={user}"]}
    for apply in (False, True):
        with pytest.raises(kn.PlanRefused, match="we agreed on it"):
            as_task("change_quotas", **given, policy="policies.py", apply=apply)
    assert stored(cluster, user) == []
    as_task("change_quotas", **given, apply=True)
    said = as_task("quota_audit", cluster=kafka.bootstrap, policy="policies.py")
    assert [row["verdict"] for row in said["verdicts"] if row["check"] == "the policy"] == ["look"]
