"""SCRAM credentials are planned, sent, verified and carried on like everything, and never set twice."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import DELETE, FAILED, SKIPPED, UNCHANGED, VERIFIED, Edit
from kadmin_nb.model.scram import ScramUser
from kadmin_nb.plans import change_lines
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.executor import Hooks
from kadmin_nb.plans.plan import Plan
from kadmin_nb.secrets import Secret, redacted
from tests.double import FakeKafka
from tests.double.faults import Crash, Crashed, SomeRefused
from tests.plans.simulation import Pages, plan_of, undoing

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
ALICE, BOB, DAN = ScramUser("alice"), ScramUser("bob"), ScramUser("dan")
BOTH = "scram set SCRAM-SHA-512=prompt:x SCRAM-SHA-256=prompt:x iterations=8192 user=alice"


@pytest.fixture
def kafka() -> FakeKafka:
    """Three brokers; bob has both credentials."""
    kafka = FakeKafka()
    for mechanism in (SHA_256, SHA_512):
        kafka.cluster.write((BOB, mechanism), 4096.0)
    kafka.cluster.settle()
    return kafka


def planned(kafka: FakeKafka, *lines: str) -> Plan:
    return plan_of(kafka, lambda stage: stage.add("\n".join(lines)))


def test_a_hint_keeps_the_reference_that_it_shows(kafka):
    """The hint hid its own example as if it were my password."""
    with pytest.raises(kn.UsageError) as caught:
        planned(kafka, "quota set SCRAM-SHA-256=[iterations=8192,password=hunter2] user=alice")
    assert caught.value.hint == "It is set by stage.set_scram('NAME', 'SCRAM-SHA-512', password='env:NAME')."
    assert "hunter2" not in str(caught.value)


def apply(kafka: FakeKafka, plan: Plan, pages: Pages) -> list[str]:
    """Each row's state."""
    hooks = Hooks(resolver=lambda reference: Secret("a password"))
    return [outcome.state for outcome in executor.apply(kafka, plan, pages.opened(), hooks=hooks).outcomes]


def sent(kafka: FakeKafka) -> list[list[tuple[str, str]]]:
    """User and mechanism of each alter, request by request."""
    calls = [call for call in kafka.calls if call.verb == "alter scram"]
    return [[(user.name, change.mechanism) for user, change in call.parts.items()] for call in calls]


def columns(plan: Plan) -> list[tuple[object, ...]]:
    return [(c.kind, c.op, str(c.resource), c.key, c.wanted, c.old_known, c.validated) for c in plan.changes]


def test_a_row_has_the_reference_and_says_that_nobody_validated_it(kafka):
    """The row was "ok", and no broker had been asked: KIP-554 has no validate-only."""
    plan = planned(kafka, "scram set SCRAM-SHA-512=prompt:NEW iterations=8192 user=alice")
    wanted = "[iterations=8192,password=prompt:NEW]"
    assert columns(plan) == [("scram", "set", "user=alice", SHA_512, wanted, True, "not possible")]
    assert plan.changes[0].note == "asked for when it is sent"


def test_both_mechanisms_go_in_two_requests(kafka):
    """DUPLICATE_RESOURCE: A user credential cannot be altered twice in the same request."""
    plan = planned(kafka, BOTH, BOTH.replace("alice", "carol"))
    assert apply(kafka, plan, Pages()) == [VERIFIED] * 4
    users = ["alice", "carol"]
    assert sent(kafka) == [[(user, SHA_256) for user in users], [(user, SHA_512) for user in users]]


def test_who_changes_the_mechanism_is_never_without_a_login(kafka):
    """The old credential went first, and the client could not log in for a while."""
    plan = planned(kafka, f"scram delete {SHA_256} user=bob", f"scram set {SHA_512}=prompt:x user=bob")
    apply(kafka, plan, Pages())
    assert sent(kafka) == [[("bob", SHA_512)], [("bob", SHA_256)]]


def test_who_did_not_get_the_new_login_keeps_the_old_one(kafka):
    """The new credential was refused, the old one was deleted all the same, and nobody could log in."""
    for mechanism in (SHA_256, SHA_512):
        kafka.cluster.write((DAN, mechanism), 4096.0)
    kafka.cluster.settle()
    lines = [f"scram set {SHA_512}=prompt:x user={user}" for user in ("bob", "dan")]
    plan = planned(kafka, *lines, *(f"scram delete {SHA_256} user={user}" for user in ("bob", "dan")))
    kafka.faults = dict.fromkeys(range(100), SomeRefused())
    assert apply(kafka, plan, Pages())[:3] == [FAILED, VERIFIED, SKIPPED]
    assert sent(kafka) == [[("bob", SHA_512), ("dan", SHA_512)], [("dan", SHA_256)]]
    assert set(kafka.cluster.head.values[BOB]) == {SHA_256, SHA_512}


def test_a_second_apply_sets_no_password_again(kafka):
    """Every apply of the same file threw new salts at the cluster."""
    pages = Pages()
    plan = planned(kafka, BOTH, BOTH.replace("alice", "bob"))
    assert apply(kafka, plan, pages) == [VERIFIED] * 4
    before = len(sent(kafka))
    assert apply(kafka, plan, pages) == [UNCHANGED] * 4
    assert len(sent(kafka)) == before


