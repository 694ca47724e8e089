"""Jobs that change one cluster at the same time, each a process of its own at a real broker."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from kadmin_nb.admin.ports import Lease
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.model.connection_settings import Settings

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
