"""The review of a plan, driven as its buttons drive it, over a cluster in memory."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.markup import document
from kadmin_nb.model.changes import VERIFIED
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.stage import edits_of
from kadmin_nb.widgets.plan_review import REFUSED, PlanReview
from tests.double import FakeKafka, faults
from tests.widgets.reviewing import LONG, Bench, beside, clicked, done, shown, states_of_rows, type_again, usable

KEY = "producer_byte_rate"
Unique = Callable[[str], str]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_program_that_applies_the_plan_shows_in_its_review(bench: Bench, unique: Unique) -> None:
    """A script had applied the plan; the review offered to apply it as if nothing had been sent."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review, another = bench.review(), bench.review("another reason")
    outcomes = review.plan.apply()
    assert (usable(review), review.status) == (["Verify", "Roll back"], outcomes._title())
    assert (states_of_rows(review), VERIFIED in shown(review)) == ([VERIFIED], True)
    assert usable(another) == ["Apply", "Plan again"]


def test_what_a_program_could_apply_in_part_can_be_resumed_in_the_review(bench: Bench, unique: Unique) -> None:
    """A script had applied half of the plan, and the review did not say which half."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    bench.kafka.faults = _Friday()
    review.plan.apply()
    assert usable(review) == ["Resume", "Verify", "Plan again"]  # there is nothing to roll back
    assert states_of_rows(review) == ["failed"]


def test_applying_shows_each_row_and_empties_the_stage(bench: Bench, unique: Unique) -> None:
    """I clicked Apply and could not see which rows had arrived."""
    user = unique("alice")
    bench.stage.set_quota(KEY, "5MB/s", user=user)
    review = bench.review()
    assert usable(review) == ["Apply", "Plan again"]
    assert "1 verified" in done(review, review.apply)
    assert (states_of_rows(review), len(bench.stage)) == ([VERIFIED], 0)
    assert "<summary>details: %kplan log" in review._notes.value
    assert bench.limits() == {f"user={user}": 5e6}
    assert usable(review) == ["Verify", "Roll back"]


def test_clicking_twice_sends_once(bench: Bench, unique: Unique) -> None:
    """I double-clicked, and feared that it was sent twice."""
    bench.held_back = 1
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    review.apply()
    assert bench.arrived.wait(LONG)
    review.apply()
    assert usable(review) == ["Stop"]
    bench.gate.set()
    review._work._thread.join(LONG)
    assert (len(bench.kafka.alters), states_of_rows(review)) == (1, [VERIFIED])


def _raised_and_lowered(bench: Bench, unique: Unique) -> tuple[str, str]:
    """A plan of two requests: one limit is raised, and then one is lowered."""
    raised, lowered = unique("raised"), unique("lowered")
    for user in (raised, lowered):
        bench.stage.set_quota(KEY, "5MB/s", user=user)
    bench.stage.plan().apply()
    bench.stage.discard()
    bench.stage.set_quota(KEY, "6MB/s", user=raised)
    bench.stage.set_quota(KEY, "4MB/s", user=lowered)
    return raised, lowered


def test_stop_ends_between_two_requests_and_resume_goes_on(bench: Bench, unique: Unique) -> None:
    """I stopped it in the middle, and nobody could say what had been sent."""
    raised, lowered = _raised_and_lowered(bench, unique)
    bench.held_back = len(bench.kafka.alters) + 1
    review = bench.review()
    review.apply()
    assert bench.arrived.wait(LONG)
    review.stop()
    assert usable(review) == []
    bench.gate.set()
    review._work._thread.join(LONG)
    assert states_of_rows(review) == [VERIFIED, "skipped"]
    assert "Interrupted" in review.status
    assert re.search("%kplan apply [0-9a-f]{8} continues, %kplan rollback [0-9a-f]{8} undoes what was", review.status)
    assert (usable(review), len(bench.stage)) == (["Resume", "Verify", "Roll back", "Plan again"], 1)
    assert "1 unchanged, 1 verified" in done(review, review.apply)
    assert bench.limits() == {f"user={raised}": 6e6, f"user={lowered}": 4e6}
    assert (len(bench.kafka.alters), len(bench.stage)) == (bench.held_back + 1, 0)


def test_a_review_says_how_many_rows_came_and_stop_ends_the_waiting(bench: Bench, unique: Unique) -> None:
    """The bar stood at half of my topics, and I could neither see whether more came nor end it."""
    for number in range(100):
        bench.stage.set_quota(KEY, "5MB/s", user=unique(f"user-{number}"))
    bench.kafka.cluster.nodes[2].seconds_per_record = 0.1
    review, said = bench.review(), []
    bench.kafka.carried.append(lambda call: said.append(review.status))
    bench.kafka.carried.append(lambda call: review.stop() if re.match("verified 4", review.status) else None)
    done(review, review.apply)
    assert set(states_of_rows(review)) == {VERIFIED, "unverified"}
    assert [text for text in said if re.fullmatch(r"verified 3\d of 100.*", text)]
    assert "stopped, between two requests" in review.status
    del bench.kafka.carried[-1]
    assert "100 verified on 3 brokers" in done(review, review.verify)
    assert [text for text in said if re.fullmatch(r"verified 8\d of 100.*", text)]


def test_while_it_stops_only_what_was_sent_is_called_sent(
    bench: Bench, unique: Unique, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I pressed Stop at 2 of 8, and watched it say *sent 8 of 8*; four were on the cluster."""
    monkeypatch.setattr(executor, "apply", partial(executor.apply, largest_batch=2))
    for number in range(8):
        bench.stage.set_quota(KEY, "5MB/s", user=unique(f"user{number}"))
    review, shown = bench.review(), []
    heard = review._advanced
    monkeypatch.setattr(review, "_advanced", lambda advance: (heard(advance), shown.append(str(advance))))
    bench.held_back = 2
    review.apply()
    assert bench.arrived.wait(LONG)
    review.stop()
    bench.gate.set()
    review._work._thread.join(LONG)
    sent = [line for line in shown if line.startswith("sent")]
    assert list(dict.fromkeys(sent)) == [
        "sent 0 of 8",
        "sent 2 of 8",
        "sent 4 of 8",
    ]
    assert states_of_rows(review) == [VERIFIED] * 4 + ["skipped"] * 4
    assert len(bench.limits()) == 4


