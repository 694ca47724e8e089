"""A secret is set like any other value: checked as far as it can be, carried on after every fault, and taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.changing import secret
from kadmin_nb.errors import Conflict, KadminError
from kadmin_nb.model.changes import OK, Change, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import kinds, planning, secret_resolver, sending
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.executor import Hooks
from kadmin_nb.plans.outcomes import ApplyResult
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.plans.stage import Stage
from kadmin_nb.secrets import Secret, is_secret_name
from tests.double import Crash, FakeKafka
from tests.double.faults import HollowSuccess
from tests.plans.secret_search import CORE, sings
from tests.plans.simulation import QUIET, TIMEOUT, Pages, Schedule, bounded, deaths_at, faults_at, mend, undoing

SECRETS = {"env:NEW": f"{CORE}-new", "env:NEXT": f"{CORE}-next"}
ONE, TWO = Resource("BROKER", "1"), Resource("BROKER", "2")
OPTIONS = ApplyOptions(steal=True, verify_timeout=4.0, quiet_period=QUIET)
HOOKS = Hooks(resolver=lambda reference: Secret(SECRETS[reference]))


def plan_of(kafka: FakeKafka) -> Plan:
    """A secret where none was, one in the place of another, and a quota between them."""
    kafka.cluster.write((TWO, "ssl.keystore.password"), "old")
    kafka.cluster.settle()

    def planned(edits, reason, allow_unknown, *_) -> Plan:
        seen = kinds.take(kafka, [edit.target for edit in edits], whole=True)
        rows = sending.validated(kafka, planning.changes(edits, seen, allow_unknown), HOOKS.resolver)
        return Plan(PlanHead(kafka.id, kafka.now().isoformat(), reason), tuple(rows))

    stage = Stage(planned)
    stage.set_config("ssl.key.password", "env:NEW", broker=1)
    stage.set_quota("producer_byte_rate", 1000, user="alice")
    stage.set_config("ssl.keystore.password", "env:NEXT", broker=2)
    return stage.plan()


def held(kafka: FakeKafka) -> list[object]:
    """What the three targets hold."""
    targets = [(ONE, "ssl.key.password"), (Entity.of({"user": "alice"}), "producer_byte_rate"),
               (TWO, "ssl.keystore.password")]  # fmt: skip
    return [kafka.cluster.head.values.get(whom, {}).get(key) for whom, key in targets]


def carried_on(kafka: FakeKafka, plan: Plan, pages: Pages) -> tuple[FakeKafka, ApplyResult]:
    """Carried out, and on until all of it is done and written down: a journal on a full disk asks for a resume."""
    for _ in range(4):
        try:
            done = executor.apply(kafka, plan, pages.opened(), OPTIONS, HOOKS, largest_batch=1)
            if not done.unwritten and all(outcome.ok for outcome in done.outcomes):
                return kafka, done
        except Conflict:
            raise
        except (KadminError, Crash):
            pass
        mend(kafka)
        kafka = bounded(kafka.beside(timeout=TIMEOUT))
    raise AssertionError([(o.change.row, o.state, o.message) for o in done.outcomes])


def schedules() -> Iterator[Schedule]:
    kafka, pages = FakeKafka(), Pages()
    plan = plan_of(kafka)
    quiet = kafka.beside()
    executor.apply(quiet, plan, pages.opened(), OPTIONS, HOOKS, largest_batch=1)
    yield from (Schedule(), *faults_at(quiet.calls), *deaths_at(range(1, pages.writes + 1)))


def is_hollow(schedule: Schedule) -> bool:
    """Whether a broker said yes and did nothing: where a secret was before, nobody can see that it is the old one."""
    return any(isinstance(fault, HollowSuccess) for fault in schedule.faults.values())


@pytest.mark.long
@pytest.mark.slow
def test_after_every_fault_the_secrets_are_there_and_the_journal_does_not_know_them():
    """The resume called my own password a conflict."""
    played = 0
    for schedule in schedules():
        kafka, pages = FakeKafka(), Pages(schedule.deaths)
        plan = plan_of(kafka)
        kafka, _ = carried_on(bounded(kafka.beside(faults=schedule.faults, timeout=TIMEOUT)), plan, pages)
        kafka.cluster.settle()
        fresh, quota, replaced = held(kafka)
        assert (fresh, quota) == (SECRETS["env:NEW"], 1000.0), schedule
        assert replaced == SECRETS["env:NEXT"] or is_hollow(schedule), schedule
        mend(kafka)
        again = kafka.beside()
        executor.apply(again, plan, pages.opened(), OPTIONS, HOOKS, largest_batch=1)
        assert not again.alters, schedule
        assert sings(*pages.kept) == []
        played += 1
    assert played > 200


def test_a_secret_that_was_absent_is_taken_back_and_an_old_one_is_listed():
    """The rollback was a conflict with what the plan itself had set."""
    kafka, pages = FakeKafka(), Pages()
    plan = plan_of(kafka)
    executor.apply(kafka, plan, pages.opened(), OPTIONS, HOOKS, largest_batch=1)
    kafka.cluster.settle()
    back = undoing(kafka, plan, pages)
    lost = "1 left as is: the old value is sensitive and was never seen"
    assert back.reason == f"roll back {plan.id[:8]}; {lost}"
    executor.apply(kafka, back, Pages().opened(), OPTIONS, HOOKS, largest_batch=1)
    assert held(kafka) == [None, None, SECRETS["env:NEXT"]]


def test_a_secret_that_somebody_else_has_set_since_is_a_conflict():
    """Two of us set the password, and mine won without a word."""
    kafka = FakeKafka()
    plan = plan_of(kafka)
    kafka.cluster.write((ONE, "ssl.key.password"), "a colleague's")
    kafka.cluster.settle()
    with pytest.raises(
        Conflict, match=r"broker=1 ssl\.key\.password changed since the plan: not set → a sensitive value"
    ):
        executor.apply(kafka, plan, Pages().opened(), OPTIONS, HOOKS, largest_batch=1)


def test_a_secret_that_vanishes_while_the_plan_is_carried_out_is_a_failed_row():
    """A file was taken away between two batches, and the run ended in a stack trace."""
    kafka, asked = FakeKafka(), []

    def resolver(reference: str) -> Secret:
        asked.append(reference)
        if len(asked) > 2:
            raise kn.NotFound(f"{reference} is gone")
        return Secret(SECRETS[reference])

    plan = plan_of(kafka)
    options, hooks = ApplyOptions(verify_timeout=1.0), Hooks(resolver=resolver)
    done = executor.apply(kafka, plan, Pages().opened(), options, hooks, largest_batch=1)
    assert [(o.state, o.error) for o in done.outcomes] == [
        ("failed", "SECRET_NOT_FOUND"), ("verified", None), ("failed", "SECRET_NOT_FOUND")
    ]  # fmt: skip
    assert held(kafka) == [None, 1000.0, "old"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Invalid value a b-secret for x", "Invalid value env:X for x"),
        ("flag 'b-secret' is none", "flag 'env:X' is none"),
        ("a is not a value", "a is not a value"),
        (None, None),
    ],
)
def test_the_brokers_words_are_told_without_the_secret(said, told):
    """Invalid login module control flag 'hunter2' in JAAS config."""
    assert secret_resolver.scrubbed(Refusal("INVALID_CONFIG", said), {"env:X": Secret("a b-secret")}).message == told


def test_a_plan_for_which_nobody_looks_secrets_up_sends_none():
    """env:NEW was the password for an hour."""
    kafka = FakeKafka()
    plan = plan_of(kafka)
    with pytest.raises(kn.PlanRefused, match=r"env:NE.* cannot be looked up here"):
        executor.apply(kafka, plan, Pages().opened())
    assert not kafka.alters


def test_a_plan_file_in_which_a_secret_is_a_text_is_refused(tmp_path):
    """Somebody wrote the plan by hand, with the password in it."""
    kafka = FakeKafka()
    change = Change(1, "set", ONE, "ssl.key.password", None, CORE, CORE, validated=OK, is_secret=True)
    plan = Plan(PlanHead(kafka.id, kafka.now().isoformat()), (change,))
    with pytest.raises(kn.PlanRefused, match="given only by reference") as refused:
        executor.apply(kafka, plan, Pages().opened(), hooks=Hooks(resolver=secret))
    assert sings(refused.value, refused.value.hint) == []


@pytest.mark.parametrize("key", ["ssl.key.password", "x.sasl.jaas.config", "ssl.keystore.key", "my_api_key", "apikey",
                                 "a.token", "x.client.secret", "ssl.keystore.certificate.chain"])  # fmt: skip
def test_a_key_that_is_called_like_a_secret(key):
    """The password of my plug-in stood in the stage."""
    assert is_secret_name(key)


@pytest.mark.parametrize("key", ["retention.ms", "password.encoder.iterations", "delegation.token.expiry.time.ms",
                                 "sasl.oauthbearer.token.endpoint.url", "monkey.business"])  # fmt: skip
def test_a_key_that_only_sounds_like_one(key):
    """I could not see the number of iterations that I had staged."""
    assert not is_secret_name(key)