def test_other_iterations_are_not_taken_for_what_was_wanted(kafka):
    """Verified, said the row, and the broker had the iterations of last year."""
    plan = planned(kafka, f"scram set {SHA_512}=prompt:x iterations=16384 user=bob")
    states = [o.state for o in executor.check(kafka, plan, verify_timeout=1).outcomes]
    assert states == ["unverified"]
    assert apply(kafka, plan, Pages()) == [VERIFIED]
    assert [o.state for o in executor.check(kafka, plan, verify_timeout=1).outcomes] == [VERIFIED]


@pytest.mark.parametrize("after", [False, True], ids=["before the request", "after it"])
@pytest.mark.parametrize("turn", [0, 1], ids=["first request", "second"])
def test_a_run_that_was_killed_is_carried_on(kafka, turn, after):
    """The terminal was closed between the two mechanisms, and apply said conflict."""
    plan, pages = planned(kafka, BOTH), Pages()
    probe = FakeKafka()
    apply(probe, planned(probe, BOTH), Pages())
    numbers = [call.number for call in probe.calls if call.verb == "alter scram"]
    dying = kafka.beside(faults={numbers[turn] - _planning(probe): Crashed(after)})
    with pytest.raises(Crash):
        apply(dying, plan, pages)
    kafka.cluster.settle()
    states = apply(kafka.beside(), plan, pages)
    assert states in ([VERIFIED] * 2, [UNCHANGED, VERIFIED], [VERIFIED, UNCHANGED])
    assert set(kafka.cluster.head.values[ALICE].values()) == {8192.0}


def _planning(probe: FakeKafka) -> int:
    """How many calls the plan itself took, before the first of the run."""
    return next(call.number for call in probe.calls if call.verb == "list brokers") - 1


def test_a_deletion_is_told_to_be_for_ever(kafka):
    """I rolled the plan back, and the client still could not log in."""
    plan = planned(kafka, f"scram delete {SHA_256} user=bob", f"scram set {SHA_512}=prompt:x user=carol")
    assert not plan.changes[0].old_known
    pages = Pages()
    apply(kafka, plan, pages)
    back = undoing(kafka, plan, pages)
    assert [(c.op, str(c.resource), c.key) for c in back.changes] == [(DELETE, "user=carol", SHA_512)]
    lost = "1 left as is: the old value is sensitive and was never seen"
    assert back.reason == f"roll back {plan.id[:8]}; {lost}"


def test_one_that_is_not_there_is_not_deleted(kafka):
    """RESOURCE_NOT_FOUND for a credential that was already gone."""
    plan = planned(kafka, f"scram delete {SHA_512} user=nobody")
    assert plan.changes[0].note == "no change needed"
    assert apply(kafka, plan, Pages()) == [UNCHANGED]
    assert sent(kafka) == []


WRONG = {
    "SCRAM-SHA-512=hunter2 user=alice": "SCRAM-SHA-512 of user=alice: a password is given only by reference",
    "SCRAM-SHA-512=[iterations=8192,password=hunter2] user=alice": "a password is given only by reference",
    "SCRAM-SHA-512 hunter2 user=alice": "that is not a SCRAM mechanism",
    "SCRAM-SHA-513=hunter2 user=alice": "that is not a SCRAM mechanism",
    "hunter2=env:X user=alice": "that is not a SCRAM mechanism",
    "SCRAM-SHA-512=env:X iterations=4095 user=alice": "iterations are a number from 4096 to 16384",
    "SCRAM-SHA-512=env:X iterations=16385 user=alice": "iterations are a number from 4096 to 16384",
    "SCRAM-SHA-512=env:X iterations=hunter2 user=alice": "iterations are a number from 4096 to 16384",
    "SCRAM-SHA-512=env:X": "a credential belongs to one user",
    "SCRAM-SHA-512=env:X user=alice user=hunter2": "a credential belongs to one user",
    "SCRAM-SHA-512=env:X user=<default>": "user=<default> has no credentials of its own",
    "SCRAM-SHA-256=env:X SCRAM-SHA-512=hunter2 user=alice": "SCRAM-SHA-512 of user=alice: a password is given only",
    "user=alice": "no key is named",
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_a_line_that_is_wrong_says_so_and_repeats_no_password(words):
    """'hunter2 is not a SCRAM mechanism', said the log of the CI."""
    with pytest.raises(kn.UsageError) as refused:
        change_lines.edits(f"scram set {words}")
    assert WRONG[words] in str(refused.value)
    assert "hunter2" not in f"{refused.value} {refused.value.hint}"


def test_the_other_order_of_kafkas_text_is_read_too():
    """kafka-configs.sh takes [password=…,iterations=…]."""
    texts = ["env:X", "[password=env:X]", "[password=env:X,iterations=4096]", "[iterations=4096,password=env:X]"]
    edits = [edit for text in texts for edit in change_lines.edits(f"scram set {SHA_512}={text} user=alice")]
    assert [*dict.fromkeys(edits)] == [Edit("set", ALICE, SHA_512, "[iterations=4096,password=env:X]")]


def test_a_long_name_is_searched_for_secrets_once():
    """A user of 40,000 letters took a minute: the search began anew at each of them."""
    assert redacted("k" * 300_000 + " password=x").endswith("k password=[secure]")
