"""Every alert fires when it should, and not before: promtool plays the hours."""

from __future__ import annotations

import subprocess

import pytest

from tests.prometheus.installed import prometheus
from tests.prometheus.monitoring import ALERT_TESTS, ALERTS


@pytest.mark.parametrize("words", [("check", "rules", ALERTS.name), ("test", "rules", ALERT_TESTS.name)])
def test_the_alerts_do_as_they_say(words):
    """It fired for each broker that was idle."""
    _, promtool = prometheus()
    done = subprocess.run([promtool, *words], cwd=ALERTS.parent, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
