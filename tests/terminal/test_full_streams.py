"""Standard output and standard error that take no more."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka

PROGRAM = shlex.join([sys.executable, "-c", "from kadmin_nb.commands import main; main()"])


def shell(line: str, streams: str) -> subprocess.CompletedProcess[str]:
    """The line of a terminal with its streams led elsewhere."""
    return subprocess.run(
        ["sh", "-c", f"{PROGRAM} {line} {streams}"], capture_output=True, text=True, check=False, env=os.environ
    )


FULL = "Invalid: standard output cannot be written: No space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize("line", ["version", "--help", "export --schema", "plan log", "plan log --json"])
def test_a_full_standard_output_is_one_line(line):
    """`kadmin-nb … > report` on a full disk was a stack trace, or a report that was cut and exit 0."""
    said = shell(line, "> /dev/full")
    assert (said.returncode, said.stderr) == (1, FULL)


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", ">&- 2>&-", "2> /dev/full"])
@pytest.mark.parametrize(("line", "code"), [("version", 0), ("plan show none.json", 1), ("verison", 2)])
def test_a_stream_that_is_closed_or_full_changes_no_exit_code(line, code, streams):
    """cron closed standard error, and every line was exit 120."""
    said = shell(line, streams)
    assert (said.returncode, "Traceback" in said.stderr) == (code, False)


@pytest.mark.slow
def test_a_change_that_was_made_is_no_failure_before_anything_changed(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str]
):
    """Exit 1 says that nothing was changed; the table of what was could not be printed."""
    user = unique("user")
    line = f"quota set producer_byte_rate=2kB user={user} --apply --cluster {kafka.bootstrap}"
    assert shell(line, "<&-").returncode == 0
    said = shell(f"quota set producer_byte_rate=1kB user={user} --apply --cluster {kafka.bootstrap}", "> /dev/full")
    assert (said.returncode, "No space left on device; changes already made stay: plan " in said.stderr) == (4, True)
    assert said.stderr.endswith(": 1 verified on 1 broker\n")
    assert cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist() == [1000.0]


@pytest.mark.broker
def test_a_change_whose_answer_has_no_file_is_told(live, unique, tmp_path):
    """`--apply --out` on a full disk was exit 1, that nothing was changed: the quota was."""
    said = live(
        "quota", "set", "producer_byte_rate=1kB", f"user={unique('user')}", "--apply", "--out", f"{tmp_path}/no/o.csv"
    )
    assert said.code == 4
    assert f"{tmp_path}/no/o.csv cannot be written" in said.err
    assert said.err.endswith(": 1 verified on 1 broker\n")


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_of_many_rows_on_a_disk_that_fills_up(unbuffered, tmp_path: Path, monkeypatch):
    """The first half was in the file, and the exit code was 0: in a container with PYTHONUNBUFFERED."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    said = shell("export --schema", f"> {tmp_path / 'schema.json'}")
    assert (said.returncode, (tmp_path / "schema.json").read_text()) == (0, kn.state.schema())
    said = subprocess.run(
        ["sh", "-c", f"ulimit -f 1; {PROGRAM} export --schema > {tmp_path / 'half.json'}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (1, "Invalid: standard output cannot be written: File too large\n")
