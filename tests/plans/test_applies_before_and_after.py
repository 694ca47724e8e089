"""What a plan says that applies: before it and afterwards, on whom it is set, and how many clients that touches."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.frames.blocks import window
from kadmin_nb.model.entity import Entity
from tests.double.kafka import FakeKafka
from tests.plans.plan_rows import rows

PRODUCER, CONSUMER = "producer_byte_rate", "consumer_byte_rate"
STORED = {
    "user=alice": {PRODUCER: 1e6},
    "user=bob": {PRODUCER: 5e5},
    "user=team client-id=<default>": {PRODUCER: 5e6},
    "user=team": {CONSUMER: 4e7},
    "user=<default> client-id=<default>": {PRODUCER: 1e6},
    "user=<default>": {PRODUCER: 2e6},
}
LINES = """
set producer_byte_rate=5 user=alice
set producer_byte_rate=8MB/s user=team client-id=billing
set consumer_byte_rate=30MB/s user=team
set consumer_byte_rate=7MB/s user=team client-id=<default>
set producer_byte_rate=2MB/s user=<default>
remove producer_byte_rate user=bob
"""


ROWS = (
    "   who                            key         before      after",
    "!  user=alice                     producer    1 MB/s    5 B/s ▼",
    "+  user=team client-id=billing    producer    5 MB/s   8 MB/s ▲",
    "~  user=team                      consumer   40 MB/s  30 MB/s ▼",
    "+  user=team client-id=<default>  consumer   40 MB/s   7 MB/s ▼",
    "-  user=bob                       producer  500 kB/s   1 MB/s ▲",
)


def plan_of(lines: str, stored: dict[str, dict[str, float]] = STORED) -> kn.Plan:
    """The plan of these lines on a cluster with these quotas."""
    kafka = FakeKafka()
    kafka.quotas.alter({Entity.parse(entity): quotas for entity, quotas in stored.items()})
    kafka.cluster.pass_(1)
    stage = Changes(kafka).new_stage()
    stage.add(lines)
    return stage.plan()


def test_a_row_says_what_applies_before_and_afterwards(tmp_path: Path) -> None:
    """It said *not set* before and after, and the client went from one limit to another."""
    plan = plan_of(LINES)
    expected = [
        ("danger", "user=alice", "1000000", "5", None),
        ("set", "user=team client-id=billing", "5000000", "8000000", "user=team client-id=<default>"),
        ("changed", "user=team", "40000000", "30000000", None),
        ("set", "user=team client-id=<default>", "40000000", "7000000", "user=team"),
        ("unchanged", "user=<default>", "2000000", "2000000", None),
        ("removed", "user=bob", "500000", "1000000", "user=<default> client-id=<default>"),
    ]
    for one in (plan, kn.Plan.load(plan.save(tmp_path / "p.json"))):
        assert rows(one, "change", "resource", "applies_before", "applies_after", "falls_back_to") == expected


def test_what_is_removed_falls_back_to_what_the_plan_itself_leaves() -> None:
    """Both were removed, and the first said that it falls back to the second."""
    plan = plan_of("remove producer_byte_rate user=bob\nremove producer_byte_rate user=<default> client-id=<default>")
    assert rows(plan, "applies_after", "falls_back_to") == [
        ("2000000", "user=<default>"),
        ("2000000", "user=<default>"),
    ]
    plan = plan_of("remove connection_creation_rate ip=10.0.0.1", {"ip=10.0.0.1": {"connection_creation_rate": 5}})
    assert rows(plan, "applies_before", "applies_after", "falls_back_to") == [("5", "unlimited", None)]


def test_a_file_without_the_notes_does_not_know_what_a_row_falls_back_to(tmp_path: Path) -> None:
    """A plan of the version before said *unlimited*, where nobody had looked."""
    place = plan_of(LINES).save(tmp_path / "p.json")
    document = json.loads(place.read_text())
    document["notes"] = [note for note in document["notes"] if note["kind"] != "fallback"]
    place.write_text(json.dumps(document))
    assert rows(kn.Plan.load(place), "applies_before", "applies_after")[1::4] == [
        (None, "8000000"),
        ("500000", None),
    ]


@pytest.mark.parametrize(
    ("name", "text"), [("value", "fast"), ("set_on", "nobody"), ("rows", "1-x")], ids=["value", "set on", "rows"]
)
def test_a_note_that_no_quota_has_is_refused(tmp_path: Path, name: str, text: str) -> None:
    """A hand-made note broke the plan's display with a stack trace."""
    place = plan_of(LINES).save(tmp_path / "p.json")
    document = json.loads(place.read_text())
    next(note for note in document["notes"] if note["kind"] == "fallback")[name] = text
    place.write_text(json.dumps(document))
    with pytest.raises(kn.Invalid, match="is not a plan file"):
        kn.Plan.load(place)


