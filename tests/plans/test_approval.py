"""Approvals: whose count, and that `--require-approval` sends nothing without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster import permissions
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.plans.approval import approval_of, approved, author
from kadmin_nb.plans.plan import with_note
from tests.persons import let_in

AT = "2026-01-01T00:00:00+00:00"
ALICE, BOB = "User:alice (root@here)", "User:bob (root@here)"
PLAN = kn.Plan("cluster-1", AT, (), "why", author=ALICE)


def test_an_approval_stands_beside_the_plan_and_leaves_its_id(tmp_path: Path) -> None:
    """The plan that was approved had another id than the one that was reviewed."""
    plan = kn.Plan.load(approved(PLAN, BOB, AT, "looks right").save(tmp_path / "p.json"))
    assert plan.id == PLAN.id
    assert (approval_of(plan)["author"], approval_of(plan)["text"]) == (BOB, "looks right")
    assert "approval by User:bob (root@here): looks right" in repr(plan)


@pytest.mark.parametrize(
    ("made_by", "agreed_by", "words"),
    [
        (ALICE, "User:alice (mia@laptop)", "User:alice is its author"),
        (ALICE, "bob@laptop", "no broker and no platform confirms bob@laptop"),
        ("alice@laptop", BOB, "its author, alice@laptop, is confirmed by no broker"),
        (ALICE, "databricks:bob@example.com (root@driver)", "confirmed by different systems"),
        ("", BOB, "its author, unknown, is confirmed by"),
        ("User:a (b (me@here)", "User:a (b (you@there)", "is its author"),
    ],
)
def test_whose_approval_does_not_count(made_by: str, agreed_by: str, words: str) -> None:
    """I approved my own plan, from my other machine."""
    plan = kn.Plan("cluster-1", AT, (), author=made_by)
    with pytest.raises(kn.PlanRefused) as refused:
        approved(plan, agreed_by, AT)
    assert words in str(refused.value)
    assert refused.value.code == "APPROVAL"
    with pytest.raises(kn.PlanRefused) as refused:
        approval_of(with_note(plan, "", author=agreed_by, at=AT, kind="approval"))
    assert words in str(refused.value)


def test_one_approval_that_counts_is_enough_and_a_note_is_none() -> None:
    """A comment on the plan was taken for a yes."""
    with pytest.raises(kn.PlanRefused, match="no one has approved"):
        approval_of(with_note(PLAN, "hm", author=BOB, at=AT))
    approval_of(
        with_note(with_note(PLAN, "", author=ALICE, at=AT, kind="approval"), "", author=BOB, at=AT, kind="approval")
    )


def test_an_approval_of_another_plan_is_refused(tmp_path: Path) -> None:
    """Bob's yes to last week's plan was pasted into this one."""
    other = approved(kn.Plan("cluster-1", AT, (), "else", author=ALICE), BOB, AT)
    place = PLAN.save(tmp_path / "p.json")
    document = json.loads(place.read_text())
    document["notes"] = [dict(note) for note in other.notes]
    place.write_text(json.dumps(document))
    with pytest.raises(kn.Invalid, match="a note about another plan"):
        kn.Plan.load(place)


def test_who_we_are_is_what_others_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """It believed the name that I had typed."""

    class Session:
        def sql(self, text: str) -> Session:
            assert text == "SELECT current_user()"
            return self

        def first(self) -> tuple[str]:
            return ("mia@example.com",)

    login = Settings("h:1", "SASL_SSL", "SCRAM-SHA-512", "alice")
    assert permissions.user_in_words(Settings("h:1", username="alice")) is None
    assert permissions.user_in_words(login) == "User:alice"
    monkeypatch.setattr(permissions, "active_session", Session)
    assert permissions.user_in_words(login) == "User:alice"
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    assert permissions.user_in_words(login) == "databricks:mia@example.com"
    monkeypatch.setattr(permissions, "active_session", lambda: None)
    assert permissions.user_in_words(login) == "User:alice"
    assert author("User:alice").startswith("User:alice (")


@pytest.mark.broker
def test_over_a_connection_without_a_login_nobody_approves(cluster: kn.Cluster, unique) -> None:
    """Everybody is ANONYMOUS there, and so anybody could."""
    stage = cluster.stage()
    stage.set_quota("producer_byte_rate", 5e6, user=(user := unique("user")))
    plan = stage.plan()
    with pytest.raises(kn.PlanRefused, match="is confirmed by no broker"):
        cluster.approve(plan)
    with pytest.raises(kn.PlanRefused, match="is not approved"):
        cluster.apply(plan, require_approval=True)
    with pytest.raises(kn.WrongCluster):
        cluster.approve(kn.Plan("another", AT, (), author=ALICE))
    assert not len(cluster.quotas.describe(user=user))


@pytest.mark.broker
@pytest.mark.secure
def test_the_broker_names_author_and_approver(
    secure_kafka: LocalKafka, unique, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same person planned, approved and applied."""

    def run(*words: str, login: Path = secure_kafka.client_properties) -> int:
        return terminal.run_line([*words, "--cluster", str(login)])

    file, user, bob = str(tmp_path / "p.json"), unique("user"), let_in(secure_kafka, unique("bob"))
    assert run("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", file) == 0
    assert run("plan", "apply", file, "--require-approval") == 5
    assert run("plan", "approve", file) == 5
    assert "User:admin is its author" in capsys.readouterr().err
    assert run("plan", "apply", file) == 0
    assert run("plan", "resume", file, "--require-approval") == 5
    assert run("plan", "approve", file, "--note", "read on the 3rd", login=bob) == 0
    assert run("plan", "apply", file, "--require-approval") == 0
    assert run("plan", "resume", file, "--require-approval") == 0
    with secure_kafka.connect() as admin:
        assert admin.quotas.describe(user=user).to_arrow()["value"].to_pylist() == [5e6]
        assert "read on the 3rd" in repr(kn.Plan.load(file))