def test_what_was_stopped_shows_what_is_not_done_first(bench: Bench, unique: Unique) -> None:
    """I opened the review of what I had stopped, and the row that was done still said *planned*."""
    _raised_and_lowered(bench, unique)
    plan = bench.stage.plan()
    stops = iter([False, False, *[True] * 20])
    with pytest.raises(KeyboardInterrupt):
        plan.apply(stop=lambda: next(stops))
    review = plan.review()
    assert review.widget
    assert states_of_rows(review) == [VERIFIED, "skipped"]
    assert shown(review).index("skipped") < shown(review).rindex(VERIFIED)
    done(review, review.apply)
    assert states_of_rows(review) == ["unchanged", VERIFIED]


def test_a_review_says_that_a_line_has_rolled_its_plan_back(bench: Bench, unique: Unique) -> None:
    """I had rolled it back by a line; the review still offered to."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    done(review, review.apply)
    outcomes = bench.changes.rollback(review.plan).apply()
    assert review.status == f"rolled back: {outcomes._title()}"
    assert usable(review) == ["Verify", "Plan again"]
    done(review, review.plan_again)
    assert review.next is not None
    assert "1 to set" in review.next.plan._counts


def test_a_plan_that_its_author_may_not_apply_is_applied_by_who_may(bench: Bench, unique: Unique) -> None:
    """I had lent my session to the one who may alter, and the button stayed grey."""
    user = unique("alice")
    bench.stage.set_quota(KEY, "5MB/s", user=user)
    bench.kafka.cluster.may_alter = False
    review = bench.review()
    assert "1 to set; 1 not validated" in review.plan._counts
    assert "Whoever applies it needs ALTER_CONFIGS on the cluster" in repr(review)
    assert states_of_rows(review) == [None]
    assert "Nothing was sent. It needs ALTER_CONFIGS on the cluster." in done(review, review.apply)
    assert usable(review) == ["Apply", "Plan again"]
    bench.kafka.grant()
    assert "1 verified" in done(review, review.apply)
    assert bench.limits() == {f"user={user}": 5e6}


def test_rolling_back_shows_a_plan_first(bench: Bench, unique: Unique) -> None:
    """One click on Roll back must not change the cluster."""
    user = unique("alice")
    bench.stage.set_quota(KEY, "5MB/s", user=user)
    review = bench.review()
    done(review, review.apply)
    before = len(bench.kafka.alters)
    done(review, review.rollback)
    assert len(bench.kafka.alters) == before
    back = review.next
    assert back is not None
    assert back.plan.head.undoes == review.plan.id
    assert review.widget.children[1] is back._place
    assert "1 verified" in done(back, back.apply)
    assert bench.limits() == {}


def test_what_was_stopped_and_rolled_back_is_resumed_only_when_its_rollback_is_named(
    bench: Bench, unique: Unique, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I went back to the plan that I had rolled back, clicked Resume, and it was all there again."""
    monkeypatch.setattr(executor, "apply", partial(executor.apply, largest_batch=2))
    for number in range(4):
        bench.stage.set_quota(KEY, "5MB/s", user=unique(f"user{number}"))
    review = bench.review()
    bench.held_back = 1
    review.apply()
    assert bench.arrived.wait(LONG)
    review.stop()
    bench.gate.set()
    review._work._thread.join(LONG)
    assert len(bench.limits()) == 2
    done(review, review.rollback)
    back = review.next
    assert back is not None
    for danger in back.dangers:
        type_again(back, danger.allowed_by, danger.allowed_by)
    back_id = back.plan.id[:8]
    title = done(back, back.apply)
    assert (title.partition(";")[0], "\n" in title) == (f"plan {back_id}: 2 verified on 3 brokers", False)
    assert bench.limits() == {}
    refused = done(review, review.apply)
    assert f"was rolled back by plan {back_id}, and would be applied again" in refused
    assert f"To apply it all the same: --allow {back_id}." in refused
    assert bench.limits() == {}
    type_again(review, back_id, back_id)
    assert "4 verified" in done(review, review.apply)
    assert len(bench.limits()) == 4


