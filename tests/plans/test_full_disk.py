"""The journal can no longer be written, at any byte: what was sent is told, nothing more is, and the plan goes on."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.ports import Kafka
from kadmin_nb.commands import terminal
from kadmin_nb.errors import PlanRefused
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.journal import Journal, read_records, replay
from kadmin_nb.plans.journal.store import journals
from kadmin_nb.plans.outcomes import ApplyResult
from kadmin_nb.plans.plan import Plan, with_head
from kadmin_nb.plans.plan_file import PlanHead
from tests.double import FakeKafka
from tests.full_disk import no_more_than
from tests.plans.plan_rows import rows
from tests.plans.scenes import RATE, SMALL

SCENE = SMALL["quotas and configs"]
PAGE = 4096
"""Bytes that a disk in memory gives at once."""

Disk = tuple[Path, Callable[[], AbstractContextManager[None]]]


@contextmanager
def without_limit() -> Iterator[None]:
    with no_more_than(resource.getrlimit(resource.RLIMIT_FSIZE)[1]):
        yield


def carry_out(kafka: Kafka, place: Path, plan: Plan = SCENE.plan) -> ApplyResult | PlanRefused:
    try:
        with Journal.open(place) as journal:
            return executor.apply(kafka, plan, journal, SCENE.options, largest_batch=SCENE.batch)
    except PlanRefused as exc:
        return exc


def whole_journal(place: Path) -> bytes:
    carry_out(SCENE.kafka(), place)
    return place.read_bytes()


def sizes(journal: bytes, step: int) -> list[int]:
    """Sizes of a disk on which this journal has no room: with this step, and about each end of a line."""
    about_ends = {at + near for at, byte in enumerate(journal) if byte == ord("\n") for near in range(-2, 4)}
    return sorted(size for size in {*range(1, len(journal), step)} | about_ends if size < len(journal))


def journalled(place: Path) -> replay.JournalState:
    return replay.replayed(read_records(place).records)


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Callable[[int], Disk]]:
    """`small_disk(8192)`: a place on a disk of that size, and what makes it larger for a block and empties it.

    Where this process may not mount one, the size of each file has that limit.
    """
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(size: int, *options: str) -> bool:
        words = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]), "tmpfs", str(folder)]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    place = folder / "plan.jsonl"
    with ExitStack() as stack:

        def made(size: int) -> Disk:
            if mount(size):
                stack.callback(subprocess.run, ["umount", str(folder)], check=True)
            else:
                stack.enter_context(no_more_than(size))

            @contextmanager
            def grown() -> Iterator[None]:
                with without_limit():
                    mount(100 * size, "remount")
                    yield
                place.unlink()  # so that it fits again
                mount(size, "remount")

            return place, grown

        yield made


@pytest.fixture
def quick_disk(monkeypatch) -> None:
    """Nothing is synced: thousands of journals are written."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


def check(place: Path, kafka: FakeKafka, ended: ApplyResult | PlanRefused) -> int:
    """How many of the three requests were sent, when what was said of them is right."""
    sent = len(kafka.alters)
    if isinstance(ended, PlanRefused):
        assert (ended.code, sent) == ("JOURNAL", 0)
    else:
        told = [outcome.state for outcome in ended.outcomes]
        assert (told.count("verified"), told.count("skipped")) == (sent, 3 - sent)
        assert str(place) in str(ended.unwritten)
    return sent


def check_again(place: Path, kafka: FakeKafka, plan: Plan = SCENE.plan) -> None:
    """The same plan applied again ends well."""
    done = carry_out(kafka.beside(), place, plan)
    assert {outcome.state for outcome in done.outcomes} <= {"verified", "unchanged"}
    assert journalled(place).verified == {1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 7])
def test_at_any_byte_what_was_sent_is_told_and_the_plan_goes_on(step, quick_disk, tmp_path):
    """OSError: File too large, exit 1, and a third of the rows had been changed."""
    sent, journal = [], whole_journal(tmp_path / "whole")
    assert len(journal) > 1000
    for size in sizes(journal, step):
        place, kafka = tmp_path / f"{size}.jsonl", SCENE.kafka()
        with no_more_than(size):
            ended = carry_out(kafka, place)
        sent.append(check(place, kafka, ended))
        check_again(place, kafka)
    assert sent == sorted(sent)
    assert set(sent) == {0, 1, 2, 3}


@pytest.mark.slow
def test_on_a_full_disk_what_was_sent_is_told_and_the_plan_goes_on(quick_disk, small_disk, tmp_path):
    """OSError: No space left on device, and a stack trace instead of the rows."""
    sent, whole, (place, grown) = set(), len(whole_journal(tmp_path / "whole")), small_disk(2 * PAGE)
    for longer in range(2 * PAGE - whole + 20, 2 * PAGE, 17):
        kafka, plan = SCENE.kafka(), with_head(SCENE.plan, reason="x" * longer)
        ended = carry_out(kafka, place, plan)
        sent.add(check(place, kafka, ended))
        with grown():
            check_again(place, kafka, plan)
    assert sent == {0, 1, 2, 3}


