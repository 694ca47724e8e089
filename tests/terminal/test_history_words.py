"""`history` in a terminal: record, look back, compare; times as people say them; exit codes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from kadmin_nb.cluster import Cluster
from kadmin_nb.frames import schemas
from kadmin_nb.plans.plan import Plan
from kadmin_nb.state.snapshots import snapshot
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture
def lake(tmp_path) -> str:
    return str(tmp_path / "lake")


def rows(said) -> list[dict]:
    assert said.code in (0, 3), said.err
    return json.loads(said.out)


def test_from_a_snapshot_to_who_did_it(live, kadmin, cluster, lake, tmp_path, unique):
    """Something was changed last night, and nobody could say what, or by which plan."""
    user, place = unique("user"), str(tmp_path / "p.json")
    first = rows(live("history", "record", lake, "--json"))
    assert len(first) == 4
    line = ("quota", "set", "producer_byte_rate=7MB/s", f"user={user}")
    assert live(*line, "--save", place).code == 0
    assert live("plan", "apply", place).code == 0
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    drifted = live("diff", f"history:{lake}", "--detailed-exitcode", "--json")
    assert drifted.code == 3
    assert (f"user={user}", "added", "7000000") in [(r["resource"], r["state"], r["b"]) for r in rows(drifted)]
    assert live("history", "record", lake).code == 0
    moved = kadmin("history", "changes", lake, "1h ago", "--detailed-exitcode", "--json")
    assert moved.code == 3
    came = [row for row in rows(moved) if row["plan_id"] == Plan.load(place).id]
    assert came == [row for row in rows(moved) if row["plan_id"]]
    assert {row["author"] for row in rows(moved) if not row["plan_id"]} <= {None}
    assert (f"user={user}", None, "7000000") in [(row["resource"], row["old"], row["new"]) for row in came]
    then = first[0]["taken_at"].replace(" ", "T")
    between = rows(kadmin("diff", f"history:{lake}@{then}", f"history:{lake}", "--json"))
    assert (f"user={user}", "added", "7000000") in [(r["resource"], r["state"], r["b"]) for r in between]
    held = rows(kadmin("history", "as-of", lake, "0s", "ago", "--json"))
    assert 7e6 in [row["value"] for row in held if row["user"] == user]
    assert user not in kadmin("history", "as-of", lake, then, "--json").out
    assert len(rows(kadmin("history", "snapshots", lake, "--json"))) == 8


def test_what_changed_without_a_history_offers_to_begin_one(live, lake):
    """What changed since Monday? No row, and no word on why."""
    answer = live("history", "changes", lake, "monday")
    assert (answer.code, answer.out) == (1, "")
    assert "nothing has been recorded here yet, and Kafka keeps no history" in answer.err
    assert f"{lake} starts" in answer.err


WRONG = {
    "history changes": (2, "Missing argument 'WHERE'"),
    "history as-of {lake} tomorrow": (2, "tomorrow is not a time"),
    "history as-of {lake} 2026-11-21T12:00:00": (2, "has no time zone"),
    "history as-of {lake} 2 ago": (2, "2 ago is not a time"),
    "history as-of {lake} 0s ago": (1, "nothing has been recorded here yet"),
    "history changes {lake} 1h ago now": (2, "A TIME of two words needs quotes"),
    "history list {lake}": (2, "unknown command 'list' for"),
    "history snapshot": (2, "Did you mean snapshots?"),
    "history snapshots {file}": (2, "is a file"),
    "history record {file} --cluster 127.0.0.1:1": (2, "is a file"),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_one_line(kadmin, lake, tmp_path, line):
    """Twenty lines of stack for a slip of the finger."""
    file = tmp_path / "notes"
    file.write_text("mine")
    said = kadmin(*(word.format(lake=lake, file=file) for word in line.split()))
    code, says = WRONG[line]
    assert (said.code, said.out) == (code, "")
    assert says in said.err
    assert len(said.err.strip().splitlines()) <= 2
    assert file.read_text() == "mine"
    assert not (tmp_path / "lake").exists()


def test_a_half_snapshot_is_not_recorded(live, lake, monkeypatch):
    """A topic that I may not see looked deleted the next day."""
    failed = {"resource_type": "TOPIC", "resource_name": "x", "error": "TOPIC_AUTHORIZATION_FAILED", "message": "no"}
    configs = schemas.table(schemas.CONFIGS, [failed])
    half = snapshot({"configs": configs}, cluster_id="here", taken_at=datetime.now(UTC), scopes=["TOPIC"])
    monkeypatch.setattr(Cluster, "snapshot", lambda self: half)
    said = live("history", "record", lake)
    assert (said.code, said.out) == (1, "")
    assert "topic configs could not be read: TOPIC_AUTHORIZATION_FAILED for topic=x; nothing was recorded" in said.err
