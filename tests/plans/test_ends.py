"""Changes with an end: what was there before comes back, and what somebody has set since stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import SET, Change, Edit
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.model.times import end_of
from kadmin_nb.plans import ends, planning
from kadmin_nb.plans.observed_state import ObservedState, ObservedValue
from tests.runbooks.databricks_stand_in import as_task
from tests.waiting import eventually

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
KEY = "producer_byte_rate"


@pytest.fixture
def user(unique) -> str:
    return unique("user")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))


def set_limit(cluster: kn.Cluster, user: str, value: float, until: object = None) -> kn.Plan:
    stage = cluster.stage()
    stage.set_quota(KEY, value, user=user, until=until)
    plan = stage.plan("the fair")
    cluster.apply(plan, allow=KEY if plan.dangers() else None).raise_for_errors()
    return plan


def stored(cluster: kn.Cluster, user: str) -> list[float]:
    return list(cluster.quotas.describe(user=user).to_arrow()["value"].to_pylist())


def states(cluster: kn.Cluster) -> list[str]:
    return list(cluster.due().to_arrow()["state"].to_pylist())


@pytest.mark.broker
class TestOnABroker:
    def test_what_was_there_before_comes_back(self, cluster, user):
        """The limit of the incident was there a year later."""
        set_limit(cluster, user, 2e6)
        plan = set_limit(cluster, user, 5e6, until="2s")
        assert states(cluster) == ["waiting"]
        assert len(cluster.return_due()) == 0
        eventually(lambda: states(cluster), ["due"])
        [row] = cluster.due().to_arrow().to_pylist()
        assert (row["value"], row["before"], row["plan_id"]) == ("5000000", "2000000", plan.id)
        back = cluster.return_due()
        assert plan.id[:12] in back.reason
        cluster.apply(back).raise_for_errors()
        assert (stored(cluster, user), states(cluster), len(cluster.return_due())) == ([2e6], [], 0)

    def test_a_limit_that_was_not_there_goes_again(self, cluster, user):
        """It came back as 0."""
        set_limit(cluster, user, 5e6, until="2s")
        eventually(lambda: states(cluster), ["due"])
        back = cluster.return_due()
        cluster.apply(back, allow=KEY if back.dangers() else None).raise_for_errors()
        assert stored(cluster, user) == []

    def test_a_change_in_between_stays_and_is_told(self, cluster, user, monkeypatch, tmp_path):
        """At six o'clock the job took away what the night shift had set."""
        set_limit(cluster, user, 5e6, until="2s")
        with monkeypatch.context() as somebody_else:
            somebody_else.setenv("KADMIN_STATE", str(tmp_path / "other"))
            set_limit(cluster, user, 7e6)
        assert states(cluster) == ["changed"]
        assert len(cluster.return_due()) == 0
        assert stored(cluster, user) == [7e6]

    def test_a_change_between_plan_and_apply_is_a_conflict(self, cluster, user, monkeypatch, tmp_path):
        """The return overwrote what was set a second before."""
        set_limit(cluster, user, 5e6, until="2s")
        eventually(lambda: states(cluster), ["due"])
        back = cluster.return_due()
        with monkeypatch.context() as somebody_else:
            somebody_else.setenv("KADMIN_STATE", str(tmp_path / "other"))
            set_limit(cluster, user, 7e6)
        with pytest.raises(kn.Conflict):
            cluster.apply(back, allow=KEY if back.dangers() else None)
        assert stored(cluster, user) == [7e6]

    def test_a_journal_that_cannot_be_read_is_told(self, cluster, user, tmp_path):
        """Nothing was due, it said, beside the journal that it could not read."""
        plan = set_limit(cluster, user, 5e6, until="2s")
        (kept,) = (tmp_path / "state").rglob(f"{plan.id}*")
        kept.write_text("{}\n")
        assert states(cluster) == []
        assert str(cluster.due().hint).startswith("1 journal cannot be read")

    def test_a_plan_whose_end_has_passed_is_not_applied(self, cluster, user):
        """It was set at seven, and was to end at six."""
        stage = cluster.stage()
        stage.set_quota(KEY, 5e6, user=user, until="2s")
        plan = stage.plan()
        eventually(plan.has_expired, True)
        with pytest.raises(kn.Expired):
            cluster.apply(plan)
        assert stored(cluster, user) == []

    def test_the_audit_names_it_and_the_runbook_returns_it(self, cluster, kafka, user, tmp_path, monkeypatch):
        """The job was there, and the audit did not know that it had failed for a week."""
        monkeypatch.chdir(tmp_path)
        set_limit(cluster, user, 2e6)
        set_limit(cluster, user, 5e6, until="2s")
        eventually(lambda: states(cluster), ["due"])
        given = {"cluster": kafka.bootstrap, "state": str(tmp_path / "state")}
        assert len(kn.runbooks.overdue(cluster)) == 1
        assert as_task("return_limits", **given)["state"] == "planned"
        assert stored(cluster, user) == [5e6]
        assert as_task("return_limits", **given, apply=True)["state"] == "applied"
        assert stored(cluster, user) == [2e6]
        assert as_task("return_limits", **given, apply=True)["ok"]
        assert len(kn.runbooks.overdue(cluster)) == 0