def test_a_first_line_that_was_torn_again_and_again_leaves_the_plan_to_be_applied(tmp_path):
    """The disk was full again and again before a line of the journal was whole, and the plan was lost."""
    place, kafka = tmp_path / "plan.jsonl", SCENE.kafka()
    for size in (10, 11, 50, 100, 200, 300):
        with no_more_than(size):
            assert carry_out(kafka, place).code == "JOURNAL"
    assert kafka.alters == []
    assert {outcome.state for outcome in carry_out(kafka, place).outcomes} == {"verified"}
    assert journalled(place).verified == {1, 2, 3}


def test_a_plan_that_nothing_was_sent_of_still_expires(tmp_path):
    """Its journal had a torn line, and a plan of last year was applied."""
    place, kafka = tmp_path / "plan.jsonl", SCENE.kafka()
    with no_more_than(100):
        carry_out(kafka, place)
    with Journal.open(place):
        pass
    old = Plan(PlanHead(kafka.id, SCENE.plan.head.created, expires="2020-01-01T00:00:00+00:00"), SCENE.plan.changes)
    with Journal.open(place) as journal, pytest.raises(kn.errors.Expired):
        executor.apply(kafka, old, journal, SCENE.options, largest_batch=SCENE.batch)


THIRDS = {"raised": ("1000", "2000"), "added": (None, "2000"), "lowered": ("4000", "2000")}


@pytest.fixture
def plan(cluster, unique) -> Plan:
    """60 raises, 60 additions and 60 lowers: three requests."""
    users = {kind: [unique("user") for _ in range(60)] for kind in THIRDS}
    for number in (0, 1):
        stage = cluster.new_stage()
        for kind, values in THIRDS.items():
            for user in users[kind] if values[number] else ():
                stage.set_quota(RATE, values[number], user=user)
        made = stage.plan("a full disk")
        if number == 0:
            made.apply(lock=False).raise_for_errors()
    return made


@pytest.fixture
def apply(kafka, tmp_path, capsys) -> Callable[[Plan, AbstractContextManager], tuple[int, str, str]]:
    """`apply(plan, limit)` types `plan apply` where the disk has a limit: the exit code, and what was printed."""

    def run(
        plan: Plan, limit: AbstractContextManager[None] = nullcontext(), verb: str = "apply"
    ) -> tuple[int, str, str]:
        plan.save(tmp_path / "p.json")
        capsys.readouterr()
        with limit:
            code = terminal.run_line(["plan", verb, str(tmp_path / "p.json"), "--cluster", kafka.bootstrap])
        return code, *capsys.readouterr()

    return run


def ends_of_records(plan: Plan) -> list[int]:
    """Where each record of the plan's journal ends, but for some digits of the times in them."""
    text = Path(journals().of(plan).place).read_bytes()
    return [at + 1 for at, byte in enumerate(text) if byte == 10]


@pytest.mark.broker
def test_rows_that_were_sent_are_shown_with_the_way_to_go_on(plan, apply, cluster, monkeypatch, tmp_path):
    """The disk was full, and all that I saw was a stack trace; 60 of 180 rows had been changed."""
    assert apply(plan)[0] == 0
    after_plan, after_run, *after = ends_of_records(plan)
    cluster.rollback(plan).apply(lock=False).raise_for_errors()
    shown = {}
    for number, end in enumerate([after_plan, after_run, *after]):
        monkeypatch.setenv("KADMIN_STATE", str(tmp_path / f"state-{number}"))
        code, out, err = apply(plan, no_more_than(end - 20))
        place = tmp_path / f"state-{number}" / "journal" / cluster.id / f"{plan.id}.jsonl"
        assert f"the journal {place} cannot be written: File too large" in err
        shown[number] = code, out.partition("\n")[0], f"plan apply {plan.id[:8]}" in err
        code, out, err = apply(plan)
        assert (code, "0 unverified" in out, err) == (0, False, "")
        assert rows(cluster.verify(plan), "state") == [("verified",)] * 180
        cluster.rollback(plan).apply(lock=False).raise_for_errors()
    title = f"plan {plan.id[:8]}: "
    assert shown == {
        0: (5, "", False),
        1: (5, "", False),
        2: (5, "", False),
        3: (4, f"{title}60 verified, 120 skipped", True),
        4: (4, f"{title}60 verified, 120 skipped", True),
        5: (4, f"{title}120 verified, 60 skipped", True),
        6: (4, f"{title}120 verified, 60 skipped", True),
        7: (4, f"{title}180 verified on 1 broker", True),
        8: (4, f"{title}180 verified on 1 broker", True),
    }
