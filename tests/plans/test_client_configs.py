"""Client configs are sent first and in one request, and what became of it is known when their transaction is over."""

from __future__ import annotations

import pytest

from kadmin_nb.admin.ports import LONGEST_TRANSACTION
from kadmin_nb.errors import PlanRefused
from kadmin_nb.model.changes import FAILED, UNKNOWN, VERIFIED, Outcome
from kadmin_nb.model.client_configs import ClientEntity
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.plan import Plan
from tests.double import FakeKafka
from tests.double.client_config_rules import Signed
from tests.double.faults import Dropped
from tests.plans.simulation import Pages, plan_of

ALICE, APP = ClientEntity("alice"), ClientEntity("alice", "app")


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka()


def planned(kafka: FakeKafka, *lines: str) -> Plan:
    return plan_of(kafka, lambda stage: stage.add("\n".join(lines)))


def apply(kafka: FakeKafka, plan: Plan, pages: Pages | None = None) -> list[Outcome]:
    return executor.apply(kafka, plan, (pages or Pages()).opened()).outcomes


def edit(kafka: FakeKafka, entity: ClientEntity, value: str) -> None:
    """Somebody else is quicker."""
    from kadmin_nb.admin.ports import Signature

    kafka.cluster.signed[entity, "acks"] = Signed(len(kafka.cluster.log), Signature("ben", "his"), kafka.now())
    kafka.cluster.write((entity, "acks"), value)


@pytest.mark.slow
def test_six_thousand_rows_are_one_request(kafka):
    """Batches of five thousand: the first was in force, and the second was refused."""
    plan = planned(kafka, *(f"set acks=-1 user=alice client-id=app-{n}" for n in range(6_000)))
    assert {outcome.state for outcome in apply(kafka, plan)} == {VERIFIED}
    assert [(call.verb, len(call.parts)) for call in kafka.alters] == [("alter client configs", 6_000)]


def test_they_go_first_and_each_half_says_what_it_did(kafka):
    """The client configs were refused, and I did not know whether the quotas had been set."""
    plan = planned(
        kafka,
        "set producer_byte_rate=1MB/s user=alice",
        "set acks=-1 user=alice",
        "set acks=-1 user=alice client-id=app",
    )
    send = kafka.request

    def request(verb, *arguments, **options):
        if verb == "alter client configs" and not options.get("validate_only"):
            edit(kafka, APP, "0")
        return send(verb, *arguments, **options)

    kafka.request = request
    outcomes = apply(kafka, plan)
    assert [(outcome.change.kind, outcome.state, outcome.error) for outcome in outcomes] == [
        ("quota", VERIFIED, None),
        ("client-config", FAILED, "OPERATION_NOT_ATTEMPTED"),
        ("client-config", FAILED, "CONFLICT"),
    ]
    assert [call.verb for call in kafka.alters] == ["alter client configs", "alter quotas"]


def test_the_doubt_is_over_when_the_transaction_is(kafka):
    """It waited for the ninety seconds of a broker's alter, and the transaction was over after ten."""
    plan = planned(kafka, "set acks=-1 user=alice")
    pages = Pages()
    began = kafka.monotonic()
    kafka.carried.append(lambda call: call.alters and kafka.faults.update({call.number: Dropped()}))
    outcomes = apply(kafka, plan, pages)
    assert [outcome.state for outcome in outcomes] == [UNKNOWN]
    waited = kafka.monotonic() - began - kafka.timeout
    assert LONGEST_TRANSACTION <= waited < LONGEST_TRANSACTION + 5
    kafka.carried.clear()
    kafka.faults = {}
    kafka.sleep(LONGEST_TRANSACTION)
    assert [outcome.state for outcome in apply(kafka, plan, pages)] == [VERIFIED]


def test_an_entry_is_signed_with_its_plan(kafka):
    """Nobody could say by which plan acks had been lowered."""
    plan = planned(kafka, "set acks=-1 user=alice")
    apply(kafka, plan)
    assert kafka.client_configs.describe()["plan_id"].to_pylist() == [plan.id]


def test_who_refuses_is_who_was_asked(kafka):
    """It said that the broker refuses, and no broker knows such a key."""
    with pytest.raises(PlanRefused) as refused:
        apply(kafka, planned(kafka, "set session.timeout.ms=1 user=alice"))
    says = "kadmin_nb refuses 1 of 1 rows; the first, user=alice session.timeout.ms: "
    assert str(refused.value).startswith(says)