def _lifted_for_all(bench: Bench) -> None:
    """A dangerous plan: nobody has a limit any more."""
    bench.stage.set_quota(KEY, "5MB/s", user=kn.DEFAULT)
    bench.stage.plan().apply()
    bench.stage.discard()
    bench.stage.remove_quota(KEY, user=kn.DEFAULT)


def test_a_danger_needs_its_key_typed_again_and_a_reason(bench: Bench) -> None:
    """A click must not do what the command line refuses without --allow and --reason."""
    _lifted_for_all(bench)
    review = bench.review()
    row = f"{KEY} user=<default>"
    assert "5 MB/s for everyone is removed, with no other limit behind it" in shown(review)
    assert done(review, review.apply) == REFUSED  # the danger, and what allows it, stand above the rows
    type_again(review, row, row)
    assert "needs a reason" in done(review, review.apply)
    review.reason.value = "alice has left"
    assert "1 verified" in done(review, review.apply)
    assert ("for everyone" in shown(review), bench.limits()) == (False, {})


def _slip_beside_another(bench: Bench, unique: Unique) -> tuple[str, str]:
    """A plan of a row without its unit, and one that is well."""
    slip, other = unique("alice"), unique("bob")
    bench.stage.set_quota(KEY, 5, user=slip)
    bench.stage.set_quota(KEY, "7MB/s", user=other)
    return f"user={slip}", f"user={other}"


