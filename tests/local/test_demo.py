"""The demo: a Kafka with a company and live traffic, which ends with whoever started it, or when it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.local import demo, runs
from tests.waiting import eventually

pytestmark = pytest.mark.broker

NOTEBOOK = """
import kadmin_nb as kn
cluster = kn.demo()
again = kn.demo()
print(again.id == cluster.id)
input()
"""


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A state folder of its own, and no cluster that somebody chose."""
    for name in ("KADMIN_PROFILE", "KADMIN_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    yield tmp_path / "state" / "local" / demo.NAME
    for kafka in kn.local.status():
        kafka.stop()


def living(folder: Path) -> list[bool]:
    """Whether the broker and the clients live."""
    return [runs.living(folder / name / "pid") is not None for name in ("node-1", "traffic")]


def is_over(pid: int) -> bool:
    """True of no process, or one that has ended and that nobody asked about."""
    return runs._state(pid) in ("", "Z", "X")


@pytest.mark.long
def test_it_ends_with_the_kernel(state):
    """After a week of demos the machine had nine Kafkas, and nine that sent to none of them."""
    with subprocess.Popen([sys.executable, "-c", NOTEBOOK], stdin=-1, stdout=-1, text=True) as kernel:
        assert kernel.stdout.readline() == "True\n"
        (own,) = state.parent.glob("python-*")
        assert living(own) == [True, True]
        pids = [int((own / name / "pid").read_text().split()[0]) for name in ("node-1", "traffic")]
        kernel.kill()
    eventually(lambda: [is_over(pid) for pid in pids], [True, True])
    eventually(own.exists, False)


def test_four_answers_and_it_stays(state):
    """The demo ended with a Kafka that was gone, so there was nothing to try."""
    here = {**os.environ, "KADMIN_CONFIG": os.devnull}

    def kadmin(*words: str) -> str:
        return subprocess.run([sys.executable, "-c", "from kadmin_nb.commands import main; main()", *words],
                              check=True, capture_output=True, text=True, env=here, timeout=180).stdout  # fmt: skip

    said = kadmin("demo").splitlines()
    assert [
        line for line in said if line[:3] in ("1  ", "2  ", "3  ", "4  ") and line.endswith(("?", "caught", "it"))
    ] == [
        "1  Which limits are there?",
        "2  Which of them holds a client?",
        "3  A slip of the finger is caught",
        "4  Raise the limit, and verify it",
    ]
    assert "team-orders/billing is held by producer 5 MB/s per broker, level 2 of 8." in said
    assert any("Was 5MB/s meant?" in line for line in said)
    assert any(line.endswith("1 verified on 1 broker") for line in said)
    assert "It stays until `kadmin-nb local stop --name demo`. Next:" in said
    assert living(state) == [True, True]
    with kn.connect("local") as cluster:
        assert len(cluster.quotas.describe(user="team-orders", client_id="billing", strict=True)) == 1
    assert kadmin("quota", "describe", "user=team-orders", "client-id=billing") != ""  # the current cluster
    traffic = state / "traffic" / "pid"
    pid = traffic.read_text().split()[0]
    assert kadmin("local", "stop") == "Kafka demo is stopped\n"
    eventually(lambda: is_over(int(pid)), True)


def test_no_local_kafka(state):
    """`local` was said to be neither a file nor host:port."""
    with pytest.raises(kn.NotFound, match="no local Kafka runs"):
        kn.connect("local")
