"""Two plans for one quota, interleaved at every call: the lock loses nothing; without it `plan verify` shows a loss."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kadmin_nb.errors import Conflict, PlanRefused
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.plan_lock import PAUSE
from kadmin_nb.plans.journal import replay
from kadmin_nb.plans.outcomes import ApplyResult
from tests.double.faults import Edited, NotSent
from tests.plans.scenes import RATE, hold
from tests.plans.simulation import Pages, Scene
from tests.plans.turns import Turns

X = Entity.parse("user=x")
EDITORS = range(2)


def wanted(editor: int) -> Scene:
    """`x` held 5; editor 0 wants 10, editor 1 wants 20, and each has a row of its own before and after it."""

    def stage(wishes) -> None:
        wishes.set_quota(RATE, 100, user=f"before-{editor}")
        wishes.set_quota(RATE, 10 * (editor + 1), user="x")
        wishes.set_quota(RATE, 1, user=f"after-{editor}")

    def edit(kafka) -> None:
        hold(
            kafka,
            {("user=x", RATE): 5.0, (f"user=after-{editor}", RATE): 5.0, (f"user=after-{1 - editor}", RATE): 5.0},
            {},
        )

    return Scene(f"editor {editor}", edit, stage, batch=1)


OVERTAKEN = (
    "another took the lease; what was sent meanwhile may have overwritten that editor's changes, "
    "and was checked again: rows {}"
)

SCENES = [wanted(editor) for editor in EDITORS]


class Pair:
    """Two connections to one cluster, and what each editor does with its own."""

    def __init__(self, *, locks: bool = True, steals: bool = False, faults=None) -> None:
        first = SCENES[0].kafka(faults)
        first.locks = locks
        self.kafkas = [first, first.beside(locks=locks)]
        self.options = [replace(scene.options, steal=steals, wait_lease=0.0) for scene in SCENES]
        self.cluster = first.cluster

    def apply(self, editor: int, pages: Pages | None = None) -> ApplyResult:
        plan, kafka, journal = SCENES[editor].plan, self.kafkas[editor], (pages or Pages()).opened()
        return executor.apply(kafka, plan, journal, self.options[editor], largest_batch=SCENES[editor].batch)

    def tried(self, editor: int) -> object:
        """What became of it, be it an error."""
        try:
            return self.apply(editor)
        except PlanRefused as exc:
            return exc

    def writers(self) -> list[int]:
        """Who wrote `x`, in order."""
        values = [record.value for record in self.cluster.log if record.target == (X, RATE)]
        return [int(value // 10) - 1 for value in values[1:]]

    def is_told(self, editor: int, ended: object) -> bool:
        """Whether this editor was told that `x` is not as it wanted: at once, or by `plan verify` afterwards."""
        if not isinstance(ended, ApplyResult) or state(ended) != "verified":
            return True
        self.cluster.settle()
        connection = self.kafkas[editor].beside()
        return state(executor.check(connection, SCENES[editor].plan, verify_timeout=1.0)) != "verified"


def state(done: ApplyResult) -> str:
    """What the outcome says of `x`."""
    return next(outcome.state for outcome in done.outcomes if outcome.change.resource == X)


def calls() -> int:
    pair = Pair()
    pair.apply(0)
    return len(pair.kafkas[0].calls)


def interleavings():
    """One goes some calls far, then the other some, then the first to its end."""
    every = calls() + 1
    return [(one, other) for one in range(every) for other in range(every)]


def play(one: int, other: int, **options) -> tuple[Pair, list[object]]:
    pair = Pair(**options)
    programs = [(pair.kafkas[n], lambda n=n: pair.apply(n)) for n in EDITORS]
    return pair, Turns([0] * (one + 1) + [1] * (other + 1) + [0] * 1000, 2).play(programs)


@pytest.mark.slow
def test_with_the_lock_nothing_is_lost(schedules_ran):
    """My colleague's change and mine went out at the same time, and one of them was gone."""
    orders = interleavings()
    for one, other in orders:
        pair, ended = play(one, other)
        refused = [e for e in ended if isinstance(e, PlanRefused)]
        assert len(refused) == 1, (one, other, ended)
        assert refused[0].code == "LOCKED" or isinstance(refused[0], Conflict), (one, other)
        assert len(pair.writers()) == 1, (one, other)
        winner = ended.index(next(e for e in ended if e is not refused[0]))
        assert pair.writers() == [winner]
        assert {o.state for o in ended[winner].outcomes} == {"verified"}, (one, other)
    schedules_ran("two editors with the lock", len(orders), 0)


