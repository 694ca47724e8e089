"""A writer that is killed at any step leaves all of its change, or nothing of it, and keeps nobody waiting."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client_configs.conftest import ALICE, APP

pytestmark = pytest.mark.broker

BEFORE = {("user=alice", "acks"): "1"}
AFTER = {("user=alice", "acks"): "0", ("user=alice client-id=app", "acks"): "0"}


@pytest.mark.parametrize(
    ("step", "when", "ends"),
    [
        pytest.param("newest", "after", [BEFORE], marks=pytest.mark.long),
        pytest.param("fence", "before", [BEFORE], marks=pytest.mark.long),
        pytest.param("fence", "after", [BEFORE], marks=pytest.mark.long),
        pytest.param("write", "after", [BEFORE], marks=pytest.mark.long),
        ("commit", "before", [BEFORE]),
        ("commit", "after", [AFTER]),
    ],
)
def test_all_or_nothing_of_it_is_there(step, when, ends, kafka, ann, ben, config_topic):
    """The machine went down in the middle of a plan, and half of the clients had the new acks."""
    assert ann.alter({ALICE: {"acks": (None, "1")}}) == {ALICE: None}
    words = [sys.executable, str(Path(__file__).with_name("writer.py")), kafka.bootstrap, config_topic, step, when]
    assert subprocess.run(words, timeout=60).returncode == -signal.SIGKILL
    assert ben.stored() in ends
    stored = ben.stored()
    left_over = stored.get(("user=alice client-id=app", "acks"))
    again = ben.alter({ALICE: {"acks": (stored["user=alice", "acks"], "-1")}, APP: {"acks": (left_over, None)}})
    assert again == {ALICE: None, APP: None}
    assert ann.stored() == {("user=alice", "acks"): "-1"}