def test_the_value_that_was_meant_is_one_click_away(bench: Bench, unique: Unique) -> None:
    """*Was 5MB/s meant?* it asked, and I had to go back to the cell, correct it, and plan and review again."""
    slip, other = _slip_beside_another(bench, unique)
    review = bench.review()
    assert beside(review) == ["Use 5 MB/s", "Leave out", "Allow…"]
    corrected = clicked(review, "Use 5 MB/s")
    assert (beside(corrected), usable(corrected)) == ([], ["Apply", "Plan again"])
    assert [edit.text for edit in edits_of(bench.stage).staged().values()] == ["5000000", "7000000"]
    assert "2 verified" in done(corrected, corrected.apply)
    assert (bench.limits(), len(bench.stage)) == ({slip: 5e6, other: 7e6}, 0)


def test_a_dangerous_row_is_left_out_and_the_others_stay(bench: Bench, unique: Unique) -> None:
    """One of forty rows was wrong; to leave it out I staged thirty-nine again."""
    _, other = _slip_beside_another(bench, unique)
    rest = clicked(bench.review("a reason"), "Leave out")
    assert [str(change.resource) for change in rest.plan.changes] == [other]
    assert (len(bench.stage), rest.plan.reason) == (1, "a reason")
    done(rest, rest.apply)
    assert bench.limits() == {other: 7e6}


def test_the_last_row_is_left_out(bench: Bench, unique: Unique) -> None:
    """I left the only row out, and got *nothing is staged* as an error."""
    bench.stage.set_quota(KEY, 5, user=unique("alice"))
    rest = clicked(bench.review(), "Leave out")
    assert (len(rest.plan), rest.plan._counts, len(bench.stage)) == (0, "nothing to change.", 0)
    assert usable(rest) == ["Plan again"]


@pytest.mark.parametrize(("words", "limits"), [("Use 5 MB/s", [5e6, 7e6]), ("Leave out", [7e6])])
def test_a_plan_that_is_not_staged_is_corrected_too(
    bench: Bench, unique: Unique, words: str, limits: list[float]
) -> None:
    """A colleague's plan, from a file: its dangers had no buttons, or they lost its other rows."""
    _slip_beside_another(bench, unique)
    plan = bench.stage.plan("from a file")
    bench.stage.discard()
    review = bench.changes.bind(pickle.loads(pickle.dumps(plan))).review()
    assert review.widget
    corrected = clicked(review, words)
    assert corrected.plan.reason == "from a file"
    done(corrected, corrected.apply)
    assert (sorted(bench.limits().values()), len(bench.stage)) == (limits, 0)


def test_what_was_typed_stays_allowed_where_another_row_is_corrected(bench: Bench, unique: Unique) -> None:
    """I allowed one row, left another one out, and had to type the first again."""
    _, _ = _slip_beside_another(bench, unique)
    bench.stage.set_quota(KEY, 6, user=(third := unique("carol")))
    review = bench.review("they know")
    assert beside(review) == ["Use 5 MB/s", "Leave out", "Allow…", "Use 6 MB/s", "Leave out", "Allow…"]
    words = f"{KEY} user={third}"
    type_again(review, words, words)
    rest = clicked(review, "Use 5 MB/s")
    assert beside(rest) == ["Use 6 MB/s", "Leave out"]
    assert "3 verified" in done(rest, rest.apply)
    assert bench.limits()[f"user={third}"] == 6


def test_a_row_that_the_broker_refuses_is_left_out(bench: Bench, unique: Unique) -> None:
    """One topic of three was not there, and nothing of the plan could be applied."""
    user = unique("alice")
    bench.stage.set_quota(KEY, "5MB/s", user=user)
    bench.stage.set_config("retention.ms", "1d", topic=unique("missing"))
    review = bench.review()
    assert beside(review) == ["Leave out"]
    assert usable(review) == ["Plan again"]
    rest = clicked(review, "Leave out")
    assert "1 verified" in done(rest, rest.apply)