@pytest.mark.long
@pytest.mark.slow
def test_without_the_lock_every_overwrite_is_shown_by_a_verify_afterwards(schedules_ran):
    """Nobody could make the topic of the lock, and nobody was told that his change was gone."""
    orders, overwritten = interleavings(), 0
    for one, other in orders:
        pair, ended = play(one, other, locks=False)
        writers = pair.writers()
        assert writers, (one, other)
        overwritten += len(writers) == 2
        for loser in set(EDITORS) - {writers[-1]}:
            assert pair.is_told(loser, ended[loser]), (one, other, ended)
        assert not pair.is_told(writers[-1], ended[writers[-1]]) or len(writers) == 2, (one, other, ended)
    assert overwritten
    schedules_ran("two editors without it", len(orders), 0)


def test_an_overwrite_after_the_end_of_a_run_was_announced_by_both():
    """Both of us were told that all is verified, and my change was gone; the docs had promised a report."""
    silent = []
    for one, other in [(one, 1000) for one in range(calls() + 1)]:
        pair, ended = play(one, other, locks=False)
        if [state(done) for done in ended if isinstance(done, ApplyResult)] == ["verified", "verified"]:
            silent.append(pair.writers())
            assert all(done.note.startswith("not locked (") for done in ended)
            assert pair.is_told(1, ended[1])
    assert silent == [[1, 0]] * len(silent)
    assert silent


def frozen_at(number: int, steals: bool) -> tuple[Pair, object, object]:
    """The first editor freezes at a call until its lease is over, or is taken; the other does all of its plan there."""
    pair, theirs = Pair(steals=steals), []

    def meanwhile(_) -> None:
        pair.cluster.pass_(0.0 if steals else 300.0)
        theirs.append(pair.tried(1))

    pair.kafkas[0].faults[number] = Edited(meanwhile)
    return pair, pair.tried(0), theirs[0]


@pytest.mark.parametrize("steals", [False, True], ids=["after its time", "stolen"])
def test_only_a_holder_that_is_frozen_inside_one_send_overwrites(steals):
    """The laptop was closed in the middle of an apply; in the evening it went on and overwrote the day's work."""
    lost = []
    for number in range(1, calls() + 1):
        pair, mine, theirs = frozen_at(number, steals)
        writers, call = pair.writers(), pair.kafkas[0].calls[number - 1]
        if len(writers) == 1:
            continue
        lost.append(call)
        assert writers == [1, 0], (number, mine, theirs)
        assert pair.is_told(1, theirs), (number, theirs)
        assert mine.overtaken == OVERTAKEN.format(2), number
    assert [call.alters and X in call.parts for call in lost] == [True]


def test_a_holder_that_lost_the_lock_stops_before_its_next_batch():
    """I took the lock away from a hanging job, and it went on all the same."""
    quiet = Pair()
    quiet.apply(0)
    number = quiet.kafkas[0].alters[0].number
    pair, mine, _ = frozen_at(number, steals=True)
    assert [(str(o.change.resource), o.state, o.error) for o in mine.outcomes] == [
        ("user=before-0", "skipped", "FENCED"),
        ("user=x", "verified", None),
        ("user=after-0", "skipped", "FENCED"),
    ]
    assert len(pair.kafkas[0].alters) == 1


def asleep_after_the_intent(seconds: float) -> tuple[Pair, list[str], ApplyResult]:
    """The first editor's machine sleeps when it has written down what it will do to `x`; the other takes the lock."""
    pair, lines = Pair(steals=True), []

    def sleep(line: str) -> None:
        lines.append(line)
        if '"kind":"intent"' in line and '"rows":"2"' in line:
            pair.kafkas[0].suspend(seconds)
            assert state(pair.apply(1)) == "verified"

    return pair, lines, pair.apply(0, Pages(written=sleep))


