"""`--impact FILE` in the terminal: a plan, and whom it touches."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.frame_files import write_table
from kadmin_nb.plans.plan_file import PlanHead

pytestmark = pytest.mark.broker


@pytest.fixture
def clients(unique, tmp_path: Path) -> tuple[str, Path]:
    """A user, and a file of PAIRS that has two clients of his."""
    user, place = unique("user"), tmp_path / "pairs.parquet"
    parquet.write_table(pa.table({"user": [user, user], "client_id": ["app", "web"]}), place)
    return user, place


@pytest.fixture
def lines(clients, tmp_path: Path) -> Path:
    """A file of changes."""
    place = tmp_path / "changes.txt"
    place.write_text(f"set producer_byte_rate=1MB/s user={clients[0]}\n")
    return place


def test_a_plan_of_lines_says_whom_it_touches(live, clients, lines, cluster):
    """I planned forty lines, and saw forty lines, and not one client."""
    said = live("plan", "-f", str(lines), "--impact", str(clients[1]))
    assert said.code == 0
    told = said.out.splitlines()
    assert told[0].startswith("Plan ")
    assert told.index("producer_byte_rate: becomes limited 2") > 0
    assert sum(line.startswith(f"user={clients[0]} ") for line in told) == 2
    assert len(cluster.quotas.describe(user=clients[0])) == 0
    assert live("plan", "-f", str(lines), "--impact", str(clients[1]), "--detailed-exitcode").code == 3


def test_a_saved_plan_says_it_too_as_rows(live, clients, lines, tmp_path):
    """The pull request's check could show the plan, and nothing of what it does."""
    saved = str(tmp_path / "p.json")
    assert live("plan", "-f", str(lines), "--save", saved).code == 0
    said = live("plan", "show", saved, "--impact", str(clients[1]), "--json")
    rows = [(row["user"], row["client_id"], row["effect"], row["value_after"]) for row in json.loads(said.out)]
    assert rows == [(clients[0], name, "becomes limited", 1e6) for name in ("app", "web")]


REFUSED = {
    "no such file": (["--impact", "nope.parquet"], 1, "NotFound: no such file: nope.parquet"),
    "no clients in it": (["--impact", "{bare}"], 2, "UsageError: the pairs have no column client_id"),
    "and carried out at once": (
        ["--impact", "{pairs}", "--apply"],
        2,
        "UsageError: --impact and --apply cannot be combined",
    ),
}


@pytest.mark.parametrize(("words", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_one_line(live, clients, lines, tmp_path, words, code, message):
    """A frame of something else gave a stack trace, after the plan was saved."""
    bare = tmp_path / "bare.parquet"
    parquet.write_table(pa.table({"user": ["a"]}), bare)
    said = live("plan", "-f", str(lines), *(word.format(bare=bare, pairs=clients[1]) for word in words))
    assert (said.code, said.err.splitlines()[0][: len(message)]) == (code, message)


def test_a_plan_of_another_cluster_is_refused(live, clients, lines, tmp_path):
    """The staging cluster's quotas were taken for production's."""
    saved = tmp_path / "p.json"
    assert live("plan", "-f", str(lines), "--save", str(saved)).code == 0
    plan = kn.Plan.load(saved)
    elsewhere = kn.Plan(PlanHead("elsewhere", plan.head.created), plan.changes)
    elsewhere.save(saved, overwrite=True)
    assert live("plan", "show", str(saved), "--impact", str(clients[1])).code == 5


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_saved_plan_has_the_dangers_that_a_usage_tells_of(live, clients, lines, tmp_path, form):
    """The plan on my screen was dangerous, and the file that I sent for review was not; a CSV was refused."""
    user, saved, seen = clients[0], tmp_path / "p.json", tmp_path / f"usage.{form}"
    lines.write_text(f"set producer_byte_rate=20kB/s user={user}\n")
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    row = {"broker": 1, "user": user, "client_id": "app", "key": "producer_byte_rate", "value": 9e8, "source": "test"}
    windows = {"window_start": start, "window_end": start + timedelta(seconds=1)}
    write_table(schemas.table(schemas.USAGE, [row | windows]), seen)
    said = live("plan", "-f", str(lines), "--impact", str(seen), "--save", str(saved))
    assert said.code == 0, said.err
    (danger,) = kn.Plan.load(saved).dangers().to_arrow().to_pylist()
    assert danger["message"] in " ".join(said.out.split())
    assert danger["message"] in " ".join(live("plan", "show", str(saved)).out.split())