@pytest.mark.broker
def test_the_key_that_was_meant_is_one_click_away(cluster: kn.Cluster, topic: str) -> None:
    """*Did you mean retention.ms?* it said, and both rows had to be staged again."""
    stage = cluster.new_stage()
    stage.set_config("retention.mss", "900000000", topic=topic)
    stage.set_config("max.message.bytes", "2000000", topic=topic)
    review = stage.plan().review()
    assert isinstance(review, PlanReview)
    assert review.widget
    assert beside(review) == ["Use retention.ms", "Leave out", "Leave out"]
    corrected = clicked(review, "Use retention.ms")
    assert "2 verified" in done(corrected, corrected.apply)
    keys = cluster.configs.describe(topic=topic).to_arrow().to_pylist()
    assert next(row["value"] for row in keys if row["key"] == "retention.ms") == "900000000"


def test_of_many_dangers_the_first_have_buttons_and_fields(bench: Bench, unique: Unique) -> None:
    """A file without units, of ten thousand rows: the page had ten thousand fields, and hung."""
    for number in range(50):
        bench.stage.set_quota(KEY, 5, user=unique(f"user-{number}"))
    review = bench.review("they know")
    assert len(beside(review)) == 3 * 20
    assert shown(review).count("Was 5MB/s meant?") == 20
    assert "! … and 30 more" in " ".join(shown(review).split())
    assert len(review.confirmations._fields) == 0
    assert done(review, review.apply) == REFUSED
    assert len(review.confirmations._fields) == 20


def test_names_of_clients_alone_do_not_stop_an_apply(bench: Bench, unique: Unique) -> None:
    """With `--impact` of names, which is no usage, Apply said that columns are missing."""
    bench.stage.set_quota(KEY, "5MB/s", user=(user := unique("alice")))
    review = bench.review(usage=pa.table({"user": [user], "client_id": ["app"]}))
    assert "1 client gets it" in shown(review)
    assert "1 verified" in done(review, review.apply)


def test_of_several_plans_there_is_one_way_back(bench: Bench, unique: Unique) -> None:
    """Three rows corrected: three lines *Back to plan* stood on top of each other."""
    _slip_beside_another(bench, unique)
    review = bench.review()
    first = clicked(review, "Use 5 MB/s")
    done(first, first.plan_again)
    assert first.next is not None
    ways_back, shown_now = review.widget.children
    assert ([way.description for way in ways_back.children], shown_now) == (
        [f"Back to plan {first.plan.id[:8]}"],
        first.next._place,
    )
    ways_back.children[0].click()
    assert review.widget.children[1] is first._place


def test_a_key_alone_allows_nothing(bench: Bench) -> None:
    """I typed the key, and every row of that key went through."""
    _lifted_for_all(bench)
    review = bench.review("alice has left")
    type_again(review, f"{KEY} user=<default>", KEY)
    assert "the danger above must be allowed first" in done(review, review.apply)
    assert bench.limits() == {"user=<default>": 5e6}


class _Friday(dict[int, faults.Fault]):
    """Every request that changes something is refused for every other entity."""

    def get(self, number: int, other: faults.Fault | None = None) -> faults.Fault:  # type: ignore[override]
        return faults.SomeRefused()


def test_what_failed_stands_first_and_says_why(bench: Bench, unique: Unique) -> None:
    """Of forty rows three had failed: I had to scroll for them, and the reason was in a log."""
    users = [unique(name) for name in ("alice", "bob", "carol")]
    for user in users:
        bench.stage.set_quota(KEY, "5MB/s", user=user)
    review = bench.review()
    bench.kafka.faults = _Friday()
    failed = done(review, review.apply)
    assert failed.startswith(f"plan {review.plan.id[:8]}: 2 failed, 1 verified")
    assert sorted(map(str, states_of_rows(review))) == ["failed", "failed", VERIFIED]
    assert shown(review).index("not on a Friday") < shown(review).rindex(VERIFIED)
    assert usable(review) == ["Resume", "Verify", "Roll back", "Plan again"]
    bench.kafka.faults = {}
    assert "2 verified, 1 unchanged" in done(review, review.apply)


