"""How far a large request log is read: told to who watches, in bytes and percent."""

from __future__ import annotations

import gzip
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

import kadmin_nb as kn
from kadmin_nb.commands import usage

LINES = (Path(__file__).parents[1] / "analytics" / "recorded" / "broker-1" / "request.log").read_bytes()
WORDS = ("quota", "usage", "logs", "--broker", "1", "--tz", "UTC", "--engine", "arrow")
AT_ONCE = "from kadmin_nb.commands import usage, windows\nwindows.QUIET = usage.QUIET = 0"
"""On a fast machine the log is read before anything would be said."""
MAIN = f"{AT_ONCE}\nfrom kadmin_nb.commands import main\nmain()"
STEP = re.compile(r"reading the log: (\S+) MB of [\d.]+ MB, (\d+) %")


@pytest.fixture
def logs(tmp_path, monkeypatch) -> Path:
    """A folder with 20 MB of log, a part of it compressed."""
    place = tmp_path / "logs"
    place.mkdir()
    (place / "request.log").write_bytes(LINES * (20_000_000 // len(LINES)))
    (place / "request.log.1.gz").write_bytes(gzip.compress(LINES * 10))
    monkeypatch.chdir(tmp_path)
    return place


def test_each_part_of_a_log_is_told(logs):
    """The bar went past the end, or never got there."""
    steps: list[tuple[int, int]] = []
    kn.usage.requests(logs, broker=1, tz="UTC", progress=lambda *step: steps.append(step))
    size = sum(file.stat().st_size for file in logs.iterdir())
    assert steps == sorted(steps)
    assert {total for _, total in steps} == {size}
    assert steps[0][0] < size / 2
    assert steps[-1][0] == size


def test_what_is_read_at_once_is_not_told():
    """A line flashed up for a log of two kilobytes."""
    texts: list[str] = []
    usage._telling(texts.append)(1, 2)
    assert texts == []


@pytest.mark.slow
def test_the_terminal_tells_how_far_a_log_is_read(logs, monkeypatch):
    """Ten seconds of nothing: was it at work?"""
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", MAIN, *WORDS, "--out", "used.parquet"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        text = b"".join(iter(lambda: _read(ours), b"")).decode()
    os.close(ours)
    assert process.returncode == 0, text
    percents = [int(step[2]) for step in STEP.finditer(text)]
    assert percents, text
    assert percents == sorted(percents)
    assert text.rstrip().endswith("\x1b[K")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last writer is gone
        return b""


@pytest.mark.slow
def test_the_notebook_tells_how_far_a_log_is_read(logs):
    """The cell showed its star for ten seconds, and nothing else."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(logs.parent), env=dict(os.environ))
    try:
        client.execute_interactive(f"%load_ext kadmin_nb\n{AT_ONCE}", timeout=60, output_hook=lambda _: None)
        messages: list[dict[str, object]] = []
        client.execute_interactive(
            "%kquota " + " ".join([*WORDS[1:], "--out used"]), timeout=60, allow_stdin=True, stdin_hook=lambda _: None,
            output_hook=messages.append,
        )  # fmt: skip
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    shown = [m["content"]["data"]["text/plain"] for m in messages if m["msg_type"].endswith("display_data")]
    assert STEP.fullmatch(shown[0]), shown
    assert shown[-1] == ""
