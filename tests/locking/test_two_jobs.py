"""Jobs that change one cluster at the same time, each a process of its own at a real broker."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from kadmin_nb.admin.ports import Lease
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.plans.journal.store import journals
from tests.waiting import eventually, state_of_process

pytestmark = pytest.mark.broker

COMMAND = [sys.executable, "-c", "from kadmin_nb.commands import main; main()"]


@pytest.fixture
def job(kafka) -> Callable[..., subprocess.Popen[str]]:
    """`job("quota", "set", …)` begins that line in a process of its own."""

    def begin(*words: str, **options: object) -> subprocess.Popen[str]:
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([*COMMAND, *words, "--cluster", kafka.bootstrap], text=True, **given)

    return begin


WITHOUT_LOCKS = """
import errno, fcntl, os
def flock(*_): raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
fcntl.flock = flock
from kadmin_nb.commands import main
main()
"""


@pytest.fixture
def job_without_locks(kafka) -> Callable[..., subprocess.Popen[str]]:
    """The same in a home on NFS whose server has no daemon for locks."""

    def begin(*words: str) -> subprocess.Popen[str]:
        line = [sys.executable, "-c", WITHOUT_LOCKS, *words, "--cluster", kafka.bootstrap]
        return subprocess.Popen(
            line, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    return begin


STOPS_ITSELF = """
import os, signal
from kadmin_nb.commands import main
from kadmin_nb.plans.journal import Journal
real = Journal.write
def write(journal, kind, **says):
    real(journal, kind, **says)
    if kind == "intent":
        os.kill(os.getpid(), signal.SIGSTOP)
Journal.write = write
main()
"""


@pytest.fixture
def held(kafka) -> Iterator[Lease]:
    """The cluster's lease, held by this process until it is given back."""
    editor = LiveKafka(Settings(kafka.bootstrap))
    lease = editor.lease("plan-of-alice", "alice")
    yield lease
    lease.release()
    editor.close()


def raising(job, user: str, *words: str, **options: object) -> subprocess.Popen[str]:
    """Sets this user's limit."""
    return job("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--apply", *words, **options)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    said, complained = process.communicate(timeout=120)
    return process.returncode, said, complained


def both_end_well(job, unique, rounds: int) -> None:
    for _ in range(rounds):
        jobs = [raising(job, unique("user")) for _ in range(2)]
        answers = [ended(one) for one in jobs]
        assert [(code, complained) for code, _, complained in answers] == [(0, "")] * 2
        assert all("1 verified" in said for _, said, _ in answers), answers


def test_two_jobs_at_a_time_both_end_well(job, unique):
    """Two tasks of one flow changed different users of one cluster: one of them was refused."""
    both_end_well(job, unique, 1)


@pytest.mark.long
def test_many_pairs_of_jobs_all_end_well(job, unique):
    """It went well when I tried it, and one night in twenty a task was refused."""
    both_end_well(job, unique, 20)


def test_a_job_waits_until_the_other_editor_is_done(job, held, unique):
    """Her plan had ten seconds to go, and my job did not wait for ten seconds."""
    waiting = raising(job, unique("user"))
    threading.Timer(6.0, held.release).start()
    assert ended(waiting)[::2] == (0, "")


def test_who_may_not_wait_is_told_to_try_again(job, held, unique):
    """Exit 5 was a conflict yesterday, and a colleague at work today: my scheduler could not tell them apart."""
    code, said, complained = ended(raising(job, unique("user"), "--wait-lease", "0"))
    assert (code, said) == (75, "")
    assert complained.startswith("Locked: alice on ")
    assert " holds the lease for plan plan-of- since " in complained
    assert "Hint: Nothing was sent. Try again when it has ended." in complained


def test_what_is_there_already_needs_no_lease(job, held, cluster, unique):
    """The retry of a job that was killed at its end had nothing to do, and was refused for two minutes."""
    user = unique("user")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5_000_000, user=user)
    stage.plan().apply(lock=False).raise_for_errors()
    assert ended(raising(job, user, "--wait-lease", "0"))[::2] == (0, "")


def test_a_danger_is_told_before_the_lease_is_asked_for(job, held, unique):
    """It waited two and a half minutes for the lease, and then wanted a key to be named."""
    line = ("quota", "set", "producer_byte_rate=5", f"user={unique('user')}", "--apply")
    code, _, complained = ended(job(*line))
    assert (code, complained.split(":")[0]) == (5, "Dangerous")


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 75), (b"\n", 0)], ids=["no", "yes"])
def test_who_sits_at_a_terminal_is_asked(answer, code, job, held, unique):
    """I typed the line, and my terminal stood still for two and a half minutes without a question."""
    ours, theirs = pty.openpty()
    process = raising(job, unique("user"), stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while b"[Y/n]" not in shown:
        shown += os.read(ours, 4096)
    assert b"holds the lease for plan plan-of-" in shown
    assert b"Wait for it, 150 s at most? [Y/n]" in shown
    os.write(ours, answer)
    held.release()
    process.wait(60)
    os.close(ours)
    assert process.returncode == code


def test_without_file_locks_a_refused_run_leaves_the_other_its_journal(
    job_without_locks, held, cluster, unique, tmp_path
):
    """Both runs had one plan: the refused one removed the journal, and what was sent could not be rolled back."""
    stage, user = cluster.new_stage(), unique("user")
    stage.set_quota("producer_byte_rate", 5_000_000, user=user)
    plan = stage.plan()
    plan.save(str(tmp_path / "p.json"))
    first = job_without_locks("plan", "apply", str(tmp_path / "p.json"))
    eventually(lambda: plan.id in journals().ids(), True)
    code, _, complained = ended(job_without_locks("plan", "apply", str(tmp_path / "p.json"), "--wait-lease", "0"))
    assert (code, complained.split(":")[0]) == (75, "Locked")
    held.release()
    code, said, complained = ended(first)
    assert (code, "1 verified" in said) == (0, True)
    assert complained.startswith("Note: there are no file locks in ")
    assert [record.kind for record in journals().find(plan.id).chain.records][-1] == "end"
    assert len(cluster.rollback(plan.id)) == 1


def test_who_was_stopped_for_a_moment_sends_nothing_over_the_one_who_stole(job, kafka, cluster, unique, tmp_path):
    """It stood still for two seconds between its journal and its request; I took over, and it overwrote me."""
    user, plans = unique("user"), {}
    for rate in (1000, 2000):
        stage = cluster.new_stage()
        stage.set_quota("producer_byte_rate", rate, user=user)
        plans[rate] = stage.plan()
        plans[rate].save(str(tmp_path / f"{rate}.json"))
    line = [sys.executable, "-c", STOPS_ITSELF, "plan", "apply", str(tmp_path / "1000.json")]
    stopped = subprocess.Popen(
        [*line, "--cluster", kafka.bootstrap], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        eventually(lambda: state_of_process(stopped.pid), "T", seconds=60)
        assert ended(job("plan", "apply", str(tmp_path / "2000.json"), "--steal-lock"))[::2] == (0, "")
    finally:
        stopped.send_signal(signal.SIGCONT)
    code, said, complained = ended(stopped)
    assert (code, "1 skipped" in said) == (1, True)
    assert re.search(
        rf" took the lease for plan {plans[2000].id[:8]} at .*: plan {plans[1000].id[:8]} stops here", complained
    )
    assert cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist() == [2000.0]
