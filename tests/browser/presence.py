"""The browser of the tests: the machine's, one that Playwright was told to fetch, or none.

As a script it installs Debian's signed package where there is none and where we may; it downloads nothing else.

`python -m tests.browser.presence` is part of `make test` and `make bench`. It never fails: without a browser its
tests do not run, and the last lines of the run say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

LONGEST_FETCH = 300
"""Seconds that fetching one may take."""

ABSENT = (
    "there is no Chromium here, so nothing ran in a browser. Install chromium or google-chrome, "
    "or run: apt-get install chromium"
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
    """Install it as a package of Debian, where we may."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        for way in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", "chromium"]):
            print(f"== apt-get {' '.join(way)}", flush=True)
            try:
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                subprocess.run(["apt-get", *way], timeout=LONGEST_FETCH, check=False, **quiet)
            except subprocess.TimeoutExpired:
                print(f"it took more than {LONGEST_FETCH} s")
        chromium.cache_clear()
    if chromium() is None:
        print(ABSENT)


if __name__ == "__main__" and chromium() is None:
    fetch()