def test_a_conflict_is_a_line(bench: Bench, unique: Unique) -> None:
    """Somebody else changed the limit meanwhile, and I could not see which one."""
    user = unique("alice")
    bench.stage.set_quota(KEY, "5MB/s", user=user)
    review = bench.review()
    other = bench.changes.new_stage()
    other.set_quota(KEY, "7MB/s", user=user)
    other.plan().apply()
    failed = done(review, review.apply)
    assert failed.startswith(f"Conflict: user={user} {KEY} changed since the plan")
    assert "not set → 7 MB/s" in failed
    assert usable(review) == ["Apply", "Plan again"]
    done(review, review.plan_again)
    assert review.next is not None
    assert "1 verified" in done(review.next, review.next.apply)


def test_an_apply_waits_for_nobody_who_holds_the_lease(bench: Bench, unique: Unique) -> None:
    """A colleague was applying; my click hung."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    lease = bench.kafka.beside().lease("another", "bob")
    assert "bob" in done(review, review.apply)
    assert (usable(review), len(bench.stage)) == (["Apply", "Plan again"], 1)
    lease.release()
    assert "1 verified" in done(review, review.apply)


def test_an_expired_plan_says_what_to_do(bench: Bench, unique: Unique) -> None:
    """I came back from holidays and clicked Apply."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    bench.kafka.sleep(8 * 24 * 3600)
    assert done(review, review.apply).startswith("Expired: ")
    done(review, review.plan_again)
    assert review.next is not None
    assert "1 verified" in done(review.next, review.next.apply)


def test_what_was_staged_meanwhile_stays_staged(bench: Bench, unique: Unique) -> None:
    """I staged something while it was applying, and it was gone afterwards."""
    alice, bob = unique("alice"), unique("bob")
    bench.held_back = 1
    bench.stage.set_quota(KEY, "5MB/s", user=alice)
    review = bench.review()
    review.apply()
    assert bench.arrived.wait(LONG)
    bench.stage.set_quota(KEY, "5MB/s", user=bob)
    bench.gate.set()
    review._work._thread.join(LONG)
    assert [str(edit.resource) for edit in edits_of(bench.stage).staged().values()] == [f"user={bob}"]


