"""A single `kadmin-nb quota describe user=alice` from a shell, beside Kafka's own tool for the same quota."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.fleet import config_command
from benchmarks.timing import Row, interleaved, ratio, row
from kadmin_nb.local import start

ROUNDS = 9
_MAIN = "import sys; sys.argv[0] = 'kadmin-nb'; from kadmin_nb.commands import main; main()"


def run(full: bool = False) -> list[Row]:
    """The figure: both from the start of the process to its end, the JVM without an archive of classes."""
    with start() as kafka, kafka.connect() as cluster:
        stage = cluster.new_stage()
        stage.set_quota("producer_byte_rate", "1MB/s", user="alice")
        stage.plan().apply().raise_for_errors()
        ours = [sys.executable, "-c", _MAIN, "quota", "describe", "user=alice", "--cluster", kafka.bootstrap]
        theirs = config_command(kafka.bootstrap, "--describe", "--entity-type", "users", "--entity-name", "alice")
        theirs.insert(1, "-Xshare:off")
        spent = interleaved([lambda: _run(ours), lambda: _run(theirs)], ROUNDS)
    medians = map(statistics.median, spent)
    return [row("describe of one user / kafka-configs.sh", *medians, ratio(*spent), 0.35, "whole processes")]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
