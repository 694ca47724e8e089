"""Prometheus for the tests: the machine's, or none. As a script it installs Debian's package where we may.

`python -m tests.prometheus.installed` is part of `make test`. It never fails: without Prometheus its tests do not run,
and the last lines of the run say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

LONGEST_FETCH = 300
"""Seconds that installing it may take."""

ABSENT = (
    "there is no Prometheus here, so no alert rule and no query of the board was evaluated. "
    "Install prometheus and promtool, or run: apt-get install prometheus"
)


def prometheus() -> tuple[str, str] | None:
    """The paths of prometheus and promtool; None where one is missing."""
    server, tool = shutil.which("prometheus"), shutil.which("promtool")
    return (server, tool) if server and tool else None


def fetch() -> None:
    """Install it as a package of Debian, without starting it as a service, where we may."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        mask = Path("/run/systemd/system").exists() and shutil.which("systemctl")
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "prometheus"]
        masked = [["systemctl", "mask", "prometheus.service"]] if mask else []
        for way in (["apt-get", "update", "-q"], *masked, install):
            print(f"== {' '.join(way)}", flush=True)
            try:
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                subprocess.run(way, timeout=LONGEST_FETCH, check=False, **quiet)
            except subprocess.TimeoutExpired:
                print(f"it took more than {LONGEST_FETCH} s")
    if prometheus() is None:
        print(ABSENT)


if __name__ == "__main__" and prometheus() is None:
    fetch()