def test_a_plan_that_is_no_longer_all_that_is_staged_says_so(bench: Bench, unique: Unique) -> None:
    """The other widget staged more, and the review looked as if it had everything."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    assert review.remark == ""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("bob"))
    assert "Plan again includes them" in review.remark
    done(review, review.plan_again)
    assert review.next is not None
    assert len(review.next.plan) == 2


def test_two_reviews_of_one_plan_send_it_once(bench: Bench, unique: Unique) -> None:
    """The same plan was open in two cells, and I clicked Apply in both."""
    bench.held_back = 1
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    first = bench.review()
    second = first.plan.review()
    assert second.widget
    first.apply()
    assert bench.arrived.wait(LONG)
    assert "Locked" in done(second, second.apply)
    bench.gate.set()
    first._work._thread.join(LONG)
    assert "1 unchanged" in done(second, second.apply)
    assert len(bench.kafka.alters) == 1


def test_a_plan_that_was_begun_before_can_be_carried_on(bench: Bench, unique: Unique) -> None:
    """The tab was closed in the middle; the review of the same plan began anew."""
    _raised_and_lowered(bench, unique)
    plan = bench.stage.plan()
    stops = iter([False, True, True, True, True, True, True])
    with pytest.raises(KeyboardInterrupt):
        plan.apply(stop=lambda: next(stops))
    review = plan.review()
    assert review.widget
    assert usable(review) == ["Resume", "Verify", "Plan again"]  # it was stopped before anything was sent
    assert done(review, review.verify).startswith(f"plan {plan.id[:8]}: ")
    done(review, review.apply)
    assert review.outcomes is not None
    assert review.outcomes.ok


def test_an_error_that_nobody_expected_is_a_line_too(
    bench: Bench, unique: Unique, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button did nothing, and the reason was in a log."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    monkeypatch.setattr(FakeKafka, "brokers", lambda self: 1 / 0)
    assert "ZeroDivisionError: division by zero" in done(review, review.apply)
    monkeypatch.undo()
    assert "1 verified" in done(review, review.apply)


def test_the_impact_on_known_clients_stands_below_the_plan(bench: Bench, unique: Unique) -> None:
    """I had the usage at hand, and the review did not say whom it touches."""
    user = unique("alice")
    bench.stage.set_quota(KEY, "5MB/s", user=user)
    pairs = pa.table({"user": [user, unique("bob")], "client_id": ["app", "app"]})
    review = bench.review(usage=pairs)
    assert "becomes limited" in review.as_text()
    assert review.as_text().count(review.plan.id[:8]) == 1


def test_impact_backtest_and_stalls_are_folded_behind_their_findings(bench: Bench, unique: Unique) -> None:
    """Three tables stood between the plan and its buttons."""
    user = unique("alice")
    bench.stage.set_quota(KEY, "1MB/s", user=user)
    bench.stage.plan().apply()
    bench.stage.discard()
    bench.stage.set_quota(KEY, "100kB/s", user=user)
    hour = datetime(2026, 11, 25, 12, tzinfo=UTC)
    window = {"broker": 1, "user": user, "client_id": "app", "key": KEY, "value": 1e6, "source": "log"}
    times = [(hour + timedelta(seconds=n), hour + timedelta(seconds=n + 1)) for n in range(60)]
    rows = [{**window, "window_start": start, "window_end": end} for start, end in times]
    review = bench.review(usage=schemas.table(schemas.USAGE, rows))
    shown = document(*review._footer())
    titles = [unescape(title) for title in re.findall("<summary>(.*?)</summary>", shown)]
    assert titles == [f"impact: {KEY}: lowered 1"]
    assert "1 of 1 buckets would have been throttled" in shown
    assert "would be throttled when it is applied, by their use until " in shown
    assert f"; not known for broker 2, 3; the longest: user={user} client-id=app, 99 s" in shown


def test_whoever_shows_the_cluster_hears_of_an_apply(bench: Bench, unique: Unique) -> None:
    """I applied in one cell, and the editor in the other still showed the old limit."""

    class Listener:
        heard = 0

        def hear(self) -> None:
            self.heard += 1

    listener = Listener()
    edits_of(bench.stage).watch_applied(listener.hear)
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    done(review, review.apply)
    assert listener.heard == 1
    done(review, review.verify)
    assert listener.heard == 1
    done(review, review.rollback)
    assert review.next is not None
    done(review.next, review.next.apply)
    assert listener.heard == 2


@pytest.mark.parametrize("is_staged", [True, False], ids=["of what is staged", "of the same changes"])
def test_planning_again_calls_no_known_key_unknown(bench: Bench, unique: Unique, is_staged: bool) -> None:
    """I planned again, and each of Kafka's own keys was an unknown key, let through."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    if not is_staged:
        bench.stage.discard()
    done(review, review.plan_again)
    assert review.next is not None
    assert [change.note for change in review.next.plan.changes] == [None]


def test_what_went_wrong_looks_like_an_error_and_is_spoken(bench: Bench, unique: Unique) -> None:
    """The line said that nothing was sent, in the same grey as everything else."""
    bench.stage.set_quota(KEY, "5MB/s", user=unique("alice"))
    review = bench.review()
    lease = bench.kafka.beside().lease("another", "bob")
    failed = done(review, review.apply)
    assert (review._status.text, review._status.ok) == (failed, False)
    lease.release()
    verified = done(review, review.apply)
    assert (review._status.text, review._status.ok) == (verified, True)
    assert 'setAttribute("role", "status")' in review._status._esm