@pytest.mark.parametrize("seconds", [PAUSE, 1.0, 300.0])
def test_who_sleeps_between_the_journal_and_the_send_sends_nothing(seconds):
    """The laptop slept for minutes after it had written down what it would do, and then did it, over my change."""
    pair, lines, mine = asleep_after_the_intent(seconds)
    assert pair.writers() == [1]
    assert [(o.state, o.error, o.message) for o in mine.outcomes] == [
        ("skipped", "FENCED", f"another took the lease: plan {SCENES[0].plan.id[:8]} stops here")
    ] * 3
    assert mine.overtaken is None
    assert ["NOT_SENT" in line for line in lines if '"rows":"2"' in line and '"kind":"outcome"' in line] == [True]
    journalled = replay.replayed(Pages(kept=[f"{line}\n" for line in lines]).opened().before)
    assert (journalled.in_doubt, journalled.unsettled) == (set(), set())  # who carries it on waits for nothing


def test_who_sleeps_within_a_renewal_asks_again_before_it_sends():
    """It slept before it heard that the lease is still its own, believed that when it woke up, and overwrote me."""
    quiet = Pair()
    quiet.apply(0)
    before_x, *_ = [call.number for call in quiet.kafkas[0].calls if call.verb == "renew the lease"]
    pair = Pair(steals=True)
    slept_after(pair, before_x, lambda: pair.apply(1))
    mine = pair.apply(0)
    assert pair.writers() == [1]
    assert [(outcome.state, outcome.error) for outcome in mine.outcomes] == [("skipped", "FENCED")] * 3


def slept_after(pair: Pair, number: int, meanwhile) -> None:
    """The first editor sleeps for two seconds when that renewal was made, and has not heard of it yet."""
    real = pair.kafkas[0].lease

    def lease(*words, **options):
        ours = real(*words, **options)
        renew = ours.renew

        def renewed() -> None:
            renew()
            if pair.kafkas[0].calls[-1].number == number:
                pair.kafkas[0].suspend(2.0)
                meanwhile()

        ours.renew = renewed
        return ours

    pair.kafkas[0].lease = lease


def test_an_overwrite_in_the_moment_before_the_send_is_told_at_the_end():
    """I took over in the tenth of a second in which it slept; both of us read 'verified', and my change was gone."""
    pair, lines, mine = asleep_after_the_intent(0.1)
    assert pair.writers() == [1, 0]
    assert [o.state for o in mine.outcomes] == ["skipped", "verified", "skipped"]
    assert '"overtaken":"another took' in lines[-1]
    assert mine.overtaken == OVERTAKEN.format(2)
    assert mine.note == mine.overtaken


def test_who_is_overwritten_after_its_own_look_is_told_at_the_end():
    """They took the lock when all of my rows had been seen; I was told that all is verified, and it no longer was."""
    quiet = Pair()
    quiet.apply(0)
    (last,) = [call.number for call in quiet.kafkas[0].calls if call.verb == "release the lease"]
    pair = Pair(steals=True)
    pair.kafkas[0].faults[last] = Edited(lambda _: taken_away(pair))
    mine = pair.apply(0)
    assert mine.overtaken == OVERTAKEN.format(3)
    assert [(o.state, o.message) for o in mine.outcomes][2] == (
        "unverified",
        "not seen on every broker: broker 1 shows another value; broker 2 shows another value; "
        "broker 3 shows another value",
    )


def taken_away(pair: Pair) -> None:
    """Somebody takes the lock, changes the last row and gives the lock back."""
    other = pair.kafkas[1].lease("another plan", "somebody", steal=True)
    pair.kafkas[1].quotas.alter({Entity.parse("user=after-0"): {RATE: 7.0}})
    other.release()


def test_a_lock_that_could_not_be_given_back_is_a_note():
    """The coordinator was gone at the end, and nobody could say whether the lock had held."""
    quiet = Pair()
    quiet.apply(0)
    pair = Pair(faults={quiet.kafkas[0].calls[-1].number: NotSent()})
    done = pair.apply(0)
    assert done.overtaken is None
    assert done.note.startswith("it is not known whether another editor took the lease meanwhile: NETWORK_EXCEPTION")
    assert {o.state for o in done.outcomes} == {"verified"}
