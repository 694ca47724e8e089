"""What was tried: the versions and systems that tests passed on, kept in the file that `--tried` names.

`docs/reference/tried.json` is such a file. Of each version it keeps the run in which most tests passed, with its day.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import tempfile
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from filelock import FileLock

from kadmin_nb import jars
from kadmin_nb.files import write
from tests.browser.presence import chromium

LIBRARIES = ("confluent-kafka", "pandas", "pyarrow", "ipython", "ipywidgets", "jupyterlab")
"""What every test runs on; PySpark, Kafka and the browser are of the tests that need them."""


class Tried:
    """Counts the passed tests of a run by what they ran on; of one process, or of all where they run side by side."""

    def __init__(self, place: Path | None) -> None:
        self.place = place
        self.passed: Counter[tuple[str, str]] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Where the tests run, each result carries what its test ran on."""
        if call.when == "call":
            item.user_properties.append(("ran on", ran_on(item)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.update(
                tuple(pair) for name, pairs in report.user_properties if name == "ran on" for pair in pairs
            )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.place is not None and not hasattr(session.config, "workerinput"):
            keep(self.passed, self.place)


def ran_on(item: pytest.Item) -> list[tuple[str, str]]:
    """What a test ran on, as pairs of a name and a version."""
    versions = dict(of_every_test())
    if item.get_closest_marker("spark"):
        versions["PySpark"] = metadata.version("pyspark")
    if item.get_closest_marker("broker") or item.get_closest_marker("secure"):
        versions["Kafka"] = _kafka_of(item)
    if item.nodeid.startswith("tests/browser/"):
        versions["Chromium"] = _of_chromium()
    for marker in item.iter_markers("tried"):
        versions.update(marker.kwargs)
    return list(versions.items())


def _kafka_of(item: pytest.Item) -> str:
    """The version that is a parameter of the test, as of those that run on each; else the default."""
    callspec = getattr(item, "callspec", None)
    versions = [
        one for one in (callspec.params.values() if callspec else ()) if re.fullmatch(r"\d+\.\d+\.\d+", str(one))
    ]
    return str(versions[0]) if versions else jars.DEFAULT_VERSION


@cache
def of_every_test() -> tuple[tuple[str, str], ...]:
    """The system, Python and the libraries of this process."""
    name = platform.system()
    if name == "Linux":
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    libraries = ((each, metadata.version(each)) for each in LIBRARIES)
    return (("system", f"{name}, {platform.machine()}"), ("Python", platform.python_version()), *libraries)


@cache
def _of_chromium() -> str:
    browser = chromium()
    assert browser is not None, "its tests do not run without one"
    return subprocess.run([browser, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def keep(passed: Counter[tuple[str, str]], place: Path) -> None:
    """What passed, in the file, where no earlier run passed more tests on that version."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(Path(tempfile.gettempdir()) / "kadmin-nb-tried.lock"):
        kept = json.loads(place.read_text()) if place.exists() else []
        rows = {(row["what"], row["version"]): row for row in kept}
        day = datetime.now(UTC).date().isoformat()
        for (what, version), tests in passed.items():
            if (what, version) not in rows or rows[what, version]["tests"] <= tests:
                rows[what, version] = {"what": what, "version": version, "tests": tests, "on": day}
        write(place, json.dumps([rows[key] for key in sorted(rows)], indent=1, ensure_ascii=False) + "\n")
