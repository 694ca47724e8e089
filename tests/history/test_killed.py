"""A recorder that gets SIGKILL at any moment leaves a history that reads, and that the next record completes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.history.hours import at, limits_of, taken
from tests.history.model import are_maximal

_RECORDER = """
import sys
sys.path.insert(0, sys.argv[1])
import kadmin_nb as kn
from tests.history.hours import taken
history = kn.open_history(sys.argv[2])
for hour in range(int(sys.argv[3]), 10_000):
    print(hour, flush=True)
    history.record(taken(hour, {"alice": hour + 1.0, "bob": hour // 3 + 1.0}))
"""


def _killed(place: Path, first: int, chance: random.Random) -> int:
    """Record from an hour on, get killed within a second; the hour of which nobody knows whether it was recorded."""
    command = [sys.executable, "-c", _RECORDER, str(Path(__file__).parents[2]), str(place), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout is not None
        hours = [int(recorder.stdout.readline())]
        time.sleep(chance.uniform(0, 1))
        os.kill(recorder.pid, signal.SIGKILL)
        return [*hours, *map(int, recorder.stdout.read().split())][-1]


@pytest.mark.parametrize(
    "kills", [pytest.param(2, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.long)], ids=str
)
def test_a_killed_recorder_leaves_a_history(tmp_path: Path, kills: int) -> None:
    """The machine was switched off, and since then the history could not be read, or lacked an hour."""
    place, chance, hour = tmp_path / "history", random.Random(kills), 0
    for _ in range(kills):
        hour = _killed(place, hour, chance)
        history = kn.open_history(place)
        if hour:
            assert limits_of(history.as_of(at(hour - 1)))["alice"] == hour
        history.record(taken(hour, {"alice": hour + 1.0, "bob": hour // 3 + 1.0}))
        hour += 1
    rows = history.snapshots().to_arrow().to_pylist()
    assert len({(row["taken_at"], row["kind"]) for row in rows}) == 2 * hour
    for each in range(hour):
        assert limits_of(history.as_of(at(each))) == {"alice": each + 1.0, "bob": each // 3 + 1.0}
    assert len(history.changes((None, None))) == hour - 1 + (hour - 1) // 3
    assert are_maximal(history)