def test_it_is_one_line_a_row_with_a_sign_and_an_arrow_and_ends_with_what_it_comes_to() -> None:
    """Twenty columns, and I did not see that bob gets more when his limit is taken away."""
    text = plan_of(LINES).as_text(window(76, "--json shows everything")).splitlines()
    assert text[1:13] == [
        "! user=alice producer_byte_rate: one request of 16 KiB would take 54.6 min",
        "at 5 B/s. Was 5MB/s meant?",
        "Correct it or leave it out; to apply it anyway: --allow 'producer_byte_rate",
        "user=alice' and --reason WHY.",
        *ROWS,
        "not shown: note; --json shows everything",
        "2 to set, 2 to change, 1 to remove; 1 dangerous. 1 unchanged.",
    ]


def test_a_lowered_limit_is_not_green() -> None:
    """Green meant *set*, and what was set was a hundredth of what I had."""
    coloured = plan_of(LINES).as_text(window(110, "", colour=True))
    assert "\x1b[33m30 MB/s ▼\x1b[0m" in coloured
    assert "\x1b[32m1 MB/s ▲\x1b[0m" in coloured
    assert coloured.splitlines()[1].startswith("\x1b[31m!\x1b[0m user=alice")


def test_the_note_says_who_shares_it_then() -> None:
    """Eleven client-ids had shared 40 MB/s, and then each had 7 of its own."""
    html = plan_of(LINES).as_html()
    assert "instead of user=team; shared with nobody (one per client-id)" in html
    assert "falls back to user=&lt;default&gt; client-id=&lt;default&gt;; shared with nobody" in html


def test_outcomes_say_what_applied_before_and_applies_now_as_the_plan_does() -> None:
    """The plan said 500 kB/s → 1 MB/s ▲, and what became of it *remove, 500 kB/s* and an empty cell."""
    plan = plan_of(LINES)
    done = plan.apply(allow=["producer_byte_rate user=alice"], reason="a test")
    title, *shown = done.as_text(window(100, "")).splitlines()
    assert title == f"plan {plan.id[:8]}: 5 verified on 3 brokers, 1 unchanged"
    assert [line[:64].rstrip() for line in shown[:6]] == [ROWS[0], ROWS[1].replace("!", "~"), *ROWS[2:]]
    assert [line[64:].split()[0] for line in shown[:6]] == ["state", *["verified"] * 5]
    (logged,) = [row for row in plan._live.log(None) if row["plan_id"] == plan.id]
    assert (logged["changes"], logged["verified"], logged["what"].endswith(", and 4 more")) == (5, 5, True)


def test_the_title_says_which_cluster_it_is_as_far_as_the_plan_has_read(tmp_path: Path) -> None:
    """Two tabs had a plan *for lake*; one of them was the lab's, of one broker."""
    plan = plan_of(LINES)
    assert plan._title() == f"Plan {plan.id[:8]} (3 brokers, Kafka 4.4)"
    assert kn.Plan.load(plan.save(tmp_path / "p.json"))._title() == f"Plan {plan.id[:8]}"
    assert plan._short_form().startswith(f"Plan {plan.id[:8]}: 2 to set")


def test_the_impact_counts_clients_below_it() -> None:
    """It had counts of effects, key by key, and no sentence."""
    plan, clients = plan_of(LINES), pa.table({"user": ["team", "team", "bob"], "client_id": ["billing", "x", "y"]})
    impact = plan.impact(clients)
    assert plan._with_impact(impact)._counts == (
        "2 to set, 2 to change, 1 to remove; 1 dangerous. 2 clients get a lower limit, 2 a higher one. 1 unchanged."
    )


def test_the_note_of_a_row_counts_the_known_clients_that_share_it() -> None:
    """I lowered a team's limit, and did not know that twelve clients share it."""
    lines = "set consumer_byte_rate=30MB/s user=team\nset consumer_byte_rate=1MB/s client-id=<default>\n"
    lines += "set producer_byte_rate=7MB/s user=team client-id=billing\nremove producer_byte_rate user=bob"
    plan = plan_of(lines)
    clients = [("team", f"app-{number}") for number in range(11)] + [("team", "billing"), ("bob", "x"), ("bob", "y")]
    users, ids = zip(*clients, strict=True)
    impact = plan.impact(pa.table({"user": users, "client_id": ids}))
    assert rows(plan, "clients") == [(None,)] * 4
    assert plan.to_arrow() is plan.to_arrow()  # made once, however often it is shown
    seen = plan._with_impact(impact)
    assert rows(seen, "clients") == [(12,), (2,), (1,), (2,)]
    listed = [line for line in seen.as_text(window(170, "")).splitlines() if line[:3] in ("   ", "~  ", "+  ", "-  ")]
    notes = [line.rpartition("  ")[2].partition(";")[0] for line in listed[:5]]
    assert notes == ["note", "12 clients share it", "2 clients get it", "1 client gets it", "2 clients had it"]
