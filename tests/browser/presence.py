"""The browser of the tests: the machine's, Playwright's own, or none. As a script it fetches one where there is none.

`python -m tests.browser.presence` is part of `make test` and `make bench`. It never fails: without a browser its
tests do not run, and the last lines of the run say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

LONGEST_FETCH = 300
"""Seconds that fetching one may take."""

ABSENT = (
    "there is no Chromium here, so nothing ran in a browser. Install chromium or google-chrome, "
    "or run: playwright install chromium"
)


@cache
def chromium() -> str | None:
    """The path of a Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, COMMANDS)), None) or _of_playwright()


def _of_playwright() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def fetch() -> None:
    """Fetch a browser: through Playwright, else as a package of Debian where we may install one."""
    ways = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        ways += [["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"]]
    for way in ways:
        print(f"== {' '.join(way)}", flush=True)
        try:
            subprocess.run(
                way, timeout=LONGEST_FETCH, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"it took more than {LONGEST_FETCH} s")
        chromium.cache_clear()
        if chromium():
            return
    print(ABSENT)


if __name__ == "__main__" and chromium() is None:
    fetch()
