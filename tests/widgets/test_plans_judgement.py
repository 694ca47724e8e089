"""The editors judge nothing themselves: what they show of an edit is the row and the danger that its plan has."""

from __future__ import annotations

from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.model.changes import NOT_POSSIBLE, Change
from kadmin_nb.plans.plan import Plan, dangers_of
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.quota_sheet import QuotaSheet
from kadmin_nb.widgets.sheet import REFUSED, CellText
from tests.double import FakeKafka
from tests.plans.scenes import hold
from tests.widgets.configs_of_double import Sheet, kafka_with
from tests.widgets.stored_quotas import all_shown

RATE = "producer_byte_rate"


def unasked(changes: list[Change]) -> list[Change]:
    """The rows without what the brokers alone say when they validate."""
    rows = (change.with_(row=0, validated=NOT_POSSIBLE, topic_id=None) for change in changes)
    return sorted(rows, key=lambda change: (str(change.resource), change.key))


def messages_of(plan: Plan) -> dict[Any, str]:
    return {(danger.target, danger.key): danger.message for danger in dangers_of(plan)}


def quota_sheet(kafka: FakeKafka) -> tuple[QuotaSheet, Stage]:
    kafka.sleep(1)  # until the broker has them
    stage = Changes(kafka).new_stage()  # type: ignore[arg-type]
    return QuotaSheet(all_shown(kafka.quotas.describe()), stage), stage


def test_quotas() -> None:
    """The editor showed 1 MB/s before and a plan said that nothing was set."""
    kafka = FakeKafka(1)
    stored = {("user=alice", RATE): 1e6, ("user=<default>", RATE): 5e6, ("client-id=app", RATE): 2e6}
    hold(kafka, stored, {})
    sheet, stage = quota_sheet(kafka)
    sheet.edit([CellText(0, "user=alice", RATE, "5"), CellText(1, "user=<default>", RATE, "")])
    stage.set_quota(RATE, "2MB/s", client_id="app")
    stage.set_quota(RATE, "3MB/s", user=kn.DEFAULT, client_id=kn.DEFAULT)
    plan = stage.plan("because")
    assert unasked([judged.change for judged in sheet._judge().values()]) == unasked([*plan.changes])
    assert sheet.dangers() == messages_of(plan) != {}


def test_configs() -> None:
    """The editor said *staged* of what the plan refused to apply without a word of mine."""
    kafka = kafka_with()
    sheet = Sheet("topic=orders", "topic=other", "broker=1", kafka=kafka, stage=Changes(kafka).new_stage())  # type: ignore[arg-type]
    texts = {
        "topic=orders retention.ms": "1h", "topic=orders cleanup.policy": "compact,delete",
        "topic=orders delete.retention.ms": "", "topic=other min.insync.replicas": "2",
        "topic=other unclean.leader.election.enable": "true", "broker=1 ssl.keystore.password": "env:KEYSTORE",
    }  # fmt: skip
    for name, text in texts.items():
        assert sheet.type(name, text).ok, name
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KEYSTORE", "x")
        plan = sheet.stage.plan("because")
    assert unasked([judged.change for judged in sheet.sheet._judge().values()]) == unasked([*plan.changes])
    assert sheet.sheet.dangers() == messages_of(plan) != {}


def test_a_quota_that_an_entity_cannot_have_is_refused_in_the_plans_words() -> None:
    """The table said one thing about a byte rate of an address, the plan another."""
    kafka = FakeKafka(1)
    hold(kafka, {("ip=10.0.0.1", "connection_creation_rate"): 5.0}, {})
    sheet, stage = quota_sheet(kafka)
    assert sheet.edit([CellText(0, "ip=10.0.0.1", RATE, "1MB/s")]).text.endswith("ip=… takes connection_creation_rate")
    sheet.discard()
    stage.set_quota(RATE, "1MB/s", ip="10.0.0.1")
    (change,) = stage.plan().changes
    assert (change.is_refused, change.refusal.message) == (True, "ip=… takes connection_creation_rate")
    ((_, _, mark),) = sheet.page(0, 10).marks
    assert (mark.state, mark.note) == (REFUSED, str(change.refusal))