def journal(number: int, old: str | None, after: str, until: datetime | None, verified: bool = True) -> Any:
    """The journal of a plan of one row, made at that hour."""
    end = None if until is None else until.isoformat()
    change = Change(1, SET, Entity.of({"user": "alice"}), KEY, old, after, after, until=end)
    plan = SimpleNamespace(id=f"plan-{number}", created=(NOON + timedelta(hours=number)).isoformat(), changes=(change,))
    return plan, SimpleNamespace(verified={1} if verified else set())


AT_SIX, AT_EIGHT = NOON + timedelta(hours=6), NOON + timedelta(hours=8)
CHAINS = {
    "one": ([(None, "5", AT_SIX)], None, None),
    "what ended before": ([("1", "5", AT_SIX), ("5", "9", AT_EIGHT)], "1", None),
    "what ends later": ([("1", "5", AT_EIGHT), ("5", "9", AT_SIX)], "5", AT_EIGHT),
    "three": ([("1", "5", AT_SIX), ("5", "6", AT_SIX), ("6", "9", AT_EIGHT)], "1", None),
    "somebody else's between": ([("1", "5", AT_SIX), ("7", "9", AT_EIGHT)], "7", None),
    "one without an end": ([("1", "5", None), ("5", "9", AT_EIGHT)], "5", None),
}


@pytest.mark.parametrize(("made", "before", "until"), CHAINS.values(), ids=CHAINS)
def test_what_comes_back_does_not_outlive_its_own_end(made, before, until):
    """A limit until six came back at eight, and stayed."""
    [ending] = ends.endings(journal(number, *of) for number, of in enumerate(made))
    assert (ending.before, ending.before_until) == (before, until and until.isoformat())
    assert ending.edit.value == before


def test_a_value_that_nobody_can_read_has_no_end():
    """The password from before was to come back, and nobody knew it."""
    edit = Edit(SET, Resource("BROKER", "1"), "ssl.key.password", "env:NEW", until=AT_SIX.isoformat())
    state = ObservedState({edit.target: ObservedValue(is_known=False, is_sensitive=True)})
    with pytest.raises(kn.UsageError, match="cannot have an end"):
        planning.changes([edit], state)


def test_what_was_replaced_from_here_has_no_end():
    """The limit that was made permanent at five went at six."""
    assert ends.endings([journal(1, None, "5", AT_SIX), journal(2, "5", "6", None)]) == []
    assert ends.endings([journal(1, None, "5", AT_SIX, verified=False)]) == []


TIMES = {
    "2h": NOON + timedelta(hours=2),
    "18:00Z": AT_SIX,
    "11:00Z": NOON + timedelta(hours=23),
    "18:00+02:00": NOON + timedelta(hours=4),
    "18:00 Europe/Berlin": NOON + timedelta(hours=5),
    "2026-11-21T18:00:00Z": AT_SIX,
}


@pytest.mark.parametrize("text", TIMES)
def test_an_end_as_people_write_it(text):
    """It ended at 18:00 of the broker's zone."""
    assert end_of(text, NOON) == TIMES[text]


WRONG = {
    "18:00": "no time zone",
    "18:00 Nowhere": "not a time zone",
    "18:00 ../../etc": "not a time zone",
    "2026-11-21T11:00:00Z": "has passed",
    "2026-11-21T18:00:00": "no time zone",
    "tomorrow evening": "not a time in the future",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_end_is_one_line(text):
    """Next year, in the zone of whoever read it."""
    with pytest.raises(kn.UsageError, match=WRONG[text]):
        end_of(text, NOON)
