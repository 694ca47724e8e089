"""An alter whose commit got no answer: it is known within the transaction's bound, and never called what it is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from kadmin_nb.admin.transactions import FencedWriter
from kadmin_nb.client_configs import topic
from kadmin_nb.errors import TimedOut
from tests.client_configs.conftest import ALICE, APP

pytestmark = pytest.mark.broker

LOST = KafkaException(KafkaError(KafkaError._TIMED_OUT))


@pytest.fixture
def losing(monkeypatch) -> Callable[..., None]:
    """`losing(done=True)`: commits get no answer, and have happened or not; so many of them."""

    def lose(*, done: bool, times: int = 1) -> None:
        real, left = FencedWriter.commit, iter(range(times))

        def commit(writer: FencedWriter, until: float) -> None:
            if next(left, None) is None:
                return real(writer, until)
            if done:
                real(writer, until)
            raise LOST

        monkeypatch.setattr(FencedWriter, "commit", commit)

    return lose


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_commit_is_looked_for_and_made_good(done, losing, ann):
    """The network went away in the commit, and the plan said unknown although I could see the value."""
    losing(done=done)
    assert ann.alter({ALICE: {"acks": (None, "1")}, APP: {"acks": (None, "0")}}) == {ALICE: None, APP: None}
    assert len(ann.stored()) == 2


def test_one_that_is_never_answered_is_in_doubt(losing, ann, monkeypatch):
    """An alter without an answer was reported as refused, and had happened."""
    losing(done=False, times=99)
    monkeypatch.setattr(topic, "ALTERING", 3.0)
    with pytest.raises(TimedOut, match="may have been made"):
        ann.alter({ALICE: {"acks": (None, "1")}})


def test_without_a_commit_nothing_is_in_doubt(ann, monkeypatch):
    """No transaction could be begun, and I waited for ninety seconds for what never left."""

    def fence(writer: FencedWriter, until: float) -> None:
        raise LOST

    monkeypatch.setattr(FencedWriter, "fence", fence)
    monkeypatch.setattr(topic, "ALTERING", 3.0)
    (refusal,) = ann.alter({ALICE: {"acks": (None, "1")}}).values()
    assert (refusal.code, "nothing was written" in refusal.message) == ("BROKER_NOT_AVAILABLE", True)
    monkeypatch.undo()
    assert ann.stored() == {}


def test_a_plan_in_doubt_is_settled_and_carried_on(cluster, unique, monkeypatch):
    """After the answer was lost I could neither go on nor go back for a minute and a half."""
    alice = unique("alice")
    stage = cluster.new_stage()
    stage.set_client_config("acks", "-1", user=alice)
    stage.set_client_config("session.timeout.ms", "11000", user=alice, client_id="app")
    plan = stage.plan()
    real = topic.WireClientConfigs.alter

    def alter(port: topic.WireClientConfigs, *arguments: object, **options: object) -> object:
        monkeypatch.undo()
        real(port, *arguments, **options)
        raise TimedOut("no answer", code="REQUEST_TIMED_OUT")

    monkeypatch.setattr(topic.WireClientConfigs, "alter", alter)
    assert {row["state"] for row in plan.apply().to_arrow().to_pylist()} == {"verified"}
    assert {row["state"] for row in cluster.apply(plan.id).to_arrow().to_pylist()} == {"unchanged"}
    back = cluster.rollback(plan.id).apply()
    assert {row["state"] for row in back.to_arrow().to_pylist()} == {"verified"}
    assert cluster.client_configs.describe(user=alice).to_arrow().num_rows == 0
